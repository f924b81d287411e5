package io.vtprof.truth;

/** One kind of load. Runs until time is up or its count is reached, then returns. */
interface Scenario {
  void run(World world) throws Exception;
}
