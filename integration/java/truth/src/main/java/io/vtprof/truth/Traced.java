package io.vtprof.truth;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;

/** A span together with the class that burns in it and the note of what was burnt. */
final class Traced {
  private final World world;
  private final Burner burner;
  private final Span span;
  private final SpanTruth truth;

  private Traced(World world, Burner burner, Span span, SpanTruth truth) {
    this.world = world;
    this.burner = burner;
    this.span = span;
    this.truth = truth;
  }

  /** A request that begins here. */
  static Traced root(World world, Burner burner, String name) {
    return rootOf(world, burner, name, world.tracer().spanBuilder(name).setNoParent(), SpanContext.getInvalid());
  }

  /** A request whose caller is traced too: the span has a parent, and is the local root all the same. */
  static Traced called(World world, Burner burner, String name, String callerTraceId, String callerSpanId) {
    SpanContext caller =
        SpanContext.createFromRemoteParent(callerTraceId, callerSpanId, TraceFlags.getSampled(), TraceState.getDefault());
    Context context = Context.root().with(Span.wrap(caller));
    return rootOf(world, burner, name, world.tracer().spanBuilder(name).setParent(context), caller);
  }

  private static Traced rootOf(World world, Burner burner, String name, SpanBuilder builder, SpanContext caller) {
    long start = System.nanoTime();
    Span span = builder.startSpan();
    SpanContext ids = span.getSpanContext();
    SpanTruth truth = new SpanTruth(
        start, burner.name(), name, ids.getTraceId(), ids.getSpanId(), caller.isValid() ? caller.getSpanId() : "", ids.getSpanId());
    return new Traced(world, burner, span, world.log().add(truth));
  }

  /** A child of this span, whichever context is current. */
  Traced child(Burner burner) {
    return child(burner, Context.root().with(span));
  }

  /** A child of what is current, which the caller knows to be this span. */
  Traced childOfCurrent(Burner burner) {
    return child(burner, Context.current());
  }

  private Traced child(Burner childBurner, Context parent) {
    String name = childBurner.name().toLowerCase();
    long start = System.nanoTime();
    Span child = world.tracer().spanBuilder(name).setParent(parent).startSpan();
    SpanContext ids = child.getSpanContext();
    SpanTruth note = new SpanTruth(
        start, childBurner.name(), name, ids.getTraceId(), ids.getSpanId(), truth.spanId, truth.localRootId);
    return new Traced(world, childBurner, child, world.log().add(note));
  }

  /** Attaches the span, runs {@code body} above a frame of the span's class, closes the scope. Does not end the span. */
  void serve(Runnable body) {
    try (Scope scope = span.makeCurrent()) {
      burner.serve(body);
    }
  }

  /** {@link #serve} and {@link #end}. */
  void run(Runnable body) {
    try {
      serve(body);
    } finally {
      end();
    }
  }

  Scope attach() {
    return span.makeCurrent();
  }

  /** Burns in the span's class. The caller has made the span current. */
  void work(long micros) {
    truth.iterations.add(world.burn(burner, micros));
  }

  void rename(String name) {
    world.log().change(() -> {
      truth.firstName = truth.name;
      truth.name = name;
      span.updateName(name);
    });
  }

  /** Says that several threads work for this span at once, so it may burn more than it lasts. */
  void parallel() {
    truth.parallel = true;
  }

  void end() {
    truth.ending();
    span.end();
    truth.ended();
  }

  Span span() {
    return span;
  }
}
