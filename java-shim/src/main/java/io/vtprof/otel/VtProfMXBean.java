package io.vtprof.otel;

import java.util.Map;

/**
 * The agent, for who manages the JVM: {@code io.vtprof:type=VtProf}. Operations say what the agent answers, and throw an
 * {@link IllegalStateException} with its reason where it refuses.
 */
public interface VtProfMXBean {
    /** Whether samples are taken. */
    boolean isRunning();

    /** Version of the agent. */
    String getVersion();

    /** All that {@code vtprof ctl PID status} says, by key. */
    Map<String, String> getStatus();

    /** Samples again. */
    Map<String, String> start();

    /** Samples no more, and writes what was sampled. */
    Map<String, String> stop();

    /** Writes what was sampled, and goes on; {@code files} is where, unless {@code out} is {@code off}. */
    Map<String, String> dump();

    /** Changes rates, such as {@code cpu=50hz alloc=off every=10s}. */
    Map<String, String> set(String rates);
}
