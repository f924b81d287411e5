package io.vtprof.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.ReentrantLock;

/** Draws at random, but each burner once before any comes again: few draws are then of all of them. */
final class Bag {
  private final List<Burner> all;
  private final List<Burner> left = new ArrayList<>();
  private final ReentrantLock lock = new ReentrantLock();

  Bag(List<? extends Burner> all) {
    this.all = List.copyOf(all);
  }

  Burner draw(SplittableRandom random) {
    lock.lock();
    try {
      if (left.isEmpty()) {
        left.addAll(all);
      }
      int place = random.nextInt(left.size());
      Burner drawn = left.get(place);
      // The order of the rest is of no matter.
      left.set(place, left.get(left.size() - 1));
      left.remove(left.size() - 1);
      return drawn;
    } finally {
      lock.unlock();
    }
  }
}
