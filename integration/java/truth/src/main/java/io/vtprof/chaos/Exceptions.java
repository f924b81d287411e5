package io.vtprof.chaos;

import java.util.SplittableRandom;

/** Exceptions from deep down with their stack traces, and those that begin as a signal: null checks, division by 0. */
final class Exceptions implements Antagonist {
  private static final int DEPTH = 300;
  private static final int STORM = 5_000;

  private static final class Deep extends Exception {
    private static final long serialVersionUID = 1;
  }

  @Override
  public void round(SplittableRandom random) {
    try {
      dive(DEPTH);
      throw new IllegalStateException("no exception from deep down");
    } catch (Deep deep) {
      Check.same(true, deep.getStackTrace().length > DEPTH, "a deep stack trace");
    }
    int[][] holders = new int[16][];
    holders[0] = new int[] {7};
    int nulls = 0;
    int zeros = 0;
    int found = 0;
    int expectedNulls = 0;
    int expectedZeros = 0;
    for (int i = 0; i < STORM; i++) {
      int holder = random.nextInt(2) * random.nextInt(16);
      int divisor = random.nextInt(4);
      expectedNulls += holder == 0 ? 0 : 1;
      expectedZeros += holder == 0 && divisor == 0 ? 1 : 0;
      try {
        found += holders[holder][0] / divisor;
      } catch (NullPointerException e) {
        nulls++;
      } catch (ArithmeticException e) {
        zeros++;
      }
    }
    Check.same(expectedNulls, nulls, "null checks that failed");
    Check.same(expectedZeros, zeros, "divisions by zero");
    Check.same(true, found > 0, "what was divided");
  }

  private static int dive(int left) throws Deep {
    if (left == 0) {
      throw new Deep();
    }
    return 1 + dive(left - 1);
  }
}
