package io.vtprof.truth;

import io.opentelemetry.context.Scope;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * {@code --count} virtual threads that sleep for 5 ms in a scope that nobody closes, and end; their span is open for
 * {@code --seconds} more. How long they slept is noted in ns as {@code waited}.
 */
final class DeadWaits implements Scenario {
  private static final long SLEEP_MILLIS = 5;

  @Override
  public void run(World world) throws Exception {
    ThreadFactory threads = Threads.virtual();
    Traced span = Traced.root(world, world.root(world.random()), "left");
    long waited = 0;
    for (long i = 0; i < world.count(); i++) {
      long[] slept = new long[1];
      Thread thread = threads.newThread(() -> {
        Scope neverClosed = span.attach();
        long begun = System.nanoTime();
        try {
          TimeUnit.MILLISECONDS.sleep(SLEEP_MILLIS);
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
        slept[0] = neverClosed == Scope.noop() ? 0 : System.nanoTime() - begun;
      });
      thread.start();
      thread.join();
      waited += slept[0];
    }
    TimeUnit.SECONDS.sleep(world.seconds());
    span.end();
    world.log().fact("waited", waited);
    world.join();
  }
}
