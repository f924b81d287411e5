package io.vtprof.truth;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** CPU time as the JVM itself tells it, nanoseconds. */
final class Cpu {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private Cpu() {}

  /** Of the calling platform thread; virtual threads have none of their own. */
  static long threadNanos() {
    return THREADS.getCurrentThreadCpuTime();
  }

  /** Of another platform thread, while it lives. */
  static long nanosOf(Thread thread) {
    return THREADS.getThreadCpuTime(thread.getId());
  }

  /** Of the whole process. */
  static long processNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
