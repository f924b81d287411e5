package io.vtprof.demo.endpoint;

/** What the child span of {@code /slow} does: two bursts around a wait. */
final class Stock {
  private Stock() {}

  static long count(int micros) throws InterruptedException {
    long sum = burn(micros / 2);
    Thread.sleep(3);
    return sum + burn(micros / 2);
  }

  private static long burn(int micros) {
    return Hash.spin(3, micros);
  }
}
