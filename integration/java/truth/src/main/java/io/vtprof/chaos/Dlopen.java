package io.vtprof.chaos;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.SplittableRandom;

/**
 * Libraries that come and, with their class loader, go. Each time another copy: the JVM loads a path once at a time,
 * the loader an inode.
 */
final class Dlopen implements Antagonist {
  private static final String[] SMALL = {"librmi.so", "libprefs.so", "libjaas.so"};

  private final Path home = Path.of(System.getProperty("java.home"), "lib");

  @Override
  public void round(SplittableRandom random) throws Exception {
    Path copy = Files.createTempFile("vtprof-", ".so");
    try {
      Files.copy(library(random), copy, StandardCopyOption.REPLACE_EXISTING);
      Class<?> loading = new FreshLoader(Library.class).loadClass(Library.class.getName());
      ((Runnable) loading.getConstructor(String.class).newInstance(copy.toString())).run();
    } finally {
      Files.delete(copy);
    }
  }

  private Path library(SplittableRandom random) throws IOException {
    int first = random.nextInt(SMALL.length);
    for (int i = 0; i < SMALL.length; i++) {
      Path path = home.resolve(SMALL[(first + i) % SMALL.length]);
      if (Files.exists(path)) {
        return path;
      }
    }
    throw new IOException("no library to load in " + home);
  }
}
