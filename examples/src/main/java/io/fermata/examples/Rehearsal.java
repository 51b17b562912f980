package io.fermata.examples;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.examples.command.Commands;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.PrintWriter;
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

  private final URI endpoint;
  private @Nullable String session;

  private Rehearsal(URI endpoint) {
    this.endpoint = endpoint;
  }

  public static void main(String[] arguments) throws IOException {
    Path directory = Files.createTempDirectory("fermata-rehearsal");
    try {
      new Rehearsal(serve(directory.resolve("rehearsal.db"))).converse();
    } finally {
      Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory)));
    }
    System.exit(0);
  }

  private static URI serve(Path database) throws IOException {
    PipedReader printed = new PipedReader();
    PrintWriter out = new PrintWriter(new PipedWriter(printed), true);
    String[] command = {"serve", "--port", "0", "--drain", "1", "--store", "sqlite:" + database};
    Thread server =
        new Thread(
            () -> {
              Commands.commandLine(command).setOut(out).execute(command);
              out.close();
            },
            "server");
    server.setDaemon(true);
    server.start();
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
    hello.putObject("clientInfo").put("name", "rehearsal").put("version", Commands.version());
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

  private static void delete(Path directory) {
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.toList()) {
        Files.deleteIfExists(file);
      }
      Files.delete(directory);
    } catch (IOException e) {
      System.err.println("Could not delete " + directory + ": " + e.getMessage());
    }
  }
}
