package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.ToolCall;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What tests print about recorded runs has no secrets, as a build's log is read by many. */
class RecordedSecretsTest {
  private static final String CARD = "4111-1111-1111";
  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));

  record Order(@Secret String card, Integer seats) {}

  @TempDir Path folder;

  private static Flow<Order> order(String visa) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_seats", q -> q.question("seats", "How many?"))
        .edge(START, "ask_card")
        .decide("ask_card", d -> d.when("visa", eq("card", visa)).to("ask_seats").otherwise(END))
        .edge("ask_seats", END)
        .compile();
  }

  @Test
  void aRecordedRunThatIsDecidedOtherwiseFailsWithoutThem() throws Exception {
    Path export = folder.resolve("order.jsonl");
    try (Fermata host =
            Fermata.host()
                .store(Store.memory())
                .keys(KEYS)
                .retention(Retention.ofJournals(Duration.ofDays(1)))
                .flow(order(CARD))
                .start();
        OutputStream to = Files.newOutputStream(export)) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to buy");
      start.putObject("stateUpdates").put("card", CARD);
      ObjectNode meta = Json.object().put("fermata/sessionId", "a");
      String run =
          host.call(new ToolCall("order", "ann", start, meta, null), progress -> {})
              .toCompletableFuture()
              .join()
              .meta()
              .at("/fermata~1run/runId")
              .asText();
      host.journals().run("order", run).exportWithSecrets(to).toCompletableFuture().join();
    }

    assertThatThrownBy(
            () -> RecordedRuns.requireSame(export, false, Limits.DEFAULT, List.of(), order("5500")))
        .isInstanceOf(AssertionError.class)
        .message()
        .contains("the run went to ask_seats", "card was \"[redacted]\"")
        .doesNotContain(CARD);
  }

  @Test
  void theStoryOfARunThatContinuesARecordedOneHasNone() {
    var recorded = FlowProbe.of(order(CARD)).start("to buy", "card", CARD).recorded();

    assertThatThrownBy(() -> FlowProbe.from(order(CARD), recorded).answer("seats", 3).asks("card"))
        .isInstanceOf(AssertionError.class)
        .message()
        .contains("\"card\":\"[redacted]\"")
        .doesNotContain(CARD);
    assertThatThrownBy(
            () -> FlowProbe.from(order(CARD), recorded).upgrade(order(CARD)).asks("card"))
        .isInstanceOf(AssertionError.class)
        .message()
        .contains("\"card\":\"[redacted]\"")
        .doesNotContain(CARD);
    try (SessionProbe probe = SessionProbe.from(order(CARD), recorded)) {
      assertThatThrownBy(() -> probe.again().asks("card"))
          .isInstanceOf(AssertionError.class)
          .message()
          .contains("[redacted]")
          .doesNotContain(CARD);
    }
    assertThat(recorded.toString()).doesNotContain(CARD);
  }
}
