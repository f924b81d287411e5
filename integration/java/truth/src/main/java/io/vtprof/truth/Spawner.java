package io.vtprof.truth;

import java.io.InputStream;

/**
 * Starts child processes one after the other, on a thread that burns CPU in between, and checks what each says.
 *
 * <pre>Spawner COUNT</pre>
 */
public final class Spawner {
  private static final long BURN_NANOS = 20_000_000;

  private static volatile long sink;

  private Spawner() {}

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    long longest = 0;
    for (int i = 0; i < count; i++) {
      long burnt = Cpu.threadNanos() + BURN_NANOS;
      while (Cpu.threadNanos() < burnt) {
        sink++;
      }
      long begun = System.nanoTime();
      Process child = new ProcessBuilder("echo", "child " + i).start();
      longest = Math.max(longest, System.nanoTime() - begun);
      try (InputStream output = child.getInputStream()) {
        String said = new String(output.readAllBytes());
        if (!said.equals("child " + i + "\n") || child.waitFor() != 0) {
          throw new IllegalStateException("child " + i + " said " + said + ", status " + child.waitFor());
        }
      }
    }
    System.out.println("longest_us=" + longest / 1_000);
    System.out.println("spawned=" + count);
  }
}
