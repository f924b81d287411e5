package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.zip.Deflater;

/**
 * Burns CPU in a native library that Java code calls, on a virtual thread where there are any.
 *
 * <pre>NativeBurner SECONDS</pre>
 */
public final class NativeBurner {
  private static final byte[] INPUT = new byte[1 << 20];

  private NativeBurner() {}

  public static void main(String[] args) throws Exception {
    long seconds = Long.parseLong(args[0]);
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < INPUT.length; i++) {
      // Few letters, so that there is something to look for.
      INPUT[i] = (byte) ('a' + random.nextInt(4));
    }
    Thread burner = (Threads.virtualAvailable() ? Threads.virtual() : Threads.platform("burner"))
        .newThread(() -> compress(seconds));
    burner.start();
    burner.join();
    System.out.println("done");
  }

  static void compress(long seconds) {
    long wanted = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    byte[] output = new byte[INPUT.length];
    do {
      Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION);
      deflater.setInput(INPUT);
      deflater.finish();
      while (!deflater.finished()) {
        deflater.deflate(output);
      }
      deflater.end();
    } while (System.nanoTime() < wanted);
  }
}
