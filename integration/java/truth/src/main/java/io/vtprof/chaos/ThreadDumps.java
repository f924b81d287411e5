package io.vtprof.chaos;

import java.util.Map;
import java.util.SplittableRandom;

/** Handshakes and safepoints by the JVM's own walk of all stacks. */
final class ThreadDumps implements Antagonist {
  @Override
  public void round(SplittableRandom random) {
    Map<Thread, StackTraceElement[]> stacks = Thread.getAllStackTraces();
    Check.same(true, stacks.size() > 1, "threads in a dump");
  }
}
