package io.vtprof.demo;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Drives the service over HTTP for a while and prints progress, then a table of answers an endpoint. With
 * {@code --answers} it ends once there are so many in all, each endpoint's in its share of them; {@code --seconds} is then
 * the most that this may take.
 *
 * <pre>java -cp helidon-demo.jar io.vtprof.demo.Load --url=http://localhost:8080 [--seconds=20] [--answers=N] [--clients=12]
 *     [--pause-ms=10]</pre>
 *
 * <p>Exit status 1 where any answer was not 200, or there were too few.
 */
public final class Load {
  private static final Map<String, Integer> WEIGHTS = new TreeMap<>(Map.of(
      "/fast", 50, "/json", 15, "/report", 10, "/fan-out", 10, "/gateway", 8, "/slow", 7));
  private static final int TOTAL_WEIGHT = WEIGHTS.values().stream().mapToInt(Integer::intValue).sum();
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE).build();
  private final Map<String, LongAdder> answers = new ConcurrentSkipListMap<>();
  private final Map<String, LongAdder> nanos = new ConcurrentHashMap<>();
  private final LongAdder failures = new LongAdder();
  private final String url;
  private final long pauseMillis;
  private final long deadline;
  private final long wanted;

  private Load(String url, int seconds, long wanted, long pauseMillis) {
    this.url = url;
    this.wanted = wanted;
    this.pauseMillis = pauseMillis;
    this.deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
  }

  public static void main(String[] args) throws InterruptedException {
    String url = "http://localhost:8080";
    int seconds = 20;
    long wanted = Long.MAX_VALUE;
    int clients = 12;
    long pauseMillis = 10;
    for (String arg : args) {
      String value = arg.substring(arg.indexOf('=') + 1);
      switch (arg.substring(0, Math.max(0, arg.indexOf('=')))) {
        case "--url" -> url = value;
        case "--seconds" -> seconds = Integer.parseInt(value);
        case "--answers" -> wanted = Long.parseLong(value);
        case "--clients" -> clients = Integer.parseInt(value);
        case "--pause-ms" -> pauseMillis = Long.parseLong(value);
        default -> throw new IllegalArgumentException(
            "expected --url, --seconds, --answers, --clients or --pause-ms, got " + arg);
      }
    }
    Load load = new Load(url, seconds, wanted, pauseMillis);
    load.drive(clients, seconds);
    boolean isEnough = wanted == Long.MAX_VALUE || load.isDone();
    System.exit(load.failures.sum() == 0 && isEnough ? 0 : 1);
  }

  private void drive(int clients, int seconds) throws InterruptedException {
    Thread[] threads = new Thread[clients];
    for (int i = 0; i < clients; i++) {
      SplittableRandom random = new SplittableRandom(i);
      threads[i] = Thread.ofVirtual().start(() -> ask(random));
    }
    long start = System.nanoTime();
    while (goesOn()) {
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      for (long nap = Math.min(2_000, left); nap > 0 && goesOn(); nap -= 100) {
        Thread.sleep(Math.min(100, nap));
      }
      System.out.printf("load: %2d of %d s, %,d answers, %d failed%n",
          Math.round((System.nanoTime() - start) / 1e9), seconds, total(), failures.sum());
    }
    for (Thread thread : threads) {
      thread.join();
    }
    answers.forEach((path, count) -> System.out.printf("load: %-10s %,8d answers, mean %.1f ms%n",
        path, count.sum(), nanos.get(path).sum() / 1e6 / count.sum()));
  }

  private long total() {
    return answers.values().stream().mapToLong(LongAdder::sum).sum();
  }

  private boolean goesOn() {
    return System.nanoTime() < deadline && !isDone();
  }

  private boolean isDone() {
    return WEIGHTS.keySet().stream().allMatch(this::hasEnough);
  }

  private boolean hasEnough(String path) {
    LongAdder count = answers.get(path);
    // Divided first: without a number wanted it is the largest there is.
    return count != null && count.sum() >= wanted / TOTAL_WEIGHT * WEIGHTS.get(path);
  }

  private void ask(SplittableRandom random) {
    while (goesOn()) {
      String path = draw(random);
      if (hasEnough(path)) {
        continue;
      }
      long start = System.nanoTime();
      try {
        HttpResponse<String> answer = send(path);
        if (answer.statusCode() != 200) {
          fail(path + " answered " + answer.statusCode());
          continue;
        }
        nanos.computeIfAbsent(path, key -> new LongAdder()).add(System.nanoTime() - start);
        answers.computeIfAbsent(path, key -> new LongAdder()).increment();
        Thread.sleep(random.nextLong(2 * pauseMillis + 1));
      } catch (IOException e) {
        fail(path + ": " + e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /** A second time where the connection broke: the server closes one that was idle for long. */
  private HttpResponse<String> send(String path) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url + path)).timeout(PATIENCE).build();
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      System.err.println("load: " + path + ", again after " + e);
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  private void fail(String what) {
    failures.increment();
    System.err.println("load: " + what);
  }

  private static String draw(SplittableRandom random) {
    int ticket = random.nextInt(TOTAL_WEIGHT);
    for (Map.Entry<String, Integer> entry : WEIGHTS.entrySet()) {
      ticket -= entry.getValue();
      if (ticket < 0) {
        return entry.getKey();
      }
    }
    throw new IllegalStateException("weights do not add up");
  }
}
