package io.vtprof.truth;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;

/** Virtual threads by reflection, so that one jar of Java 17 bytecode serves every JDK. */
final class Threads {
  private static final Method OF_VIRTUAL = find(Thread.class, "ofVirtual");
  private static final Method PER_TASK = find(Executors.class, "newVirtualThreadPerTaskExecutor");

  private Threads() {}

  /** Whether this JVM has virtual threads. */
  static boolean virtualAvailable() {
    return OF_VIRTUAL != null && PER_TASK != null;
  }

  /** A factory of unstarted virtual threads. */
  static ThreadFactory virtual() {
    Object builder = call(OF_VIRTUAL, null);
    return (ThreadFactory) call(find(interfaceOf("java.lang.Thread$Builder"), "factory"), builder);
  }

  /** One virtual thread a task. */
  static ExecutorService virtualPerTask() {
    return (ExecutorService) call(PER_TASK, null);
  }

  /** A factory of unstarted daemon threads of the platform, {@code prefix-N}. */
  static ThreadFactory platform(String prefix) {
    java.util.concurrent.atomic.AtomicInteger number = new java.util.concurrent.atomic.AtomicInteger();
    return body -> {
      Thread thread = new Thread(body, prefix + "-" + number.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  private static Class<?> interfaceOf(String name) {
    try {
      return Class.forName(name);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("no virtual threads in this JVM", e);
    }
  }

  private static Method find(Class<?> owner, String name) {
    try {
      return owner.getMethod(name);
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  private static Object call(Method method, Object target) {
    if (method == null) {
      throw new IllegalStateException("no virtual threads in this JVM");
    }
    try {
      return method.invoke(target);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(e);
    }
  }
}
