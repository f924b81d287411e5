package io.vtprof.otel;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Stands in for the native agent: remembers the tag of each thread and what was reported of spans.
 *
 * <p>{@link #install} defines the real class {@code Native} with the bodies of its native methods replaced by calls of the
 * methods of the same name and type here. So its own code is under test too, the hot path has no seam that ships, and a
 * native whose type changes fails at once. It must run before anything else touches {@code Native}.
 */
public final class FakeAgent {
    static final Tag NO_TAG = new Tag(0, 0, 0, 0);

    record Tag(long traceHi, long traceLo, long spanId, long localRootSpanId) {
        String traceId() {
            return SpanIds.format(traceHi) + SpanIds.format(traceLo);
        }

        String span() {
            return SpanIds.format(spanId);
        }

        String localRoot() {
            return SpanIds.format(localRootSpanId);
        }
    }

    record Started(Tag ids, String name) {}

    record Ended(
            Tag ids, long parentSpanId, String name, int kind, long startEpochNanos, long endEpochNanos, int status) {}

    private static final Map<Long, Tag> TAGS = new ConcurrentHashMap<>();
    private static final AtomicLong SETS = new AtomicLong();
    private static final AtomicLong STARTS = new AtomicLong();
    private static final AtomicLong ENDS = new AtomicLong();
    private static final ConcurrentLinkedQueue<Started> STARTED = new ConcurrentLinkedQueue<>();
    private static final ConcurrentLinkedQueue<Ended> ENDED = new ConcurrentLinkedQueue<>();
    private static final ConcurrentLinkedQueue<Long> LOST = new ConcurrentLinkedQueue<>();

    private static final ConcurrentLinkedQueue<String> REQUESTS = new ConcurrentLinkedQueue<>();

    static volatile String controlAnswer = "ok\n";
    static volatile int linkAnswer = 0;
    static volatile boolean present = true;
    static volatile String shimVersion;
    static volatile RuntimeException linkFails;
    static volatile RuntimeException setFails;
    /** Runs once, at the next tag, before the agent has it: what another thread does meanwhile. */
    static volatile Runnable meanwhile;

    static volatile boolean keepEvents = true;
    static volatile String figures;

    static void install() {
        try (InputStream original = FakeAgent.class.getResourceAsStream("Native.class")) {
            MethodHandles.lookup().defineClass(redirectNatives(original));
        } catch (IOException | IllegalAccessException e) {
            throw new IllegalStateException("cannot define Native with a fake agent", e);
        }
    }

    /** Tag of the calling thread. */
    static Tag tag() {
        return tagOf(Thread.currentThread());
    }

    static Tag tagOf(Thread thread) {
        return TAGS.getOrDefault(thread.getId(), NO_TAG);
    }

    static long sets() {
        return SETS.get();
    }

    static long starts() {
        return STARTS.get();
    }

    static long ends() {
        return ENDS.get();
    }

    static List<Started> started() {
        return new ArrayList<>(STARTED);
    }

    static List<Ended> ended() {
        return new ArrayList<>(ENDED);
    }

    static List<Long> lost() {
        return new ArrayList<>(LOST);
    }

    // The natives.

    public static int link(String version) {
        if (!present) {
            throw new UnsatisfiedLinkError("no agent");
        }
        RuntimeException fails = linkFails;
        if (fails != null) {
            throw fails;
        }
        shimVersion = version;
        return linkAnswer;
    }

    public static String agentVersion() {
        return "9.8.7";
    }

    public static void set(
            long threadIdHint, long traceHi, long traceLo, long spanId, long localRootSpanId, int traceFlags) {
        if (threadIdHint != Thread.currentThread().getId()) {
            throw new AssertionError("hint " + threadIdHint + " is not this thread");
        }
        SETS.incrementAndGet();
        Runnable before = meanwhile;
        if (before != null) {
            meanwhile = null;
            before.run();
        }
        RuntimeException fails = setFails;
        if (fails != null && spanId != 0) {
            throw fails;
        }
        if (spanId == 0) {
            TAGS.remove(threadIdHint);
        } else {
            TAGS.put(threadIdHint, new Tag(traceHi, traceLo, spanId, localRootSpanId));
        }
    }

    public static void spanStarted(long traceHi, long traceLo, long spanId, long localRootSpanId, String name) {
        STARTS.incrementAndGet();
        if (keepEvents) {
            STARTED.add(new Started(new Tag(traceHi, traceLo, spanId, localRootSpanId), name));
        }
    }

    public static void spanEnded(
            long traceHi,
            long traceLo,
            long spanId,
            long parentSpanId,
            long localRootSpanId,
            String name,
            int kind,
            long startEpochNanos,
            long endEpochNanos,
            int status,
            long taggedThreadId) {
        ENDS.incrementAndGet();
        if (keepEvents) {
            Tag ids = new Tag(traceHi, traceLo, spanId, localRootSpanId);
            ENDED.add(new Ended(ids, parentSpanId, name, kind, startEpochNanos, endEpochNanos, status));
        }
    }

    public static void spanLost(long spanId) {
        LOST.add(spanId);
    }

    public static String figures() {
        return figures;
    }

    public static String control(String request) {
        REQUESTS.add(request);
        return controlAnswer;
    }

    /** Requests by {@link VtProf}. */
    static List<String> requests() {
        return new ArrayList<>(REQUESTS);
    }

    static byte[] redirectNatives(InputStream original) throws IOException {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        new ClassReader(original).accept(new Redirect(writer), 0);
        return writer.toByteArray();
    }

    private static final class Redirect extends ClassVisitor {
        Redirect(ClassVisitor writer) {
            super(Opcodes.ASM9, writer);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] exceptions) {
            if ((access & Opcodes.ACC_NATIVE) == 0) {
                return super.visitMethod(access, name, type, signature, exceptions);
            }
            MethodVisitor body = super.visitMethod(access & ~Opcodes.ACC_NATIVE, name, type, signature, exceptions);
            body.visitCode();
            int slot = 0;
            for (Type argument : Type.getArgumentTypes(type)) {
                body.visitVarInsn(argument.getOpcode(Opcodes.ILOAD), slot);
                slot += argument.getSize();
            }
            body.visitMethodInsn(Opcodes.INVOKESTATIC, Type.getInternalName(FakeAgent.class), name, type, false);
            body.visitInsn(Type.getReturnType(type).getOpcode(Opcodes.IRETURN));
            body.visitMaxs(0, 0);
            body.visitEnd();
            return null;
        }
    }

    private FakeAgent() {}
}
