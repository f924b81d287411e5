package io.vtprof.truth;

import io.vtprof.chaos.Chaos;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Requests and deep stacks, which say themselves whose they are and whether they are whole, in the middle of chaos.
 * A third of the threads serve requests, a third go down the ladder within a request, a third do so without one.
 */
final class Soak implements Scenario {
  private static final int SEATS = 3;

  private final LongAdder requests = new LongAdder();
  private final LongAdder descents = new LongAdder();

  @Override
  public void run(World world) throws Exception {
    Chaos chaos = new Chaos(Threads.virtual());
    Heartbeat heart = new Heartbeat(() -> "requests=" + requests.sum() + " descents=" + descents.sum()
        + " rounds=" + chaos.rounds(), world.log());
    heart.start();
    world.startBackground(1);
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      int kind = i % 3;
      world.start(() -> {
        while (world.running()) {
          serve(world, random, kind);
        }
      });
    }
    for (int seat = 0; seat < SEATS; seat++) {
      SplittableRandom random = world.random();
      world.start(Threads.platform("seat"), () -> chaos.rage(random, world::running));
    }
    SplittableRandom random = world.random();
    world.start(() -> chaos.rage(random, world::running));
    world.join();
    chaos.roundsByName().forEach((name, rounds) -> System.out.println("rounds " + name + "=" + rounds.sum()));
  }

  private void serve(World world, SplittableRandom random, int kind) {
    if (kind == 0) {
      Requests.serve(world, random);
      requests.increment();
    } else if (kind == 1) {
      Traced request = Traced.root(world, world.root(random), "deep");
      request.run(this::descend);
    } else {
      descend();
    }
  }

  private void descend() {
    AtomicInteger left = new AtomicInteger(1);
    DeepStacks.work(() -> left.getAndDecrement() > 0);
    descents.increment();
  }
}
