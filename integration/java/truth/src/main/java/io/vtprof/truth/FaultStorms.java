package io.vtprof.truth;

/**
 * Faults that the JVM makes exceptions of: stack overflows, null pointers, divisions by zero. Each must be caught in
 * Java, and what is computed in between must be right.
 *
 * <pre>FaultStorms SECONDS</pre>
 *
 * <p>As long at the least, and longer where that is not enough for some rounds of each.
 */
public final class FaultStorms {
  private static final int THREADS = 2;
  /** Rounds of a thread, however slow the machine. */
  private static final long LEAST = 100;

  private interface Storm {
    /** One round; whether its results were right. */
    boolean round(int seed);
  }

  private static final class Box {
    int value;
    Box next;

    Box(int value) {
      this.value = value;
    }
  }

  private FaultStorms() {}

  public static void main(String[] args) throws InterruptedException {
    long deadline = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
    Storm[] storms = {FaultStorms::overflow, FaultStorms::nulls, FaultStorms::zeros};
    Thread[] threads = new Thread[THREADS * storms.length];
    long[] rounds = new long[threads.length];
    long[] wrong = new long[threads.length];
    for (int i = 0; i < threads.length; i++) {
      int own = i;
      Storm storm = storms[i % storms.length];
      threads[i] = new Thread(() -> {
        while (System.nanoTime() < deadline || rounds[own] < LEAST) {
          rounds[own]++;
          if (!storm.round((int) rounds[own])) {
            wrong[own]++;
          }
        }
      });
      threads[i].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    String[] names = {"overflow", "null", "zero"};
    for (int kind = 0; kind < names.length; kind++) {
      long sum = 0;
      long bad = 0;
      for (int i = kind; i < threads.length; i += names.length) {
        sum += rounds[i];
        bad += wrong[i];
      }
      System.out.println(names[kind] + "_rounds=" + sum);
      System.out.println(names[kind] + "_wrong=" + bad);
    }
    System.out.println("done");
  }

  private static boolean overflow(int seed) {
    int[] depth = {0};
    try {
      down(depth, seed);
      return false;
    } catch (StackOverflowError e) {
      return depth[0] > 500;
    }
  }

  private static int down(int[] depth, int seed) {
    depth[0]++;
    return down(depth, seed + 1) * 31 + seed;
  }

  private static boolean nulls(int seed) {
    Box first = new Box(seed);
    first.next = new Box(seed + 1);
    int caught = 0;
    int sum = 0;
    for (int i = 0; i < 400; i++) {
      // Rare enough that compiled code goes by an implicit check, which is a fault.
      Box box = i % 100 == 99 ? null : i % 2 == 0 ? first : first.next;
      try {
        sum += box.value;
      } catch (NullPointerException e) {
        caught++;
      }
    }
    return caught == 4 && sum == 200 * seed + 196 * (seed + 1);
  }

  private static boolean zeros(int seed) {
    int caught = 0;
    int sum = 0;
    for (int i = 0; i < 400; i++) {
      try {
        sum += 1_000 / (i % 100);
      } catch (ArithmeticException e) {
        caught++;
      }
    }
    int expected = 0;
    for (int i = 1; i < 100; i++) {
      expected += 1_000 / i;
    }
    return caught == 4 && sum == 4 * expected && seed > 0;
  }
}
