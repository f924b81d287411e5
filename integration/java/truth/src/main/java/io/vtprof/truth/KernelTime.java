package io.vtprof.truth;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Half of the CPU time in the kernel, half outside. By turns of random length: a signal cuts a read short, so turns of
 * one length would fall into step with the signals.
 *
 * <pre>KernelTime SECONDS</pre>
 */
public final class KernelTime {
  private static final ByteBuffer BUFFER = ByteBuffer.allocateDirect(256 << 10);
  private static double sum;

  private KernelTime() {}

  public static void main(String[] args) throws Exception {
    long wanted = TimeUnit.SECONDS.toNanos(Long.parseLong(args[0]));
    // The first look at the clock loads what it needs, in nobody's time.
    Cpu.threadNanos();
    // A file that costs nothing but the kernel's clearing of memory.
    try (FileChannel zeros = FileChannel.open(Path.of("/dev/zero"), StandardOpenOption.READ)) {
      alternate(zeros, wanted);
    }
  }

  private static void alternate(FileChannel zeros, long wanted) throws Exception {
    SplittableRandom random = new SplittableRandom();
    long kernel = 0;
    long user = 0;
    long mark = Cpu.threadNanos();
    while (kernel + user < wanted) {
      inKernel(zeros, 1 + random.nextInt(64));
      long now = Cpu.threadNanos();
      kernel += now - mark;
      mark = now;
      do {
        outsideOfKernel();
        now = Cpu.threadNanos();
        user += now - mark;
        mark = now;
      } while (user < kernel);
    }
    System.out.println("kernel_ns=" + kernel);
    System.out.println("user_ns=" + user);
  }

  private static void inKernel(FileChannel zeros, int reads) throws Exception {
    for (int i = 0; i < reads; i++) {
      BUFFER.clear();
      zeros.read(BUFFER);
    }
  }

  private static void outsideOfKernel() {
    for (int i = 0; i < 20_000; i++) {
      sum += Math.sqrt(sum + i);
    }
  }
}
