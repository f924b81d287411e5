package io.vtprof.truth;

/**
 * The same work on a deep stack again and again, sampled and not sampled in turn, and what CPU time each took by the
 * thread's clock: what is longer under sampling is the handler's, and what the kernel takes to call it. Says {@code
 * cycle=OFF ON} in ns for each cycle. The agent's library is the property {@code truth.agent}.
 *
 * <pre>HandlerCost CYCLES DEPTH MILLIS</pre>
 */
public final class HandlerCost {
  private static final int WARM = 4;
  private static volatile long sink;

  private HandlerCost() {}

  public static void main(String[] args) throws Exception {
    int cycles = Integer.parseInt(args[0]);
    long nanos = Long.parseLong(args[2]) * 1_000_000;
    down(Integer.parseInt(args[1]), () -> run(cycles, nanos));
  }

  private interface Work {
    void run() throws Exception;
  }

  private static void down(int depth, Work work) throws Exception {
    if (depth == 0) {
      work.run();
    } else {
      down(depth - 1, work);
    }
  }

  private static void run(int cycles, long nanos) throws Exception {
    StopStart.control("stop");
    // So many rounds that they take so long, once they are compiled.
    long rounds = 1;
    for (int warm = 0; warm < WARM || burn(rounds) < nanos; warm++) {
      if (burn(rounds) < nanos) {
        rounds += rounds / 2 + 1;
      }
    }
    for (int cycle = 0; cycle < cycles; cycle++) {
      long off = burn(rounds);
      StopStart.control("start");
      long on = burn(rounds);
      StopStart.control("stop");
      System.out.println("cycle=" + off + " " + on);
    }
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
