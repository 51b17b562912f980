package io.fermata.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A web client that shows MCP Apps: a host page that calls a server through its own origin, and a
 * sandbox of another origin, with the policy of a page's metadata.
 */
public final class AppsHost implements AutoCloseable {
  private static final List<String> FORWARDED =
      List.of("Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name");

  private final HttpClient client = HttpClient.newHttpClient();
  private final AtomicBoolean losing = new AtomicBoolean();
  private final URI endpoint;
  private final HttpServer host;
  private final HttpServer sandbox;

  public AppsHost(URI endpoint) throws IOException {
    this.endpoint = endpoint;
    this.host = server();
    this.sandbox = server();
    host.createContext("/host.html", file("host.html", "text/html"));
    host.createContext("/host.js", file("host.js", "text/javascript"));
    host.createContext("/mcp", this::forward);
    sandbox.createContext("/sandbox.html", this::sandbox);
    host.start();
    sandbox.start();
  }

  private static HttpServer server() throws IOException {
    return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  /** The address of the host page. */
  public URI page() {
    return URI.create(origin(host) + "/host.html?sandbox=" + origin(sandbox));
  }

  /** The only addresses that a page needs. */
  public List<String> origins() {
    return List.of(origin(host) + "/", origin(sandbox) + "/");
  }

  private static String origin(HttpServer server) {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** Loses the answer of the next call of a tool, after the call has arrived. */
  public void loseNextAnswer() {
    losing.set(true);
  }

  private static HttpHandler file(String name, String type) {
    return exchange -> answer(exchange, 200, type, resource(name));
  }

  private static byte[] resource(String name) throws IOException {
    try (InputStream in = AppsHost.class.getResourceAsStream(name)) {
      return Objects.requireNonNull(in, name).readAllBytes();
    }
  }

  private void sandbox(HttpExchange exchange) throws IOException {
    String query = Objects.requireNonNull(exchange.getRequestURI().getRawQuery());
    String csp = URLDecoder.decode(query.substring("csp=".length()), StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Security-Policy", policy(Json.parse(csp)));
    answer(exchange, 200, "text/html", resource("sandbox.html"));
  }

  /** The policy that MCP Apps derives from the origins of a page. */
  private static String policy(JsonNode csp) {
    String loads = sources(csp, "resourceDomains", "");
    return String.join(
        "; ",
        "default-src 'none'",
        "script-src 'self' 'unsafe-inline'" + loads,
        "style-src 'self' 'unsafe-inline'" + loads,
        "img-src 'self' data:" + loads,
        "font-src 'self'" + loads,
        "media-src 'self' data:" + loads,
        "connect-src" + sources(csp, "connectDomains", " 'none'"),
        "frame-src" + sources(csp, "frameDomains", " 'none'"),
        "object-src 'none'",
        "base-uri" + sources(csp, "baseUriDomains", " 'self'"));
  }

  private static String sources(JsonNode csp, String directive, String otherwise) {
    List<String> named = new ArrayList<>();
    csp.path(directive).forEach(origin -> named.add(" " + origin.asText()));
    return named.isEmpty() ? otherwise : String.join("", named);
  }

  private void forward(HttpExchange exchange) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(endpoint)
            .POST(HttpRequest.BodyPublishers.ofByteArray(exchange.getRequestBody().readAllBytes()));
    for (String header : FORWARDED) {
      String value = exchange.getRequestHeaders().getFirst(header);
      if (value != null) {
        request.header(header, value);
      }
    }
    HttpResponse<byte[]> response;
    try {
      response = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    boolean call = "tools/call".equals(exchange.getRequestHeaders().getFirst("Mcp-Method"));
    if (call && losing.compareAndSet(true, false)) {
      byte[] lost =
          "{\"error\":{\"code\":-32000,\"message\":\"the network is down\"}}"
              .getBytes(StandardCharsets.UTF_8);
      answer(exchange, 502, "application/json", lost);
    } else {
      answer(exchange, response.statusCode(), "application/json", response.body());
    }
  }

  private static void answer(HttpExchange exchange, int status, String type, byte[] body)
      throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type + "; charset=utf-8");
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @Override
  public void close() {
    host.stop(0);
    sandbox.stop(0);
  }
}
