package io.vtprof.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;

/** Those that this JVM can play. */
final class Antagonists {
  private Antagonists() {}

  static List<Antagonist> all(ThreadFactory virtual) {
    List<Antagonist> all = new ArrayList<>(List.of(
        new VirtualChurn(virtual),
        new YieldStorm(virtual),
        new ClassChurn(),
        new HiddenClasses(),
        new Deoptimisation(),
        new GarbageStorm(),
        new NativeMethods(),
        new Exceptions(),
        new StackOverflow(virtual),
        new Monitors(virtual),
        new ThreadStorm(),
        new Exec(),
        new Dlopen(),
        new Parking(virtual),
        new Timers(),
        new ParallelStreams(),
        new Sockets(virtual),
        new ThreadDumps()));
    Optional.ofNullable(RetransformAgent.instrumentation()).map(Retransformation::new).ifPresent(all::add);
    ForeignCalls.available().ifPresent(all::add);
    return all;
  }
}
