package io.vtprof.truth;

import io.vtprof.chaos.RetransformAgent;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * A class that is redefined under load, between two versions of one method with other lines. What the method calls
 * tells which version a stack is of.
 *
 * <p>Goes on until it was redefined so often and the thread under load has burnt so much. Between two redefinitions it
 * waits so long, and at least TIMES as long as the last one took: on a slow machine, too, most of the time passes between
 * redefinitions and not in them.
 *
 * <pre>-javaagent:truth.jar Redefine REDEFINITIONS CPU-MILLISECONDS MILLISECONDS-BETWEEN TIMES</pre>
 */
public final class Redefine {
  private static volatile boolean over;
  private static volatile int sink;

  private Redefine() {}

  public static void main(String[] args) throws Exception {
    int leastRedefinitions = Integer.parseInt(args[0]);
    long leastCpu = Long.parseLong(args[1]) * 1_000_000;
    long between = Long.parseLong(args[2]) * 1_000_000;
    int times = Integer.parseInt(args[3]);
    byte[][] versions = {bytes("VersionB"), bytes("VersionA")};
    Thread worker = new Thread(Redefine::run, "worker");
    worker.start();
    int redefinitions = 0;
    long last = 0;
    Instrumentation instrumentation = RetransformAgent.instrumentation();
    while (redefinitions < leastRedefinitions || Cpu.nanosOf(worker) < leastCpu) {
      TimeUnit.NANOSECONDS.sleep(Math.max(between, times * last));
      byte[] next = versions[redefinitions++ % 2];
      long begun = System.nanoTime();
      instrumentation.redefineClasses(new ClassDefinition(VersionA.class, next));
      last = System.nanoTime() - begun;
    }
    long cpu = Cpu.nanosOf(worker);
    over = true;
    worker.join();
    System.out.println("redefinitions=" + redefinitions);
    System.out.println("worker_ns=" + cpu);
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
