package io.vtprof.truth;

/** The second version of {@link VersionA}: its lines are beyond 100, and its bytecode is another. */
final class VersionB {
  private VersionB() {}

  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //
  //

  static int work(int rounds) {
    int sum = 1;
    int more = 3;
    for (int i = 0; i < rounds; i++) {
      more += i & 1;
      sum ^= Redefine.burnB(i);
      sum += more;
    }
    return sum;
  }
}
