package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What goes into the jar. */
class JarTest {
    private static final Path CLASSES = Path.of(System.getProperty("vtprof.test.classes"));
    private static final int JAVA_8 = 52;

    @Test
    void version_is_that_of_the_pom() {
        assertEquals(System.getProperty("vtprof.test.version"), Version.STRING);
    }

    @Test
    void all_classes_are_the_shims_own_and_run_on_java_8() throws IOException {
        List<Path> classes;
        try (Stream<Path> files = Files.walk(CLASSES)) {
            classes = files.filter(file -> file.toString().endsWith(".class")).toList();
        }
        assertTrue(classes.size() > 10);
        for (Path file : classes) {
            assertTrue(CLASSES.relativize(file).startsWith(Path.of("io", "vtprof", "otel")), file::toString);
            try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
                assertEquals(0xCAFEBABE, in.readInt());
                assertEquals(0, in.readUnsignedShort());
                assertEquals(JAVA_8, in.readUnsignedShort(), file::toString);
            }
        }
    }
}
