package io.vtprof.truth;

import io.opentelemetry.api.OpenTelemetry;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Runs one scenario and writes what every sample of it ought to carry.
 *
 * <pre>java -jar truth.jar SCENARIO [--seconds=10] [--work=500*SECONDS] [--threads=48] [--count=0] [--seed=N] [--kind=virtual|platform]
 *     [--otel=auto|hand|late|agent] [--log=truth.log] [--waits=all|sleep+park+…] [--exit=0]</pre>
 */
public final class Truth {
  private static final Map<String, Supplier<Scenario>> SCENARIOS = new TreeMap<>(Map.ofEntries(
      Map.entry("mix", Mix::new),
      Map.entry("allocation", Allocation::new),
      Map.entry("retention", Retention::new),
      Map.entry("storm", Storm::new),
      Map.entry("crowd", Crowd::new),
      Map.entry("fan-out", FanOut::new),
      Map.entry("platform-pool", PlatformPool::new),
      Map.entry("background", BackgroundLoad::new),
      Map.entry("two-carriers", TwoCarriers::new),
      Map.entry("unsampled", UnsampledSpans::new),
      Map.entry("leak", LeakedScopes::new),
      Map.entry("cross-thread", CrossThread::new),
      Map.entry("wrong-order", WrongOrder::new),
      Map.entry("short-spans", ShortSpans::new),
      Map.entry("single-core", SingleCore::new),
      Map.entry("garbage", Garbage::new),
      Map.entry("soak", Soak::new),
      Map.entry("child-environment", ChildEnvironment::new),
      Map.entry("stop-start", StopStart::new),
      Map.entry("blocked", () -> new BlockedTime(false)),
      Map.entry("pinned", () -> new BlockedTime(true)),
      Map.entry("dead-waits", DeadWaits::new),
      Map.entry("open-waits", OpenWaits::new),
      Map.entry("pauses", Pauses::new),
      Map.entry("request-parts", RequestParts::new),
      Map.entry("short-parks", ShortParks::new),
      Map.entry("contention", () -> new Contention(false)),
      Map.entry("pinned-contention", () -> new Contention(true)),
      Map.entry("carrier-delays", CarrierDelays::new),
      Map.entry("slow-for-cpu", () -> new SlowFor(SlowFor.Reason.CPU)),
      Map.entry("slow-for-lock", () -> new SlowFor(SlowFor.Reason.LOCK)),
      Map.entry("slow-for-io", () -> new SlowFor(SlowFor.Reason.IO)),
      Map.entry("slow-for-gc", () -> new SlowFor(SlowFor.Reason.GC)),
      Map.entry("slow-for-runnable", () -> new SlowFor(SlowFor.Reason.RUNNABLE)),
      Map.entry("lock-owner", LockOwner::new),
      Map.entry("published", Published::new),
      Map.entry("hello", Hello::new)));

  private Truth() {}

  public static void main(String[] args) throws Exception {
    Args parsed = new Args(args);
    Supplier<Scenario> scenario = SCENARIOS.get(parsed.scenario());
    if (scenario == null) {
      throw new IllegalArgumentException("no scenario " + parsed.scenario() + ", only " + SCENARIOS.keySet());
    }
    Settings settings = Settings.of(parsed);
    if (scenario.get() instanceof Hello || scenario.get() instanceof ChildEnvironment) {
      scenario.get().run(null);
    } else {
      traced(parsed.scenario(), scenario.get(), settings);
    }
    System.exit(settings.exit());
  }

  private static void traced(String name, Scenario scenario, Settings settings) throws Exception {
    TruthLog log = new TruthLog(Path.of(settings.log()));
    OpenTelemetry otel = Otel.start(settings.otel());
    double iterationsPerMicro = Calibration.run();
    log.fact("scenario", name);
    log.fact("seed", settings.seed());
    log.fact("kind", settings.virtual() ? "virtual" : "platform");
    log.fact("java", System.getProperty("java.version"));
    log.fact("iterations_per_us", iterationsPerMicro);

    World world = new World(otel.getTracer("io.vtprof.truth"), log, settings, iterationsPerMicro);
    Calibration.warmUp(world);
    System.out.printf("truth: %s seed=%d kind=%s java=%s%n", name, settings.seed(),
        settings.virtual() ? "virtual" : "platform", System.getProperty("java.version"));
    world.startClock();
    scenario.run(world);
    System.out.println("truth: done");
  }
}
