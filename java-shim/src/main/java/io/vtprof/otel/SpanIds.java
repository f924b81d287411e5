package io.vtprof.otel;

import java.nio.charset.StandardCharsets;

/**
 * Trace and span ids between their hexadecimal form and 64 bit numbers.
 *
 * <p>The API's own {@code getSpanIdBytes} would do, at an array for each id; its parser to a long is internal.
 */
final class SpanIds {
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
    private static final int DIGITS_PER_LONG = 16;

    /**
     * @param hex lower-case hexadecimal, as OpenTelemetry demands of ids
     * @throws IllegalArgumentException when the sixteen characters from {@code start} on are not that
     */
    static long parse(String hex, int start) {
        if (hex.length() < start + DIGITS_PER_LONG) {
            throw new IllegalArgumentException("id '" + hex + "' is too short");
        }
        long id = 0;
        for (int i = start; i < start + DIGITS_PER_LONG; i++) {
            char c = hex.charAt(i);
            int digit;
            if (c >= '0' && c <= '9') {
                digit = c - '0';
            } else if (c >= 'a' && c <= 'f') {
                digit = c - 'a' + 10;
            } else {
                throw new IllegalArgumentException("id '" + hex + "' is not lower-case hexadecimal");
            }
            id = id << 4 | digit;
        }
        return id;
    }

    /** Sixteen lower-case digits. */
    static String format(long id) {
        byte[] hex = new byte[DIGITS_PER_LONG];
        for (int i = DIGITS_PER_LONG - 1; i >= 0; i--) {
            hex[i] = DIGITS[(int) (id & 0xf)];
            id >>>= 4;
        }
        return new String(hex, StandardCharsets.US_ASCII);
    }

    private SpanIds() {}
}
