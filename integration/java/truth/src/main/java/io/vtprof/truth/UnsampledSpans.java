package io.vtprof.truth;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.vtprof.truth.burn.Unsampled;
import java.util.SplittableRandom;

/** Unsampled roots, unsampled children of sampled ones, and callers' ids without a span here: none may be a tag. */
final class UnsampledSpans implements Scenario {
  @Override
  public void run(World world) throws Exception {
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          switch (random.nextInt(4)) {
            case 0:
              burnIn(world, random, dropped(world, Context.root()));
              break;
            case 1:
              burnIn(world, random, remote(random));
              break;
            default:
              sampledAroundDropped(world, random);
              break;
          }
        }
      });
    }
    world.join();
  }

  private static void sampledAroundDropped(World world, SplittableRandom random) {
    Traced root = Traced.root(world, world.root(random), "kept");
    root.run(() -> {
      root.work(random.nextLong(500, 2_000));
      Span dropped = dropped(world, Context.current());
      burnIn(world, random, dropped);
      dropped.end();
      root.work(random.nextLong(500, 2_000));
    });
  }

  private static void burnIn(World world, SplittableRandom random, Span span) {
    try (Scope scope = span.makeCurrent()) {
      world.workUntagged(Unsampled.INSTANCE, random.nextLong(500, 2_000));
      world.waits().block(random);
      world.workUntagged(Unsampled.INSTANCE, random.nextLong(500, 2_000));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Span dropped(World world, Context parent) {
    Span span = world.tracer().spanBuilder(Otel.DROPPED).setParent(parent).startSpan();
    if (span.isRecording()) {
      throw new IllegalStateException("the sampler kept a span that it should have dropped");
    }
    return span;
  }

  private static Span remote(SplittableRandom random) {
    return Span.wrap(SpanContext.createFromRemoteParent(
        String.format("%016x%016x", random.nextLong() | 1, random.nextLong()),
        String.format("%016x", random.nextLong() | 1),
        TraceFlags.getSampled(),
        TraceState.getDefault()));
  }
}
