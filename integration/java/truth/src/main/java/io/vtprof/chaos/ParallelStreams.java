package io.vtprof.chaos;

import java.util.SplittableRandom;
import java.util.stream.LongStream;

/** Work that is split over the common pool. */
final class ParallelStreams implements Antagonist {
  @Override
  public void round(SplittableRandom random) {
    long n = random.nextLong(1, 500_000);
    Check.same(n * (n + 1) / 2, LongStream.rangeClosed(1, n).parallel().sum(), "a parallel sum");
  }
}
