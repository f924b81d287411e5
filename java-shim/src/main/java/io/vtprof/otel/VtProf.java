package io.vtprof.otel;

import io.opentelemetry.sdk.trace.SpanProcessor;

/**
 * The agent, switched from Java; and the shim by hand, for a service that builds its OpenTelemetry SDK itself:
 *
 * <pre>{@code
 * VtProf.installContextStorage();                          // first thing in main
 * tracerProviderBuilder.addSpanProcessor(VtProf.spanProcessor());
 * }</pre>
 *
 * <p>Under the OpenTelemetry javaagent or SDK autoconfiguration neither is needed. Without the vtprof agent in the JVM
 * both do nothing, and do it cheaply; an agent attached later is found. Thread safe.
 *
 * <p>{@link #start}, {@link #stop}, {@link #dump}, {@link #set} and {@link #status} need no OpenTelemetry on the class
 * path. Without an agent they do nothing and {@link Answer#isOk} is false: an application with them in its code runs
 * with and without vtprof, and none of them throws. They may wait until files are written, as long as the agent's option
 * {@code flush=} says; a virtual thread keeps its carrier meanwhile.
 */
public final class VtProf {
    /** By itself, so that the rest of the class needs no OpenTelemetry. */
    private static final class Processor {
        static final SpanProcessor SHARED = new TaggingSpanProcessor(SpanTable.SHARED);
    }

    /** Samples again, in a new window. Does nothing where the agent samples already. */
    public static Answer start() {
        return Answer.to("start");
    }

    /** Samples no more, and writes what was sampled. Does nothing where the agent has stopped already. */
    public static Answer stop() {
        return Answer.to("stop");
    }

    /**
     * Writes what was sampled since the last window ended, and goes on. {@code files} in the answer is where: a path, with
     * {@code *} for the kind of profile. With {@code out=off} there are no files, and {@code out} is {@code off} instead.
     */
    public static Answer dump() {
        return Answer.to("dump");
    }

    /**
     * Changes rates, such as {@code "cpu=50hz alloc=off every=10s"}: all of them or none. Of kinds that the agent was
     * loaded with.
     */
    public static Answer set(String rates) {
        return Answer.to("set " + rates);
    }

    /** How things stand, as {@code vtprof ctl PID status} says it: {@code state}, {@code period.cpu}, {@code out} and so on. */
    public static Answer status() {
        return Answer.to("status");
    }

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
        return Processor.SHARED;
    }

    private VtProf() {}
}
