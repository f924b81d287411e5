package io.vtprof.chaos;

import java.io.IOException;
import java.util.SplittableRandom;

/** Child processes. */
final class Exec implements Antagonist {
  @Override
  public void round(SplittableRandom random) throws IOException, InterruptedException {
    Process process = new ProcessBuilder("true").start();
    Check.same(0, process.waitFor(), "exit status of true");
  }
}
