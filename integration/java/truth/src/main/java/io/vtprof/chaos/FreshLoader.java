package io.vtprof.chaos;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Set;

/** Defines its own copies of some classes of this jar; they go when it goes. */
final class FreshLoader extends ClassLoader {
  private final Set<String> own;

  FreshLoader(Class<?>... templates) {
    super(FreshLoader.class.getClassLoader());
    String[] names = new String[templates.length];
    for (int i = 0; i < templates.length; i++) {
      names[i] = templates[i].getName();
    }
    own = Set.of(names);
  }

  /** The bytes of a class of this jar. */
  static byte[] bytes(String name) {
    String path = '/' + name.replace('.', '/') + ".class";
    try (InputStream in = FreshLoader.class.getResourceAsStream(path)) {
      if (in == null) {
        throw new IllegalStateException("no bytes of " + name);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!own.contains(name)) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> known = findLoadedClass(name);
      if (known != null) {
        return known;
      }
      byte[] bytes = bytes(name);
      return defineClass(name, bytes, 0, bytes.length);
    }
  }
}
