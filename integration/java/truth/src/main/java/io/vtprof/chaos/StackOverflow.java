package io.vtprof.chaos;

import java.util.SplittableRandom;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Recursion to the very end of the stack, on platform and virtual threads. */
final class StackOverflow implements Antagonist {
  private static final long STACK = 512 << 10;

  private final ThreadFactory virtual;

  StackOverflow(ThreadFactory virtual) {
    this.virtual = virtual;
  }

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    AtomicInteger overflows = new AtomicInteger();
    Runnable body = () -> {
      try {
        fall(0);
      } catch (StackOverflowError e) {
        overflows.incrementAndGet();
      }
    };
    Thread thread = random.nextBoolean()
        ? virtual.newThread(body)
        : new Thread(null, body, "overflow", STACK);
    thread.start();
    thread.join();
    Check.same(1, overflows.get(), "stack overflows");
  }

  /** Calls nothing but itself: an overflow within the JDK would break what the JDK was doing. */
  private static long fall(long depth) {
    return 1 + fall(depth + 1);
  }
}
