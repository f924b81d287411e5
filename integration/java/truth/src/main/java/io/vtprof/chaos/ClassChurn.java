package io.vtprof.chaos;

import java.util.SplittableRandom;
import java.util.function.LongUnaryOperator;

/** Classes that are loaded, run, and forgotten; the collector unloads them while their methods are in samples. */
final class ClassChurn implements Antagonist {
  private static final int CLASSES = 20;

  @Override
  public void round(SplittableRandom random) throws ReflectiveOperationException {
    for (int i = 0; i < CLASSES; i++) {
      long n = random.nextLong(1_000, 100_000);
      Class<?> fresh = new FreshLoader(Throwaway.class).loadClass(Throwaway.class.getName());
      LongUnaryOperator adder = (LongUnaryOperator) fresh.getDeclaredConstructor().newInstance();
      Check.same(n * (n - 1) / 2, adder.applyAsLong(n), "sum by a fresh class");
    }
  }
}
