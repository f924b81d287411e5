package io.vtprof.otel;

import static io.vtprof.otel.Tracing.assertTagged;
import static io.vtprof.otel.Tracing.assertUntagged;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The shim is one wrapper among others; installing it again adds none. */
class WrapperStackTest {
    private static final List<Context> INNER = new ArrayList<>();
    private static final List<Context> OUTER = new ArrayList<>();

    private static LogCapture log;
    private static Tracer tracer;
    private static boolean closed;

    @BeforeAll
    static void install() {
        log = LogCapture.start();
        FakeAgent.install();
        ContextStorage.addWrapper(storage -> new Recording(storage, INNER));
        VtProf.installContextStorage();
        VtProf.installContextStorage();
        ContextStorage.addWrapper(storage -> new Recording(storage, OUTER));
        tracer = Tracing.tracer();
    }

    @Test
    void all_wrappers_see_each_attach_and_the_shim_tags() {
        Span span = tracer.spanBuilder("span").startSpan();
        Context context = Context.current().with(span);
        try (Scope scope = context.makeCurrent()) {
            assertTagged(span);
            assertSame(context, Context.current());
        }
        assertUntagged();
        assertEquals(1, INNER.stream().filter(seen -> seen == context).count());
        assertEquals(1, OUTER.stream().filter(seen -> seen == context).count());
        span.end();
        assertTrue(log.at(Level.WARNING).isEmpty());
    }

    @Test
    void installing_twice_wraps_once() {
        Span span = tracer.spanBuilder("span").startSpan();
        long sets = FakeAgent.sets();
        span.makeCurrent().close();
        assertEquals(2, FakeAgent.sets() - sets);
        span.end();
    }

    @Test
    void closing_the_storage_reaches_the_wrapped_one() throws Exception {
        ((AutoCloseable) ContextStorage.get()).close();
        assertTrue(closed);
    }

    private record Recording(ContextStorage delegate, List<Context> seen) implements ContextStorage, AutoCloseable {
        @Override
        public Scope attach(Context toAttach) {
            seen.add(toAttach);
            return delegate.attach(toAttach);
        }

        @Override
        public Context current() {
            return delegate.current();
        }

        @Override
        public void close() throws Exception {
            if (delegate instanceof AutoCloseable closeable) {
                closeable.close();
            } else {
                closed = true;
            }
        }
    }
}
