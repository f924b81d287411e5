package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ThreadIdsTest {
    @Test
    void id_is_that_of_the_calling_thread() {
        assertEquals(Thread.currentThread().getId(), ThreadIds.current());
    }

    @Test
    void an_overridden_getId_is_not_believed_where_there_is_better() throws Exception {
        AtomicLong seen = new AtomicLong();
        Thread liar = new Thread(() -> seen.set(ThreadIds.current())) {
            @Override
            public long getId() {
                return 4711;
            }
        };
        liar.start();
        liar.join();
        boolean has = Runtime.version().feature() >= 19;
        assertEquals(has ? Thread.class.getMethod("threadId").invoke(liar) : 4711L, seen.get());
    }
}
