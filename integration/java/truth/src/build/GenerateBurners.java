import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Writes the burner classes from their template at build time. Checked-in copies would be 130 files that differ in two
 * constants; classes spun at start would have no source line to show.
 */
final class GenerateBurners {
  private static final int CLASSES = 64;
  private static final List<String> NEVER_TAGGED = List.of("Background", "Unsampled", "AfterEnd");

  public static void main(String[] args) throws IOException {
    String template = Files.readString(Path.of(args[0]));
    Path dir = Path.of(args[1], "io", "vtprof", "truth", "burn");
    Files.createDirectories(dir);

    List<String> names = new ArrayList<>(NEVER_TAGGED);
    for (String kind : List.of("Root", "Child")) {
      for (int i = 0; i < CLASSES; i++) {
        names.add(String.format("%s%02d", kind, i));
      }
    }
    SplittableRandom constants = new SplittableRandom(42);
    for (String name : names) {
      write(dir.resolve(name + ".java"), template
          .replace("@NAME@", name)
          .replace("@SEED@", Long.toString(constants.nextLong(1, Long.MAX_VALUE)))
          .replace("@SALT@", Long.toString(constants.nextLong(1, Long.MAX_VALUE))));
    }
    write(dir.resolve("Burners.java"), registry());
  }

  private static String registry() {
    StringBuilder source = new StringBuilder();
    source.append("package io.vtprof.truth.burn;\n\nimport io.vtprof.truth.Burner;\nimport java.util.List;\n\n");
    source.append("/** Generated: the burners by kind and number. */\npublic final class Burners {\n");
    for (String kind : List.of("Root", "Child")) {
      source.append("  public static final List<Burner> ").append(kind.toUpperCase()).append(" = List.of(new Burner[] {\n");
      for (int i = 0; i < CLASSES; i++) {
        source.append(String.format("    %s%02d.INSTANCE,%n", kind, i));
      }
      source.append("  });\n");
    }
    return source.append("\n  private Burners() {}\n}\n").toString();
  }

  /** Leaves an unchanged file alone, so that a second build compiles nothing. */
  private static void write(Path file, String text) throws IOException {
    if (!Files.exists(file) || !Files.readString(file).equals(text)) {
      Files.writeString(file, text);
    }
  }
}
