package io.vtprof.otel;

import io.opentelemetry.context.Scope;

/** Closes the wrapped scope, then has the thread tagged with what is current. The one object an attach costs: 24 bytes. */
final class TaggingScope implements Scope {
    private final TaggingStorage storage;
    private final Scope scope;

    TaggingScope(TaggingStorage storage, Scope scope) {
        this.storage = storage;
        this.scope = scope;
    }

    @Override
    public void close() {
        try {
            scope.close();
        } finally {
            storage.retag();
        }
    }
}
