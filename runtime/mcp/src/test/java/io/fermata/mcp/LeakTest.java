package io.fermata.mcp;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Internal failures are logged, and no client sees them. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LeakTest {
  private static final String INSIDE =
      "cannot open /etc/inside.conf: SELECT card FROM people; at io.fermata.Inside(Inside.java:7)";

  private static final List<String> NEVER =
      List.of(
          "inside.conf",
          "SELECT",
          "people",
          "Inside",
          "RevealingException",
          "Exception",
          "Error:",
          ".java",
          "io.fermata",
          "java.",
          "\\tat ",
          "/etc",
          "/tmp");

  private static final class RevealingException extends RuntimeException {
    private static final long serialVersionUID = 1;

    RevealingException() {
      super(INSIDE, new IOException(INSIDE));
    }
  }

  record Form(String name, String kind) {}

  record Promised(int sum) {}

  record Unwritable(String name) {
    @Override
    public String name() {
      return thrown();
    }
  }

  private Fermata host;
  private McpServer server;

  @BeforeAll
  void start() {
    host =
        Fermata.host()
            .store(Store.memory())
            .flow(
                form("acts")
                    .act("work", run -> thrown())
                    .edge(START, "work")
                    .edge("work", END)
                    .compile())
            .flow(
                form("acts-later")
                    .actAsync(
                        "work", run -> CompletableFuture.failedFuture(new RevealingException()))
                    .edge(START, "work")
                    .edge("work", END)
                    .compile())
            .flow(
                form("validates")
                    .ask(
                        "ask",
                        q -> q.question("name", "Who?", it -> it.validate(given -> thrown())))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .compile())
            .flow(
                form("decides")
                    .ask("ask", q -> q.question("name", "Who?"))
                    .edge(START, "ask")
                    .decide(
                        "ask",
                        d ->
                            d.when("never", state -> LeakTest.<Boolean>thrown())
                                .to(END)
                                .otherwise(END))
                    .compile())
            .flow(
                form("shows")
                    .widget("show", it -> it.tool("cards").data(state -> thrown()))
                    .edge(START, "show")
                    .edge("show", END)
                    .compile())
            .flow(
                form("results")
                    .ask("ask", q -> q.question("name", "Who?"))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .result(form -> thrown())
                    .compile())
            .display(DisplayTool.of("cards", "Cards", "Shows cards", "<p>cards</p>"))
            .start();
    server =
        McpServer.serving(host)
            .port(0)
            .apiKey("ann", "key-of-ann")
            .apiKey("bob", "key-of-bob")
            .threads(throwing(Threads.class))
            .runs(throwing(Runs.class))
            .tool(tool("throws").call(call -> thrown()))
            .tool(
                tool("throws-checked")
                    .call(
                        call -> {
                          throw new IOException(INSIDE);
                        }))
            .tool(
                tool("overflows")
                    .call(
                        call -> {
                          throw new StackOverflowError(INSIDE);
                        }))
            .tool(
                tool("fails-later")
                    .callAsync(call -> CompletableFuture.failedFuture(new RevealingException())))
            .tool(tool("throws-at-once").callAtOnce(call -> thrown()))
            .tool(tool("answers-nothing").call(call -> nothing()))
            .tool(tool("answers-nothing-later").callAsync(call -> nothing()))
            .tool(
                tool("breaks-its-promise")
                    .output(Promised.class)
                    .call(call -> McpResult.structured(Json.object().put("sum", INSIDE))))
            .tool(tool("cannot-be-written").call(call -> McpResult.structured(new Unwritable("x"))))
            .resource(McpResource.text("test://throws", "T", "text/plain", LeakTest::thrown))
            .template(McpTemplate.of("test://things/{id}", "T", "text/plain", call -> thrown()))
            .prompt(
                McpPrompt.of("throws", "Throws")
                    .required("whom", "Whom")
                    .completing("whom", (begun, others) -> thrown())
                    .get(call -> thrown()))
            .start();
  }

  private static FlowBuilder<Form> form(String id) {
    return Flow.of(id, Form.class).description("Fails.");
  }

  private static McpTool tool(String name) {
    return McpTool.of(name, "Fails");
  }

  @SuppressWarnings("TypeParameterUnusedInFormals")
  private static <T> T thrown() {
    throw new RevealingException();
  }

  @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
  private static <T> T nothing() {
    return null;
  }

  private static <T> T throwing(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> thrown()));
  }

  @AfterAll
  void stop() {
    server.close();
    host.close();
  }

  private Wired of(String who) {
    return new Wired(server).with("Authorization", "Bearer key-of-" + who);
  }

  private static void tellsNothing(Wired.Said said) {
    String all = said.body() + " " + said.raw().headers().map();
    assertThat(all).doesNotContain(NEVER);
    assertThat(said.body().isMissingNode()).isFalse();
  }

  private void noRevisionRevealsAnything(String method, String name, String params) {
    tellsNothing(of("ann").with("MCP-Protocol-Version", "2025-11-25").request(method, params));
    Wired modern = of("ann");
    if (!name.isEmpty()) {
      modern.with("Mcp-Name", name);
    }
    tellsNothing(modern.modern(method, params));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "throws",
        "throws-checked",
        "overflows",
        "fails-later",
        "throws-at-once",
        "answers-nothing",
        "answers-nothing-later",
        "breaks-its-promise",
        "cannot-be-written"
      })
  void aToolThatFailsDoesNotSayWhy(String tool) {
    String call = "\"name\":\"" + tool + "\",\"arguments\":{}";

    noRevisionRevealsAnything("tools/call", tool, call);
    Wired.Said said =
        of("ann").with("MCP-Protocol-Version", "2025-11-25").request("tools/call", call);
    assertThat(said.result().path("isError").asBoolean() || said.body().has("error")).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"test://throws", "test://things/7"})
  void aResourceThatCannotBeReadDoesNotSayWhy(String uri) {
    noRevisionRevealsAnything("resources/read", uri, "\"uri\":\"" + uri + "\"");
  }

  @Test
  void aPromptThatFailsDoesNotSayWhyNorDoItsProposals() {
    noRevisionRevealsAnything(
        "prompts/get", "throws", "\"name\":\"throws\",\"arguments\":{\"whom\":\"x\"}");
    noRevisionRevealsAnything(
        "completion/complete",
        "",
        "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"throws\"},"
            + "\"argument\":{\"name\":\"whom\",\"value\":\"x\"}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"acts", "acts-later", "validates", "decides", "shows", "results"})
  void aFlowWhoseCodeFailsDoesNotSayWhy(String flow) {
    String start =
        "\"name\":\"%s\",\"arguments\":{\"action\":\"start\",\"intent\":\"t\",\"stateUpdates\":{\"name\":\"x\"}}"
            .formatted(flow);

    noRevisionRevealsAnything("tools/call", flow, start);
    Wired.Said said =
        of("ann").with("MCP-Protocol-Version", "2025-11-25").request("tools/call", start);
    assertThat(said.result().at("/structuredContent/status").asText()).isEqualTo("error");
    assertThat(said.result().at("/structuredContent/code").asText()).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/runs",
        "/runs/acts/7",
        "/threads",
        "/threads/7",
        "/threads/7/messages",
        "/threads/7/events",
        "/threads/7/files/a"
      })
  void aListThatCannotBeHadDoesNotSayWhy(String path) {
    Wired.Said said = of("ann").method("GET").sendTo(path);

    assertThat(said.status()).isEqualTo(500);
    tellsNothing(said);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/threads {\"agent\":\"desk\"}",
        "/threads/7/messages {\"content\":\"hi\"}",
        "/threads/7/stop {}",
        "/threads/7/continue {}",
        "/threads/7/answers {\"call\":\"c\",\"approved\":true}"
      })
  void aThreadThatCannotBeDrivenDoesNotSayWhy(String request) {
    String[] parts = request.split(" ", 2);
    Wired.Said said = of("ann").sendTo(parts[0], parts[1]);

    assertThat(said.status()).isEqualTo(500);
    tellsNothing(said);
  }

  @Test
  void nobodySeesTheRunOfAnother() {
    String start =
        "\"name\":\"decides\",\"arguments\":{\"action\":\"start\",\"intent\":\"a secret of ann\"}";
    Wired.Said anns =
        of("ann").with("MCP-Protocol-Version", "2025-11-25").request("tools/call", start);
    String session = anns.result().at("/structuredContent/sessionId").asText();
    assertThat(session).isNotEmpty();

    for (String action : List.of("continue", "status", "cancel", "reset")) {
      String call =
          "\"name\":\"decides\",\"arguments\":{\"action\":\"%s\",\"sessionId\":\"%s\",\"stateUpdates\":{}}";
      Wired.Said said =
          of("bob")
              .with("MCP-Protocol-Version", "2025-11-25")
              .request("tools/call", call.formatted(action, session));
      assertThat(said.result().at("/structuredContent/status").asText())
          .as(action)
          .isEqualTo("error");
      assertThat(said.body().toString()).as(action).doesNotContain("secret of ann", "Who?");
      tellsNothing(said);
    }
  }
}
