package io.vtprof.truth;

import java.util.function.LongUnaryOperator;

/** The pattern of throw-away classes: {@link ThrowAway} puts a number for the zeros, in class and method alike. */
public final class Passing0000000 implements LongUnaryOperator {
  @Override
  public long applyAsLong(long until) {
    return burn0000000(until);
  }

  private static long burn0000000(long until) {
    long x = until | 1;
    do {
      for (int i = 0; i < 500; i++) {
        x ^= x << 13;
        x ^= x >>> 7;
        x ^= x << 17;
      }
    } while (System.nanoTime() < until);
    return x;
  }
}
