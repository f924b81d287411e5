package io.vtprof.demo;

import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import io.vtprof.demo.endpoint.Endpoint;
import io.vtprof.demo.endpoint.FanOut;
import io.vtprof.demo.endpoint.Fast;
import io.vtprof.demo.endpoint.Gateway;
import io.vtprof.demo.endpoint.Json;
import io.vtprof.demo.endpoint.Report;
import io.vtprof.demo.endpoint.Slow;
import java.nio.file.Path;
import java.util.List;

/**
 * A Helidon SE service on virtual threads.
 *
 * <pre>java -agentpath:libvtprof.so -javaagent:opentelemetry-javaagent.jar -jar helidon-demo.jar [--host=localhost]
 *     [--port=8080] [--truth=FILE]</pre>
 *
 * <p>Says {@code listening on http://localhost:PORT} once it serves; port 0 takes a free one. Ends on SIGTERM.
 */
public final class Service {
  private static volatile WebServer server;

  private Service() {}

  public static void main(String[] args) {
    String host = "localhost";
    int port = 8080;
    Path truthFile = null;
    for (String arg : args) {
      if (arg.startsWith("--host=")) {
        host = arg.substring("--host=".length());
      } else if (arg.startsWith("--port=")) {
        port = Integer.parseInt(arg.substring("--port=".length()));
      } else if (arg.startsWith("--truth=")) {
        truthFile = Path.of(arg.substring("--truth=".length()));
      } else {
        throw new IllegalArgumentException("expected --host=NAME, --port=N or --truth=FILE, got " + arg);
      }
    }

    Truth truth = new Truth(truthFile);
    List<Endpoint> endpoints = List.of(new Fast(truth), new Slow(truth), new FanOut(truth), new Json(truth),
        new Report(truth), new Gateway(truth, () -> server.port()));
    HttpRouting.Builder routing = HttpRouting.builder();
    endpoints.forEach(endpoint -> routing.get(endpoint.path(), endpoint));
    server = WebServer.builder().host(host).port(port).routing(routing).build().start();
    System.out.println("listening on http://localhost:" + server.port());
  }
}
