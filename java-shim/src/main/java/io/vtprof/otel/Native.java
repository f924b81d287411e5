package io.vtprof.otel;

/**
 * All calls into the agent. The agent registers the methods when it sees this class prepared, whatever loader it came
 * from: there is no {@code System.load}, which newer JDKs restrict and which would tie the library to one loader.
 *
 * <p>Without an agent the methods have no implementation and must not be called: callers look at {@link #linked} first.
 * All methods may be called from any thread, platform or virtual. Times are nanoseconds since the epoch; ids are the
 * big-endian 64 bit halves of the hexadecimal ids.
 */
final class Native {
    /**
     * Whether an agent of this very version is there. Goes from false to true at most once and never back. Plain, as it
     * is read on every attach: a thread that sees the change late tags its spans a moment late.
     */
    static boolean linked;

    private enum Link {
        ABSENT,
        REFUSED,
        FAILED,
        LINKED
    }

    private static Link state = Link.ABSENT;
    /** What {@link #announce()} said last; null before it said anything. */
    private static Link announced;
    private static Throwable failure;

    static {
        // Says nothing yet: a log handler may attach a context, and other threads would wait for this initialiser.
        tryLink();
    }

    /** @return 0 or more when agent and shim belong together, -1 when their versions differ. */
    static native int link(String shimVersion);

    static native String agentVersion();

    /**
     * Tags the thread that calls; {@code spanId} 0 takes its tag away.
     *
     * @param threadId {@link ThreadIds#current()}. The agent believes it from JDK 19 on, where it is final.
     * @param traceFlags W3C trace flags of the span, for those outside who read the agent's thread context
     */
    static native void set(
            long threadId, long traceHi, long traceLo, long spanId, long localRootSpanId, int traceFlags);

    static native void spanStarted(long traceHi, long traceLo, long spanId, long localRootSpanId, String name);

    /**
     * @param parentSpanId 0 when the span has no parent
     * @param kind number of OTLP's SpanKind: INTERNAL 1, SERVER 2, CLIENT 3, PRODUCER 4, CONSUMER 5
     * @param status number of OTLP's StatusCode: unset 0, ok 1, error 2
     * @param taggedThreadId the thread that was tagged with the span last, 0 when there is none: it may have a scope of it
     *     open still
     */
    static native void spanEnded(
            long traceHi,
            long traceLo,
            long spanId,
            long parentSpanId,
            long localRootSpanId,
            String name,
            int kind,
            long startEpochNanos,
            long endEpochNanos,
            int status,
            long taggedThreadId);

    /** The span was collected without having ended, or is not tracked: no sample may carry it any more. */
    static native void spanLost(long spanId);

    /**
     * What the agent says of itself; null when it has nothing to say. The first line is when counting began, in ns since
     * the epoch; each other is a figure, six fields with a tab between two: {@code counter} or {@code gauge}, name, unit,
     * thread or nothing, value, description.
     */
    static native String figures();

    /**
     * A request of one line, as {@code vtprof ctl} sends it.
     *
     * @return {@code ok} and lines of {@code key=value}, or {@code error} and why, in one line
     */
    static native String control(String request);

    /**
     * Called by the agent now and then, from a thread of its own.
     *
     * @param forced whether the platform's MBean server is to be made where it is not there
     * @return whether there is nothing to be done any more
     */
    static boolean manage(boolean forced) {
        return linked && Management.register(forced);
    }

    /** Called by an agent that was attached after this class was initialised. */
    static void relink() {
        synchronized (Native.class) {
            if (!linked) {
                tryLink();
            }
        }
        announce();
    }

    /**
     * Called by the agent, from a thread of its own.
     *
     * @return the present name of a local root that is still running; null when it is not known
     */
    static String currentName(long localRootSpanId) {
        try {
            return SpanTable.SHARED.nameOf(localRootSpanId);
        } catch (Throwable failed) {
            Log.failed(failed);
            return null;
        }
    }

    /** Takes the calling thread's tag away; on the way out of a failure, so it does not throw either. */
    static void clear() {
        try {
            set(ThreadIds.current(), 0, 0, 0, 0, 0);
        } catch (Throwable failed) {
            Log.failed(failed);
        }
    }

    /** Says once how linking went: nothing above FINE without an agent, one warning when the versions differ or it failed. */
    static void announce() {
        Link news;
        synchronized (Native.class) {
            news = state == announced ? null : state;
            announced = state;
        }
        if (news == null) {
            return;
        }
        if (news == Link.ABSENT) {
            Log.fine("vtprof: shim " + Version.STRING + " found no agent, it does nothing");
        } else if (news == Link.LINKED) {
            Log.info("vtprof: shim " + Version.STRING + " linked to agent " + agentVersionOrUnknown());
        } else if (news == Link.FAILED) {
            Log.failed(failure);
        } else {
            Log.warn("vtprof: shim " + Version.STRING + " does not match agent " + agentVersionOrUnknown()
                    + ", spans are not tagged; use the vtprof-otel.jar that lies beside libvtprof.so");
        }
    }

    private static void tryLink() {
        try {
            linked = link(Version.STRING) >= 0;
            state = linked ? Link.LINKED : Link.REFUSED;
        } catch (UnsatisfiedLinkError noAgent) {
            state = Link.ABSENT;
        } catch (Throwable failed) {
            // Out of the initialiser it would make every attach throw.
            failure = failed;
            state = Link.FAILED;
        }
    }

    private static String agentVersionOrUnknown() {
        try {
            return agentVersion();
        } catch (UnsatisfiedLinkError olderAgent) {
            return "of unknown version";
        }
    }

    private Native() {}
}
