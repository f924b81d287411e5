package io.vtprof.truth;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Spans that do nothing but wait, each in one way and in a method named after it; how long they waited is measured
 * around each wait and noted as {@code blocked.WAY}, in ns. Monitors only where they do not pin (JDK 24).
 */
final class BlockedTime implements Scenario {
  private static final int THREADS = 4;
  private static final int WAITS = 5;
  /** As one wait: spans must not end by the ten thousand a second. */
  private static final int YIELDS = 1_000;
  private static final long LEAST = 300_000;
  private static final long MOST = 5_000_000;
  /** Between two spans of a thread, ns. */
  private static final long BREATH = 5_000_000;
  private static final int UNPINNED_MONITORS = 24;

  private final Map<String, LongAdder> truth = new TreeMap<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Object monitor = new Object();
  private final ScheduledThreadPoolExecutor waker = new ScheduledThreadPoolExecutor(1, Threads.platform("waker"));
  private final EchoServer echo;
  private long entered;

  BlockedTime() {
    try {
      echo = new EchoServer();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One way to wait. */
  private interface Way {
    void block(long nanos) throws InterruptedException;
  }

  @Override
  public void run(World world) throws Exception {
    world.start(Threads.platform("holder"), () -> hold(world));
    start(world, "sleep", this::inSleep);
    start(world, "lock", this::inLock);
    start(world, "queue", this::inQueue);
    start(world, "socket", this::inSocket);
    start(world, "park", this::inPark);
    start(world, "yield", this::inYield);
    if (Runtime.version().feature() >= UNPINNED_MONITORS) {
      world.start(Threads.platform("owner"), () -> own(world));
      start(world, "monitor", this::inMonitor);
    }
    world.join();
    truth.forEach((name, nanos) -> world.log().fact("blocked." + name, nanos.sum()));
  }

  private void start(World world, String name, Way way) {
    LongAdder nanos = truth.computeIfAbsent(name, key -> new LongAdder());
    for (int i = 0; i < THREADS; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          Traced root = Traced.root(world, world.root(random), "wait-" + name);
          root.run(() -> wait(way, random, nanos));
          // Some waits find nothing to wait for: their spans would come by the ten thousand a second as well.
          LockSupport.parkNanos(BREATH);
        }
      });
    }
  }

  private static void wait(Way way, SplittableRandom random, LongAdder nanos) {
    try {
      for (int i = 0; i < WAITS; i++) {
        long length = random.nextLong(LEAST, MOST);
        long begun = System.nanoTime();
        way.block(length);
        nanos.add(System.nanoTime() - begun);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void inSleep(long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(nanos);
  }

  private void inLock(long nanos) {
    lock.lock();
    lock.unlock();
  }

  private void inMonitor(long nanos) {
    synchronized (monitor) {
      entered++;
    }
  }

  private void inQueue(long nanos) throws InterruptedException {
    LinkedBlockingQueue<Boolean> queue = new LinkedBlockingQueue<>();
    waker.schedule(() -> queue.add(true), nanos, TimeUnit.NANOSECONDS);
    queue.take();
  }

  private void inSocket(long nanos) {
    echo.roundTrip((int) (nanos / 100_000));
  }

  private void inPark(long nanos) {
    LockSupport.parkNanos(this, nanos);
  }

  private void inYield(long nanos) {
    for (int i = 0; i < YIELDS; i++) {
      Thread.yield();
    }
  }

  private void hold(World world) throws InterruptedException {
    SplittableRandom random = world.random();
    while (world.running()) {
      lock.lock();
      try {
        TimeUnit.NANOSECONDS.sleep(random.nextLong(LEAST, MOST));
      } finally {
        lock.unlock();
      }
      // Long enough for all who wait to have their turn.
      TimeUnit.NANOSECONDS.sleep(LEAST);
    }
  }

  private void own(World world) throws InterruptedException {
    SplittableRandom random = world.random();
    while (world.running()) {
      synchronized (monitor) {
        TimeUnit.NANOSECONDS.sleep(random.nextLong(LEAST, MOST));
      }
      TimeUnit.NANOSECONDS.sleep(LEAST);
    }
  }
}
