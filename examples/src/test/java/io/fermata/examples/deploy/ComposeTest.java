package io.fermata.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.examples.Main;
import io.fermata.persistence.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.ParseResult;

/** The file of Compose, compared with the servers that it starts. */
class ComposeTest {
  /** Those of the Compose specification that are used here. */
  private static final Set<String> KEYS =
      Set.of(
          "build",
          "cap_drop",
          "command",
          "depends_on",
          "environment",
          "healthcheck",
          "image",
          "mem_limit",
          "ports",
          "read_only",
          "restart",
          "security_opt",
          "stop_grace_period",
          "tmpfs",
          "volumes");

  private final JsonNode file = Deployed.yaml("compose.yaml").get(0);

  private Map<String, JsonNode> servers() {
    Map<String, JsonNode> servers = new TreeMap<>();
    file.path("services")
        .properties()
        .forEach(
            service -> {
              if (service.getValue().has("command")) {
                servers.put(service.getKey(), service.getValue());
              }
            });
    assertThat(servers).hasSize(3);
    return servers;
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    array.forEach(text -> texts.add(text.textValue()));
    return texts;
  }

  private static ParseResult serve(JsonNode server) {
    return Deployed.serve(texts(server.path("command")));
  }

  @Test
  void composeKnowsEveryKey() {
    assertThat(names(file)).containsExactlyInAnyOrder("name", "x-server", "services", "volumes");
    file.path("services").forEach(service -> assertThat(KEYS).containsAll(names(service)));
    assertThat(names(file.at("/services/database/healthcheck")))
        .containsExactlyInAnyOrder("test", "interval", "timeout", "retries");
    assertThat(names(file.path("volumes"))).containsExactly("database");
  }

  @Test
  void optionsAndVariablesAreThoseOfTheServer() throws IOException {
    for (JsonNode server : servers().values()) {
      ParseResult serve = serve(server);
      assertThat(Deployed.option(serve, "--cluster", Boolean.class)).isTrue();
      assertThat(Deployed.option(serve, "--address", String.class)).isEqualTo("0.0.0.0");
      assertThat(Deployed.unread(names(server.path("environment")).stream())).isEmpty();
      assertThat(server.path("environment").path("FERMATA_API_KEYS").asText())
          .as("an address that others reach needs keys")
          .isNotEmpty();
    }
  }

  @Test
  void everyOperatorHasAKey() {
    for (JsonNode server : servers().values()) {
      String keys = server.at("/environment/FERMATA_API_KEYS").asText();
      assertThat(keys).startsWith("${FERMATA_API_KEYS:-").endsWith("}");
      Deployed.requireOperators(
          serve(server), keys.substring(keys.indexOf('-') + 1, keys.length() - 1));
    }
  }

  @Test
  void everyServerIsReachedAtItsNameAndAtAPortOfItsOwn() {
    Set<String> published = new HashSet<>();
    servers()
        .forEach(
            (name, server) -> {
              ParseResult serve = serve(server);
              assertThat(Deployed.option(serve, "--cluster-address", String.class))
                  .isEqualTo(name + ":7400");
              String[] port = server.at("/ports/0").asText().split(":", -1);
              assertThat(port).hasSize(3).startsWith("127.0.0.1");
              assertThat(Integer.valueOf(port[2]))
                  .isEqualTo(Deployed.option(serve, "--port", Integer.class));
              assertThat(published.add(port[1])).isTrue();
            });
  }

  @Test
  void prometheusReadsTheMetricsOfTheTargetsThatAreDocumented() throws IOException {
    for (Map.Entry<String, JsonNode> server : servers().entrySet()) {
      String target = server.getKey() + ":8080";
      assertThat(Deployed.text("README.md")).contains("\"" + target + "\"");
      assertThat(Deployed.scraped(serve(server.getValue()), target)).isEqualTo(200);
    }
  }

