package io.vtprof.truth;

import java.util.ArrayList;
import java.util.List;

/** Allocates {@code --count} MiB so that the collector's own threads burn, while a request is under way. */
final class Garbage implements Scenario {
  private static final int BLOCK = 1 << 10;
  private static final int LIVE = 40_000;

  @Override
  public void run(World world) throws Exception {
    world.start(() -> {
      Traced span = Traced.root(world, io.vtprof.truth.burn.Burners.ROOT.get(0), "garbage");
      span.run(() -> {
        List<byte[]> live = new ArrayList<>();
        long blocks = (world.count() << 20) / BLOCK;
        for (int i = 0; i < blocks; i++) {
          byte[] block = new byte[BLOCK];
          if (live.size() < LIVE) {
            live.add(block);
          } else {
            live.set(i % LIVE, block);
          }
          if (i % 20_000 == 0) {
            span.work(200);
          }
        }
        world.keep(live.size());
      });
    });
    world.join();
  }
}
