package io.vtprof.truth;

import io.vtprof.truth.burn.Burners;
import java.util.concurrent.TimeUnit;

/** One platform thread burns so many seconds of CPU inside a span, by its own clock of CPU time. */
final class SingleCore implements Scenario {
  @Override
  public void run(World world) throws Exception {
    world.start(Threads.platform("burner"), () -> {
      Traced span = Traced.root(world, Burners.ROOT.get(0), "burn");
      span.run(() -> {
        long before = Cpu.threadNanos();
        long used = 0;
        while (used < TimeUnit.SECONDS.toNanos(world.seconds())) {
          span.work(10_000);
          used = Cpu.threadNanos() - before;
        }
        world.log().fact("thread_cpu_ns", used);
      });
    });
    world.join();
  }
}
