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
  private static final long MEASURED_ITERATIONS = 20_000_000;

  private Calibration() {}

  /** Iterations per microsecond of CPU. Call on a platform thread. */
  static double run() {
    Burner probe = Background.INSTANCE;
    long kept = probe.work(MEASURED_ITERATIONS);
    long before = Cpu.threadNanos();
    kept += probe.work(MEASURED_ITERATIONS);
    long nanos = Math.max(1, Cpu.threadNanos() - before);
    if (kept == 0) {
      throw new IllegalStateException("the loop was thrown away");
    }
    return MEASURED_ITERATIONS * 1e3 / nanos;
  }

  /** Compiles every burner. */
  static void warmUp(World world) {
    long micros = (long) (WARM_ITERATIONS / Math.max(1.0, world.iterations(1_000) / 1e3));
    List<Burner> requests = new ArrayList<>(Burners.ROOT);
    requests.addAll(Burners.CHILD);
    for (Burner burner : requests) {
      Traced span = Traced.root(world, burner, "warm-up");
      span.run(() -> span.work(micros));
    }
    for (Burner burner : List.of(Background.INSTANCE, Unsampled.INSTANCE, AfterEnd.INSTANCE)) {
      world.workUntagged(burner, micros);
    }
  }
}
