package io.vtprof.truth;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code --count} requests one after the other, each on a virtual thread of its own, that burn, write a short note, and wait
 * a little in four ways. One of fifteen is slow, for one reason. What slow ones have more of is noted: as profiles call
 * it, the method in which, in how many requests, and for how long together, ns: CPU by the clock of the carrier, what is
 * waited by the clock less what the wait itself should take. {@code --threads} is how many carriers there are.
 */
final class SlowFor implements Scenario {
  /** Why, and the method that a reader should be led to: of collections who allocates, without a carrier who has them. */
  enum Reason {
    CPU("SlowFor.serialize"),
    LOCK("SlowFor.update"),
    IO("EchoServer.roundTrip"),
    GC("SlowFor.rows"),
    RUNNABLE("SlowFor.crunch");

    private final String frame;

    Reason(String method) {
      frame = SlowFor.class.getPackageName() + "." + method;
    }
  }

  private static final int ONE_OF = 15;
  private static final long SLOW_MILLIS = 300;
  private static final long WAIT_MILLIS = 2;
  /** The server's unit is 100 µs. */
  private static final int TRIP_TENTHS = 20;
  private static final int LONG_TRIP_TENTHS = 250;
  private static final int FIELDS = 200;
  private static final long CRUNCH_MILLIS = 25;
  private static final int LIVE = 2_000_000;
  private static final int BLOCK = 1 << 14;
  private static final int WARM_UPS = 20;

  private final Reason reason;
  private final ScheduledThreadPoolExecutor waker = new ScheduledThreadPoolExecutor(1, Threads.platform("waker"));
  private final ReentrantLock lock = new ReentrantLock();
  private final LongAdder took = new LongAdder();
  private final EchoServer echo;
  private List<Object[]> live = List.of();
  private volatile boolean over;
  private volatile Object last;
  private int slowFields = FIELDS;

