package io.vtprof.otel;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * The id of the calling thread, virtual where it is one.
 *
 * <p>{@code Thread.threadId()}, final and never reused, where there is one (JDK 19 on); the agent relies on it there. Not
 * {@code getId()}, which a subclass may override: before 19 it is all there is, and the agent does not trust it. Thread
 * safe; costs a field read once compiled, as the handle is a constant.
 */
final class ThreadIds {
    private static final MethodHandle THREAD_ID = find();

    private ThreadIds() {}

    static long current() {
        Thread thread = Thread.currentThread();
        if (THREAD_ID == null) {
            return thread.getId();
        }
        try {
            return (long) THREAD_ID.invokeExact(thread);
        } catch (Throwable impossible) {
            // It throws nothing; 0 is no thread's id.
            return 0;
        }
    }

    private static MethodHandle find() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "threadId", MethodType.methodType(long.class));
        } catch (ReflectiveOperationException before19) {
            return null;
        }
    }
}
