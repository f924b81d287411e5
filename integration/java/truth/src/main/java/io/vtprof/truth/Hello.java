package io.vtprof.truth;

/** Prints one line and leaves: what an application says and returns must not depend on the agent. */
final class Hello implements Scenario {
  @Override
  public void run(World world) {
    System.out.println("hello");
  }
}
