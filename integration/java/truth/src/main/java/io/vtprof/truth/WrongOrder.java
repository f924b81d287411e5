package io.vtprof.truth;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.vtprof.truth.burn.AfterEnd;
import java.util.SplittableRandom;

/** The outer scope is closed before the inner one. The tag follows {@code Span.current()}, whatever that says. */
final class WrongOrder implements Scenario {
  @Override
  public void run(World world) throws Exception {
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          world.inNewThread(() -> crossed(world, random));
        }
      });
    }
    world.join();
  }

  private static void crossed(World world, SplittableRandom random) {
    Traced outer = Traced.root(world, world.root(random), "outer");
    Scope outerScope = outer.attach();
    outer.work(random.nextLong(300, 1_000));
    Traced inner = outer.childOfCurrent(world.child(random));
    Scope innerScope = inner.attach();
    inner.work(random.nextLong(300, 1_000));

    outerScope.close();
    current(outer, inner).work(random.nextLong(300, 1_000));
    block(world, random);
    current(outer, inner).work(random.nextLong(300, 1_000));

    innerScope.close();
    current(outer, inner).work(random.nextLong(300, 1_000));
    block(world, random);
    current(outer, inner).work(random.nextLong(300, 1_000));

    inner.end();
    current(outer, inner).work(random.nextLong(300, 1_000));
    outer.end();
    world.workUntagged(AfterEnd.INSTANCE, random.nextLong(300, 1_000));
  }

  private static Traced current(Traced... candidates) {
    Span current = Span.current();
    for (Traced candidate : candidates) {
      if (candidate.span() == current) {
        return candidate;
      }
    }
    throw new IllegalStateException("current is neither: " + current);
  }

  private static void block(World world, SplittableRandom random) {
    try {
      world.waits().block(random);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
