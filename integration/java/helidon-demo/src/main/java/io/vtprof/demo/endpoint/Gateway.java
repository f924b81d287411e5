package io.vtprof.demo.endpoint;

import io.vtprof.demo.Truth;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.function.IntSupplier;

/** {@code /gateway}: asks {@code /fast} of the same service over HTTP, so one trace has two local roots. */
public final class Gateway extends Endpoint {
  private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final IntSupplier port;

  public Gateway(Truth truth, IntSupplier port) {
    super("/gateway", truth);
    this.port = port;
  }

  @Override
  String answer() throws Exception {
    long before = burn(2_000);
    URI fast = URI.create("http://localhost:" + port.getAsInt() + "/fast");
    HttpResponse<String> answer = client.send(HttpRequest.newBuilder(fast).build(), HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IllegalStateException("/fast answered " + answer.statusCode());
    }
    return answer.body() + Long.toHexString(before + burn(2_000));
  }

  private static long burn(int micros) {
    return Hash.spin(5, micros);
  }
}
