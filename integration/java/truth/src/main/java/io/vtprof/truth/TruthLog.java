package io.vtprof.truth;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The file that says what every sample ought to carry: {@code # key=value} lines, then one tab-separated line a span.
 * It is kept in memory and written once, at exit or on SIGTERM: writing as spans end would burn CPU among the samples.
 * Only programs that run for hours write what is finished earlier ({@link #spill}).
 */
final class TruthLog {
  private final Path file;
  private final Path unfinished;
  private final Map<String, String> facts = new TreeMap<>();
  private final ConcurrentLinkedQueue<SpanTruth> spans = new ConcurrentLinkedQueue<>();
  private final ReentrantLock open = new ReentrantLock();
  private boolean closed;
  private final ConcurrentHashMap<String, LongAdder> untagged = new ConcurrentHashMap<>();

  TruthLog(Path file) {
    this.file = file;
    this.unfinished = file.resolveSibling(file.getFileName() + ".tmp");
    Runtime.getRuntime().addShutdownHook(new Thread(this::write, "truth-log"));
  }

  synchronized void fact(String key, Object value) {
    facts.put(key, String.valueOf(value));
  }

  /**
   * Notes a span before anything burns in it. Once the log is being written the caller is held here until the JVM is
   * gone: on SIGTERM the load goes on, and what it begins then would be in the samples and not in the log.
   */
  SpanTruth add(SpanTruth span) {
    change(() -> spans.add(span));
    return span;
  }

  /** Changes what the log says of a span, wholly before it is written; after, the caller is held as by {@link #add}. */
  void change(Runnable change) {
    open.lock();
    try {
      if (!closed) {
        change.run();
        return;
      }
    } finally {
      open.unlock();
    }
    while (true) {
      LockSupport.park(this);
    }
  }

  private void close() {
    open.lock();
    closed = true;
    open.unlock();
  }

  /** Notes work that no span may be charged with. */
  void untagged(String burner, long iterations) {
    untagged.computeIfAbsent(burner, name -> new LongAdder()).add(iterations);
  }

  /** Writes the spans that have ended, and forgets them. */
  synchronized void spill() throws IOException {
    try (PrintWriter out = unfinished()) {
      for (Iterator<SpanTruth> each = spans.iterator(); each.hasNext(); ) {
        SpanTruth span = each.next();
        if (span.endNanos != 0) {
          out.println(span.line());
          each.remove();
        }
      }
      if (out.checkError()) {
        throw new IOException("cannot write " + unfinished);
      }
    }
  }

  private PrintWriter unfinished() throws IOException {
    return new PrintWriter(
        Files.newBufferedWriter(unfinished, StandardOpenOption.CREATE, StandardOpenOption.APPEND));
  }

  private synchronized void write() {
    close();
    try (PrintWriter out = unfinished()) {
      fact("process_cpu_ns", Cpu.processNanos());
      facts.forEach((key, value) -> out.println("# " + key + "=" + value));
      untagged.forEach((name, iterations) -> out.println("# untagged." + name + "=" + iterations.sum()));
      spans.forEach(span -> out.println(span.line()));
      if (out.checkError()) {
        throw new IOException("cannot write " + unfinished);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    try {
      Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
