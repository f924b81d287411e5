package io.vtprof.truth;

/** The first version of a class that {@link Redefine} redefines. Its lines are 6 to 19, and it says so by what it calls. */
final class VersionA {
  private VersionA() {}

  static int work(int rounds) {
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
      sum += Redefine.burnA(i);
    }
    return sum;
  }
}
