package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A client that sends exactly what a test wants. */
public final class Wired {
  public static final String META =
      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
          + "\"io.modelcontextprotocol/clientCapabilities\":{}}";
  public static final ObjectMapper JSON = new ObjectMapper();

  /** A response. */
  public record Said(int status, HttpResponse<byte[]> raw, JsonNode body) {
    public JsonNode result() {
      return body.path("result");
    }

    public int code() {
      return body.path("error").path("code").asInt();
    }

    public String message() {
      return body.path("error").path("message").asText();
    }
  }

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private URI endpoint;
  private final Map<String, String> headers = new LinkedHashMap<>();
  private String method = "POST";

  public Wired(McpServer server) {
    this(server.endpoint());
  }

  Wired(URI endpoint) {
    this.endpoint = endpoint;
    headers.put("Content-Type", "application/json");
    headers.put("Accept", "application/json, text/event-stream");
  }

  public Wired with(String header, String value) {
    headers.put(header, value);
    return this;
  }

  public Wired without(String header) {
    headers.remove(header);
    return this;
  }

  /** Uses another path of the server. */
  public Wired at(String path) {
    endpoint = endpoint.resolve(path);
    return this;
  }

  public Wired method(String httpMethod) {
    this.method = httpMethod;
    return this;
  }

  /**
   * Opens a session of a revision before 2026-07-28, for all messages from now on.
   *
   * @param capabilities the capabilities of the client
   */
  public Wired session(String version, String capabilities) {
    Said welcome =
        request(
            "initialize",
            "\"protocolVersion\":\"%s\",\"capabilities\":%s".formatted(version, capabilities));
    return with("MCP-Protocol-Version", version)
        .with("Mcp-Session-Id", welcome.raw().headers().firstValue("Mcp-Session-Id").orElseThrow());
  }

  public String header(String name) {
    return headers.getOrDefault(name, "");
  }

  /** A modern request of a client with capabilities, with headers that mirror its body. */
  public String modernMessage(String rpcMethod, String name, String params, String capabilities) {
    with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", rpcMethod);
    if (!name.isEmpty()) {
      with("Mcp-Name", name);
    }
    return "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s,%s}}"
        .formatted(
            rpcMethod, params, META.replace("Capabilities\":{}", "Capabilities\":" + capabilities));
  }

  /** Sends a modern request, with headers that mirror its body. */
  public Said modern(String rpcMethod, String params) {
    with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", rpcMethod);
    return request(rpcMethod, params.isEmpty() ? META : params + "," + META);
  }

  /** Sends a request with the members of its params. */
  public Said request(String rpcMethod, String params) {
    return send(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s}}"
            .formatted(rpcMethod, params));
  }

  public Said send(String body) {
    return send(HttpRequest.BodyPublishers.ofString(body));
  }

  public Said send(byte[] body) {
    return send(HttpRequest.BodyPublishers.ofByteArray(body));
  }

  public Said send(HttpRequest.BodyPublisher body) {
    return sendTo(endpoint, body);
  }

  public Said sendTo(String path) {
    return sendTo(path, "{}");
  }

  public Said sendTo(String path, String body) {
    return sendTo(endpoint.resolve(path), HttpRequest.BodyPublishers.ofString(body));
  }

  /** Sends a message, and returns its answer as soon as it begins. */
  public CompletableFuture<Events> listen(String body) {
    HttpRequest request =
        request(
            endpoint,
            method.equals("GET")
                ? HttpRequest.BodyPublishers.noBody()
                : HttpRequest.BodyPublishers.ofString(body));
    return CLIENT
        .sendAsync(request, HttpResponse.BodyHandlers.ofInputStream())
        .orTimeout(60, TimeUnit.SECONDS)
        .thenApply(Events::new);
  }

  private HttpRequest request(URI uri, HttpRequest.BodyPublisher body) {
    HttpRequest.Builder request = HttpRequest.newBuilder(uri).method(method, body);
    headers.forEach(request::header);
    return request.build();
  }

  private Said sendTo(URI uri, HttpRequest.BodyPublisher body) {
    try {
      HttpResponse<byte[]> raw =
          CLIENT.send(request(uri, body), HttpResponse.BodyHandlers.ofByteArray());
      JsonNode tree =
          raw.body().length == 0 ? MissingNode.getInstance() : JSON.readTree(raw.body());
      return new Said(raw.statusCode(), raw, tree);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
