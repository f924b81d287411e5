package io.vtprof.truth;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** The OS thread that carries the calling virtual thread; needs {@code --add-opens java.base/java.lang=ALL-UNNAMED}. */
final class Carrier {
  private static final Method CURRENT = find();

  private Carrier() {}

  /** CPU time of it, ns. Between two calls without a wait it is that of the virtual thread. */
  static long cpuNanos() {
    try {
      return Cpu.nanosOf((Thread) CURRENT.invoke(null));
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Method find() {
    try {
      Method method = Thread.class.getDeclaredMethod("currentCarrierThread");
      method.setAccessible(true);
      return method;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("no virtual threads in this JVM", e);
    }
  }
}
