package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * {@code --count} virtual threads that sleep for {@code --seconds} in a span each, and as many that still do when the
 * JVM ends. How long the former slept is noted in ns as {@code blocked.sleep}, when the latter began, by the monotonic
 * clock, as {@code began.SPAN}.
 */
final class OpenWaits implements Scenario {
  private static final long FOR_EVER = TimeUnit.DAYS.toSeconds(1);

  @Override
  public void run(World world) throws Exception {
    ThreadFactory threads = Threads.virtual();
    for (long i = 0; i < world.count(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        Traced span = Traced.root(world, world.root(random), "ends");
        span.run(() -> {
          long begun = System.nanoTime();
          sleep(world.seconds());
          world.log().fact("waited." + span.span().getSpanContext().getSpanId(), System.nanoTime() - begun);
        });
      });
      threads.newThread(() -> {
        Traced span = Traced.root(world, world.root(random), "goes-on");
        span.run(() -> {
          world.log().fact("began." + span.span().getSpanContext().getSpanId(), System.nanoTime());
          sleep(FOR_EVER);
        });
      }).start();
    }
    world.join();
    world.log().fact("ended", System.nanoTime());
  }

  private static void sleep(long seconds) {
    try {
      TimeUnit.SECONDS.sleep(seconds);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
