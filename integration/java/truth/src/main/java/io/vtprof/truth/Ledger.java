package io.vtprof.truth;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A mapped file with a place for each OS thread: kernel thread id, state, trace id (two halves), span id, each 64 bits of
 * the machine's order. State 1: it burns in that span; 2: it burns in none; 0: anything.
 */
final class Ledger {
  static final int PLACE_BYTES = 64;
  private static final int PLACES = 1_024;
  private static final int STATE = 8;
  private static final int TRACE = 16;
  private static final int SPAN = 32;
  private static final Path SELF = Path.of("/proc/thread-self");
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final ByteBuffer memory;
  private final AtomicInteger taken = new AtomicInteger();
  private final ConcurrentMap<Long, Integer> places = new ConcurrentHashMap<>();

  Ledger(String file) throws IOException {
    try (FileChannel channel = FileChannel.open(
        Path.of(file), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) PLACES * PLACE_BYTES);
    }
  }

  /**
   * Asks the kernel, as a virtual thread cannot know. To read a link takes no virtual thread off its carrier; a lock may,
   * as that of a map does where something is added, so the kernel is asked again after that.
   */
  int placeOfOsThread() throws IOException {
    while (true) {
      long task = Long.parseLong(Files.readSymbolicLink(SELF).getFileName().toString());
      Integer place = places.get(task);
      if (place != null) {
        return place;
      }
      places.computeIfAbsent(task, this::take);
    }
  }

  private int take(long task) {
    int place = taken.getAndAdd(PLACE_BYTES);
    LONGS.setVolatile(memory, place, task);
    return place;
  }

  void begin(int place, String traceId, String spanId) {
    LONGS.setVolatile(memory, place + TRACE, Long.parseUnsignedLong(traceId.substring(0, 16), 16));
    LONGS.setVolatile(memory, place + TRACE + 8, Long.parseUnsignedLong(traceId.substring(16), 16));
    LONGS.setVolatile(memory, place + SPAN, Long.parseUnsignedLong(spanId, 16));
    LONGS.setVolatile(memory, place + STATE, 1L);
  }

  void beginWithout(int place) {
    LONGS.setVolatile(memory, place + STATE, 2L);
  }

  void end(int place) {
    LONGS.setVolatile(memory, place + STATE, 0L);
  }
}
