package io.vtprof.truth;

import io.vtprof.chaos.RetransformAgent;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;

/**
 * What makes a JVM move and replace what the frames of a stack refer to, all the while.
 *
 * <ul>
 *   <li>{@code gc}: objects that live for a while, and a whole collection now and then
 *   <li>{@code retransform}: the classes of {@link DeepStacks} are retransformed, which deoptimises their frames;
 *       needs this jar as {@code -javaagent}
 * </ul>
 */
public final class Antagonists {
  private static final int BLOCK = 1 << 10;
  private static final int LIVE = 40_000;
  private static final long COLLECTION_NANOS = 400_000_000L;
  private static final long RETRANSFORM_NANOS = 50_000_000L;

  private Antagonists() {}

  static void start(List<String> names) {
    ThreadFactory threads = Threads.platform("antagonist");
    for (String name : names) {
      switch (name) {
        case "gc" -> threads.newThread(Antagonists::collect).start();
        case "retransform" -> {
          Instrumentation instrumentation = RetransformAgent.instrumentation();
          if (instrumentation == null) {
            throw new IllegalStateException("retransform needs this jar as -javaagent");
          }
          threads.newThread(() -> retransform(instrumentation)).start();
        }
        case "monitors" -> { }
        default -> throw new IllegalArgumentException("no antagonist " + name);
      }
    }
  }

  private static void collect() {
    byte[][] live = new byte[LIVE][];
    long next = System.nanoTime();
    for (int i = 0; ; i++) {
      live[i % LIVE] = new byte[BLOCK];
      if (i % 1_000 == 0) {
        LockSupport.parkNanos(1_000_000);
        if (System.nanoTime() >= next) {
          System.gc();
          next = System.nanoTime() + COLLECTION_NANOS;
        }
      }
    }
  }

  private static void retransform(Instrumentation instrumentation) {
    while (true) {
      try {
        instrumentation.retransformClasses(DeepStacks.class, Ladder.class, Ladder.Job.class);
      } catch (UnmodifiableClassException e) {
        throw new IllegalStateException(e);
      }
      LockSupport.parkNanos(RETRANSFORM_NANOS);
    }
  }
}
