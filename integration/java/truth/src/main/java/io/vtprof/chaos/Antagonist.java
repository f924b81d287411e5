package io.vtprof.chaos;

import java.util.SplittableRandom;

/** One way to make a sampler's life hard. */
interface Antagonist {
  /**
   * Does it once, for some milliseconds, and cleans up.
   *
   * @throws Exception what it computed is wrong, which is never its own fault
   */
  void round(SplittableRandom random) throws Exception;
}
