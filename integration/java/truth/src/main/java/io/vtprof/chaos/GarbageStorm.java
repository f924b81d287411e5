package io.vtprof.chaos;

import java.util.SplittableRandom;

/** Allocates in bursts, keeps some of it, and asks for collections. */
final class GarbageStorm implements Antagonist {
  private static final int SLOTS = 2_000;
  private static final int BLOCKS = 20_000;
  private static final int LARGEST = 8 << 10;
  private static final int HUMONGOUS = 2 << 20;

  @Override
  public void round(SplittableRandom random) {
    byte[][] kept = new byte[SLOTS][];
    for (int i = 0; i < BLOCKS; i++) {
      int slot = random.nextInt(SLOTS);
      byte[] block = new byte[random.nextInt(1, LARGEST)];
      block[0] = (byte) slot;
      kept[slot] = block;
    }
    kept[0] = new byte[HUMONGOUS];
    if (random.nextInt(20) == 0) {
      System.gc();
    }
    for (int slot = 1; slot < SLOTS; slot++) {
      if (kept[slot] != null) {
        Check.same((byte) slot, kept[slot][0], "a byte that outlived collections");
      }
    }
  }
}
