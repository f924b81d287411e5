package io.vtprof.truth;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;

/** A loopback server that sends a byte back as many tenths of a millisecond later as the byte says. */
final class EchoServer {
  private final ThreadFactory threads = Threads.platform("echo");
  private final ConcurrentLinkedQueue<Socket> idle = new ConcurrentLinkedQueue<>();
  private final ServerSocket server;

  EchoServer() throws IOException {
    server = new ServerSocket(0, 256, InetAddress.getLoopbackAddress());
    threads.newThread(this::accept).start();
  }

  /** Blocks the caller in a socket read. */
  void roundTrip(int delay) {
    Socket pooled = idle.poll();
    try {
      Socket socket = pooled != null ? pooled : new Socket(server.getInetAddress(), server.getLocalPort());
      socket.setTcpNoDelay(true);
      socket.getOutputStream().write(delay);
      int answer = socket.getInputStream().read();
      if (answer != delay) {
        throw new IOException("sent " + delay + ", got " + answer);
      }
      idle.add(socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = server.accept();
        threads.newThread(() -> echo(socket)).start();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void echo(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      for (int delay = socket.getInputStream().read(); delay >= 0; delay = socket.getInputStream().read()) {
        LockSupport.parkNanos(delay * 100_000L);
        socket.getOutputStream().write(delay);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
