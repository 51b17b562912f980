package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.cli.Chat;
import io.fermata.examples.ChatProvider;
import io.fermata.examples.ServerProcess;
import io.fermata.examples.ThreadClient;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Threads;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The support desk as its users see it: over HTTP, over MCP and in a terminal. */
@Tag("slow")
class SupportDeskTest {
  @TempDir Path directory;

  private ServerProcess server(int bankTakes, String... more) throws Exception {
    List<String> serve =
        List.of(
            "serve",
            "--port",
            "0",
            "--store",
            "sqlite:desk.db",
            "--bank-takes",
            String.valueOf(bankTakes));
    return ServerProcess.start(
        directory, Stream.concat(serve.stream(), Stream.of(more)).toArray(String[]::new));
  }

  private RefundLedger ledger() {
    return RefundLedger.at(directory.resolve("refunds.txt"), Duration.ZERO);
  }

  @Test
  @Tag("long")
  void aServerThatIsKilledAtEveryTurnOfARefundBooksItOnce() throws Exception {
    ThreadClient ann;
    try (ServerProcess server = server(0)) {
      ann = ThreadClient.create(server, "desk");
      JsonNode view = ann.say("My card is 4111 1111 1111 1111. Please refund B-1001.");
      assertThat(view.at("/questions/0/question/question").asText())
          .isEqualTo("Pay 48 euros back for order B-1001?");
      server.kill();
    }
    try (ServerProcess server = server(0)) {
      ann.moveTo(server);
      ann.answer(ann.settled().at("/questions/0"), "approved", true);
      assertThat(ann.settled().at("/questions/0/question/field").asText()).isEqualTo("reason");
      server.kill();
    }
    try (ServerProcess server = server(20_000)) {
      ann.moveTo(server);
      ann.answer(ann.settled().at("/questions/0"), "answers", Map.of("reason", "damaged"));
      awaitBooking();
      assertThat(ann.view().path("status").asText()).isEqualTo("working");
      server.kill();
    }
    try (ServerProcess server = server(0)) {
      ann.moveTo(server);
      assertThat(ann.settled().path("code").asText()).isEqualTo("stop_on_response");
      assertThat(ann.said()).first().isEqualTo("user: My card is •••• 1111. Please refund B-1001.");
      assertThat(ann.said()).last().asString().contains("Your money is on its way", "R1001");
      assertThat(ledger().bookings())
          .singleElement()
          .asString()
          .contains("B-1001", "48", "damaged");

      assertThat(ann.say("I need the invoice for B-1002.").path("agent").asText())
          .isEqualTo("billing");
      assertThat(ann.said()).last().asString().contains("The invoice of B-1002 is in the mail");
      receivedFromTheBeginning(ann);
    }
  }

  private static void receivedFromTheBeginning(ThreadClient ann) throws Exception {
    List<String> lines = ann.events(null, "event: handed_over");
    assertThat(lines)
        .containsSubsequence(
            "event: thread.created",
            "event: call.asked",
            "event: call.answered",
            "event: call.asked",
            "event: call.answered",
            "event: stopped",
            "event: handed_over");
    List<String> ids = lines.stream().filter(line -> line.startsWith("id: ")).toList();
    assertThat(ids).doesNotHaveDuplicates();
    String middle = ids.get(ids.size() / 2);
    List<String> resumed = ann.events(middle.substring("id: ".length()), "event: handed_over");
    assertThat(resumed.stream().filter(line -> line.startsWith("id: ")))
        .containsExactlyElementsOf(ids.subList(ids.size() / 2 + 1, ids.size()));
  }

  private void awaitBooking() throws InterruptedException {
    for (int i = 0; i < 3_000 && ledger().bookings().isEmpty(); i++) {
      Thread.sleep(10);
    }
    assertThat(ledger().bookings()).hasSize(1);
  }

  @Test
  void anMcpClientTalksWithTheDeskAndPassesOnWhatItsUserDecides() throws Exception {
    try (ServerProcess server = server(0, "--models-may-approve")) {
      JsonNode asked = server.call("desk", send("Please refund B-1002."));
      assertThat(asked.path("status").asText()).isEqualTo("asking");

      ObjectNode approved = answer(asked).put("approved", true);
      JsonNode reason = server.call("desk", approved);
      assertThat(reason.at("/questions/0/question/question").asText())
          .isEqualTo("Why do you want your money back?");

      ObjectNode given = answer(reason);
      given.putObject("answers").put("reason", "too late");
      JsonNode done = server.call("desk", given);
      assertThat(done.path("status").asText()).isEqualTo("rest");
      assertThat(done.path("messages").findValuesAsText("content"))
          .last()
          .asString()
          .contains("Your money is on its way");
      assertThat(ledger().bookings()).singleElement().asString().contains("too late");
    }
  }

  private static ObjectNode send(String message) {
    return Json.object().put("action", "send").put("message", message);
  }

