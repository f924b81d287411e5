package io.vtprof.demo.endpoint;

/** Arithmetic of a chosen length. Always called from a {@code burn} of the class that pays for it. */
final class Hash {
  private static final int ROUNDS_A_MICRO = 350;

  private Hash() {}

  /** Burns about {@code micros} microseconds of CPU; the real number depends on the machine. */
  static long spin(long seed, int micros) {
    long x = seed | 1;
    for (long i = (long) micros * ROUNDS_A_MICRO; i > 0; i--) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
    }
    return x;
  }
}
