package io.vtprof.otel;

import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;

/**
 * Keeps the agent's tag of each thread equal to the span of the context that is current on it.
 *
 * <p>A wrapper of the context storage, as everything that moves a context passes through it: scopes, wrapped executors,
 * coroutines, the javaagent's own instrumentation. A span processor alone would see where a span starts and ends, not
 * where it runs.
 *
 * <p>Thread safe as far as the storage it wraps. Nothing of its own making throws: a failure is logged once and the
 * thread goes untagged.
 */
@SuppressWarnings("try") // What closing may throw is up to the wrapped storage.
final class TaggingStorage implements ContextStorage, AutoCloseable {
    private static final Scope NOOP = Scope.noop();

    private final ContextStorage delegate;
    private final SpanTable spans;

    TaggingStorage(ContextStorage delegate, SpanTable spans) {
        this.delegate = delegate;
        this.spans = spans;
    }

    @Override
    public Scope attach(Context toAttach) {
        Scope scope = delegate.attach(toAttach);
        // The no-op scope says that this context was current already, and so is its tag.
        if (!Native.linked || scope == NOOP || !spans.inUse()) {
            return scope;
        }
        Scope returned = scope;
        try {
            // First of all: a close that tells nobody would leave the tag of what is attached until then.
            returned = new TaggingScope(this, scope);
            SpanInfo.tagThread(spans.in(toAttach));
        } catch (Throwable failed) {
            Log.failed(failed);
            Native.clear();
        }
        return returned;
    }

    @Override
    public Context current() {
        return delegate.current();
    }

    @Override
    public Context root() {
        return delegate.root();
    }

    /**
     * Tags the calling thread anew, after a scope was closed on it. Asks what is current now instead of remembering what
     * was before: scopes are closed out of order, twice, and on other threads.
     */
    void retag() {
        try {
            SpanInfo.tagThread(spans.in(delegate.current()));
        } catch (Throwable failed) {
            Log.failed(failed);
            Native.clear();
        }
    }

    /** Closes the wrapped storage where it can be: OpenTelemetry's strict storage checks for leaked scopes then. */
    @Override
    public void close() throws Exception {
        if (delegate instanceof AutoCloseable) {
            ((AutoCloseable) delegate).close();
        }
    }
}
