package io.vtprof.chaos;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * The C library's {@code qsort} with a comparator in Java: downcalls with upcalls inside. By reflection, since the API
 * is final from JDK 22 on and this jar is of Java 17.
 */
final class ForeignCalls implements Antagonist {
  private static final int FIRST_FINAL = 22;
  private static final int NUMBERS = 500;
  private static final String FOREIGN = "java.lang.foreign.";

  private final Object linker = invoke(type("Linker"), "nativeLinker", null);
  private final Object longLayout = constant("ValueLayout", "JAVA_LONG");
  private final Object addressLayout = constant("ValueLayout", "ADDRESS");
  private final MethodHandle qsort;
  private final Method reinterpret;
  private final Method get;
  private final Method set;

  private ForeignCalls() throws ReflectiveOperationException {
    Object lookup = invoke(type("Linker"), "defaultLookup", linker);
    Object found = type("SymbolLookup").getMethod("find", String.class).invoke(lookup, "qsort");
    Object address = ((Optional<?>) found).orElseThrow();
    Object signature = descriptor("ofVoid", null, addressLayout, longLayout, longLayout, addressLayout);
    Object options = Array.newInstance(type("Linker$Option"), 0);
    qsort = (MethodHandle) type("Linker")
        .getMethod("downcallHandle", type("MemorySegment"), type("FunctionDescriptor"), options.getClass())
        .invoke(linker, address, signature, options);
    Class<?> ofLong = type("ValueLayout$OfLong");
    reinterpret = type("MemorySegment").getMethod("reinterpret", long.class);
    get = type("MemorySegment").getMethod("getAtIndex", ofLong, long.class);
    set = type("MemorySegment").getMethod("setAtIndex", ofLong, long.class, long.class);
  }

  /** Empty where this JVM has no such API. */
  static Optional<Antagonist> available() {
    if (Runtime.version().feature() < FIRST_FINAL) {
      return Optional.empty();
    }
    try {
      return Optional.of(new ForeignCalls());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("no foreign calls", e);
    }
  }

  @Override
  public void round(SplittableRandom random) throws Exception {
    Object arena = invoke(type("Arena"), "ofConfined", null);
    try {
      sort(arena, random);
    } finally {
      invoke(type("Arena"), "close", arena);
    }
  }

  private void sort(Object arena, SplittableRandom random) throws ReflectiveOperationException {
    Method allocate = type("Arena").getMethod("allocate", long.class, long.class);
    Object numbers = allocate.invoke(arena, (long) NUMBERS * Long.BYTES, (long) Long.BYTES);
    for (long i = 0; i < NUMBERS; i++) {
      set.invoke(numbers, longLayout, i, random.nextLong());
    }
    call(numbers, comparator(arena));
    long last = Long.MIN_VALUE;
    for (long i = 0; i < NUMBERS; i++) {
      long next = (Long) get.invoke(numbers, longLayout, i);
      Check.same(true, last <= next, "order of numbers");
      last = next;
    }
  }

  private void call(Object numbers, Object comparator) {
    try {
      qsort.invoke(numbers, (long) NUMBERS, (long) Long.BYTES, comparator);
    } catch (Throwable e) {
      throw new IllegalStateException("qsort", e);
    }
  }

  private Object comparator(Object arena) throws ReflectiveOperationException {
    Class<?> segment = type("MemorySegment");
    MethodHandle compare = MethodHandles.lookup()
        .findVirtual(ForeignCalls.class, "compare", MethodType.methodType(int.class, Object.class, Object.class))
        .bindTo(this)
        .asType(MethodType.methodType(int.class, segment, segment));
    Object signature = descriptor("of", constant("ValueLayout", "JAVA_INT"), addressLayout, addressLayout);
    Object options = Array.newInstance(type("Linker$Option"), 0);
    return type("Linker")
        .getMethod("upcallStub", MethodHandle.class, type("FunctionDescriptor"), type("Arena"), options.getClass())
        .invoke(linker, compare, signature, arena, options);
  }

  private int compare(Object left, Object right) {
    return Long.compare(number(left), number(right));
  }

  private long number(Object pointer) {
    try {
      return (Long) get.invoke(reinterpret.invoke(pointer, (long) Long.BYTES), longLayout, 0L);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Object descriptor(String kind, Object result, Object... arguments)
      throws ReflectiveOperationException {
    Class<?> layout = type("MemoryLayout");
    Object layouts = Array.newInstance(layout, arguments.length);
    for (int i = 0; i < arguments.length; i++) {
      Array.set(layouts, i, arguments[i]);
    }
    Class<?> descriptor = type("FunctionDescriptor");
    return result == null
        ? descriptor.getMethod(kind, layouts.getClass()).invoke(null, layouts)
        : descriptor.getMethod(kind, layout, layouts.getClass()).invoke(null, result, layouts);
  }

  private static Class<?> type(String name) {
    try {
      return Class.forName(FOREIGN + name);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Object constant(String type, String name) {
    try {
      return type(type).getField(name).get(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Object invoke(Class<?> type, String method, Object target) {
    try {
      return type.getMethod(method).invoke(target);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
