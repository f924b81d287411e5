package io.vtprof.truth;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Stops and starts the agent {@code --count} times in a quiet JVM, in batches, and notes after each what has grown, then
 * as often as time allows under load, and leaves it on for a last stretch of load. The agent's library is the property
 * {@code truth.agent}.
 */
final class StopStart implements Scenario {
  private static final int WARM_UP = 200;
  private static final int BATCHES = 4;
  private static final int LEAST_UNDER_LOAD = 20;
  private static final String AGENT = System.getProperty("truth.agent");

  private volatile boolean switching = true;

  @Override
  public void run(World world) throws Exception {
    SplittableRandom random = world.random();
    cycles(WARM_UP, random);
    note(world, 0);
    long begun = System.nanoTime();
    for (int batch = 1; batch <= BATCHES; batch++) {
      cycles(world.count() / BATCHES, random);
      note(world, batch);
    }
    world.log().fact("cycle_us", (System.nanoTime() - begun) / 1_000 / world.count());
    control("stop");
    world.log().fact("timers_stopped", timers());
    control("start");
    world.log().fact("timers_started", timers());
    world.log().fact("threads_started", entries("/proc/self/task"));

    world.startClock();
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom own = world.random();
      world.start(() -> {
        while (switching || world.running()) {
          Requests.serve(world, own);
        }
      });
    }
    int underLoad = 0;
    while (world.share() < 1 || underLoad < LEAST_UNDER_LOAD) {
      control("stop");
      Thread.sleep(random.nextInt(3));
      control("start");
      Thread.sleep(random.nextInt(20));
      underLoad++;
    }
    world.log().fact("cycles_under_load", underLoad);
    control("stop");
    world.log().fact("stopped_at", System.nanoTime());
    Thread.sleep(200);
    world.log().fact("started_at", System.nanoTime());
    control("start");
    world.startClock();
    switching = false;
    world.join();
  }

  private static void cycles(long count, SplittableRandom random) throws JMException {
    for (long i = 0; i < count; i++) {
      control("stop");
      if (random.nextInt(8) == 0) {
        // Twice is as good as once.
        control("stop");
      }
      control("start");
    }
  }

  /** As {@code jcmd JVMTI.agent_load} does it, within this JVM. */
  static void control(String request) throws JMException {
    Object answer = ManagementFactory.getPlatformMBeanServer().invoke(
        new ObjectName("com.sun.management:type=DiagnosticCommand"),
        "jvmtiAgentLoad",
        new Object[] {new String[] {AGENT, "\"control=" + request + "\""}},
        new String[] {String[].class.getName()});
    if (!answer.toString().contains("return code: 0")) {
      throw new IllegalStateException(request + ": " + answer);
    }
  }

  private static void note(World world, int when) throws IOException {
    System.gc();
    TruthLog log = world.log();
    log.fact("resident_" + when, Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096);
    log.fact("threads_" + when, entries("/proc/self/task"));
    log.fact("files_" + when, entries("/proc/self/fd") - perfEvents());
    log.fact("timers_" + when, timers());
  }

  private static long entries(String folder) throws IOException {
    try (Stream<Path> entries = Files.list(Path.of(folder))) {
      return entries.count();
    }
  }

  /** Timers and perf events: a thread has one or the other. */
  private static long timers() throws IOException {
    return lines("/proc/self/timers", "ID:") + perfEvents();
  }

  private static long perfEvents() throws IOException {
    try (Stream<Path> entries = Files.list(Path.of("/proc/self/fd"))) {
      return entries.filter(StopStart::isPerfEvent).count();
    }
  }

  private static boolean isPerfEvent(Path entry) {
    try {
      return Files.readSymbolicLink(entry).toString().contains("[perf_event]");
    } catch (IOException e) {
      // Closed since it was listed.
      return false;
    }
  }

  private static long lines(String file, String start) throws IOException {
    return Files.readAllLines(Path.of(file)).stream().filter(line -> line.startsWith(start)).count();
  }
}
