package io.vtprof.chaos;

import java.util.SplittableRandom;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;

/** Two threads that wait for each other all the time. */
final class Parking implements Antagonist {
  private static final int HANDOFFS = 50;

  private final ThreadFactory virtual;

  Parking(ThreadFactory virtual) {
    this.virtual = virtual;
  }

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    SynchronousQueue<Integer> queue = new SynchronousQueue<>();
    Runnable giving = () -> {
      try {
        for (int i = 0; i < HANDOFFS; i++) {
          queue.put(i);
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    };
    Thread giver = random.nextBoolean() ? virtual.newThread(giving) : new Thread(giving, "giver");
    giver.start();
    for (int i = 0; i < HANDOFFS; i++) {
      Check.same(i, queue.take(), "what was handed over");
    }
    giver.join();
  }
}
