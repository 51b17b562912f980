package io.fermata.bench.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.call.ToolReply;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Calls a server over one kept connection, as an MCP client of 2026-07-28 does. It is minimal, so
 * that a measurement shows the server and not the client.
 */
public final class HttpTarget implements Target {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String VERSION = "2026-07-28";

  /** The server did not take a call. */
  public static final class Refused extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    private final String code;

    Refused(JsonNode answer) {
      super("The server answered " + answer);
      code = answer.at("/error/data/code").asText(answer.path("error").asText());
    }

    /** The stable name of the reason; empty if it has none. */
    public String code() {
      return code;
    }
  }

  private final Socket socket;
  private final InputStream in;
  private int lastId;

  public HttpTarget(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    in = new BufferedInputStream(socket.getInputStream());
  }

  @Override
  public ToolReply call(String tool, ObjectNode arguments, ObjectNode meta) throws IOException {
    JsonNode answer = send(tool, request(tool, arguments, meta));
    JsonNode result = answer.path("result");
    if (!(result.path("structuredContent") instanceof ObjectNode structured)) {
      throw new Refused(answer);
    }
    JsonNode resultMeta = result.path("_meta");
    return new ToolReply(
        structured, resultMeta instanceof ObjectNode object ? object : MAPPER.createObjectNode());
  }

  private byte[] request(String tool, ObjectNode arguments, ObjectNode meta) throws IOException {
    ObjectNode request = MAPPER.createObjectNode();
    request.put("jsonrpc", "2.0").put("id", ++lastId).put("method", "tools/call");
    ObjectNode params = request.putObject("params").put("name", tool);
    params.set("arguments", arguments);
    ObjectNode all = params.putObject("_meta");
    all.setAll(meta);
    all.put("io.modelcontextprotocol/protocolVersion", VERSION);
    all.putObject("io.modelcontextprotocol/clientCapabilities");
    return MAPPER.writeValueAsBytes(request);
  }

  private JsonNode send(String tool, byte[] body) throws IOException {
    String head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: "
            + VERSION
            + "\r\nMcp-Method: tools/call\r\nMcp-Name: "
            + tool
            + "\r\nContent-Length: "
            + body.length
            + "\r\n\r\n";
    byte[] headBytes = head.getBytes(StandardCharsets.US_ASCII);
    byte[] all = new byte[headBytes.length + body.length];
    System.arraycopy(headBytes, 0, all, 0, headBytes.length);
    System.arraycopy(body, 0, all, headBytes.length, body.length);
    socket.getOutputStream().write(all);
    return MAPPER.readTree(in.readNBytes(contentLength()));
  }

  private int contentLength() throws IOException {
    int length = -1;
    for (String line = line(); !line.isEmpty(); line = line()) {
      String lower = line.toLowerCase(Locale.ROOT);
      if (lower.startsWith("content-length:")) {
        length = Integer.parseInt(lower.substring("content-length:".length()).trim());
      }
    }
    if (length < 0) {
      throw new IOException("The server's answer has no length");
    }
    return length;
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("The server closed the connection");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
