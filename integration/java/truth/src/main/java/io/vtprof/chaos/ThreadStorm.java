package io.vtprof.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;

/** Platform threads that begin and end, hundreds a second. */
final class ThreadStorm implements Antagonist {
  private static final int THREADS = 40;

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    LongAdder ran = new LongAdder();
    List<Thread> threads = new ArrayList<>(THREADS);
    for (int i = 0; i < THREADS; i++) {
      Thread thread = new Thread(ran::increment, "storm-" + i);
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    Check.same((long) THREADS, ran.sum(), "platform threads that ran");
  }
}
