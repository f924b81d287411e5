package io.vtprof.chaos;

import java.lang.invoke.MethodHandles;
import java.util.SplittableRandom;
import java.util.function.LongUnaryOperator;

/** Classes without a name of their own. */
final class HiddenClasses implements Antagonist {
  private static final int CLASSES = 20;

  private final byte[] bytes = FreshLoader.bytes(Throwaway.class.getName());

  @Override
  public void round(SplittableRandom random) throws ReflectiveOperationException {
    for (int i = 0; i < CLASSES; i++) {
      long n = random.nextLong(1_000, 50_000);
      Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
      LongUnaryOperator adder = (LongUnaryOperator) hidden.getDeclaredConstructor().newInstance();
      Check.same(n * (n - 1) / 2, adder.applyAsLong(n), "sum by a hidden class");
    }
  }
}
