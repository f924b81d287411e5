package io.vtprof.truth;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Blocks the calling thread in a way drawn at random. Every wait ends by itself, even where a JDK pins the carrier
 * (21: inside {@code synchronized}) and only one carrier is left: locks are held over no wait but a timed one.
 */
final class Waits {
  private static final int LOCKS = 4;
  private static final long LIMIT_SECONDS = 600;

  private final List<Wait> kinds;
  private final ReentrantLock[] locks = new ReentrantLock[LOCKS];
  private final Object[] monitors = new Object[LOCKS];
  private final ScheduledThreadPoolExecutor waker = new ScheduledThreadPoolExecutor(1, Threads.platform("waker"));
  private final EchoServer echo;

  Waits(Set<Wait> kinds) {
    this.kinds = List.copyOf(kinds);
    for (int i = 0; i < LOCKS; i++) {
      locks[i] = new ReentrantLock();
      monitors[i] = new Object();
    }
    try {
      echo = kinds.contains(Wait.SOCKET) ? new EchoServer() : null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Blocks in one of the kinds chosen for this run. */
  void block(SplittableRandom random) throws InterruptedException {
    block(random, () -> {});
  }

  /** The same; {@code held} runs inside where the kind is a lock or a monitor. */
  void block(SplittableRandom random, Runnable held) throws InterruptedException {
    block(kinds.get(random.nextInt(kinds.size())), random, held);
  }

  void block(Wait kind, SplittableRandom random, Runnable held) throws InterruptedException {
    long nanos = random.nextLong(100_000, 3_000_000);
    switch (kind) {
      case SLEEP:
        Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        break;
      case PARK:
        LockSupport.parkNanos(this, nanos);
        break;
      case LOCK:
        lock(locks[random.nextInt(LOCKS)], nanos, held);
        break;
      case MONITOR:
        monitor(monitors[random.nextInt(LOCKS)], random.nextInt(4) == 0 ? nanos / 8 : 0, held);
        break;
      case OBJECT_WAIT:
        Object own = new Object();
        synchronized (own) {
          own.wait(1 + nanos / 1_000_000);
        }
        break;
      case QUEUE:
        LinkedBlockingQueue<Boolean> queue = new LinkedBlockingQueue<>();
        waker.schedule(() -> queue.add(true), nanos, TimeUnit.NANOSECONDS);
        if (queue.poll(LIMIT_SECONDS, TimeUnit.SECONDS) == null) {
          throw new IllegalStateException("nothing came through the queue");
        }
        break;
      case SOCKET:
        echo.roundTrip((int) (nanos / 100_000));
        break;
      case FUTURE:
        future(nanos);
        break;
      case YIELD:
        for (int i = random.nextInt(1, 9); i > 0; i--) {
          Thread.yield();
        }
        break;
    }
  }

  private void lock(ReentrantLock lock, long nanos, Runnable held) {
    lock.lock();
    try {
      held.run();
      LockSupport.parkNanos(this, nanos / 8);
    } finally {
      lock.unlock();
    }
  }

  private void monitor(Object monitor, long nanos, Runnable held) {
    synchronized (monitor) {
      held.run();
      if (nanos > 0) {
        LockSupport.parkNanos(this, nanos);
      }
    }
  }

  private void future(long nanos) throws InterruptedException {
    CompletableFuture<Boolean> future = new CompletableFuture<>();
    waker.schedule(() -> future.complete(true), nanos, TimeUnit.NANOSECONDS);
    try {
      future.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("the future was not completed", e);
    }
  }
}
