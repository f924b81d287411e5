package io.vtprof.truth;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** The command line, read. */
record Settings(
    int seconds, long leastWorkMillis, int threads, long count, long seed, boolean virtual, String otel, String log, Set<Wait> waits, int exit) {

  /** Half a core's: what the scenarios that burn reach on any machine that is not overloaded. */
  private static final long WORK_MILLIS_A_SECOND = 500;

  static Settings of(Args args) {
    String kind = args.take("kind", Threads.virtualAvailable() ? "virtual" : "platform");
    if (!kind.equals("virtual") && !kind.equals("platform")) {
      throw new IllegalArgumentException("--kind=virtual|platform, not " + kind);
    }
    int seconds = args.take("seconds", 10);
    Settings settings = new Settings(
        seconds,
        args.take("work", seconds * WORK_MILLIS_A_SECOND),
        args.take("threads", 48),
        args.take("count", 0L),
        args.take("seed", System.nanoTime()),
        kind.equals("virtual"),
        args.take("otel", "auto"),
        args.take("log", "truth.log"),
        waits(args.take("waits", "all")),
        args.take("exit", 0));
    args.finish();
    return settings;
  }

  private static Set<Wait> waits(String list) {
    if (list.equals("all")) {
      return EnumSet.allOf(Wait.class);
    }
    Set<Wait> waits = EnumSet.noneOf(Wait.class);
    for (String name : list.split("\\+")) {
      waits.add(Wait.valueOf(name.toUpperCase(Locale.ROOT)));
    }
    return waits;
  }
}
