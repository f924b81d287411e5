package io.vtprof.demo.endpoint;

import io.vtprof.demo.Truth;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** {@code /fan-out}: four tasks on virtual threads of their own; the javaagent carries the context to them. */
public final class FanOut extends Endpoint {
  private static final int TASKS = 4;

  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();

  public FanOut(Truth truth) {
    super("/fan-out", truth);
  }

  @Override
  String answer() throws Exception {
    List<Future<Long>> parts = new ArrayList<>();
    for (int i = 0; i < TASKS; i++) {
      parts.add(executor.submit(FanOut::part));
    }
    long sum = burn(500);
    for (Future<Long> part : parts) {
      sum += part.get();
    }
    return Long.toHexString(sum);
  }

  private static long part() throws InterruptedException {
    long sum = burn(1_000);
    Thread.sleep(2);
    return sum + burn(1_000);
  }

  private static long burn(int micros) {
    return Hash.spin(4, micros);
  }
}
