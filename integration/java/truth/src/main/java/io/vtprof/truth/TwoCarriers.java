package io.vtprof.truth;

import io.vtprof.truth.burn.Burners;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The case that gave the project its reason: X burns 900 ms in bursts between waits, and short requests Y of 20 ms start
 * while X waits, so a label left on the carrier charges X to some Y.
 */
final class TwoCarriers implements Scenario {
  private static final int BURSTS = 45;
  private static final long BURST_MICROS = 20_000;
  private static final long SHORT_MICROS = 20_000;

  @Override
  public void run(World world) throws Exception {
    SplittableRandom random = world.random();
    AtomicInteger next = new AtomicInteger();
    while (world.running()) {
      Thread slow = world.start(() -> slow(world, random, next));
      slow.join();
    }
    world.join();
  }

  private static void slow(World world, SplittableRandom random, AtomicInteger next) {
    Traced x = Traced.root(world, Burners.ROOT.get(0), "X");
    x.run(() -> {
      for (int i = 0; i < BURSTS; i++) {
        x.work(BURST_MICROS);
        for (int y = 0; y < 2; y++) {
          Burner burner = Burners.ROOT.get(1 + next.getAndIncrement() % (Burners.ROOT.size() - 1));
          world.start(() -> shortRequest(world, burner));
        }
        block(world, random);
      }
    });
  }

  private static void shortRequest(World world, Burner burner) {
    Traced y = Traced.root(world, burner, "Y");
    y.run(() -> {
      y.work(SHORT_MICROS / 2);
      Thread.yield();
      y.work(SHORT_MICROS / 2);
    });
  }

  private static void block(World world, SplittableRandom random) {
    try {
      world.waits().block(random);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
