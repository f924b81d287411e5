package io.vtprof.truth;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * {@code --count} requests, {@code --threads} at once, each on a virtual thread of its own, that burns 100 ms of CPU, sleeps
 * 200 ms, waits 150 ms for a lock, 100 ms on a queue and 50 ms on a socket, each in a method named after it. How long
 * each took in all requests is noted in ns: waits by the clock around them, CPU by that of the carrier, and how long
 * carriers had no CPU while they should have burnt.
 */
final class RequestParts implements Scenario {
  private static final long CPU_MICROS = 100_000;
  private static final long SLEEP_MILLIS = 200;
  private static final long LOCK_MILLIS = 150;
  private static final long QUEUE_MILLIS = 100;
  /** Of two round trips to the server together, whose unit is 100 µs. */
  private static final int SOCKET_TENTHS = 500;
  private static final int PIECES = 5;
  private static final int WARM_UPS = 3;

  private final Map<String, LongAdder> truth = new TreeMap<>();
  private final ScheduledThreadPoolExecutor waker = new ScheduledThreadPoolExecutor(1, Threads.platform("waker"));
  private final EchoServer echo;

  RequestParts() {
    try {
      echo = new EchoServer();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private interface Part {
    void run() throws InterruptedException;
  }

  @Override
  public void run(World world) throws Exception {
    // What reflection waits for at first is no part of a request.
    Carrier.cpuNanos();
    for (String part : new String[] {"cpu", "no_cpu", "sleep", "lock", "queue", "socket"}) {
      truth.put(part, new LongAdder());
    }
    // The first ones load classes and run slow code.
    SplittableRandom first = world.random();
    for (int i = 0; i < WARM_UPS; i++) {
      request(world, world.root(first), "first");
    }
    truth.values().forEach(LongAdder::reset);
    AtomicLong left = new AtomicLong(world.count());
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(Threads.platform("client"), () -> {
        while (left.getAndDecrement() > 0) {
          request(world, world.root(random), "request");
        }
      });
    }
    world.join();
    truth.forEach((part, nanos) -> world.log().fact("took." + part, nanos.sum()));
  }

  /** Sends one request, and holds the lock that it will wait for. */
  private void request(World world, Burner burner, String name) throws InterruptedException {
    ReentrantLock lock = new ReentrantLock();
    CountDownLatch wanted = new CountDownLatch(1);
    lock.lock();
    Thread request = world.start(() -> {
      Traced span = Traced.root(world, burner, name);
      span.run(() -> serve(span, lock, wanted));
    });
    wanted.await();
    TimeUnit.MILLISECONDS.sleep(LOCK_MILLIS);
    lock.unlock();
    request.join();
  }

  private void serve(Traced span, ReentrantLock lock, CountDownLatch wanted) {
    try {
      burn(span);
      time("sleep", this::inSleep);
      burn(span);
      time("lock", () -> inLock(lock, wanted));
      burn(span);
      time("queue", this::inQueue);
      burn(span);
      time("socket", this::inSocket);
      burn(span);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void time(String part, Part body) throws InterruptedException {
    long begun = System.nanoTime();
    body.run();
    truth.get(part).add(System.nanoTime() - begun);
  }

  private void burn(Traced span) {
    long begun = System.nanoTime();
    long before = Carrier.cpuNanos();
    span.work(CPU_MICROS / PIECES);
    long cpu = Carrier.cpuNanos() - before;
    truth.get("cpu").add(cpu);
    truth.get("no_cpu").add(System.nanoTime() - begun - cpu);
  }

  private void inSleep() throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(SLEEP_MILLIS);
  }

  private void inLock(ReentrantLock lock, CountDownLatch wanted) {
    wanted.countDown();
    lock.lock();
    lock.unlock();
  }

  private void inQueue() throws InterruptedException {
    LinkedBlockingQueue<Boolean> queue = new LinkedBlockingQueue<>();
    waker.schedule(() -> queue.add(true), QUEUE_MILLIS, TimeUnit.MILLISECONDS);
    queue.take();
  }

  private void inSocket() {
    echo.roundTrip(SOCKET_TENTHS / 2);
    echo.roundTrip(SOCKET_TENTHS / 2);
  }
}
