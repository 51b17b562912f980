package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A scripted provider of OpenAI's chat completions on this machine, whole and streamed: for tests
 * of how a real client handles a provider's answers and failures.
 *
 * <pre>{@code
 * try (OpenAiStub stub = OpenAiStub.start().turn(Turn.rateLimited()).say("Hello")) {
 *   ChatModel client = OpenAiChatModel.builder()
 *       .baseUrl(stub.baseUrl()).apiKey("any").modelName("any").maxRetries(0).build();
 * }
 * }</pre>
 *
 * <p>It uses a bare socket, so that it can break a connection and detect when a client does.
 */
public final class OpenAiStub extends Script<OpenAiStub, JsonNode> implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final ServerSocket server;
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
  private final AtomicInteger busy = new AtomicInteger();

  /** A connection that the script breaks. */
  private static final class Cut extends IOException {
    private static final long serialVersionUID = 1L;
  }

  private OpenAiStub(ServerSocket server) {
    this.server = server;
  }

  /** A stub on a free port, with an empty script. */
  public static OpenAiStub start() {
    try {
      OpenAiStub stub = new OpenAiStub(new ServerSocket(0, 500, InetAddress.getLoopbackAddress()));
      stub.inBackground(stub::accept);
      return stub;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The address for clients. */
  public String baseUrl() {
    return "http://"
        + server.getInetAddress().getHostAddress()
        + ":"
        + server.getLocalPort()
        + "/v1";
  }

  /** How many requests are in flight; one that stalls ends when its client disconnects. */
  public int busy() {
    return busy.get();
  }

  /** Ends all connections. */
  @Override
  public void close() {
    try {
      server.close();
      for (Socket connection : connections) {
        connection.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  OpenAiStub self() {
    return this;
  }

  // --- conditions of rules ----------------------------------------------------------------------

  /** The request ends with a message of the user that contains this, in any case. */
  public static Predicate<JsonNode> lastUserContains(String text) {
    return request ->
        last(request).path("role").asText().equals("user")
            && contains(last(request).path("content").toString(), text);
  }

  /** The request ends with the result of this tool. */
  public static Predicate<JsonNode> lastIsResultOf(String tool) {
    return request -> {
      String id = last(request).path("tool_call_id").asText();
      for (JsonNode call : request.findValues("tool_calls")) {
        for (JsonNode one : call) {
          if (one.path("id").asText().equals(id)) {
            return one.path("function").path("name").asText().equals(tool);
          }
        }
      }
      return false;
    };
  }

  private static JsonNode last(JsonNode request) {
    JsonNode messages = request.path("messages");
    return messages.path(messages.size() - 1);
  }

  // --- connections ----------------------------------------------------------------------------

  private void inBackground(Runnable work) {
    Thread thread = new Thread(work, "openai-stub-" + server.getLocalPort());
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket connection = server.accept();
        connections.add(connection);
        inBackground(() -> serve(connection));
      } catch (IOException e) {
        // The stub is closed, or a client disconnected before it was accepted.
      }
    }
  }

  private void serve(Socket connection) {
    try (connection) {
      connection.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(connection.getInputStream());
      OutputStream out = new BufferedOutputStream(connection.getOutputStream());
      for (byte[] body = request(in); body != null; body = request(in)) {
        busy.incrementAndGet();
        try {
          answer(MAPPER.readTree(body), in, out);
        } finally {
          busy.decrementAndGet();
        }
      }
    } catch (IOException e) {
      // The client has disconnected, or the script breaks the connection.
    } finally {
      connections.remove(connection);
    }
  }

  /** The body of the next request; null if there is none. */
  private static byte @Nullable [] request(InputStream in) throws IOException {
    String start = line(in);
    int length = 0;
    for (String header = line(in); !header.isEmpty(); header = line(in)) {
      if (header.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
        length = Integer.parseInt(header.substring(header.indexOf(':') + 1).strip());
      }
    }
    return start.isEmpty() ? null : in.readNBytes(length);
  }

  private static String line(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
      line.write(next);
    }
    return line.toString(StandardCharsets.ISO_8859_1).strip();
  }

  // --- replies --------------------------------------------------------------------------------

  private void answer(JsonNode request, InputStream in, OutputStream out) throws IOException {
    Turn turn =
        next(request).orElseGet(() -> Turn.refuse(400, exhausted(last(request).toString())));
    pause(turn.delay());
    Turn.Refusal refusal = turn.refusal();
    if (refusal != null) {
      refuse(refusal, out);
    } else if (request.path("stream").asBoolean()) {
      stream(turn, request, in, out);
    } else {
      ending(turn, in);
      reply(out, "200 OK", "", Json.text(whole(turn, request)));
    }
  }

  private static void refuse(Turn.Refusal refusal, OutputStream out) throws IOException {
    ObjectNode body = Json.object();
    body.putObject("error")
        .put("message", refusal.message())
        .put("type", "error")
        .put("code", refusal.status());
    Duration retryAfter = refusal.retryAfter();
    String header =
        retryAfter == null
            ? ""
            : retryAfter.toMillisPart() == 0
                ? "Retry-After: " + retryAfter.toSeconds() + "\r\n"
                : "Retry-After-Ms: " + retryAfter.toMillis() + "\r\n";
    reply(out, refusal.status() + " Refused", header, Json.text(body));
  }

  private static void reply(OutputStream out, String status, String header, String body)
      throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    head(out, status, header + "Content-Type: application/json\r\nContent-Length: " + bytes.length);
    out.write(bytes);
    out.flush();
  }

  private static void head(OutputStream out, String status, String headers) throws IOException {
    String head = "HTTP/1.1 " + status + "\r\n" + headers + "\r\n\r\n";
    out.write(head.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static void stream(Turn turn, JsonNode request, InputStream in, OutputStream out)
      throws IOException {
    List<ObjectNode> deltas = deltas(turn, request);
    if (!deltas.isEmpty()) {
      head(out, "200 OK", "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked");
      event(out, Json.text(chunk(Json.object().put("role", "assistant"), null)));
      for (ObjectNode delta : deltas) {
        event(out, Json.text(chunk(delta, null)));
        pause(turn.pace());
      }
      ending(turn, in);
    } else {
      ending(turn, in);
      head(out, "200 OK", "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked");
    }
    event(out, Json.text(chunk(Json.object(), finish(turn))));
    ObjectNode last = Json.object().put("id", "stub").put("object", "chat.completion.chunk");
    last.putArray("choices");
    last.set("usage", usage(turn, request));
    event(out, Json.text(last));
    event(out, "[DONE]");
    out.write("0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  private static void event(OutputStream out, String data) throws IOException {
    byte[] bytes = ("data: " + data + "\n\n").getBytes(StandardCharsets.UTF_8);
    out.write((Integer.toHexString(bytes.length) + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
    out.write(bytes);
    out.write("\r\n".getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  /** Continues only if the turn completes. */
  private static void ending(Turn turn, InputStream in) throws IOException {
    switch (turn.end()) {
      case COMPLETE -> {}
      case CUT -> throw new Cut();
      case STALL -> {
        // A client that waits for a reply sends nothing, so this ends when it disconnects.
        in.transferTo(OutputStream.nullOutputStream());
        throw new Cut();
      }
    }
  }

  private static void pause(Duration time) throws IOException {
    try {
      Thread.sleep(time.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  // --- OpenAI's JSON --------------------------------------------------------------------------

  private static String finish(Turn turn) {
    return turn.calls().isEmpty() ? "stop" : "tool_calls";
  }

  private static ObjectNode whole(Turn turn, JsonNode request) {
    ObjectNode message = Json.object().put("role", "assistant").put("content", turn.text());
    if (turn.thinking() != null) {
      message.put("reasoning_content", turn.thinking());
    }
    if (!turn.calls().isEmpty()) {
      ArrayNode calls = message.putArray("tool_calls");
      for (int i = 0; i < turn.calls().size(); i++) {
        calls.add(call(turn, request, i));
      }
    }
    ObjectNode body = Json.object().put("id", "stub").put("object", "chat.completion");
    body.put("model", request.path("model").asText());
    body.putArray("choices")
        .addObject()
        .put("index", 0)
        .put("finish_reason", finish(turn))
        .set("message", message);
    body.set("usage", usage(turn, request));
    return body;
  }

  private static ObjectNode call(Turn turn, JsonNode request, int index) {
    Turn.Call call = turn.calls().get(index);
    List<JsonNode> messages = new ArrayList<>();
    request.path("messages").forEach(messages::add);
    ObjectNode body = Json.object().put("index", index).put("type", "function");
    body.put("id", callId(call, messages, index));
    body.putObject("function").put("name", call.tool()).put("arguments", call.arguments());
    return body;
  }

  private static List<ObjectNode> deltas(Turn turn, JsonNode request) {
    List<ObjectNode> deltas = new ArrayList<>();
    turn.pieces(turn.thinking())
        .forEach(piece -> deltas.add(Json.object().put("reasoning_content", piece)));
    turn.pieces(turn.text()).forEach(piece -> deltas.add(Json.object().put("content", piece)));
    for (int i = 0; i < turn.calls().size(); i++) {
      ObjectNode begun = call(turn, request, i);
      ObjectNode function = (ObjectNode) begun.get("function");
      List<String> pieces = turn.pieces(function.path("arguments").textValue());
      function.put("arguments", "");
      deltas.add(calling(begun));
      for (String piece : pieces) {
        ObjectNode more = Json.object().put("index", i);
        more.putObject("function").put("arguments", piece);
        deltas.add(calling(more));
      }
    }
    return deltas;
  }

  private static ObjectNode calling(ObjectNode call) {
    ObjectNode delta = Json.object();
    delta.putArray("tool_calls").add(call);
    return delta;
  }

  private static ObjectNode chunk(ObjectNode delta, @Nullable String finish) {
    ObjectNode chunk = Json.object().put("id", "stub").put("object", "chat.completion.chunk");
    ObjectNode choice = chunk.putArray("choices").addObject().put("index", 0);
    choice.put("finish_reason", finish).set("delta", delta);
    return chunk;
  }

  private static ObjectNode usage(Turn turn, JsonNode request) {
    Turn.Tokens tokens = turn.tokens(request.path("messages").toString().length());
    ObjectNode usage =
        Json.object()
            .put("prompt_tokens", tokens.input())
            .put("completion_tokens", tokens.output())
            .put("total_tokens", tokens.input() + tokens.output());
    usage.putObject("prompt_tokens_details").put("cached_tokens", tokens.cached());
    return usage;
  }
}
