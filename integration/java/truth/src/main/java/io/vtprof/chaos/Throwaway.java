package io.vtprof.chaos;

import java.util.function.LongUnaryOperator;

/** What is defined over and over. */
public final class Throwaway implements LongUnaryOperator {
  public Throwaway() {}

  /** Adds up the numbers below {@code n}. */
  @Override
  public long applyAsLong(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) {
      sum += step(i);
    }
    return sum;
  }

  private static long step(long i) {
    return Math.addExact(i, 0);
  }
}
