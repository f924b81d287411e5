package io.vtprof.chaos;

/** Holds an antagonist's own result against what it must be. */
final class Check {
  private Check() {}

  static void same(Object expected, Object found, String what) {
    if (!expected.equals(found)) {
      throw new IllegalStateException(what + ": expected " + expected + ", found " + found);
    }
  }
}
