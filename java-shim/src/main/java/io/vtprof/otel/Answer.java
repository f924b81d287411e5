package io.vtprof.otel;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the agent says to a request of {@link VtProf}. Immutable. */
public final class Answer {
    private static final String OK = "ok";
    private static final String ERROR = "error ";

    private final String error;
    private final Map<String, String> values;

    private Answer(String error, Map<String, String> values) {
        this.error = error;
        this.values = Collections.unmodifiableMap(values);
    }

    /** Whether it was done. */
    public boolean isOk() {
        return error == null;
    }

    /** Why it was not, in one line; null where it was. */
    public String error() {
        return error;
    }

    /** What the agent has to say, in its order; empty where it was not done. */
    public Map<String, String> values() {
        return values;
    }

    /** The value of that key; null where there is none. */
    public String get(String key) {
        return values.get(key);
    }

    @Override
    public String toString() {
        return isOk() ? values.toString() : error;
    }

    /** Asks the agent. */
    static Answer to(String request) {
        try {
            if (!Native.linked) {
                return failed("no vtprof agent of version " + Version.STRING + " is in this JVM: nothing was done");
            }
            return parse(Native.control(request.replace('\n', ' ')));
        } catch (Throwable failed) {
            Log.failed(failed);
            return failed("the shim failed: " + failed);
        }
    }

    static Answer parse(String text) {
        String[] lines = text.split("\n");
        if (!lines[0].equals(OK)) {
            return failed(lines[0].startsWith(ERROR) ? lines[0].substring(ERROR.length()) : lines[0]);
        }
        Map<String, String> values = new LinkedHashMap<>();
        for (int i = 1; i < lines.length; i++) {
            int equals = lines[i].indexOf('=');
            if (equals > 0) {
                // Changes come one a line, under one key.
                values.merge(lines[i].substring(0, equals), lines[i].substring(equals + 1), (a, b) -> a + " " + b);
            }
        }
        return new Answer(null, values);
    }

    private static Answer failed(String error) {
        return new Answer(error, Collections.<String, String>emptyMap());
    }
}
