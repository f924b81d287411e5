package io.vtprof.truth;

import io.vtprof.chaos.RetransformAgent;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A class that is redefined under load, between two versions of one method with other lines. What the method calls
 * tells which version a stack is of.
 *
 * <pre>-javaagent:truth.jar Redefine SECONDS MILLISECONDS-BETWEEN</pre>
 */
public final class Redefine {
  private static volatile boolean over;
  private static volatile int sink;

  private Redefine() {}

  public static void main(String[] args) throws Exception {
    int seconds = Integer.parseInt(args[0]);
    int between = Integer.parseInt(args[1]);
    byte[][] versions = {bytes("VersionB"), bytes("VersionA")};
    Thread worker = new Thread(Redefine::run, "worker");
    worker.start();
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    int redefinitions = 0;
    Instrumentation instrumentation = RetransformAgent.instrumentation();
    while (System.nanoTime() < end) {
      Thread.sleep(between);
      byte[] next = versions[redefinitions++ % 2];
      instrumentation.redefineClasses(new ClassDefinition(VersionA.class, next));
    }
    over = true;
    worker.join();
    System.out.println("redefined " + redefinitions);
  }

  private static void run() {
    while (!over) {
      sink = VersionA.work(10);
    }
  }

  static int burnA(int seed) {
    return burn(seed);
  }

  static int burnB(int seed) {
    return burn(seed) + 1;
  }

  /** Some 100 µs. */
  private static int burn(int seed) {
    long end = System.nanoTime() + 100_000;
    int x = seed | 1;
    do {
      for (int i = 0; i < 500; i++) {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
      }
    } while (System.nanoTime() < end);
    return x;
  }

  private static byte[] bytes(String name) throws IOException {
    try (InputStream in = Redefine.class.getResourceAsStream(name + ".class")) {
      byte[] bytes = in.readAllBytes();
      byte[] other = "VersionB".getBytes(StandardCharsets.US_ASCII);
      byte[] own = "VersionA".getBytes(StandardCharsets.US_ASCII);
      for (int at = 0; at + other.length <= bytes.length; at++) {
        if (Arrays.equals(bytes, at, at + other.length, other, 0, other.length)) {
          System.arraycopy(own, 0, bytes, at, own.length);
        }
      }
      return bytes;
    }
  }
}
