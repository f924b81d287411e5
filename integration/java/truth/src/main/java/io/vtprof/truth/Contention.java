package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * All threads enter one monitor and one lock of {@code java.util.concurrent}, {@code --count} times each, and burn a
 * little while they have it. Each thread is in a span of its own all the while. How long they waited is measured around
 * each entering and noted in ns: of a span as {@code monitor.SPAN} and {@code lock.SPAN}, of all as {@code
 * delay.monitor} and {@code delay.lock}. A last part has no span: {@code delay.spanless}.
 */
final class Contention implements Scenario {
  /** While it has the lock: longer than the lock is on its way from one to the next. */
  private static final long HELD_MICROS = 300;
  private static final int SPANLESS = 8;

  private final LongAdder monitorNanos = new LongAdder();
  private final LongAdder lockNanos = new LongAdder();
  private final LongAdder spanlessNanos = new LongAdder();
  private final Shelf shelf = new Shelf();
  private final ReentrantLock lock = new ReentrantLock();
  private final AtomicInteger entered = new AtomicInteger();

  /** What is waited for by {@code synchronized}. */
  private static final class Shelf {}

  @Override
  public void run(World world) throws Exception {
    CyclicBarrier barrier = new CyclicBarrier(world.threads());
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      boolean hasSpan = i >= SPANLESS;
      world.start(() -> {
        Burner burner = world.root(random);
        barrier.await();
        if (!hasSpan) {
          LongAdder nanos = new LongAdder();
          rounds(world, () -> world.keep(burner.work(world.iterations(HELD_MICROS))), nanos, nanos);
          spanlessNanos.add(nanos.sum());
          return;
        }
        Traced span = Traced.root(world, burner, "contention");
        LongAdder monitor = new LongAdder();
        LongAdder parked = new LongAdder();
        span.run(() -> rounds(world, () -> span.work(HELD_MICROS), monitor, parked));
        monitorNanos.add(monitor.sum());
        lockNanos.add(parked.sum());
        String id = span.span().getSpanContext().getSpanId();
        world.log().fact("monitor." + id, monitor.sum());
        world.log().fact("lock." + id, parked.sum());
      });
    }
    world.join();
    world.log().fact("delay.monitor", monitorNanos.sum());
    world.log().fact("delay.lock", lockNanos.sum());
    world.log().fact("delay.spanless", spanlessNanos.sum());
    world.log().fact("entered", entered.get());
  }

  private void rounds(World world, Runnable held, LongAdder monitor, LongAdder parked) {
    for (long n = world.count(); n > 0; n--) {
      monitor.add(inMonitor(held));
      parked.add(inLock(held));
      entered.incrementAndGet();
    }
  }

  private long inMonitor(Runnable held) {
    long begun = System.nanoTime();
    synchronized (shelf) {
      long waited = System.nanoTime() - begun;
      held.run();
      return waited;
    }
  }

  private long inLock(Runnable held) {
    long begun = System.nanoTime();
    lock.lock();
    try {
      long waited = System.nanoTime() - begun;
      held.run();
      return waited;
    } finally {
      lock.unlock();
    }
  }
}
