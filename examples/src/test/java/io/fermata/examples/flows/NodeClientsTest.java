package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.examples.Dinner;
import io.fermata.examples.Stdio;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * MCP clients of other vendors for Node, each driving the quote flow on a real SQLite file. They
 * need Node and npm on the PATH.
 */
@Tag("tools")
class NodeClientsTest {
  private static final Path CLIENTS = Path.of("target", "clients");
  private static final Path INSPECTOR =
      Path.of("node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js");

  @TempDir Path folder;

  @BeforeAll
  static void install() throws Exception {
    Files.createDirectories(CLIENTS);
    for (String file :
        List.of("package.json", "package-lock.json", "clients.mjs", "forms.mjs", "quote.mjs")) {
      Files.write(CLIENTS.resolve(file), Files.readAllBytes(Path.of("src/test/clients", file)));
    }
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1", "v2-legacy", "v2-modern"})
  void theTypeScriptSdkDrivesTheQuoteThroughEveryStatus(String client) throws Exception {
    try (ExamplesHost examples = ExamplesHost.start(Store.sqlite(folder.resolve("quote.db")));
        McpServer server = McpServer.serving(examples.host()).port(0).start()) {
      drivesTheQuote(client, server.endpoint().toString());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1", "v2-modern"})
  void theTypeScriptSdkDrivesTheQuoteInOneProcessAndTheNext(String client) throws Exception {
    drivesTheQuote(client, new ObjectMapper().writeValueAsString(stdio()));
  }

  private static void drivesTheQuote(String client, String target) throws Exception {
    String printed = run("node", "quote.mjs", client, target);
    assertThat(printed.lines().map(String::strip))
        .containsExactly(
            "interrupt",
            "error answer_rejected",
            "interrupt",
            "widget",
            "complete",
            "error run_completed",
            "all four statuses seen");
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1", "v2-legacy", "v2-modern"})
  void theTypeScriptSdkFillsInForms(String client) throws Exception {
    try (Fermata host = Dinner.host(folder);
        McpServer server = McpServer.serving(host).port(0).start()) {
      assertThat(run("node", "forms.mjs", client, server.endpoint().toString()))
          .contains("forms filled in");
    }
  }

  /** The server as a process of its client. */
  private List<String> stdio() {
    return Stdio.command(folder.resolve("stdio.db"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"legacy", "modern"})
  void theInspectorSeesEachStatus(String era) throws Exception {
    try (ExamplesHost examples = ExamplesHost.start(Store.sqlite(folder.resolve("quote.db")));
        McpServer server = McpServer.serving(examples.host()).port(0).start()) {
      seesEachStatus(over(server, era));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"legacy", "modern"})
  void theInspectorFindsThePagesOfTheWidgets(String era) throws Exception {
    try (ExamplesHost examples = ExamplesHost.start(Store.sqlite(folder.resolve("pages.db")));
        McpServer server = McpServer.serving(examples.host()).port(0).start()) {
      String printed = over(server, era).run("--method", "tools/list", "--app-info");
      Map<String, JsonNode> apps = new TreeMap<>();
      for (String line : printed.lines().toList()) {
        JsonNode app = new ObjectMapper().readTree(line);
        if (app.path("hasApp").asBoolean()) {
          apps.put(app.path("toolName").asText(), app);
        }
      }
      assertThat(apps).containsOnlyKeys("show_plans", "choose_table");
      JsonNode plans = Objects.requireNonNull(apps.get("show_plans"));
      assertThat(plans.path("resourceMimeType").asText()).isEqualTo("text/html;profile=mcp-app");
      assertThat(plans.path("visibility").toString()).isEqualTo("[\"model\",\"app\"]");
      assertThat(plans.at("/csp/connectDomains").isEmpty()).isTrue();
      assertThat(plans.path("prefersBorder").asBoolean()).isTrue();
    }
  }

  @Test
  void theInspectorSeesEachStatusOverStdioFromAProcessEach() throws Exception {
    seesEachStatus(new Inspector(stdio()));
  }

  private static Inspector over(McpServer server, String era) {
    String address = server.endpoint().toString();
    return new Inspector(
        List.of("--server-url", address, "--transport", "http", "--protocol-era", era));
  }

  private static void seesEachStatus(Inspector inspector) throws Exception {
    JsonNode asked = inspector.call("{'action':'start','intent':'a price'}");
    String session = asked.path("sessionId").asText();
    assertThat(asked.path("questions")).hasSize(2);
    assertThat(inspector.proceed(session, "{'name':'Bo','email':'x'}").path("code").asText())
        .isEqualTo("answer_rejected");
    assertThat(inspector.proceed(session, "{'email':'bo@gmail.com'}").path("tool").asText())
        .isEqualTo("show_plans");
    assertThat(inspector.proceed(session, "{'selectedPlan':'gold'}").at("/result/price").asInt())
        .isEqualTo(5);
  }

  /**
   * The Inspector's command line, one process per call.
   *
   * @param server the arguments that name the server
   */
  private record Inspector(List<String> server) {
    JsonNode proceed(String session, String updates) throws Exception {
      return call(
          "{'action':'continue','sessionId':'" + session + "','stateUpdates':" + updates + "}");
    }

    JsonNode call(String arguments) throws Exception {
      String json = arguments.replace('\'', '"');
      String printed =
          run("--method", "tools/call", "--tool-name", "quote", "--tool-args-json", json);
      return new ObjectMapper().readTree(printed).path("structuredContent");
    }

    String run(String... options) throws Exception {
      List<String> command = new ArrayList<>(List.of("node", INSPECTOR.toString()));
      command.addAll(server);
      command.addAll(List.of("--connect-timeout", "300000"));
      command.addAll(List.of(options));
      return NodeClientsTest.run(command.toArray(String[]::new));
    }
  }

  private static String run(String... command) throws IOException, InterruptedException {
    Path out = Files.createTempFile("client", ".out");
    Path err = Files.createTempFile("client", ".err");
    Process process;
    try {
      process =
          new ProcessBuilder(command)
              .directory(CLIENTS.toFile())
              .redirectOutput(out.toFile())
              .redirectError(err.toFile())
              .start();
    } catch (IOException e) {
      throw new AssertionError(
          command[0] + " is missing; install Node 20 or newer with npm, or leave out the tag tools",
          e);
    }
    boolean ended = process.waitFor(10, TimeUnit.MINUTES);
    if (!ended) {
      process.destroyForcibly();
    }
    String printed = Files.readString(out, StandardCharsets.UTF_8);
    if (!ended || (process.exitValue() != 0 && !printed.contains("structuredContent"))) {
      throw new AssertionError(
          String.join(" ", command) + " failed:\n" + printed + Files.readString(err));
    }
    return printed;
  }
}
