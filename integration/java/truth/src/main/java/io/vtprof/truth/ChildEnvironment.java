package io.vtprof.truth;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Starts a child process and prints its environment, one {@code child: KEY=VALUE} a line. */
final class ChildEnvironment implements Scenario {
  @Override
  public void run(World world) throws IOException, InterruptedException {
    Process child = new ProcessBuilder("env").start();
    try (BufferedReader lines = child.inputReader(StandardCharsets.UTF_8)) {
      lines.lines().forEach(line -> System.out.println("child: " + line));
    }
    if (child.waitFor() != 0) {
      throw new IllegalStateException("env failed");
    }
    // What the JVM itself still sees: the javaagent read its copy earlier.
    System.getenv().forEach((key, value) -> System.out.println("own: " + key + "=" + value));
    System.out.println("property: " + System.getProperty("otel.javaagent.extensions"));
  }
}
