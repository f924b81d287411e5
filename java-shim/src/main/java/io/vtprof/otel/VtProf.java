package io.vtprof.otel;

import io.opentelemetry.sdk.trace.SpanProcessor;

/**
 * The shim by hand, for a service that builds its OpenTelemetry SDK itself:
 *
 * <pre>{@code
 * VtProf.installContextStorage();                          // first thing in main
 * tracerProviderBuilder.addSpanProcessor(VtProf.spanProcessor());
 * }</pre>
 *
 * <p>Under the OpenTelemetry javaagent or SDK autoconfiguration neither is needed. Without the vtprof agent in the JVM
 * both do nothing, and do it cheaply; an agent attached later is found. Thread safe.
 */
public final class VtProf {
    private static final SpanProcessor PROCESSOR = new TaggingSpanProcessor(SpanTable.SHARED);

    /**
     * Has the threads' tags follow the current context. To be called before anything asks OpenTelemetry for a context
     * ({@code Context.current()}, {@code Span.current()}): later it has no effect, which the first span's start notices
     * and warns of. Calls after the first do nothing.
     */
    public static void installContextStorage() {
        try {
            StorageHook.install();
            // After the hook is in, as a log handler may be the first to ask for a context.
            Native.announce();
        } catch (Throwable failed) {
            Log.failed(failed);
        }
    }

    /**
     * The processor that reports spans to the agent, the same one each time. Installs the context storage too, in case
     * that was forgotten.
     */
    public static SpanProcessor spanProcessor() {
        installContextStorage();
        return PROCESSOR;
    }

    private VtProf() {}
}
