package io.vtprof.truth;

/** A class that burns CPU in methods of its own and calls nothing else on the way. Stateless, any thread. */
public interface Burner {
  /** Iterations between two returns to {@link #work}: about 50 µs, so that freshly compiled code is taken up soon. */
  long CHUNK = 20_000;

  /** The simple name of the class, which its stack frames show. */
  String name();

  /** Runs {@code body} with a frame of this class below it. */
  void serve(Runnable body);

  /** Burns about {@code iterations} × 2 ns; the result only keeps the work alive. */
  long work(long iterations);
}
