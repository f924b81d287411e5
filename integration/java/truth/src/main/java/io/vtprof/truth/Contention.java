package io.vtprof.truth;

import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * All threads enter one monitor and one lock of {@code java.util.concurrent}, {@code --count} times each, and burn a
 * little while they have it. Each thread is in a span of its own all the while. How long they waited is measured around
 * each entering and noted in ns, of all as {@code delay.monitor} and {@code delay.lock}. A few threads have no span; that
 * part of both is {@code spanless.monitor} and {@code spanless.lock}. If {@code pinned}, the lock is waited for inside of a
 * monitor of the thread's own, which before JDK 24 ties a virtual thread to its carrier.
 */
final class Contention implements Scenario {
  /** While it has the lock: longer than the lock is on its way from one to the next. */
  private static final long HELD_MICROS = 2_000;
  private static final int SPANLESS = 32;

  private final Delay all = new Delay();
  private final Delay spanless = new Delay();
  private final Shelf shelf = new Shelf();
  private final ReentrantLock lock = new ReentrantLock();
  private final boolean pinned;

  Contention(boolean pinned) {
    this.pinned = pinned;
  }

  /** What is waited for by {@code synchronized}. */
  private static final class Shelf {}

  /** How long threads waited, ns. */
  private static final class Delay {
    private final LongAdder monitor = new LongAdder();
    private final LongAdder lock = new LongAdder();
  }

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
          rounds(world, () -> world.keep(burner.work(world.iterations(HELD_MICROS))), List.of(all, spanless));
          return;
        }
        Traced span = Traced.root(world, burner, "contention");
        span.run(() -> rounds(world, () -> span.work(HELD_MICROS), List.of(all)));
      });
    }
    world.join();
    world.log().fact("delay.monitor", all.monitor.sum());
    world.log().fact("delay.lock", all.lock.sum());
    world.log().fact("spanless.monitor", spanless.monitor.sum());
    world.log().fact("spanless.lock", spanless.lock.sum());
  }

  private void rounds(World world, Runnable held, List<Delay> sums) {
    for (long n = world.count(); n > 0; n--) {
      long monitor = inMonitor(held);
      long parked = pinned ? inMonitorOfItsOwn(held) : inLock(held);
      for (Delay sum : sums) {
        sum.monitor.add(monitor);
        sum.lock.add(parked);
      }
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

  private long inMonitorOfItsOwn(Runnable held) {
    synchronized (new Shelf()) {
      return inLock(held);
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
