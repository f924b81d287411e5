package io.vtprof.chaos;

import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;

/**
 * The antagonists, switched on and off. Each caller of {@link #rage} is a seat: it draws one antagonist after the
 * other and lets each play for a while, so as many as there are seats are on at a time, in ever new mixes.
 */
public final class Chaos {
  private static final long SHORTEST_TURN_MS = 100;
  private static final long LONGEST_TURN_MS = 1_500;

  private final List<Antagonist> antagonists;
  private final Map<String, LongAdder> rounds = new TreeMap<>();

  /** @param virtual makes virtual threads */
  public Chaos(ThreadFactory virtual) {
    antagonists = Antagonists.all(virtual);
    antagonists.forEach(antagonist -> rounds.put(name(antagonist), new LongAdder()));
  }

  /** Plays until {@code goesOn} says no. */
  public void rage(SplittableRandom random, BooleanSupplier goesOn) throws Exception {
    while (goesOn.getAsBoolean()) {
      turn(antagonists.get(random.nextInt(antagonists.size())), random, goesOn);
    }
  }

  private void turn(Antagonist antagonist, SplittableRandom random, BooleanSupplier goesOn) throws Exception {
    long end = System.nanoTime()
        + TimeUnit.MILLISECONDS.toNanos(random.nextLong(SHORTEST_TURN_MS, LONGEST_TURN_MS));
    do {
      antagonist.round(random);
      rounds.get(name(antagonist)).increment();
    } while (System.nanoTime() < end && goesOn.getAsBoolean());
  }

  /** Rounds so far, of all antagonists. */
  public long rounds() {
    return rounds.values().stream().mapToLong(LongAdder::sum).sum();
  }

  /** Rounds so far, by antagonist. */
  public Map<String, LongAdder> roundsByName() {
    return rounds;
  }

  private static String name(Antagonist antagonist) {
    return antagonist.getClass().getSimpleName();
  }
}
