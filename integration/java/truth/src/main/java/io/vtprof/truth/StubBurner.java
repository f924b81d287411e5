package io.vtprof.truth;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Burns CPU in code that HotSpot has in stubs, each kind in a method named after it; and the same at the bottom of
 * virtual threads whose older frames are frozen. Needs no OpenTelemetry.
 *
 * <pre>StubBurner CPU_SECONDS</pre>
 */
public final class StubBurner {
  private static final int LEVELS = 24;

  private static volatile boolean over;
  private static volatile long sink;

  private StubBurner() {}

  private interface Burn {
    long run(byte[] from, byte[] to) throws GeneralSecurityException;
  }

  public static void main(String[] args) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    threads.add(new Thread(() -> repeat(StubBurner::burnSha256), "burnSha256"));
    threads.add(new Thread(() -> repeat(StubBurner::burnSha1), "burnSha1"));
    threads.add(new Thread(() -> repeat(StubBurner::burnMd5), "burnMd5"));
    threads.add(new Thread(() -> repeat(StubBurner::burnAes), "burnAes"));
    threads.add(new Thread(() -> repeat(StubBurner::burnCopy), "burnCopy"));
    threads.add(new Thread(() -> repeat(StubBurner::burnCrc32), "burnCrc32"));
    threads.add(new Thread(() -> repeat(StubBurner::burnCrc32c), "burnCrc32c"));
    if (Threads.virtualAvailable()) {
      for (int i = 0; i < 4; i++) {
        threads.add(Threads.virtual().newThread(StubBurner::work));
      }
    }
    threads.forEach(Thread::start);
    // CPU time, so that there are as many samples on a busy machine.
    long enough = Cpu.processNanos() + Integer.parseInt(args[0]) * 1_000_000_000L;
    while (Cpu.processNanos() < enough) {
      Thread.sleep(50);
    }
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println("stubs: done");
  }

  private static void repeat(Burn burn) {
    byte[] from = new byte[16_384];
    byte[] to = new byte[from.length + 16];
    try {
      while (!over) {
        sink = burn.run(from, to);
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long burnSha256(byte[] from, byte[] to) throws GeneralSecurityException {
    return MessageDigest.getInstance("SHA-256").digest(from)[0];
  }

  private static long burnSha1(byte[] from, byte[] to) throws GeneralSecurityException {
    return MessageDigest.getInstance("SHA-1").digest(from)[0];
  }

  private static long burnMd5(byte[] from, byte[] to) throws GeneralSecurityException {
    return MessageDigest.getInstance("MD5").digest(from)[0];
  }

  private static long burnAes(byte[] from, byte[] to) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/CBC/NoPadding");
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
    for (int i = 0; i < 10; i++) {
      cipher.update(from, 0, from.length, to);
    }
    return to[0];
  }

  private static long burnCopy(byte[] from, byte[] to) {
    for (int i = 0; i < 100; i++) {
      System.arraycopy(from, i, to, 0, from.length - i);
    }
    return to[0];
  }

  private static long burnCrc32(byte[] from, byte[] to) {
    CRC32 sum = new CRC32();
    for (int i = 0; i < 20; i++) {
      sum.update(from);
    }
    return sum.getValue();
  }

  private static long burnCrc32c(byte[] from, byte[] to) {
    CRC32C sum = new CRC32C();
    for (int i = 0; i < 20; i++) {
      sum.update(from);
    }
    return sum.getValue();
  }

  private static void work() {
    byte[] from = new byte[16_384];
    byte[] to = new byte[from.length + 16];
    try {
      while (!over) {
        climb(LEVELS, from, to);
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Parks at the bottom, and hashes on the way up in a method that says how high, modulo 4. */
  private static void climb(int levels, byte[] from, byte[] to) throws GeneralSecurityException {
    if (levels == 0) {
      LockSupport.parkNanos(100_000);
      return;
    }
    climb(levels - 1, from, to);
    switch (levels % 4) {
      case 0 -> rest0(from, to);
      case 1 -> rest1(from, to);
      case 2 -> rest2(from, to);
      default -> rest3(from, to);
    }
  }

  private static void rest0(byte[] from, byte[] to) throws GeneralSecurityException {
    sink = burnSha256(from, to);
  }

  private static void rest1(byte[] from, byte[] to) throws GeneralSecurityException {
    sink = burnSha256(from, to);
  }

  private static void rest2(byte[] from, byte[] to) throws GeneralSecurityException {
    sink = burnSha256(from, to);
  }

  private static void rest3(byte[] from, byte[] to) throws GeneralSecurityException {
    sink = burnSha256(from, to);
  }
}