  private static ObjectNode answer(JsonNode asked) {
    return Json.object()
        .put("action", "answer")
        .put("threadId", asked.path("threadId").asText())
        .put("call", asked.at("/questions/0/call").asText());
  }

  // --- in this process ---------------------------------------------------------------------------

  private Fermata host(SupportDesk desk) {
    return desk.openedAt(Fermata.host().store(Store.sqlite(directory.resolve("chat.db")))).start();
  }

  private SupportDesk scripted(Duration followUpAfter) {
    return SupportDesk.of(ScriptedDesk.model(), ledger(), followUpAfter);
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private static String begin(Fermata host) {
    return now(host.threads()
            .create(new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
        .threadId();
  }

  private static String chat(Fermata host, String id, String... lines) throws Exception {
    StringWriter screen = new StringWriter();
    BufferedReader in = new BufferedReader(new StringReader(String.join("\n", lines)));
    try (Chat chat = Chat.open(host.threads(), "ann", id, in, new PrintWriter(screen))) {
      chat.run();
    }
    return screen.toString();
  }

  @Test
  void aChatAsksForApprovalAndContinuesInAnotherProcess() throws Exception {
    String id;
    try (Fermata host = host(scripted(Duration.ofDays(3)))) {
      id = begin(host);
      assertThat(chat(host, id, "hello", "refund B-1001 please"))
          .containsSubsequence(
              "Thread " + id,
              "This is the support desk.",
              "[look_up_order]",
              "[refund]",
              "Pay 48 euros back for order B-1001?\nrefund\n",
              "\n[y, or n and why] ");
    }
    try (Fermata host = host(scripted(Duration.ofDays(3)))) {
      assertThat(chat(host, id, "n, it was read"))
          .containsSubsequence("> hello", "> refund B-1001 please", "not approve", "it was read");
      assertThat(ledger().bookings()).isEmpty();
      assertThat(chat(host, id, "refund B-1001", "perhaps", "y", "damaged"))
          .containsSubsequence(
              "Why do you want your money back? (damaged, ", "Your money is on its way")
          .containsOnlyOnce("Your money is on its way");
    }
  }

  @Test
  void theCustomerIsAskedLaterWhetherTheMoneyHasArrived() throws Exception {
    try (Fermata host = host(scripted(Duration.ofMillis(300)))) {
      String id = begin(host);
      chat(host, id, "refund B-1001", "perhaps", "y", "damaged");
      // A slow model may be overtaken by the question.
      List<String> latest = List.of();
      for (int i = 0; i < 3_000 && !latest.toString().contains("arrived"); i++) {
        Thread.sleep(50);
        latest = latest(host, id);
      }
      assertThat(latest).containsOnlyOnce("Has the money for order B-1001 arrived by now?");
    }
  }

  private static List<String> latest(Fermata host, String id) {
    return now(host.threads().messages("ann", id, Threads.MessageQuery.latest(4)))
        .messages()
        .stream()
        .map(message -> String.valueOf(message.content()))
        .toList();
  }

  @Test
  void aProviderTakesThePlaceOfTheScript() throws Exception {
    try (ChatProvider provider = new ChatProvider()) {
      provider
          .call("look_up_order", Json.object().put("number", "B-1002"))
          .say("Two cookbooks, on their way to you.");
      SupportDesk desk =
          SupportDesk.of(
              ModelOptions.model(
                  ScriptedDesk::model, provider.baseUrl(), "secret", "gpt", "2.00,8.00"),
              ledger(),
              Duration.ofDays(3));
      try (Fermata host = host(desk)) {
        assertThat(chat(host, begin(host), "Where is B-1002?"))
            .containsSubsequence("[look_up_order]", "Two cookbooks, on their way to you.");
      }
      JsonNode first = provider.requests().get(0);
      assertThat(first.path("model").asText()).isEqualTo("gpt");
      assertThat(first.path("tools").findValuesAsText("name"))
          .contains("look_up_order", "refund", "summary", "billing");
      assertThat(last(first).path("content").toString()).contains("B-1002");
      JsonNode second = provider.requests().get(1);
      assertThat(last(second).path("tool_call_id").asText()).isEqualTo("call_1");
    }
  }

  private static JsonNode last(JsonNode request) {
    JsonNode messages = request.path("messages");
    return messages.path(messages.size() - 1);
  }

  @Test
  void theChatCommandTalksOverStandardInput() throws Exception {
    Process chat = ServerProcess.run(directory, "chat", "desk", "--store", "sqlite:desk.db");
    try (PrintWriter typed = new PrintWriter(chat.outputWriter())) {
      typed.println("Where is B-1002?");
    }
    String screen = new String(chat.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(screen)
        .containsSubsequence(
            "Thread ", "[look_up_order]", "two cookbooks", "To continue: chat desk --thread ");
    assertThat(chat.waitFor()).isZero();
    assertThat(Files.readString(directory.resolve("errors.txt"))).isEmpty();
  }
}
