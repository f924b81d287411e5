package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock of {@code java.util.concurrent} and a monitor that are had in two methods, {@code hasLong} and {@code
 * hasShort}, for times that are noted as {@code lock.long}, {@code lock.short}, {@code monitor.long} and {@code
 * monitor.short}, in ns, while {@code --threads} others wait nearly all the time. The lock is had by virtual threads in
 * spans, the monitor by a thread of the platform. {@code --count} turns of each.
 */
final class LockOwner implements Scenario {
  private static final long LONG_MICROS = 30_000;
  private static final long SHORT_MICROS = 10_000;

  private final LongAdder lockLong = new LongAdder();
  private final LongAdder lockShort = new LongAdder();
  private final LongAdder monitorLong = new LongAdder();
  private final LongAdder monitorShort = new LongAdder();
  private final ReentrantLock lock = new ReentrantLock(true);
  private final Shelf shelf = new Shelf();
  private volatile boolean over;

  /** What is waited for by {@code synchronized}. */
  private static final class Shelf {}

  @Override
  public void run(World world) throws Exception {
    for (int i = 0; i < world.threads(); i++) {
      world.start(() -> {
        while (!over) {
          lock.lock();
          lock.unlock();
        }
      });
      world.start(Threads.platform("visitor"), () -> {
        while (!over) {
          visit();
          // Monitors are not fair: the owner must get in again.
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
      });
    }
    SplittableRandom random = world.random();
    Thread owner = world.start(() -> {
      for (long n = world.count(); n > 0; n--) {
        Traced span = Traced.root(world, world.root(random), "owner");
        span.run(() -> {
          lock.lock();
          try {
            lockLong.add(hasLong());
          } finally {
            lock.unlock();
          }
        });
        Traced next = Traced.root(world, world.root(random), "owner");
        next.run(() -> {
          lock.lock();
          try {
            lockShort.add(hasShort());
          } finally {
            lock.unlock();
          }
        });
      }
    });
    Thread keeper = world.start(Threads.platform("keeper"), () -> {
      for (long n = world.count(); n > 0; n--) {
        synchronized (shelf) {
          monitorLong.add(hasLong());
        }
        synchronized (shelf) {
          monitorShort.add(hasShort());
        }
      }
    });
    owner.join();
    keeper.join();
    over = true;
    world.join();
    world.log().fact("lock.long", lockLong.sum());
    world.log().fact("lock.short", lockShort.sum());
    world.log().fact("monitor.long", monitorLong.sum());
    world.log().fact("monitor.short", monitorShort.sum());
  }

  private void visit() {
    synchronized (shelf) {
      // What matters is who had it before.
    }
  }

  private static long hasLong() {
    return hold(LONG_MICROS);
  }

  private static long hasShort() {
    return hold(SHORT_MICROS);
  }

  /** Sleeps, so that the time is had whatever CPU there is; how long that was, ns. */
  private static long hold(long micros) {
    long begun = System.nanoTime();
    try {
      TimeUnit.MICROSECONDS.sleep(micros);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return System.nanoTime() - begun;
  }
}
