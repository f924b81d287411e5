package io.vtprof.otel;

/**
 * The shim's version, as the agent compares it with its own.
 *
 * <p>A constant in the class and not a look at the jar's manifest: the OpenTelemetry javaagent loads extensions through a
 * URL handler of its own, where {@link Package#getImplementationVersion()} has nothing to say. A test keeps it equal to
 * the version in the pom.
 */
final class Version {
    static final String STRING = "0.1.0";

    private Version() {}
}
