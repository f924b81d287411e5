package io.vtprof.truth;

import io.vtprof.truth.burn.AfterEnd;
import io.vtprof.truth.burn.Background;
import io.vtprof.truth.burn.Burners;
import io.vtprof.truth.burn.Unsampled;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds how many iterations make a microsecond and brings every burner to compiled code, so that equal iterations cost
 * equal CPU afterwards. The warm-up of a class that belongs to requests runs in a span of that class, as all else does.
 */
final class Calibration {
  private static final long WARM_ITERATIONS = 4_000_000;
  private static final long MEASURED_ITERATIONS = 10_000_000;
  private static final int MEASUREMENTS = 5;
  /** Most rounds for a class whose code is not yet what it will be. */
  private static final int ROUNDS = 10;
  /** Compiled code costs less than this many times what the probe's does. */
  private static final double COMPILED = 2;

  private Calibration() {}

  /** Iterations per microsecond of CPU. Call on a platform thread. */
  static double run() {
    Burner probe = Background.INSTANCE;
    long kept = probe.work(MEASURED_ITERATIONS);
    long least = Long.MAX_VALUE;
    // Some clocks of CPU time go on while a hypervisor has stopped the machine.
    for (int i = 0; i < MEASUREMENTS; i++) {
      long before = Cpu.threadNanos();
      kept += probe.work(MEASURED_ITERATIONS);
      least = Math.min(least, Math.max(1, Cpu.threadNanos() - before));
    }
    if (kept == 0) {
      throw new IllegalStateException("the loop was thrown away");
    }
    return MEASURED_ITERATIONS * 1e3 / least;
  }

  /** Compiles every burner. */
  static void warmUp(World world) {
    long micros = (long) (WARM_ITERATIONS / Math.max(1.0, world.iterations(1_000) / 1e3));
    List<Burner> requests = new ArrayList<>(Burners.ROOT);
    requests.addAll(Burners.CHILD);
    for (Burner burner : requests) {
      Traced span = Traced.root(world, burner, "warm-up");
      span.run(() -> {
        // A compiler that gets no CPU is late.
        long nanos = Long.MAX_VALUE;
        for (int i = 0; i < ROUNDS && nanos > COMPILED * 1_000 * micros; i++) {
          long before = Cpu.threadNanos();
          span.work(micros);
          nanos = Cpu.threadNanos() - before;
        }
      });
    }
    for (Burner burner : List.of(Background.INSTANCE, Unsampled.INSTANCE, AfterEnd.INSTANCE)) {
      world.workUntagged(burner, micros);
    }
  }
}
