package io.vtprof.chaos;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Into native code and back: zlib by JNI, intrinsics and stubs, reflection. */
final class NativeMethods implements Antagonist {
  private static final int SIZE = 64 << 10;
  private static final int CALLS = 2_000;

  @Override
  public void round(SplittableRandom random) throws Exception {
    byte[] plain = new byte[SIZE];
    for (int i = 0; i < SIZE; i++) {
      plain[i] = (byte) random.nextInt(16);
    }
    byte[] back = inflate(deflate(plain));
    Check.same(true, Arrays.equals(plain, back), "bytes that were deflated and inflated");
    Check.same(crc(plain), crc(back), "their checksums");
    double sum = 0;
    for (int i = 0; i < CALLS; i++) {
      double x = random.nextDouble();
      sum += StrictMath.pow(StrictMath.sin(x), 2) + StrictMath.pow(StrictMath.cos(x), 2);
    }
    Check.same((long) CALLS, Math.round(sum), "sum of squares");
    Object called = Math.class.getMethod("max", int.class, int.class).invoke(null, 3, 4);
    Check.same(4, called, "a reflective call");
    byte[] copy = new byte[SIZE];
    for (int i = 0; i < CALLS; i++) {
      System.arraycopy(plain, i, copy, i, SIZE - i);
    }
    Check.same(plain[SIZE - 1], copy[SIZE - 1], "a copied byte");
  }

  private static long crc(byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }

  private static byte[] deflate(byte[] plain) {
    Deflater deflater = new Deflater();
    try {
      deflater.setInput(plain);
      deflater.finish();
      byte[] packed = new byte[2 * SIZE];
      return Arrays.copyOf(packed, deflater.deflate(packed));
    } finally {
      deflater.end();
    }
  }

  private static byte[] inflate(byte[] packed) throws DataFormatException {
    Inflater inflater = new Inflater();
    try {
      inflater.setInput(packed);
      byte[] plain = new byte[SIZE];
      Check.same(SIZE, inflater.inflate(plain), "inflated bytes");
      return plain;
    } finally {
      inflater.end();
    }
  }
}
