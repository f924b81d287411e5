package io.vtprof.chaos;

/** Loads a library in the name of its class loader; both go together. */
public final class Library implements Runnable {
  private final String path;

  public Library(String path) {
    this.path = path;
  }

  @Override
  public void run() {
    System.load(path);
  }
}
