package io.vtprof.truth;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** The command line, read. */
record Settings(
    int seconds, int threads, long count, long seed, boolean virtual, String otel, String log, Set<Wait> waits, int exit) {

  static Settings of(Args args) {
    String kind = args.take("kind", Threads.virtualAvailable() ? "virtual" : "platform");
    if (!kind.equals("virtual") && !kind.equals("platform")) {
      throw new IllegalArgumentException("--kind=virtual|platform, not " + kind);
    }
    Settings settings = new Settings(
        args.take("seconds", 10),
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
