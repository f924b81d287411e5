package io.vtprof.chaos;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/** What {@code -javaagent:truth.jar} starts: the right to retransform. */
public final class RetransformAgent {
  private static volatile Instrumentation instrumentation;

  private RetransformAgent() {}

  public static void premain(String options, Instrumentation given) {
    given.addTransformer(new SameBytes(), true);
    instrumentation = given;
  }

  /** Null without the flag. */
  public static Instrumentation instrumentation() {
    return instrumentation;
  }

  /** Gives each of our classes a new version that is the old one. */
  private static final class SameBytes implements ClassFileTransformer {
    @Override
    public byte[] transform(
        ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
      return redefined == null ? null : bytes.clone();
    }
  }
}
