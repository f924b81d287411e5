package io.vtprof.truth;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;

/**
 * Calls that block in the kernel, each on a thread of its own, with and without a timeout. What is read must be what
 * was written, and no timeout may be over early, whatever signals come.
 *
 * <pre>SystemCalls SECONDS</pre>
 */
public final class SystemCalls {
  private static final int TIMEOUT_MS = 30;
  private static final int BYTES = 300_000;

  private interface Call {
    void once(SplittableRandom random) throws Exception;
  }

  private static volatile long deadline;
  private static final List<String> REPORT = new ArrayList<>();

  private SystemCalls() {}

  public static void main(String[] args) throws Exception {
    deadline = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
    List<Thread> threads = new ArrayList<>();
    threads.add(repeat("accept_timeout", SystemCalls::acceptTimeout));
    threads.add(repeat("read_timeout", SystemCalls::readTimeout));
    threads.add(repeat("datagram_timeout", SystemCalls::datagramTimeout));
    threads.add(repeat("select_timeout", SystemCalls::selectTimeout));
    threads.add(repeat("sleep", random -> early(() -> Thread.sleep(TIMEOUT_MS))));
    threads.add(repeat("queue_timeout", random -> early(() -> {
      if (new SynchronousQueue<Integer>().poll(TIMEOUT_MS, TimeUnit.MILLISECONDS) != null) {
        throw new IllegalStateException("something from nowhere");
      }
    })));
    threads.add(repeat("socket_stream", SystemCalls::socketStream));
    threads.add(repeat("pipe_stream", SystemCalls::pipeStream));
    threads.add(repeat("file", SystemCalls::file));
    threads.add(repeat("child", SystemCalls::child));
    for (Thread thread : threads) {
      thread.join();
    }
    REPORT.forEach(System.out::println);
    System.out.println("done");
  }

  private static Thread repeat(String name, Call call) {
    Thread thread = new Thread(() -> {
      SplittableRandom random = new SplittableRandom(name.hashCode());
      long rounds = 0;
      String failure = "";
      try {
        do {
          call.once(random.split());
          rounds++;
        } while (System.nanoTime() < deadline);
      } catch (Exception e) {
        failure = e.toString();
      }
      synchronized (REPORT) {
        REPORT.add(name + "_rounds=" + rounds);
        if (!failure.isEmpty()) {
          REPORT.add("failed: " + name + ": " + failure);
        }
      }
    }, name);
    thread.start();
    return thread;
  }

  private interface Blocking {
    void run() throws Exception;
  }

  /** That it lasts as long as it should, at least. The clock of a wait may be a coarser one: a tick of grace. */
  private static void early(Blocking call) throws Exception {
    long begun = System.nanoTime();
    call.run();
    long millis = (System.nanoTime() - begun) / 1_000_000;
    if (millis < TIMEOUT_MS - 5) {
      throw new IllegalStateException("over after " + millis + " ms");
    }
  }

  private static void timesOut(Blocking call) throws Exception {
    early(() -> {
      try {
        call.run();
      } catch (SocketTimeoutException e) {
        return;
      }
      throw new IllegalStateException("no timeout");
    });
  }

  private static void acceptTimeout(SplittableRandom random) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      server.setSoTimeout(TIMEOUT_MS);
      timesOut(server::accept);
    }
  }

  private static void readTimeout(SplittableRandom random) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept()) {
      client.setSoTimeout(TIMEOUT_MS);
      timesOut(() -> client.getInputStream().read());
      accepted.getOutputStream().write(77);
      // The byte may be late on a busy machine.
      client.setSoTimeout(0);
      if (client.getInputStream().read() != 77) {
        throw new IllegalStateException("another byte");
      }
    }
  }

  private static void datagramTimeout(SplittableRandom random) throws Exception {
    try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      socket.setSoTimeout(TIMEOUT_MS);
      timesOut(() -> socket.receive(new DatagramPacket(new byte[10], 10)));
    }
  }

  private static void selectTimeout(SplittableRandom random) throws Exception {
    try (Selector selector = Selector.open(); ServerSocketChannel server = ServerSocketChannel.open()) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      server.configureBlocking(false);
      server.register(selector, server.validOps());
      early(() -> {
        if (selector.select(TIMEOUT_MS) != 0) {
          throw new IllegalStateException("something to accept");
        }
      });
    }
  }

  private static byte[] bytes(SplittableRandom random) {
    byte[] bytes = new byte[BYTES];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) random.nextInt();
    }
    return bytes;
  }

  private static void same(byte[] written, byte[] read) {
    if (!java.util.Arrays.equals(written, read)) {
      throw new IllegalStateException("not what was written");
    }
  }

  private static void socketStream(SplittableRandom random) throws Exception {
    byte[] written = bytes(random);
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept()) {
      Thread writer = new Thread(() -> {
        try {
          accepted.getOutputStream().write(written);
        } catch (IOException e) {
          throw new IllegalStateException(e);
        }
      });
      writer.start();
      byte[] read = new byte[BYTES];
      new DataInputStream(client.getInputStream()).readFully(read);
      writer.join();
      same(written, read);
    }
  }

  private static void pipeStream(SplittableRandom random) throws Exception {
    byte[] written = bytes(random);
    Pipe pipe = Pipe.open();
    Thread writer = new Thread(() -> {
      try (Pipe.SinkChannel sink = pipe.sink()) {
        ByteBuffer buffer = ByteBuffer.wrap(written);
        while (buffer.hasRemaining()) {
          sink.write(buffer);
        }
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
    writer.start();
    ByteBuffer read = ByteBuffer.allocate(BYTES);
    try (Pipe.SourceChannel source = pipe.source()) {
      while (read.hasRemaining() && source.read(read) >= 0) {
        // Until all is here.
      }
    }
    writer.join();
    same(written, read.array());
  }

  private static void file(SplittableRandom random) throws Exception {
    byte[] written = bytes(random);
    Path file = Files.createTempFile("vtprof-calls", ".bin");
    try {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.wrap(written));
        channel.force(false);
      }
      same(written, Files.readAllBytes(file));
    } finally {
      Files.delete(file);
    }
  }

  private static void child(SplittableRandom random) throws Exception {
    byte[] written = bytes(random);
    Process child = new ProcessBuilder("cat").start();
    Thread writer = new Thread(() -> {
      try (var input = child.getOutputStream()) {
        input.write(written);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
    writer.start();
    try (InputStream output = child.getInputStream()) {
      same(written, output.readAllBytes());
    }
    writer.join();
    if (child.waitFor() != 0) {
      throw new IllegalStateException("status " + child.waitFor());
    }
  }
}
