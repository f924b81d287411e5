package io.vtprof.truth;

/** A {@link Runnable} that may throw. */
interface Task {
  void run() throws Exception;
}