  SlowFor(Reason reason) {
    this.reason = reason;
    try {
      echo = new EchoServer();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private interface Wait {
    void run() throws InterruptedException;
  }

  @Override
  public void run(World world) throws Exception {
    Carrier.cpuNanos();
    SplittableRandom random = world.random();
    for (int i = 0; i < WARM_UPS; i++) {
      request(world, random, "warm-up", false);
    }
    calibrate();
    if (reason == Reason.GC) {
      fill();
      world.start(Threads.platform("report"), () -> report(world));
    }
    took.reset();
    long slow = 0;
    for (long i = 1; i <= world.count(); i++) {
      boolean isSlow = i % ONE_OF == 0;
      slow += isSlow ? 1 : 0;
      request(world, random, "request", isSlow);
    }
    over = true;
    world.join();
    world.keep(live.size());
    world.log().fact("slow.part", reason.name().toLowerCase());
    world.log().fact("slow.frame", reason.frame);
    world.log().fact("slow.count", slow);
    world.log().fact("slow.took", took.sum());
    System.out.printf("slow-for: %d of %d requests, %d ns of %s in %s%n", slow, world.count(), took.sum(),
        reason.name().toLowerCase(), reason.frame);
  }

  private void request(World world, SplittableRandom random, String name, boolean isSlow) throws InterruptedException {
    Thread request = world.start(() -> {
      Traced span = Traced.root(world, world.root(random), name);
      span.run(() -> {
        try {
          serve(world, random, span, isSlow);
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      });
    });
    request.join();
  }

  private void serve(World world, SplittableRandom random, Traced span, boolean isSlow) throws InterruptedException {
    span.work(2_000);
    last = serialize(FIELDS);
    long late = 0;
    for (int i = 0; i < 2; i++) {
      for (Wait wait : new Wait[] {() -> TimeUnit.MILLISECONDS.sleep(WAIT_MILLIS), this::take, () -> query(TRIP_TENTHS)}) {
        if (isSlow && reason == Reason.RUNNABLE) {
          rush(world, random);
        }
        late += late(wait);
      }
    }
    lock.lock();
    lock.unlock();
    if (!isSlow) {
      return;
    }
    switch (reason) {
      case CPU -> {
        long before = Carrier.cpuNanos();
        last = serialize(slowFields);
        took.add(Carrier.cpuNanos() - before);
      }
      case LOCK -> {
        CountDownLatch had = new CountDownLatch(1);
        world.start(() -> Traced.root(world, world.root(random), "reindex").run(() -> rebuild(had)));
        had.await();
        long begun = System.nanoTime();
        update();
        took.add(System.nanoTime() - begun);
      }
      case IO -> {
        long begun = System.nanoTime();
        for (long left = SLOW_MILLIS * 10; left > 0; left -= LONG_TRIP_TENTHS) {
          query(LONG_TRIP_TENTHS);
        }
        took.add(System.nanoTime() - begun);
      }
      case GC -> parse();
      case RUNNABLE -> took.add(late);
    }
  }

  /** How much longer a wait took than it should have, ns. */
  private static long late(Wait wait) throws InterruptedException {
    long begun = System.nanoTime();
    wait.run();
    return System.nanoTime() - begun - TimeUnit.MILLISECONDS.toNanos(WAIT_MILLIS);
  }

  private void take() throws InterruptedException {
    LinkedBlockingQueue<Boolean> queue = new LinkedBlockingQueue<>();
    waker.schedule(() -> queue.add(true), WAIT_MILLIS, TimeUnit.MILLISECONDS);
    queue.take();
  }

  private void query(int tenths) {
    echo.roundTrip(tenths);
  }

  /** A note as text. */
  private static String serialize(int fields) {
    StringBuilder text = new StringBuilder("{");
    for (int i = 0; i < fields; i++) {
      text.append('"').append("field").append(i).append("\":").append(i * 31L).append(',');
      if (text.length() > 1 << 16) {
        text.setLength(1);
      }
    }
    return text.append('}').toString();
  }

  /** Finds how long a note is that takes as long as a slow request should. */
  private void calibrate() throws InterruptedException {
    Thread thread = Threads.virtual().newThread(() -> {
      long cpu = 0;
      int fields = 1 << 16;
      while (cpu < TimeUnit.MILLISECONDS.toNanos(SLOW_MILLIS) / 4) {
        fields *= 2;
        long before = Carrier.cpuNanos();
        last = serialize(fields);
        cpu = Carrier.cpuNanos() - before;
      }
      slowFields = (int) (fields * (TimeUnit.MILLISECONDS.toNanos(SLOW_MILLIS) / (double) cpu));
    });
    thread.start();
    thread.join();
  }

  private void update() {
    lock.lock();
    lock.unlock();
  }

  /** Has the lock. */
  private void rebuild(CountDownLatch had) {
    lock.lock();
    try {
      had.countDown();
      TimeUnit.MILLISECONDS.sleep(SLOW_MILLIS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    } finally {
      lock.unlock();
    }
  }

  /** Many small objects, so that each collection takes its time. */
  private void fill() {
    live = new ArrayList<>(LIVE);
    for (int i = 0; i < LIVE; i++) {
      live.add(new Object[] {i == 0 ? null : live.get(i / 2)});
    }
  }

  /** Burns while the world is stopped, which is when it does not burn. */
  private void parse() {
    CountDownLatch collected = new CountDownLatch(1);
    Thread collector = Threads.platform("collector").newThread(() -> {
      System.gc();
      System.gc();
      collected.countDown();
    });
    long begun = System.nanoTime();
    long before = Carrier.cpuNanos();
    collector.start();
    while (collected.getCount() > 0) {
      last = serialize(FIELDS);
    }
    took.add(System.nanoTime() - begun - (Carrier.cpuNanos() - before));
  }

  /** Allocates most of all that is allocated. */
  private void report(World world) throws InterruptedException {
    while (!over) {
      rows();
      TimeUnit.MILLISECONDS.sleep(1);
    }
  }

  private void rows() {
    for (int i = 0; i < 4; i++) {
      last = new byte[BLOCK];
    }
  }

  /** Two for each carrier take it as soon as the caller leaves its own, and give it to nobody while they crunch. */
  private void rush(World world, SplittableRandom random) {
    for (int i = 0; i < 2 * world.threads(); i++) {
      Burner burner = world.root(random);
      world.start(() -> Traced.root(world, burner, "batch").run(this::crunch));
    }
  }

  private void crunch() {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CRUNCH_MILLIS);
    long sum = 0;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 10_000; i++) {
        sum = sum * 31 + i;
      }
    }
    last = sum;
  }
}
