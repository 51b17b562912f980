package io.fermata.examples.deploy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.examples.Main;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.session.Fermata;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.cluster.HostCluster;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import picocli.CommandLine.ParseResult;

/** The files in the folder deploy, and what the code says of the things that they name. */
final class Deployed {
  static final Path FOLDER = Path.of("deploy").toAbsolutePath();

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final String LOGGING =
      "runtime/cli/src/main/resources/io/fermata/cli/telemetry/logback.xml";

  private Deployed() {}

  static String text(String file) {
    return read(FOLDER.resolve(file));
  }

  static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The documents of a file; a key that is there twice is an error. */
  static List<JsonNode> yaml(String file) {
    LoaderOptions strict = new LoaderOptions();
    strict.setAllowDuplicateKeys(false);
    List<JsonNode> documents = new ArrayList<>();
    for (Object document : new Yaml(new SafeConstructor(strict)).loadAll(text(file))) {
      documents.add(MAPPER.valueToTree(document));
    }
    return documents;
  }

  /** A command line as the server reads it, which refuses what it does not know. */
  static ParseResult serve(List<String> arguments) {
    ParseResult read =
        Main.cli().commandLine().parseArgs(arguments.toArray(String[]::new)).subcommand();
    assertThat(read.commandSpec().name()).isEqualTo("serve");
    return read;
  }

  static <T> T option(ParseResult serve, String name, Class<T> type) {
    Object value = serve.commandSpec().findOption(name).getValue();
    return type.cast(Objects.requireNonNull(value, name));
  }

  /** The alert for undecided steps needs an operator, and a server starts only with known ones. */
  static void requireOperators(ParseResult serve, String keys) {
    List<String> principals =
        Stream.of(keys.split(",", -1)).map(key -> key.split("=", 2)[0]).toList();
    assertThat(Stream.of(keys.split(",", -1)).map(key -> key.split("=", 2)[1]))
        .doesNotHaveDuplicates();
    List<?> operators = option(serve, "--operator", List.class);
    assertThat(operators).isNotEmpty();
    assertThat(principals).containsAll(operators.stream().map(String::valueOf).toList());
  }

  static int status(URI server, String path, String host) throws IOException {
    try (Socket socket = new Socket(server.getHost(), server.getPort())) {
      String request = "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(request.formatted(path, host).getBytes(US_ASCII));
      BufferedReader in =
          new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
      return Integer.parseInt(in.readLine().split(" ", -1)[1]);
    }
  }

  /** The status that Prometheus gets from such a server if this is its target. */
  static int scraped(ParseResult serve, String target) throws IOException {
    List<?> hosts = option(serve, "--allow-host", List.class);
    McpServerBuilder builder =
        McpServer.plain()
            .port(0)
            .allowedHosts(hosts.stream().map(String::valueOf).toArray(String[]::new));
    if (option(serve, "--metrics", Boolean.class)) {
      builder.metrics(() -> "up 1\n");
    }
    try (McpServer server = builder.start()) {
      return status(server.endpoint(), "/metrics", target);
    }
  }

  /** The exit code of a server that must be started again. */
  static int lost() {
    Map<String, String> codes =
        Main.cli().commandLine().getCommandSpec().usageMessage().exitCodeList();
    return codes.entrySet().stream()
        .filter(code -> code.getValue().contains("lost for good"))
        .map(code -> Integer.valueOf(code.getKey()))
        .findFirst()
        .orElseThrow();
  }

  /** How long a server takes to end at most: calls, work that is handed back, shards. */
  static Duration closing(ParseResult serve) {
    int drain = option(serve, "--drain", Integer.class);
    return Duration.ofSeconds(drain)
        .plus(constant(Fermata.class.getName(), "HAND_BACK"))
        .plus(constant(HostCluster.class.getName(), "MOVING"))
        .plus(ClusterSettings.LOCAL.handOver())
        .plus(constant(HostCluster.class.getName(), "LEFT"));
  }

  /** How long a server tries to join its cluster. */
  static Duration joining() {
    return constant("io.fermata.session.cluster.Membership", "FORMING");
  }

  private static Duration constant(String type, String name) {
    try {
      Field field = Class.forName(type).getDeclaredField(name);
      field.setAccessible(true);
      return (Duration) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("The time that " + type + " keeps as " + name, e);
    }
  }

  /** Those of some environment variables that no code of the server reads. */
  static Set<String> unread(Stream<String> variables) throws IOException {
    List<String> sources = new ArrayList<>(List.of(read(ROOT.resolve(LOGGING))));
    try (Stream<Path> files = Files.walk(ROOT)) {
      files
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> file.toString().contains("src/main/java"))
          .forEach(file -> sources.add(read(file)));
    }
    return variables
        .filter(
            name ->
                sources.stream()
                    .noneMatch(
                        text -> text.contains("\"" + name + "\"") || text.contains("${" + name)))
        .collect(Collectors.toSet());
  }
}
