package io.vtprof.truth;

import io.opentelemetry.context.Scope;
import io.vtprof.truth.burn.AfterEnd;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Scopes that are never closed. Once the span has ended nothing may carry it, neither on the thread that leaked it nor,
 * after a proper request in between gave the leaked context back, later on.
 */
final class LeakedScopes implements Scenario {
  private static final int POOL = 4;

  @Override
  public void run(World world) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(POOL, Threads.platform("pool"));
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          if (random.nextInt(4) == 0) {
            pool.submit(() -> world.guard(() -> leak(world, random))).get();
          } else {
            world.inNewThread(() -> leak(world, random));
          }
        }
      });
    }
    world.join();
    pool.shutdown();
  }

  private static void leak(World world, SplittableRandom random) {
    Traced leaked = Traced.root(world, world.root(random), "leaked");
    Scope neverClosed = leaked.attach();
    leaked.work(random.nextLong(200, 1_000));
    block(world, random);
    leaked.work(random.nextLong(200, 1_000));
    leaked.end();
    afterEnd(world, random);
    Requests.serve(world, random);
    afterEnd(world, random);
    if (neverClosed == Scope.noop()) {
      throw new IllegalStateException("nothing was attached, so nothing leaked");
    }
  }

  private static void afterEnd(World world, SplittableRandom random) {
    world.workUntagged(AfterEnd.INSTANCE, random.nextLong(500, 2_000));
    block(world, random);
    world.workUntagged(AfterEnd.INSTANCE, random.nextLong(500, 2_000));
  }

  private static void block(World world, SplittableRandom random) {
    try {
      world.waits().block(random);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
