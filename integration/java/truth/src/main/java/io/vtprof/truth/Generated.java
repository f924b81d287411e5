package io.vtprof.truth;

import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.LongUnaryOperator;

/**
 * CPU burnt below classes that the JVM made while it ran: a lambda's, a proxy's, a hidden one, a method handle's,
 * reflection's. Those made before shift the numbers in their names from run to run.
 *
 * <pre>Generated CALLS-EACH MADE-BEFORE</pre>
 */
public final class Generated {
  private static long sink;

  private Generated() {}

  public static void main(String[] args) throws Throwable {
    // Calls and not time: a machine that gives little CPU must not leave less to judge.
    int each = Integer.parseInt(args[0]);
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      hidden();
      sink += proxy(new Class<?>[] {LongUnaryOperator.class, Made.values()[i % Made.values().length].type})
          .applyAsLong(0);
    }
    LongUnaryOperator[] ways = {lambda(), proxy(new Class<?>[] {LongUnaryOperator.class}), hidden(), handle(), reflected()};
    for (LongUnaryOperator way : ways) {
      for (int call = 0; call < each; call++) {
        sink += way.applyAsLong(call);
      }
    }
    System.out.println("generated: done");
  }

  static long burn(long seed) {
    long x = seed | 1;
    for (int i = 0; i < 20_000; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
    }
    return x;
  }

  private static LongUnaryOperator lambda() {
    return seed -> burn(seed) + 1;
  }

  private static LongUnaryOperator proxy(Class<?>[] interfaces) {
    return (LongUnaryOperator) Proxy.newProxyInstance(
        Generated.class.getClassLoader(), interfaces, (self, method, arguments) -> burn((Long) arguments[0]));
  }

  private static LongUnaryOperator hidden() throws Exception {
    try (InputStream in = Generated.class.getResourceAsStream("Generated$Hidden.class")) {
      return (LongUnaryOperator) MethodHandles.lookup().defineHiddenClass(in.readAllBytes(), false)
          .lookupClass().getDeclaredConstructor().newInstance();
    }
  }

  private static LongUnaryOperator handle() throws ReflectiveOperationException {
    MethodHandle burn = MethodHandles.lookup()
        .findStatic(Generated.class, "burn", MethodType.methodType(long.class, long.class));
    MethodHandle twice = MethodHandles.filterReturnValue(burn, burn);
    return seed -> {
      try {
        return (long) twice.invokeExact(seed);
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    };
  }

  private static LongUnaryOperator reflected() throws ReflectiveOperationException {
    Method burn = Generated.class.getDeclaredMethod("burn", long.class);
    return seed -> {
      try {
        return (Long) burn.invoke(null, seed);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    };
  }

  /** Interfaces that make proxy classes differ. */
  private enum Made {
    A(Runnable.class), B(java.io.Serializable.class), C(Cloneable.class), D(java.io.Flushable.class);

    private final Class<?> type;

    Made(Class<?> type) {
      this.type = type;
    }
  }

  /** Loaded as a hidden class. */
  static final class Hidden implements LongUnaryOperator {
    Hidden() {}

    @Override
    public long applyAsLong(long seed) {
      return burn(seed) + 2;
    }
  }
}
