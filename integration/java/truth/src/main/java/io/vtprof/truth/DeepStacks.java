package io.vtprof.truth;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Virtual threads that go down 20 to 150 frames, some of them through recursion, park there, and burn CPU on
 * their way up: by then most of their stack is still frozen. Needs no OpenTelemetry.
 *
 * <pre>DeepStacks SECONDS THREADS [ANTAGONIST...]</pre>
 *
 * <p>With the property {@code truth.steps} all go down that many.
 *
 * <p>{@code monitors}: they meet in synchronized blocks as well, and hold some while they are parked. The others
 * are {@link Antagonists}.
 */
public final class DeepStacks {
  private static volatile boolean over;
  private static final int STEPS = Integer.getInteger("truth.steps", 0);
  private static volatile Object sink;
  /** Few enough to be fought for. */
  private static final Object[] LOCKS = {new Object(), new Object(), new Object()};
  private static boolean monitors;
  private static final long SECOND = 1_000_000_000;
  /** About half of what two cores can do. */
  private static final long CLIMBS_A_SECOND = 400;
  /** How many times as long it may take. */
  private static final int PATIENCE = 20;
  private static final LongAdder climbs = new LongAdder();

  private DeepStacks() {}

  public static void main(String[] args) throws InterruptedException {
    int seconds = Integer.parseInt(args[0]);
    Thread[] threads = new Thread[Integer.parseInt(args[1])];
    List<String> antagonists = List.of(args).subList(2, args.length);
    monitors = antagonists.contains("monitors");
    Antagonists.start(antagonists);
    for (int i = 0; i < threads.length; i++) {
      threads[i] = Threads.virtual().newThread(() -> work(() -> !over));
      threads[i].start();
    }
    // A machine that gives little CPU must not leave fewer stacks to judge.
    long begun = System.nanoTime();
    do {
      Thread.sleep(100);
    } while (System.nanoTime() - begun < seconds * SECOND
        || (climbs.sum() < seconds * CLIMBS_A_SECOND && System.nanoTime() - begun < seconds * PATIENCE * SECOND));
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println("deep: done");
  }

  /** Goes down and up while it is to go on. */
  static void work(BooleanSupplier goesOn) {
    while (goesOn.getAsBoolean()) {
      int depth = STEPS > 0 ? STEPS : ThreadLocalRandom.current().nextInt(20, Ladder.DEEPEST + 1);
      Ladder.d0(new Ladder.Job(depth, new Climb()));
      climbs.increment();
    }
  }

  /** How often the bottom of that depth recurses: the reader of a profile knows it too. Odd depths do not. */
  static int recursions(int depth) {
    return depth % 2 == 1 ? 0 : 10 + depth % 7 * 5;
  }

  private static final class Climb implements Ladder.Steps {
    @Override
    public void bottom(int depth) {
      int recursions = recursions(depth);
      if (recursions == 0) {
        leaf();
      } else {
        recurse(1, recursions);
      }
    }

    @Override
    public void up(int depth) {
      burn(20);
    }
  }

  /** A name that repeats. What it burns in says how many of it there are, modulo 4. */
  private static void recurse(int height, int most) {
    if (height == most) {
      leaf();
    } else {
      recurse(height + 1, most);
    }
    switch (height % 4) {
      case 0 -> rest0();
      case 1 -> rest1();
      case 2 -> rest2();
      default -> rest3();
    }
  }

  private static void rest0() {
    burn(20);
  }

  private static void rest1() {
    burn(20);
  }

  private static void rest2() {
    burn(20);
  }

  private static void rest3() {
    burn(20);
  }

  private static void leaf() {
    int chance = ThreadLocalRandom.current().nextInt(8);
    if (chance == 0) {
      Thread.yield();
    } else if (chance < 4 && monitors) {
      synchronized (LOCKS[chance - 1]) {
        burn(100);
        if (chance == 1) {
          LockSupport.parkNanos(100_000);
        }
        burn(50);
      }
    } else {
      LockSupport.parkNanos(200_000);
    }
    burn(200);
  }

  private static void burn(int microseconds) {
    long end = System.nanoTime() + microseconds * 1000L;
    do {
      sink = new byte[64];
    } while (System.nanoTime() < end);
  }
}
