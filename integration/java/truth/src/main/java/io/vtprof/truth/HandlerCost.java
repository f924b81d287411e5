package io.vtprof.truth;

/**
 * The same work again and again, on a shallow stack and on a deep one, sampled and not sampled in turn, and what CPU time
 * each took by the thread's clock. What is longer under sampling is the handler's, and what the kernel takes to call it;
 * what is longer on the deep stack is the handler's alone. Says {@code cycle=OFF ON OFF ON} in ns for each cycle, the shallow
 * stack first. The agent's library is the property {@code truth.agent}.
 *
 * <pre>HandlerCost CYCLES DEPTH MILLIS</pre>
 */
public final class HandlerCost {
  private static volatile long sink;

  private HandlerCost() {}

  public static void main(String[] args) throws Exception {
    int depth = Integer.parseInt(args[1]);
    long nanos = Long.parseLong(args[2]) * 1_000_000;
    StopStart.control("stop");
    long rounds = rounds(nanos);
    for (int cycle = Integer.parseInt(args[0]); cycle > 0; cycle--) {
      System.out.println("cycle=" + at(0, rounds) + " " + at(depth, rounds));
    }
  }

  /** How many take so long, once they are compiled. */
  private static long rounds(long nanos) {
    long rounds = 1;
    while (burn(rounds) < nanos) {
      rounds += rounds / 2 + 1;
    }
    return Math.max(1, rounds * nanos / burn(rounds));
  }

  private static String at(int depth, long rounds) throws Exception {
    if (depth > 0) {
      return at(depth - 1, rounds);
    }
    long off = burn(rounds);
    StopStart.control("start");
    long on = burn(rounds);
    StopStart.control("stop");
    return off + " " + on;
  }

  /** CPU time of so many rounds, ns. */
  private static long burn(long rounds) {
    long begun = Cpu.threadNanos();
    long value = sink;
    for (long round = 0; round < rounds; round++) {
      value = turn(value);
    }
    sink = value;
    return Cpu.threadNanos() - begun;
  }

  private static long turn(long value) {
    for (int i = 0; i < 10_000; i++) {
      value = value * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
    }
    return value;
  }
}
