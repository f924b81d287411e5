package io.vtprof.demo;

import io.opentelemetry.api.trace.SpanContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Notes which class served which span, and writes it at exit in the format of the {@code truth} program. Off unless a
 * file is named: a demo keeps nothing.
 */
public final class Truth {
  private static final Entry UNNOTED = new Entry("", "", "", "", "");

  private final ConcurrentLinkedQueue<Entry> entries = new ConcurrentLinkedQueue<>();
  private final Path file;

  /** @param file where to write, or null to note nothing */
  Truth(Path file) {
    this.file = file;
    if (file != null) {
      Runtime.getRuntime().addShutdownHook(new Thread(this::write, "truth-log"));
    }
  }

  /** A span in whose name the calling class now burns. */
  public Entry begin(String burner, String name, SpanContext span, SpanContext localRoot) {
    if (file == null) {
      return UNNOTED;
    }
    Entry entry = new Entry(burner, name, span.getTraceId(), span.getSpanId(), localRoot.getSpanId());
    entries.add(entry);
    return entry;
  }

  private void write() {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
      out.println("# scenario=helidon");
      out.println("# java=" + System.getProperty("java.version"));
      entries.forEach(entry -> out.println(entry.line()));
      if (out.checkError()) {
        throw new IOException("cannot write " + file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One span's note. */
  public static final class Entry {
    private final String burner;
    private final String name;
    private final String traceId;
    private final String spanId;
    private final String localRootId;
    private final long startNanos = System.nanoTime();
    private volatile long endNanos;

    private Entry(String burner, String name, String traceId, String spanId, String localRootId) {
      this.burner = burner;
      this.name = name;
      this.traceId = traceId;
      this.spanId = spanId;
      this.localRootId = localRootId;
    }

    /** The class burns no more in the name of this span. */
    public void end() {
      endNanos = System.nanoTime();
    }

    private String line() {
      String parent = spanId.equals(localRootId) ? "" : localRootId;
      // How much was burnt is not counted here, nor how long the span lasted, and a fan-out burns on several threads.
      return String.join("\t", burner, name, "GET", traceId, spanId, parent, localRootId, Long.toString(startNanos),
          Long.toString(endNanos), "0",
          burner.equals("FanOut") ? "parallel" : "serial", "0");
    }
  }
}