  @Test
  void theStoreIsTheDatabaseOfTheFile() {
    JsonNode database = file.at("/services/database/environment");
    for (JsonNode server : servers().values()) {
      JsonNode environment = server.path("environment");
      String store = environment.path("FERMATA_STORE").asText();
      Store.parse(store);
      assertThat(store)
          .isEqualTo(
              "postgres://%s@database/%s"
                  .formatted(
                      database.path("POSTGRES_USER").asText(),
                      database.path("POSTGRES_DB").asText()));
      assertThat(environment.path("PGPASSWORD")).isEqualTo(database.path("POSTGRES_PASSWORD"));
      assertThat(server.at("/depends_on/database/condition").asText()).isEqualTo("service_healthy");
    }
    assertThat(texts(file.at("/services/database/volumes")))
        .containsExactly("database:/var/lib/postgresql");
  }

  @Test
  void aServerHasTimeToLeaveAndIsStartedAgainWhenItWasRemoved() {
    for (JsonNode server : servers().values()) {
      String grace = server.path("stop_grace_period").asText();
      assertThat(grace).matches("\\d+s");
      assertThat(Duration.parse("PT" + grace)).isGreaterThan(Deployed.closing(serve(server)));
      assertThat(Deployed.lost()).isNotZero();
      assertThat(server.path("restart").asText()).isEqualTo("on-failure");
    }
  }

  @Test
  void whatIsWrittenIsOnAVolume() {
    for (JsonNode server : servers().values()) {
      Path ledger = Deployed.option(serve(server), "--ledger", Path.class);
      assertThat(server.path("read_only").booleanValue()).isTrue();
      assertThat(texts(server.path("tmpfs"))).anyMatch(ledger::startsWith);
    }
  }

  @Test
  void theImageIsBuiltFromTheDockerfile() {
    for (JsonNode server : servers().values()) {
      Path context = Deployed.FOLDER.resolve(server.at("/build/context").asText()).normalize();
      assertThat(context.resolve(server.at("/build/dockerfile").asText()))
          .isEqualTo(Deployed.FOLDER.resolve("Dockerfile"))
          .exists();
      assertThat(context.resolve("pom.xml")).exists();
    }
  }

  /** The image has a user that Kubernetes runs it as, and a command that the jar has. */
  @Test
  void theImageRunsTheServerAsTheUserOfThePods() throws Exception {
    List<String> lines = Deployed.text("Dockerfile").lines().toList();
    assertThat(lines).contains("USER 10001");
    assertThat(Deployed.text("kubernetes/fermata.yaml")).contains("runAsUser: 10001\n");
    String start = line(lines, "ENTRYPOINT ");
    String archive = line(lines, "RUN java ");
    String jar = "/app/fermata-examples.jar";
    assertThat(start).contains("\"-jar\", \"" + jar + "\"");
    assertThat(archive).contains("-cp " + jar + " ");
    assertThat(Class.forName(archive.substring(archive.lastIndexOf(' ') + 1))).isNotNull();
    assertThat(archive).contains("-XX:AOTCacheOutput=/app/fermata-examples.aot ");
    assertThat(start).contains("\"-XX:AOTCache=/app/fermata-examples.aot\"");
    assertThat(line(lines, "COPY --from=build "))
        .isEqualTo("COPY --from=build /src/examples/target/fermata-examples.jar .");
    assertThat(Deployed.read(Deployed.FOLDER.resolveSibling("pom.xml")))
        .contains("<outputFile>${project.basedir}/target/fermata-examples.jar</outputFile>");
    assertThat(line(lines, "EXPOSE ")).isEqualTo("EXPOSE 8080 7400");
    CommandLine main = Main.cli().commandLine();
    assertThat(line(lines, "CMD ")).isEqualTo("CMD [\"serve\", \"--help\"]");
    assertThat(main.getSubcommands()).containsKey("serve");
  }

  private static String line(List<String> lines, String start) {
    return lines.stream().filter(line -> line.startsWith(start)).findFirst().orElseThrow();
  }

  /** Every module is in the build's context, which leaves out what was built before. */
  @Test
  void theImageIsBuiltWithoutWhatWasBuiltBefore() throws IOException {
    try (Stream<String> ignored = Files.lines(Deployed.FOLDER.resolve("Dockerfile.dockerignore"))) {
      assertThat(ignored).contains(".git", "**/target");
    }
  }
}
