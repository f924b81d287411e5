package io.vtprof.truth;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.function.LongUnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Classes that burn some CPU and are unloaded: each second one hidden, the others in a class loader of their own.
 *
 * After a third of them and at the end it waits until a profiler has written two more windows, of which the second is
 * one without load, and names that.
 *
 * <pre>ThrowAway CLASSES MICROSECONDS-EACH FOLDER-OF-PROFILES</pre>
 */
public final class ThrowAway {
  private static final byte[] ZEROS = "0000000".getBytes(StandardCharsets.US_ASCII);
  private static final int QUIET_WINDOWS = 2;
  private static volatile boolean over;
  static volatile long sink;

  private ThrowAway() {}

  public static void main(String[] args) throws Exception {
    int classes = Integer.parseInt(args[0]);
    long nanos = Long.parseLong(args[1]) * 1000;
    Path profiles = Path.of(args[2]);
    byte[] pattern;
    try (InputStream in = ThrowAway.class.getResourceAsStream("Passing0000000.class")) {
      pattern = in.readAllBytes();
    }
    Thread collector = new Thread(ThrowAway::collect, "collector");
    collector.start();
    for (int i = 1; i <= classes; i++) {
      LongUnaryOperator passing = passing(numbered(pattern, i), i % 2 == 0);
      sink = passing.applyAsLong(System.nanoTime() + nanos);
      if (i == classes / 3) {
        tell("third", profiles);
      }
    }
    tell("end", profiles);
    over = true;
    collector.join();
    System.gc();
    System.out.println("unloaded " + ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
  }

  private static LongUnaryOperator passing(byte[] bytes, boolean hidden) throws ReflectiveOperationException {
    Class<?> made = hidden
        ? MethodHandles.lookup().defineHiddenClass(bytes, false).lookupClass()
        : new Loader().define(bytes);
    return (LongUnaryOperator) made.getDeclaredConstructor().newInstance();
  }

  private static void collect() {
    while (!over) {
      System.gc();
      try {
        Thread.sleep(200);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private static void tell(String when, Path profiles) throws Exception {
    System.gc();
    Set<String> known = windows(profiles);
    for (int i = 0; i < QUIET_WINDOWS; i++) {
      Set<String> found = windows(profiles);
      while (found.equals(known)) {
        Thread.sleep(20);
        found = windows(profiles);
      }
      if (i == QUIET_WINDOWS - 1) {
        found.removeAll(known);
        System.out.println("window " + when + " " + found.iterator().next());
      } else {
        known = found;
      }
    }
    String resident = Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .map(line -> line.replaceAll("\\D", ""))
        .findFirst().orElseThrow();
    System.out.println("resident " + when + " " + resident);
  }

  private static Set<String> windows(Path profiles) throws IOException {
    try (Stream<Path> entries = Files.list(profiles)) {
      return entries
          .map(path -> path.getFileName().toString())
          .filter(name -> name.contains("-cpu-") && name.endsWith(".pb.gz"))
          .collect(Collectors.toCollection(HashSet::new));
    }
  }

  private static byte[] numbered(byte[] pattern, int number) {
    byte[] digits = String.format("%07d", number).getBytes(StandardCharsets.US_ASCII);
    byte[] bytes = pattern.clone();
    for (int at = 0; at + ZEROS.length <= bytes.length; at++) {
      if (java.util.Arrays.equals(bytes, at, at + ZEROS.length, ZEROS, 0, ZEROS.length)) {
        System.arraycopy(digits, 0, bytes, at, digits.length);
      }
    }
    return bytes;
  }

  private static final class Loader extends ClassLoader {
    Loader() {
      super(ThrowAway.class.getClassLoader());
    }

    Class<?> define(byte[] bytes) {
      return defineClass(null, bytes, 0, bytes.length);
    }
  }
}
