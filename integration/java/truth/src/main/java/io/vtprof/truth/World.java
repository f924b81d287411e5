package io.vtprof.truth;

import io.opentelemetry.api.trace.Tracer;
import io.vtprof.truth.burn.Background;
import io.vtprof.truth.burn.Burners;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/** What the scenarios share: tracer, notes, threads, time, and the number of iterations that make a microsecond. */
final class World {
  /** What a slow machine may take longer than asked for. Then the harness gives up. */
  private static final long PATIENCE_SECONDS = 300;

  private final Tracer tracer;
  private final TruthLog log;
  private final SplittableRandom seeds;
  private final boolean virtual;
  private final ThreadFactory factory;
  private final Waits waits;
  private final int threads;
  private final long count;
  private final int seconds;
  private final long leastWorkMicros;
  private final double iterationsPerMicro;
  private final Bag roots = new Bag(Burners.ROOT);
  private final Bag children = new Bag(Burners.CHILD);
  private final List<Thread> started = new ArrayList<>();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final LongAdder workedMicros = new LongAdder();
  private volatile long deadline;
  private volatile long sink;

  World(Tracer tracer, TruthLog log, Settings settings, double iterationsPerMicro) {
    this.tracer = tracer;
    this.log = log;
    this.seeds = new SplittableRandom(settings.seed());
    this.virtual = settings.virtual();
    this.factory = virtual ? Threads.virtual() : Threads.platform("request");
    this.threads = settings.threads();
    this.count = settings.count();
    this.iterationsPerMicro = iterationsPerMicro;
    this.waits = new Waits(settings.waits());
    this.seconds = settings.seconds();
    this.leastWorkMicros = settings.leastWorkMillis() * 1_000;
  }

  Tracer tracer() {
    return tracer;
  }

  TruthLog log() {
    return log;
  }

  Waits waits() {
    return waits;
  }

  boolean virtual() {
    return virtual;
  }

  int threads() {
    return threads;
  }

  /** How many spans to make, for scenarios that count instead of watching the clock. */
  long count() {
    return count;
  }

  /** Time and work begin to count once all is warm. */
  void startClock() {
    workedMicros.reset();
    deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
  }

  /**
   * Until time is up and enough is done, or a thread has failed: a machine that gives little CPU must not leave less to
   * judge.
   */
  boolean running() {
    long left = deadline - System.nanoTime();
    return failure.get() == null
        && (left > 0
            || (workedMicros.sum() < leastWorkMicros && left > -TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS)));
  }

  /** How long to run, or how much to burn, where a scenario says so. */
  int seconds() {
    return seconds;
  }

  /** How much of the time is over, 0 to 1. */
  double share() {
    return 1 - (deadline - System.nanoTime()) / 1e9 / seconds;
  }

  synchronized SplittableRandom random() {
    return seeds.split();
  }

  /** Burns so much CPU in methods named after the burner, and returns how many iterations that was. */
  long burn(Burner burner, long micros) {
    long iterations = iterations(micros);
    keep(burner.work(iterations));
    workedMicros.add(micros);
    return iterations;
  }

  /** Iterations that make so much CPU time. */
  long iterations(long micros) {
    return (long) (micros * iterationsPerMicro);
  }

  /** Keeps a result alive without costing a shared write that matters. */
  void keep(long value) {
    if (value == 0x5EED) {
      sink = value;
    }
  }

  /** Burns where no span may be charged. */
  void workUntagged(Burner burner, long micros) {
    log.untagged(burner.name(), burn(burner, micros));
  }

  Burner root(SplittableRandom random) {
    return roots.draw(random);
  }

  Burner child(SplittableRandom random) {
    return children.draw(random);
  }

  /** Starts a thread of the kind under test. {@link #join} waits for it. */
  Thread start(Task task) {
    return start(factory, task);
  }

  synchronized Thread start(ThreadFactory kind, Task task) {
    Thread thread = kind.newThread(() -> guard(task));
    started.add(thread);
    thread.start();
    return thread;
  }

  /** A thread of the kind under test that is joined at once: thread-per-request. */
  void inNewThread(Runnable body) throws InterruptedException {
    Thread thread = factory.newThread(() -> guard(body::run));
    thread.start();
    thread.join();
  }

  /** Notes the first failure; {@link #join} throws it. */
  void guard(Task task) {
    try {
      task.run();
    } catch (Throwable e) {
      failure.compareAndSet(null, e);
    }
  }

  /** Threads without a span that burn now and then, some of each kind, until time is up. */
  void startBackground(int ofEachKind) {
    for (int i = 0; i < ofEachKind; i++) {
      start(Threads.platform("background"), () -> background(random()));
      start(() -> background(random()));
    }
  }

  private void background(SplittableRandom random) throws InterruptedException {
    while (running()) {
      workUntagged(Background.INSTANCE, random.nextLong(200, 2_000));
      waits.block(random);
    }
  }

  /** Waits for all threads, however long: the harness has the patience, and dumps the threads when it has lost it. */
  void join() throws Exception {
    for (int i = 0; ; i++) {
      Thread thread;
      synchronized (this) {
        if (i == started.size()) {
          break;
        }
        thread = started.get(i);
      }
      thread.join();
    }
    log.fact("worked_us", workedMicros.sum());
    if (failure.get() != null) {
      throw new IllegalStateException("a thread failed", failure.get());
    }
  }
}
