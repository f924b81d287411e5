package io.vtprof.chaos;

import java.util.SplittableRandom;

/** Makes the compiler believe things and then breaks them: a class without subclasses, types never seen, a bound. */
final class Deoptimisation implements Antagonist {
  private static final int ROUNDS = 20_000;

  /** Has one subclass, until it has two. */
  public abstract static class Shape {
    /** Its size. */
    public abstract long size();
  }

  /** The one. */
  public static final class One extends Shape {
    @Override
    public long size() {
      return 1;
    }
  }

  /** The one that breaks it. */
  public static final class Two extends Shape {
    @Override
    public long size() {
      return 2;
    }
  }

  /** The code that is compiled for one. */
  public static final class Sizes implements Runnable {
    private static volatile long total;
    private Shape shape = new One();

    public Sizes() {}

    @Override
    public void run() {
      long sum = 0;
      for (int i = 0; i < ROUNDS; i++) {
        sum += size(shape);
      }
      if (sum != ROUNDS) {
        throw new IllegalStateException("sum of the one: " + sum);
      }
      shape = new Two();
      for (int i = 0; i < ROUNDS; i++) {
        sum += size(shape);
      }
      if (sum != 3L * ROUNDS) {
        throw new IllegalStateException("sum of both: " + sum);
      }
      total += sum;
    }

    private static long size(Shape shape) {
      return shape.size();
    }
  }

  @Override
  public void round(SplittableRandom random) throws ReflectiveOperationException {
    FreshLoader loader = new FreshLoader(Shape.class, One.class, Two.class, Sizes.class);
    ((Runnable) loader.loadClass(Sizes.class.getName()).getDeclaredConstructor().newInstance()).run();
    int[] values = random.ints(1_000, 0, 1_000).toArray();
    Check.same(true, RangeCheck.of(values) >= 0, "a sum of what is not negative");
    mixedTypes(random);
  }

  private static void mixedTypes(SplittableRandom random) {
    long length = 0;
    int strings = 0;
    for (int i = 0; i < ROUNDS; i++) {
      // Rare types late: the profile has not seen them.
      Object value = i > ROUNDS / 2 && random.nextInt(100) == 0 ? Integer.valueOf(i) : "four";
      if (value instanceof String text) {
        length += text.length();
        strings++;
      }
    }
    Check.same(4L * strings, length, "lengths");
  }

  /** A loop whose range check fails at the end, every time. */
  private static final class RangeCheck {
    static long of(int[] values) {
      long sum = 0;
      int i = 0;
      try {
        while (true) {
          sum += values[i++];
        }
      } catch (ArrayIndexOutOfBoundsException end) {
        Check.same(values.length + 1, i, "index at the end");
      }
      return sum;
    }
  }
}
