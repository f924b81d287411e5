package io.vtprof.truth;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code --count} spans of each way to wait that do nothing else, in a method named after it. How long they waited is
 * measured around each wait and noted in ns: of a span as {@code waited.SPAN}, of all as {@code blocked.WAY}, and how
 * long they were to wait as {@code asked.WAY}. Monitors only where they do not pin (JDK 24). Platform threads wait for
 * longer, since they are looked at each 10 ms; and so do virtual ones that are pinned, each wait inside of a monitor.
 */
final class BlockedTime implements Scenario {
  private static final int THREADS = 4;
  private static final int WAITS = 5;
  /** As one wait: spans must not end by the ten thousand a second. */
  private static final int YIELDS = 1_000;
  private static final long LEAST = 300_000;
  private static final long MOST = 5_000_000;
  private static final int LONGER = 10;
  /** Between two spans of a thread, ns. */
  private static final long BREATH = 5_000_000;
  private static final int UNPINNED_MONITORS = 24;

  private final Map<String, LongAdder> truth = new TreeMap<>();
  private final Map<String, LongAdder> asked = new TreeMap<>();
  private final AtomicInteger waiting = new AtomicInteger();
  /** Fair, so that each who comes finds the holder before it. */
  private final ReentrantLock lock = new ReentrantLock(true);
  private final Object monitor = new Object();
  private final ScheduledThreadPoolExecutor waker = new ScheduledThreadPoolExecutor(1, Threads.platform("waker"));
  private final EchoServer echo;
  private final boolean pinned;
  private int factor = 1;
  private long entered;

  BlockedTime(boolean pinned) {
    this.pinned = pinned;
    try {
      echo = new EchoServer();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One way to wait, and how long that is to be at the least, ns. */
  private interface Way {
    long block(long nanos) throws InterruptedException;
  }

  @Override
  public void run(World world) throws Exception {
    boolean visited = pinned || !world.virtual();
    factor = visited ? LONGER : 1;
    start(world, "sleep", this::inSleep);
    start(world, "lock", this::inLock);
    start(world, "park", this::inPark);
    if (!pinned) {
      start(world, "queue", this::inQueue);
      start(world, "socket", this::inSocket);
    }
    if (!visited) {
      start(world, "yield", this::inYield);
    }
    if (!world.virtual()) {
      start(world, "object", this::inObject);
    }
    // Both hold what is waited for until nobody does; all who wait are counted by now.
    world.start(Threads.platform("holder"), () -> hold(world));
    if (!pinned && (!world.virtual() || Runtime.version().feature() >= UNPINNED_MONITORS)) {
      start(world, "monitor", this::inMonitor);
      world.start(Threads.platform("owner"), () -> own(world));
    }
    world.join();
    truth.forEach((name, nanos) -> world.log().fact("blocked." + name, nanos.sum()));
    asked.forEach((name, nanos) -> world.log().fact("asked." + name, nanos.sum()));
  }

  private void start(World world, String name, Way plain) {
    Way way = pinned ? nanos -> inside(plain, nanos) : plain;
    LongAdder ofAll = truth.computeIfAbsent(name, key -> new LongAdder());
    LongAdder least = asked.computeIfAbsent(name, key -> new LongAdder());
    for (int i = 0; i < THREADS; i++) {
      SplittableRandom random = world.random();
      waiting.incrementAndGet();
      world.start(() -> {
        try {
          for (long n = world.count() / THREADS; n > 0; n--) {
            Traced root = Traced.root(world, world.root(random), "wait-" + name);
            LongAdder nanos = new LongAdder();
            root.run(() -> waits(way, random, nanos, least));
            ofAll.add(nanos.sum());
            world.log().fact("waited." + root.span().getSpanContext().getSpanId(), nanos.sum());
            // Some waits find nothing to wait for: their spans would come by the ten thousand a second as well.
            LockSupport.parkNanos(BREATH);
          }
        } finally {
          waiting.decrementAndGet();
        }
      });
    }
  }

  private void waits(Way way, SplittableRandom random, LongAdder nanos, LongAdder asked) {
    try {
      for (int i = 0; i < WAITS; i++) {
        long length = length(random);
        long begun = System.nanoTime();
        long least = way.block(length);
        nanos.add(System.nanoTime() - begun);
        asked.add(least);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private long length(SplittableRandom random) {
    return random.nextLong(LEAST, MOST) * factor;
  }

  private static long inside(Way way, long nanos) throws InterruptedException {
    synchronized (new Object()) {
      return way.block(nanos);
    }
  }

  private long inSleep(long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(nanos);
    return nanos;
  }

  private long inLock(long nanos) {
    lock.lock();
    lock.unlock();
    return 0;
  }

  private long inMonitor(long nanos) {
    synchronized (monitor) {
      entered++;
    }
    return 0;
  }

  private long inObject(long nanos) throws InterruptedException {
    Object own = new Object();
    long millis = nanos / 1_000_000 + 1;
    synchronized (own) {
      own.wait(millis);
    }
    return millis * 1_000_000;
  }

  private long inQueue(long nanos) throws InterruptedException {
    LinkedBlockingQueue<Boolean> queue = new LinkedBlockingQueue<>();
    waker.schedule(() -> queue.add(true), nanos, TimeUnit.NANOSECONDS);
    queue.take();
    return nanos;
  }

  private long inSocket(long nanos) {
    // What it does not reach in one byte it does in several round trips.
    int tenths = (int) (nanos / 100_000 / factor);
    for (int i = 0; i < factor; i++) {
      echo.roundTrip(tenths);
    }
    return tenths * 100_000L * factor;
  }

  private long inPark(long nanos) {
    LockSupport.parkNanos(this, nanos);
    return nanos;
  }

  private long inYield(long nanos) {
    for (int i = 0; i < YIELDS; i++) {
      Thread.yield();
    }
    return 0;
  }

  private void hold(World world) throws InterruptedException {
    SplittableRandom random = world.random();
    while (waiting.get() > 0) {
      lock.lock();
      try {
        TimeUnit.NANOSECONDS.sleep(length(random));
      } finally {
        lock.unlock();
      }
    }
  }

  private void own(World world) throws InterruptedException {
    SplittableRandom random = world.random();
    while (waiting.get() > 0) {
      synchronized (monitor) {
        TimeUnit.NANOSECONDS.sleep(length(random));
      }
      TimeUnit.NANOSECONDS.sleep(LEAST);
    }
  }
}
