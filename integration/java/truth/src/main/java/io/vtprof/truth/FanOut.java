package io.vtprof.truth;

import io.opentelemetry.context.Context;
import io.vtprof.truth.burn.Background;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Requests that spread over executors: the context travels in {@code Context.taskWrapping}, and ends with the task, so
 * the same pool thread burns unwrapped tasks untagged in between.
 */
final class FanOut implements Scenario {
  private static final int TASKS = 6;
  private static final int POOL = 4;

  @Override
  public void run(World world) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(POOL, Threads.platform("pool"));
    ExecutorService own = world.virtual() ? Threads.virtualPerTask() : Executors.newCachedThreadPool(Threads.platform("cached"));
    world.startBackground(1);
    int requests = Math.max(1, world.threads() / 4);
    for (int i = 0; i < requests; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          request(world, random, pool, own);
          pool.submit(() -> world.workUntagged(Background.INSTANCE, 300)).get();
        }
      });
    }
    world.join();
    pool.shutdown();
    own.shutdown();
  }

  private static void request(World world, SplittableRandom random, ExecutorService pool, ExecutorService own) {
    Traced root = Traced.root(world, world.root(random), "fan-out");
    root.parallel();
    root.run(() -> {
      root.work(random.nextLong(200, 1_000));
      List<Future<?>> tasks = new ArrayList<>();
      for (int i = 0; i < TASKS; i++) {
        ExecutorService executor = Context.taskWrapping(random.nextBoolean() ? pool : own);
        tasks.add(executor.submit(random.nextBoolean() ? inRoot(world, root) : inChild(world, root)));
      }
      root.work(random.nextLong(200, 1_000));
      tasks.forEach(FanOut::await);
      root.work(random.nextLong(200, 1_000));
    });
  }

  /** A task that burns for the request itself. */
  private static Runnable inRoot(World world, Traced root) {
    SplittableRandom random = world.random();
    return () -> {
      root.work(random.nextLong(200, 2_000));
      block(world, random);
      root.work(random.nextLong(200, 2_000));
    };
  }

  /** A task with a span of its own, under what the executor has made current; then the request's own again. */
  private static Runnable inChild(World world, Traced root) {
    SplittableRandom random = world.random();
    return () -> {
      Traced child = root.childOfCurrent(world.child(random));
      child.run(() -> {
        child.work(random.nextLong(200, 2_000));
        block(world, random);
        child.work(random.nextLong(200, 2_000));
      });
      root.work(random.nextLong(200, 500));
    };
  }

  private static void block(World world, SplittableRandom random) {
    try {
      world.waits().block(random);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(Future<?> task) {
    try {
      task.get(600, TimeUnit.SECONDS);
    } catch (InterruptedException | ExecutionException | TimeoutException e) {
      throw new IllegalStateException(e);
    }
  }
}
