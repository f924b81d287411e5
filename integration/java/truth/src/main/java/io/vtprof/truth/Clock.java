package io.vtprof.truth;

import java.time.Instant;

/** Wall-clock nanoseconds since 1970. */
final class Clock {
  private Clock() {}

  static long epochNanos() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }
}
