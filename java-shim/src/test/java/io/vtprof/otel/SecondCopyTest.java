package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** The jar is there twice, in two class loaders over one OpenTelemetry: one of them works, the other says so and rests. */
class SecondCopyTest {
    @Test
    void second_copy_keeps_still_and_says_so_once() throws Exception {
        LogCapture log = LogCapture.start();
        FakeAgent.install();
        VtProf.installContextStorage();
        Class<?> copy = new CopyLoader().loadClass(VtProf.class.getName());
        assertNotSame(VtProf.class, copy);
        copy.getMethod("installContextStorage").invoke(null);

        SdkTracerProvider sdk = SdkTracerProvider.builder()
                .addSpanProcessor((SpanProcessor) copy.getMethod("spanProcessor").invoke(null))
                .addSpanProcessor(VtProf.spanProcessor())
                .build();
        for (int i = 1; i <= 3; i++) {
            Span span = sdk.get("test").spanBuilder("span").startSpan();
            long sets = FakeAgent.sets();
            try (Scope scope = span.makeCurrent()) {
                Tracing.assertTagged(span);
            }
            assertEquals(2, FakeAgent.sets() - sets);
            span.end();
            assertEquals(i, FakeAgent.starts());
            assertEquals(i, FakeAgent.ends());
        }
        List<String> warnings = log.at(Level.WARNING);
        assertEquals(1, warnings.size(), warnings::toString);
        assertTrue(warnings.get(0).contains("another vtprof-otel.jar"), warnings::toString);
    }

    /** Defines the shim's own classes anew, with natives that reach the same fake agent; all else is shared. */
    private static final class CopyLoader extends ClassLoader {
        CopyLoader() {
            super(SecondCopyTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                boolean shim = name.startsWith("io.vtprof.otel.") && !name.startsWith(FakeAgent.class.getName());
                Class<?> known = findLoadedClass(name);
                if (!shim || known != null) {
                    return known != null ? known : super.loadClass(name, resolve);
                }
                String file = name.substring(name.lastIndexOf('.') + 1) + ".class";
                try (InputStream in = FakeAgent.class.getResourceAsStream(file)) {
                    byte[] bytes = name.equals("io.vtprof.otel.Native") ? FakeAgent.redirectNatives(in) : in.readAllBytes();
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        }
    }
}
