package io.vtprof.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Everything that lives on faults or moves stacks about, at once, with a result that is known beforehand: null
 * checks by fault, stack overflows, collections, virtual threads that park deep down. Needs no OpenTelemetry.
 *
 * <pre>FaultStorm CPU_SECONDS</pre>
 */
public final class FaultStorm {
  private static final int ROUNDS = 2_000;

  private static volatile boolean over;
  private static final AtomicLong nulls = new AtomicLong();
  private static final AtomicLong overflows = new AtomicLong();
  private static final AtomicLong lists = new AtomicLong();
  private static final AtomicLong climbs = new AtomicLong();
  private static volatile String wrong;

  private FaultStorm() {}

  private static final class Box {
    final int value;

    Box(int value) {
      this.value = value;
    }
  }

  private interface Round {
    void run();
  }

  public static void main(String[] args) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      threads.add(platform(FaultStorm::nullChecks));
      threads.add(platform(FaultStorm::stackOverflow));
      threads.add(platform(FaultStorm::garbage));
    }
    for (int i = 0; i < 16; i++) {
      threads.add(Threads.virtual().newThread(() -> repeat(FaultStorm::deepPark)));
    }
    threads.forEach(Thread::start);
    // CPU time, so that there are as many faults on a busy machine.
    long enough = Cpu.processNanos() + Integer.parseInt(args[0]) * 1_000_000_000L;
    while (Cpu.processNanos() < enough) {
      Thread.sleep(50);
    }
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.printf("storm: %s nulls=%d overflows=%d lists=%d climbs=%d%n",
        wrong == null ? "right" : "wrong: " + wrong, nulls.get(), overflows.get(), lists.get(), climbs.get());
  }

  private static Thread platform(Round round) {
    return new Thread(() -> repeat(round));
  }

  private static void repeat(Round round) {
    try {
      while (!over) {
        round.run();
      }
    } catch (Throwable thrown) {
      wrong = thrown.toString();
    }
  }

  private static void expect(long expected, long found, String what) {
    if (expected != found) {
      wrong = what + ": " + found + " instead of " + expected;
    }
  }

  /** Every third box is none; interpreted and by C1, each of these is a fault that HotSpot makes an exception of. */
  private static void nullChecks() {
    long sum = 0;
    int caught = 0;
    for (int i = 0; i < ROUNDS; i++) {
      try {
        sum += dereference(i % 3 == 0 ? null : new Box(i));
      } catch (NullPointerException expected) {
        caught++;
      }
    }
    long all = 0;
    int none = 0;
    for (int i = 0; i < ROUNDS; i++) {
      if (i % 3 == 0) {
        none++;
      } else {
        all += i;
      }
    }
    expect(all, sum, "boxes");
    expect(none, caught, "null checks");
    nulls.addAndGet(caught);
  }

  private static int dereference(Box box) {
    return box.value;
  }

  private static void stackOverflow() {
    try {
      expect(0, descend(1), "descent without end");
    } catch (StackOverflowError expected) {
      overflows.incrementAndGet();
    }
    expect(5_050, triangle(100), "triangle");
  }

  private static long descend(long depth) {
    return descend(depth + 1) + depth;
  }

  private static long triangle(int n) {
    return n == 0 ? 0 : n + triangle(n - 1);
  }

  private static void garbage() {
    List<int[]> kept = new ArrayList<>();
    long expected = 0;
    for (int i = 0; i < ROUNDS; i++) {
      int[] one = new int[64 + i % 64];
      one[i % 64] = i;
      if (i % 5 == 0) {
        kept.add(one);
        expected += i;
      }
    }
    long sum = 0;
    for (int[] one : kept) {
      for (int word : one) {
        sum += word;
      }
    }
    expect(expected, sum, "lists");
    lists.incrementAndGet();
  }

  private static void deepPark() {
    expect(climb(40, 1), climb(40, 0), "climb");
    climbs.incrementAndGet();
  }

  /** A sum that does not depend on whether it parks at the bottom. */
  private static long climb(int height, int parks) {
    if (height == 0) {
      if (parks > 0) {
        LockSupport.parkNanos(100_000);
      }
      return 1;
    }
    long below = climb(height - 1, parks);
    long mixed = below;
    for (int i = 0; i < 50; i++) {
      mixed = mixed * 31 + new Box(height).value;
    }
    return mixed;
  }
}
