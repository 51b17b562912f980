package io.fermata.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.cli.telemetry.StandardLog;
import io.fermata.flow.json.Json;
import io.fermata.jvm.ClassArchive;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The server in a separate JVM, and an MCP client of it. It is the packaged jar where the build
 * names one, else the classes of this build.
 */
public final class ServerProcess implements AutoCloseable {
  /** The packaged jar, which is there once the build has packaged it. */
  static final @Nullable String JAR = System.getProperty("server.jar");

  /** A small heap; a flag without which newer JVMs warn about the actors. */
  private static final List<String> OPTIONS =
      List.of(
          "-Xmx512m", "-XX:+IgnoreUnrecognizedVMOptions", "--sun-misc-unsafe-memory-access=allow");

  /**
   * The manifest of the jar has it. A newer JVM that gets it on the command line as well rejects a
   * class archive that was dumped without it.
   */
  private static final String NATIVE = "--enable-native-access=ALL-UNNAMED";

  /** The log that users see, where the classes of the tests would bring theirs. */
  private static final String LOG = "-Dlogback.configurationFile=" + StandardLog.CONFIGURATION;

  private static @Nullable ClassArchive archive;

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Pattern ENDPOINT = Pattern.compile("http://\\S+/mcp");

  private final HttpClient http = HttpClient.newHttpClient();
  private final Process process;
  private final URI endpoint;
  private @Nullable String session;
  private int lastId;

  private ServerProcess(Process process, URI endpoint) {
    this.process = process;
    this.endpoint = endpoint;
  }

  public static ServerProcess start(Path directory, String... options) throws Exception {
    return start(Main.class, directory, options);
  }

  /** Starts an application whose first line names its endpoint. */
  static ServerProcess start(Class<?> main, Path directory, String... options) throws Exception {
    Path errors = directory.resolve("errors.txt");
    Process process = run(main, directory, Map.of(), options);
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    Matcher line = ENDPOINT.matcher(String.valueOf(out.readLine()));
    if (!line.find()) {
      process.destroyForcibly();
      throw new AssertionError("The server did not start: " + Files.readString(errors));
    }
    ServerProcess server = new ServerProcess(process, URI.create(line.group()));
    server.greet();
    return server;
  }

  /** Runs a command in a separate JVM; its errors go to errors.txt. */
  public static Process run(Path directory, String... options) throws IOException {
    return run(directory, Map.of(), options);
  }

  /** As {@link #run(Path, String...)}, with its output written to a file. */
  static Process runInto(File output, Path directory, String... options) throws IOException {
    return new ProcessBuilder(command(Main.class, options))
        .directory(directory.toFile())
        .redirectError(directory.resolve("errors.txt").toFile())
        .redirectOutput(output)
        .start();
  }

  static Process run(Path directory, Map<String, String> environment, String... options)
      throws IOException {
    return run(Main.class, directory, environment, options);
  }

  static Process run(
      Class<?> main, Path directory, Map<String, String> environment, String... options)
      throws IOException {
    ProcessBuilder process =
        new ProcessBuilder(command(main, options))
            .directory(directory.toFile())
            .redirectError(directory.resolve("errors.txt").toFile());
    process.environment().putAll(environment);
    return process.start();
  }

  private static List<String> command(Class<?> main, String... options) throws IOException {
    List<String> command = new ArrayList<>();
    command.addAll(java());
    command.addAll(OPTIONS);
    command.addAll(application(main));
    command.addAll(List.of(options));
    return command;
  }

  private static List<String> application(Class<?> main) throws IOException {
    if (JAR != null && main.equals(Main.class)) {
      // As the README starts it.
      return List.of("-XX:SharedArchiveFile=" + JAR.replaceAll("jar$", "jsa"), "-jar", JAR);
    }
    return onClassPath(
        JAR == null && main.equals(Main.class) ? archive().using() : List.of("-cp", classes()),
        main);
  }

