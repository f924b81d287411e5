package io.vtprof.otel;

import io.opentelemetry.context.ContextStorage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Puts {@link TaggingStorage} around OpenTelemetry's context storage, and finds out whether that worked.
 *
 * <p>OpenTelemetry takes wrappers until anything first asks for a context, and drops later ones with a message at FINE
 * only. So whether the wrapper is in place shows when a span starts, not when it is handed over.
 *
 * <p>State is static as OpenTelemetry's is. Thread safe.
 */
final class StorageHook {
    enum Mode {
        /** Every attach and close passes through the wrapper. */
        WRAPPED,
        /** The wrapper came too late; {@link StartEndTags} has to do. */
        TOO_LATE,
        /** A copy of the shim from another class loader (the jar given twice) does the work; this one keeps still. */
        SECOND_COPY
    }

    private static final AtomicBoolean REQUESTED = new AtomicBoolean();
    private static final AtomicReference<Mode> SETTLED = new AtomicReference<>();

    /** What became of the wrapper; TOO_LATE until OpenTelemetry has called for it. */
    private static volatile Mode applied = Mode.TOO_LATE;

    /** Hands the wrapper over, once per class loader. The earlier in the life of the process the better. */
    static void install() {
        if (REQUESTED.compareAndSet(false, true)) {
            ContextStorage.addWrapper(StorageHook::wrap);
        }
    }

    /** What came of it. The first call has OpenTelemetry set its storage up, if nothing has yet, and warns if need be. */
    static Mode mode() {
        Mode settled = SETTLED.get();
        return settled == null ? settle() : settled;
    }

    private static Mode settle() {
        ContextStorage.get();
        if (SETTLED.compareAndSet(null, applied)) {
            warn(SETTLED.get());
        }
        return SETTLED.get();
    }

    private static void warn(Mode mode) {
        if (mode == Mode.TOO_LATE) {
            Log.warn("vtprof: OpenTelemetry's context storage was set up before the shim, tags follow the start and end of spans "
                    + "only and miss work handed to other threads; call VtProf.installContextStorage() first thing in main");
        } else if (mode == Mode.SECOND_COPY) {
            Log.warn("vtprof: another vtprof-otel.jar is at work already, this one keeps still; load only one");
        }
    }

    private static ContextStorage wrap(ContextStorage storage) {
        // No logging here: loggers may ask for the context that is just being set up.
        if (storage.getClass().getName().equals(TaggingStorage.class.getName())) {
            applied = Mode.SECOND_COPY;
            return storage;
        }
        applied = Mode.WRAPPED;
        return new TaggingStorage(storage, SpanTable.SHARED);
    }

    private StorageHook() {}
}
