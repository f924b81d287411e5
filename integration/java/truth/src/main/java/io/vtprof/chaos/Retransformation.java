package io.vtprof.chaos;

import java.lang.instrument.Instrumentation;
import java.util.SplittableRandom;

/**
 * New versions of loaded classes, those included whose methods are running: requests, the ladder, other antagonists.
 * Methods that are on a stack become obsolete there.
 */
final class Retransformation implements Antagonist {
  private static final String OURS = "io.vtprof.";
  private static final int CLASSES = 4;

  private final Instrumentation instrumentation;

  Retransformation(Instrumentation instrumentation) {
    this.instrumentation = instrumentation;
  }

  @Override
  public void round(SplittableRandom random) throws Exception {
    Class<?>[] candidates = instrumentation.getAllLoadedClasses();
    int left = CLASSES;
    for (int tries = 0; left > 0 && tries < candidates.length; tries++) {
      Class<?> candidate = candidates[random.nextInt(candidates.length)];
      if (candidate.getName().startsWith(OURS) && instrumentation.isModifiableClass(candidate)) {
        instrumentation.retransformClasses(candidate);
        left--;
      }
    }
  }
}