  private static List<String> onClassPath(List<String> classPath, Class<?> main) {
    List<String> application = new ArrayList<>(List.of(NATIVE, LOG));
    application.addAll(classPath);
    application.add(main.getName());
    return application;
  }

  /** Of the classes that a start of the server loads, as the build makes one for the jar. */
  private static synchronized ClassArchive archive() throws IOException {
    if (archive == null) {
      Path folder = Files.createTempDirectory("classes");
      folder.toFile().deleteOnExit();
      ClassArchive written = ClassArchive.in(folder);
      List<String> command = java();
      command.addAll(OPTIONS);
      command.addAll(onClassPath(written.writing(), Rehearsal.class));
      Process rehearsal =
          new ProcessBuilder(command)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      if (rehearsal.onExit().join().exitValue() != 0) {
        throw new AssertionError("The rehearsal of the server failed");
      }
      archive = written;
    }
    return archive;
  }

  /** Those of this build; an application of the tests runs around the packaged ones. */
  private static String classes() {
    return JAR == null
        ? classPath()
        : JAR + File.pathSeparator + classPath().split(File.pathSeparator, 2)[0];
  }

  /**
   * A JVM with the flags of this one: it lives as briefly, and need not optimize its code either.
   */
  static List<String> java() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(flag -> flag.startsWith("-XX:"))
        .forEach(command::add);
    return command;
  }

  /** The class path of this test, absolute, because the server runs in another directory. */
  private static String classPath() {
    List<String> entries = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      entries.add(Path.of(entry).toAbsolutePath().toString());
    }
    return String.join(File.pathSeparator, entries);
  }

  /** An address of the server. */
  URI at(String path) {
    return endpoint.resolve(path);
  }

  URI endpoint() {
    return endpoint;
  }

  /** The processor time that it has used so far. */
  Duration cpu() {
    return process
        .info()
        .totalCpuDuration()
        .orElseThrow(
            () -> new AssertionError("This system reports no processor time of a process"));
  }

  private void greet() throws Exception {
    ObjectNode hello = Json.object().put("protocolVersion", "2025-06-18");
    hello.putObject("capabilities");
    hello.putObject("clientInfo").put("name", "test").put("version", "1");
    HttpResponse<String> response = post("initialize", hello);
    session = response.headers().firstValue("mcp-session-id").orElse(null);
  }

  /** Calls a tool and returns its structured content. */
  public JsonNode call(String tool, ObjectNode arguments) throws Exception {
    ObjectNode params = Json.object().put("name", tool);
    params.set("arguments", arguments);
    return result("tools/call", params).path("structuredContent");
  }

  public JsonNode result(String method, ObjectNode params) throws Exception {
    JsonNode answer = answer(method, params);
    if (!answer.has("result")) {
      throw new AssertionError(method + " returned " + answer);
    }
    return answer.path("result");
  }

  /** The whole answer, which may be a refusal. */
  JsonNode answer(String method, ObjectNode params) throws IOException, InterruptedException {
    return MAPPER.readTree(post(method, params).body());
  }

  private HttpResponse<String> post(String method, ObjectNode params)
      throws IOException, InterruptedException {
    ObjectNode message = Json.object().put("jsonrpc", "2.0").put("id", ++lastId);
    message.put("method", method).set("params", params);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(endpoint)
            .timeout(Duration.ofSeconds(30))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .POST(BodyPublishers.ofString(Json.text(message)));
    if (session != null) {
      request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-06-18");
    }
    return http.send(request.build(), BodyHandlers.ofString());
  }

  /** Ends the process as a power cut would. */
  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Sends SIGTERM and returns at once. */
  void askToEnd() {
    process.destroy();
  }

  /** Waits until the process has ended, and returns its exit code. */
  int ended() throws InterruptedException {
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new AssertionError("The process did not end");
    }
    return process.exitValue();
  }

  /** Sends SIGTERM, and returns whether the process ended in time. */
  public boolean endsWhenAsked() throws InterruptedException {
    process.destroy();
    return process.waitFor(60, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
