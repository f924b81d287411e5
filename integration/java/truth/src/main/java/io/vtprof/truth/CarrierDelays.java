package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Virtual threads that wait on a queue and then for a carrier, as {@code --threads} others burn for {@value #HOG_MICROS} µs at
 * a time, which is how long they keep one. When there is something in the queue is noted by whoever puts it there: until
 * then a thread has waited for it ({@code waited}), from then on for a carrier ({@code delayed}), in ns. Each wait is in a
 * span of its own. {@code --count} waits.
 */
final class CarrierDelays implements Scenario {
  private static final int THREADS = 8;
  private static final long HOG_MICROS = 25_000;
  private static final long LEAST = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long MOST = TimeUnit.MILLISECONDS.toNanos(80);

  private final LongAdder waited = new LongAdder();
  private final LongAdder delayed = new LongAdder();
  private final ScheduledThreadPoolExecutor waker = new ScheduledThreadPoolExecutor(1, Threads.platform("waker"));
  private volatile boolean over;

  @Override
  public void run(World world) throws Exception {
    // Its worker is there before the carriers are busy.
    waker.submit(() -> {}).get();
    Thread[] hogs = new Thread[world.threads()];
    for (int i = 0; i < hogs.length; i++) {
      Burner burner = world.root(world.random());
      hogs[i] = world.start(() -> {
        while (!over) {
          world.keep(burner.work(world.iterations(HOG_MICROS)));
          // Woken from outside as the others are: two that yield keep a carrier for themselves.
          pause();
        }
      });
    }
    Thread[] waiters = new Thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
      SplittableRandom random = world.random();
      waiters[i] = world.start(() -> {
        for (long n = world.count() / THREADS; n > 0; n--) {
          Traced.root(world, world.root(random), "delayed").run(() -> inQueue(random.nextLong(LEAST, MOST)));
        }
      });
    }
    for (Thread waiter : waiters) {
      waiter.join();
    }
    over = true;
    world.join();
    waker.shutdownNow();
    world.log().fact("waited", waited.sum());
    world.log().fact("delayed", delayed.sum());
  }

  private void pause() {
    LinkedBlockingQueue<Boolean> queue = new LinkedBlockingQueue<>();
    waker.schedule(() -> queue.add(true), 1, TimeUnit.MILLISECONDS);
    try {
      queue.take();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void inQueue(long nanos) {
    LinkedBlockingQueue<Long> queue = new LinkedBlockingQueue<>();
    long begun = System.nanoTime();
    waker.schedule(() -> queue.add(System.nanoTime()), nanos, TimeUnit.NANOSECONDS);
    try {
      long put = queue.take();
      delayed.add(System.nanoTime() - put);
      waited.add(put - begun);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
