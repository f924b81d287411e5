package io.vtprof.otel.bench;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SdkTracerProviderBuilder;
import io.vtprof.otel.VtProf;
import java.lang.reflect.Field;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Making the context of a recording span current and closing the scope again, with OpenTelemetry's thread-local storage
 * alone and with the shim around it.
 *
 * <p>OpenTelemetry has one storage in a JVM, so the two sides are forks of their own; {@link Interleaved} alternates them.
 */
@State(org.openjdk.jmh.annotations.Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class AttachBenchmark {
    static final String PLAIN = "plain";
    static final String WRAPPED = "wrapped";

    /** System property of the forks: measure the shim without an agent, as a service without vtprof has it. */
    static final String ALLOW_UNLINKED = "vtprof.bench.allowUnlinked";

    @Param({PLAIN, WRAPPED})
    public String storage;

    /** What is current outside of the measured scope: no span, or one that must come back. */
    @Param({"nothing", "parent"})
    public String outside;

    private Span parent;
    private Span span;
    private Context context;

    @Setup
    public void setUp() throws ReflectiveOperationException {
        SdkTracerProviderBuilder sdk = SdkTracerProvider.builder();
        if (storage.equals(WRAPPED)) {
            VtProf.installContextStorage();
            sdk.addSpanProcessor(VtProf.spanProcessor());
            if (!isLinked() && !Boolean.getBoolean(ALLOW_UNLINKED)) {
                throw new IllegalStateException("no vtprof agent is linked, this would measure a no-op: pass "
                        + "-jvmArgsAppend -agentpath:…/libvtprof.so or -jvmArgsAppend -D" + ALLOW_UNLINKED + "=true");
            }
        }
        boolean wrapped = !ContextStorage.get().getClass().equals(ContextStorage.defaultStorage().getClass());
        if (wrapped != storage.equals(WRAPPED)) {
            throw new IllegalStateException("storage is " + ContextStorage.get() + " where it should be " + storage);
        }
        Tracer tracer = sdk.build().get("bench");
        parent = tracer.spanBuilder("parent").startSpan();
        span = tracer.spanBuilder("span").setParent(Context.root().with(parent)).startSpan();
        context = Context.root().with(span);
    }

    @TearDown
    public void tearDown() {
        span.end();
        parent.end();
    }

    /** The scope around the measured one, on the very thread that measures. */
    @State(org.openjdk.jmh.annotations.Scope.Thread)
    public static class Outside {
        private Scope scope;

        @Setup
        public void attach(AttachBenchmark benchmark) {
            Context outer = Context.root();
            scope = benchmark.outside.equals("parent")
                    ? outer.with(benchmark.parent).makeCurrent()
                    : Scope.noop();
        }

        @TearDown
        public void close() {
            scope.close();
        }
    }

    @Benchmark
    public Scope makeCurrentAndClose(Outside outside) {
        Scope scope = context.makeCurrent();
        scope.close();
        return scope;
    }

    private static boolean isLinked() throws ReflectiveOperationException {
        Field linked = Class.forName("io.vtprof.otel.Native").getDeclaredField("linked");
        linked.setAccessible(true);
        return linked.getBoolean(null);
    }
}
