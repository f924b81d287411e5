package io.vtprof.truth;

import io.vtprof.truth.burn.Burners;

/** One platform thread burns one core inside a span and asks the JVM for its own CPU time. */
final class SingleCore implements Scenario {
  @Override
  public void run(World world) throws Exception {
    world.start(Threads.platform("burner"), () -> {
      Traced span = Traced.root(world, Burners.ROOT.get(0), "burn");
      span.run(() -> {
        long before = Cpu.threadNanos();
        while (world.running()) {
          span.work(10_000);
        }
        world.log().fact("thread_cpu_ns", Cpu.threadNanos() - before);
      });
    });
    world.join();
  }
}
