package io.vtprof.truth;

import java.util.concurrent.locks.LockSupport;

/**
 * Threads that wait and do nothing else. Says {@code idle=} and {@link System#nanoTime} once all are started.
 *
 * <pre>Idle SECONDS THREADS</pre>
 */
public final class Idle {
  private static volatile boolean over;

  private Idle() {}

  public static void main(String[] args) throws InterruptedException {
    int threads = Integer.parseInt(args[1]);
    for (int i = 0; i < threads; i++) {
      Thread thread = new Thread(Idle::idle, "idle-" + i);
      thread.setDaemon(true);
      thread.start();
    }
    System.out.println("idle=" + System.nanoTime());
    Thread.sleep(Long.parseLong(args[0]) * 1_000);
    over = true;
  }

  private static void idle() {
    while (!over) {
      LockSupport.park();
    }
  }
}
