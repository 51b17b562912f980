package io.fermata.examples;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.PrintWriter;
import java.io.Reader;
import java.io.Writer;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Starts the server on a new SQLite file, makes a few calls, and exits. The build runs this with
 * {@code -XX:ArchiveClassesAtExit}, which archives the classes that a start needs.
 */
public final class Rehearsal {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Pattern ENDPOINT = Pattern.compile("http://\\S+/mcp");
  private static final long CLOSE_MILLIS = 30_000;

  private final URI endpoint;
  private @Nullable String session;

  private Rehearsal(URI endpoint) {
    this.endpoint = endpoint;
  }

  public static void main(String[] arguments) throws IOException {
    Path directory = Files.createTempDirectory("fermata-rehearsal");
    PipedReader printed = new PipedReader();
    Thread server = server(directory.resolve("rehearsal.db"), new PipedWriter(printed));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory, server)));
    server.start();
    new Rehearsal(endpoint(printed)).converse();
    System.exit(0);
  }

  private static Thread server(Path database, Writer printed) {
    PrintWriter out = new PrintWriter(printed, true);
    String[] command = {"serve", "--port", "0", "--drain", "1", "--store", "sqlite:" + database};
    Thread server =
        new Thread(
            () -> {
              Main.cli().commandLine(command).setOut(out).execute(command);
              out.close();
            },
            "server");
    server.setDaemon(true);
    return server;
  }

  private static URI endpoint(Reader printed) throws IOException {
    String line = new BufferedReader(printed).readLine();
    Matcher endpoint = ENDPOINT.matcher(String.valueOf(line));
    if (!endpoint.find()) {
      throw new IllegalStateException("The server did not start");
    }
    return URI.create(endpoint.group());
  }

  private void converse() throws IOException {
    ObjectNode hello = MAPPER.createObjectNode().put("protocolVersion", "2025-06-18");
    hello.putObject("capabilities");
    hello.putObject("clientInfo").put("name", "rehearsal").put("version", "1");
    post("initialize", hello);
    post("tools/list", MAPPER.createObjectNode());
    ObjectNode call = MAPPER.createObjectNode().put("name", "quote");
    call.putObject("arguments").put("action", "start").put("intent", "rehearse");
    post("tools/call", call);
  }

  private void post(String method, ObjectNode params) throws IOException {
    ObjectNode message = MAPPER.createObjectNode().put("jsonrpc", "2.0").put("id", 1);
    message.put("method", method).set("params", params);
    HttpURLConnection connection = (HttpURLConnection) endpoint.toURL().openConnection();
    connection.setRequestProperty("Content-Type", "application/json");
    connection.setRequestProperty("Accept", "application/json, text/event-stream");
    if (session != null) {
      connection.setRequestProperty("Mcp-Session-Id", session);
      connection.setRequestProperty("MCP-Protocol-Version", "2025-06-18");
    }
    connection.setDoOutput(true);
    connection.getOutputStream().write(MAPPER.writeValueAsBytes(message));
    String reply = new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (!reply.contains("\"result\"")) {
      throw new IllegalStateException(method + " returned " + reply);
    }
    String given = connection.getHeaderField("Mcp-Session-Id");
    session = given == null ? session : given;
  }

  /** Deletes the store once the server, which closes at the same time, has ended. */
  private static void delete(Path directory, Thread server) {
    try {
      server.join(CLOSE_MILLIS);
      try (Stream<Path> files = Files.list(directory)) {
        for (Path file : files.toList()) {
          Files.deleteIfExists(file);
        }
      }
      Files.delete(directory);
    } catch (IOException | InterruptedException e) {
      System.err.println("Could not delete " + directory + ": " + e.getMessage());
    }
  }
}
