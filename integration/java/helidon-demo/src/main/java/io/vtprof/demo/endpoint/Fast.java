package io.vtprof.demo.endpoint;

import io.vtprof.demo.Truth;

/** {@code /fast}: about a millisecond and done. Its requests fill the carriers while slow ones wait. */
public final class Fast extends Endpoint {
  public Fast(Truth truth) {
    super("/fast", truth);
  }

  @Override
  String answer() {
    return Long.toHexString(burn(1_000));
  }

  private static long burn(int micros) {
    return Hash.spin(1, micros);
  }
}
