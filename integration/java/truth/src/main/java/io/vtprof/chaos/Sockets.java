package io.vtprof.chaos;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;

/** Loopback connections between virtual threads. */
final class Sockets implements Antagonist {
  private static final int SIZE = 4 << 10;
  private static final int MESSAGES = 20;

  private final ThreadFactory virtual;

  Sockets(ThreadFactory virtual) {
    this.virtual = virtual;
  }

  @Override
  public void round(SplittableRandom random) throws IOException, InterruptedException, ExecutionException {
    byte[] sent = new byte[SIZE];
    for (int i = 0; i < SIZE; i++) {
      sent[i] = (byte) random.nextInt();
    }
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      FutureTask<Void> echoing = new FutureTask<>(() -> echo(server), null);
      FutureTask<Void> asking = new FutureTask<>(() -> ask(server, sent), null);
      virtual.newThread(echoing).start();
      virtual.newThread(asking).start();
      asking.get();
      echoing.get();
    }
  }

  private static void echo(ServerSocket server) {
    try (Socket socket = server.accept()) {
      InputStream in = socket.getInputStream();
      for (int i = 0; i < MESSAGES; i++) {
        socket.getOutputStream().write(in.readNBytes(SIZE));
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void ask(ServerSocket server, byte[] sent) {
    try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
      for (int i = 0; i < MESSAGES; i++) {
        socket.getOutputStream().write(sent);
        byte[] back = socket.getInputStream().readNBytes(SIZE);
        Check.same(true, Arrays.equals(sent, back), "bytes that went to and fro");
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
