package io.vtprof.truth;

import io.vtprof.truth.burn.Background;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** The classic server: a fixed pool of platform threads takes request after request, with untagged work between. */
final class PlatformPool implements Scenario {
  @Override
  public void run(World world) throws Exception {
    int threads = Math.min(16, world.threads());
    ExecutorService pool = Executors.newFixedThreadPool(threads, Threads.platform("pool"));
    world.startBackground(1);
    Semaphore free = new Semaphore(2 * threads);
    while (world.running()) {
      SplittableRandom random = world.random();
      free.acquire();
      pool.execute(() -> {
        world.guard(() -> {
          Requests.serve(world, random);
          world.workUntagged(Background.INSTANCE, 100);
        });
        free.release();
      });
    }
    pool.shutdown();
    if (!pool.awaitTermination(600, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the pool did not come to rest");
    }
    world.join();
  }
}
