package io.vtprof.truth;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Says each second that all goes on, and every few seconds how much memory there is and how much of it the JVM
 * explains. For {@code -XX:NativeMemoryTracking=summary}.
 */
final class Heartbeat {
  private static final int BEATS_PER_MEMORY = 5;
  private static final Pattern COMMITTED = Pattern.compile("Total: reserved=\\d+KB, committed=(\\d+)KB");

  private final Supplier<String> progress;
  private final TruthLog log;

  Heartbeat(Supplier<String> progress, TruthLog log) {
    this.progress = progress;
    this.log = log;
  }

  void start() {
    Threads.platform("heartbeat").newThread(this::beat).start();
  }

  private void beat() {
    for (long beat = 1; ; beat++) {
      System.out.println("beat " + beat + " " + progress.get());
      try {
        if (beat % BEATS_PER_MEMORY == 0) {
          log.spill();
          // What was freed and is still held by the allocator is no leak: a compilation may take hundreds of MiB once.
          diagnose("systemTrimNativeHeap");
          System.out.println("memory resident_kb=" + residentKb() + " jvm_kb=" + jvmKb());
        }
        Thread.sleep(1_000);
      } catch (IOException | JMException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Private and shared memory, without files. */
  private static long residentKb() throws IOException {
    long sum = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("RssAnon:") || line.startsWith("RssShmem:")) {
        sum += Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    return sum;
  }

  private static long jvmKb() throws JMException {
    String text = diagnose("vmNativeMemory", "summary");
    Matcher total = COMMITTED.matcher(text);
    if (!total.find()) {
      throw new IllegalStateException("the JVM does not tell its memory: " + text);
    }
    return Long.parseLong(total.group(1));
  }

  /** As {@code jcmd} does it. */
  private static String diagnose(String command, String... arguments) throws JMException {
    boolean takesSome = arguments.length > 0;
    return ManagementFactory.getPlatformMBeanServer()
        .invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"),
            command,
            takesSome ? new Object[] {arguments} : null,
            takesSome ? new String[] {String[].class.getName()} : null)
        .toString();
  }
}
