package io.vtprof.truth;

import java.util.SplittableRandom;

/** A request drawn at random: work, waits of every kind, children up to two deep with the parent burning on. */
final class Requests {
  private static final int DEPTH = 2;

  private Requests() {}

  /** Serves one request on the calling thread. */
  static void serve(World world, SplittableRandom random) {
    Burner burner = world.root(random);
    // Frameworks name the span once they know the route; a quarter of the callers are traced themselves.
    boolean renamed = random.nextInt(4) == 0;
    String name = burner.name().toLowerCase();
    String first = renamed ? "request" : name;
    Traced root = random.nextInt(4) == 0
        ? Traced.called(world, burner, first, traceId(random), spanId(random))
        : Traced.root(world, burner, first);
    root.run(() -> {
      root.work(random.nextLong(200, 1_500));
      if (renamed) {
        root.rename(name);
      }
      steps(world, random, root, DEPTH);
    });
  }

  private static void steps(World world, SplittableRandom random, Traced span, int depth) {
    for (int i = random.nextInt(2, 5); i > 0; i--) {
      block(world, random, span);
      if (depth > 0 && random.nextInt(3) == 0) {
        Traced child = random.nextBoolean() ? span.child(world.child(random)) : span.childOfCurrent(world.child(random));
        child.run(() -> {
          child.work(random.nextLong(200, 2_000));
          steps(world, random, child, depth - 1);
        });
      }
      span.work(random.nextLong(200, 3_000));
    }
  }

  private static void block(World world, SplittableRandom random, Traced span) {
    try {
      world.waits().block(random, () -> span.work(random.nextLong(100, 400)));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String traceId(SplittableRandom random) {
    return String.format("%016x%016x", random.nextLong() | 1, random.nextLong());
  }

  private static String spanId(SplittableRandom random) {
    return String.format("%016x", random.nextLong() | 1);
  }
}
