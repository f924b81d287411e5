package io.vtprof.truth;

/**
 * Burns CPU until its end comes: {@code exit} and {@code halt} after that many milliseconds, {@code wait} by a signal.
 * Where the end is its own it says {@code leaving=} and {@link System#nanoTime} first.
 *
 * <pre>LastMoments exit|halt|wait MILLIS</pre>
 */
public final class LastMoments {
  private static volatile long sink;

  private LastMoments() {}

  public static void main(String[] args) throws InterruptedException {
    for (int i = 0; i < 2; i++) {
      Thread burner = new Thread(LastMoments::burn, "burner-" + i);
      burner.setDaemon(true);
      burner.start();
    }
    System.out.println("up");
    Thread.sleep(Long.parseLong(args[1]));
    switch (args[0]) {
      case "exit" -> {
        leaving();
        System.exit(7);
      }
      case "halt" -> {
        leaving();
        Runtime.getRuntime().halt(8);
      }
      default -> Thread.sleep(600_000);
    }
  }

  private static void leaving() {
    System.out.println("leaving=" + System.nanoTime());
  }

  /** Half of the time at the most, so that several such JVMs run beside each other. */
  private static void burn() {
    try {
      while (true) {
        long until = System.nanoTime() + 5_000_000;
        while (System.nanoTime() < until) {
          sink++;
        }
        Thread.sleep(5);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
