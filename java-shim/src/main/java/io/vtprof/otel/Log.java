package io.vtprof.otel;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * What the shim has to say, through java.util.logging, since it brings no dependencies along.
 *
 * <p>Inside the OpenTelemetry javaagent {@link Logger} is replaced at load time by the agent's own class of the same
 * shape; only methods which that class has too are called here. Nothing in this class throws. Thread safe.
 */
final class Log {
    private static final Logger LOGGER = Logger.getLogger("io.vtprof.otel");
    private static final AtomicBoolean FAILED = new AtomicBoolean();

    static void fine(String message) {
        write(Level.FINE, message, null);
    }

    static void info(String message) {
        write(Level.INFO, message, null);
    }

    static void warn(String message) {
        write(Level.WARNING, message, null);
    }

    /**
     * An error of the shim's own, kept away from the application. Only the first one is written: what fails once on
     * the path of every attach fails a million times.
     */
    static void failed(Throwable error) {
        if (FAILED.compareAndSet(false, true)) {
            write(Level.WARNING, "vtprof: the shim failed, some samples go untagged; further failures are not logged", error);
        }
    }

    private static void write(Level level, String message, Throwable error) {
        try {
            LOGGER.log(level, message, error);
        } catch (Throwable handlerFailed) {
            // A broken log handler, or a stack with no room left: there is nowhere to say so.
        }
    }

    private Log() {}
}
