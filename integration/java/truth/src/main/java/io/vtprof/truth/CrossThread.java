package io.vtprof.truth;

import io.opentelemetry.context.Scope;
import io.vtprof.truth.burn.AfterEnd;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Spans that start on one thread and end on another; the ender's own tag stays as it was. */
final class CrossThread implements Scenario {
  @Override
  public void run(World world) throws Exception {
    ExecutorService others =
        world.virtual() ? Threads.virtualPerTask() : Executors.newCachedThreadPool(Threads.platform("other"));
    for (int i = 0; i < world.threads() / 2; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          startedHereServedThere(world, random, others);
          servedHereEndedThere(world, random, others);
        }
      });
    }
    world.join();
    others.shutdown();
  }

  private static void startedHereServedThere(World world, SplittableRandom random, ExecutorService others)
      throws Exception {
    Traced handed = Traced.root(world, world.root(random), "handed over");
    SplittableRandom there = random.split();
    others.submit(() -> {
      handed.serve(() -> handed.work(there.nextLong(500, 2_000)));
      handed.end();
      world.workUntagged(AfterEnd.INSTANCE, 500);
    }).get();
  }

  private static void servedHereEndedThere(World world, SplittableRandom random, ExecutorService others)
      throws Exception {
    Traced here = Traced.root(world, world.root(random), "ended elsewhere");
    SplittableRandom there = random.split();
    try (Scope open = here.attach()) {
      here.work(random.nextLong(500, 2_000));
      others.submit(() -> {
        Traced own = Traced.root(world, world.root(there), "ender");
        own.run(() -> {
          own.work(there.nextLong(200, 1_000));
          here.end();
          own.work(there.nextLong(200, 1_000));
        });
      }).get();
      // The scope is still open, the span is over.
      world.workUntagged(AfterEnd.INSTANCE, random.nextLong(500, 2_000));
      world.waits().block(random);
      world.workUntagged(AfterEnd.INSTANCE, random.nextLong(500, 2_000));
    }
  }
}
