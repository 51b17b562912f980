package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The runs of a store are decided again by other code. */
class WhatIfTest {
  record Order(Integer seats, @Secret String card) {}

  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));

  @TempDir Path folder;

  private final AtomicInteger charged = new AtomicInteger();

  private Flow<Order> order(int large) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .act("charge", run -> charged.incrementAndGet())
        .act("call", run -> charged.incrementAndGet())
        .edge(START, "ask_card")
        .edge("ask_card", "ask_seats")
        .decide(
            "ask_seats", d -> d.when("large", gt("seats", large)).to("call").otherwise("charge"))
        .edge("charge", END)
        .edge("call", END)
        .compile();
  }

  private Store store() {
    return Store.sqlite(folder.resolve("runs.db"));
  }

  private Fermata host() {
    return Fermata.host()
        .store(store())
        .keys(KEYS)
        .retention(Retention.ofJournals(Duration.ofDays(1)))
        .flow(order(6))
        .start();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static String bought(Fermata host, String session, int seats) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to buy");
    start.putObject("stateUpdates").put("card", "4111-1111").put("seats", seats);
    ObjectNode meta = Json.object().put("fermata/sessionId", session);
    ToolReply reply = now(host.call(new ToolCall("order", "ann", start, meta, null), told -> {}));
    assertThat(TestHost.status(reply)).isEqualTo("complete");
    return reply.meta().at("/fermata~1run/runId").asText();
  }

  private List<String> recorded() {
    try (Fermata host = host()) {
      return List.of(bought(host, "a", 3), bought(host, "b", 8), bought(host, "c", 9));
    }
  }

  @Test
  void itCountsTheRunsThatOtherCodeWouldDecideOtherwiseAndShowsOneOfEachKind() {
    List<String> runs = recorded();

    WhatIf same = WhatIf.over(store(), KEYS, order(6));
    WhatIf other = WhatIf.over(store(), KEYS, order(10));

    assertThat(same).isEqualTo(new WhatIf(3, List.of(), 0));
    assertThat(other.same()).isEqualTo(1);
    assertThat(other.groups()).hasSize(1);
    WhatIf.Group group = other.groups().get(0);
    assertThat(group.node()).isEqualTo("ask_seats");
    assertThat(group.runs()).isEqualTo(2);
    assertThat(runs).contains(group.example());
    assertThat(other.text())
        .contains("3 run(s): 1 are decided as they were, 2 otherwise", "2 run(s) of order at")
        .contains("the run went to call", "the run went to charge")
        .doesNotContain("4111");
    assertThat(charged).hasValue(3);
  }

  @Test
  void runsThatCannotBeReadOrWhoseFlowIsNotGivenAreSkippedAndCounted() {
    recorded();

    assertThat(WhatIf.over(store(), KEYS)).isEqualTo(new WhatIf(0, List.of(), 3));
    assertThat(WhatIf.over(store(), DataKeys.parse(DataKeys.generate("k2")), order(6)).skipped())
        .isEqualTo(3);
  }

  @Test
  void aRunIsReadFromAHostOrFromAnExportAndDecidedAgain() throws Exception {
    String run = recorded().get(1);
    Path export = folder.resolve("run.jsonl");
    RunJournal live;
    try (Fermata host = host();
        OutputStream to = Files.newOutputStream(export)) {
      live = now(host.journalWithSecrets("order", run));
      now(host.export("order", run, to));
    }
    RunJournal read = Fermata.readJournal(export, KEYS);

    assertThat(read).isEqualTo(live);
    assertThat(read.entries().get(0).principal()).isEqualTo("ann");
    assertThat(Replay.of(order(6), read).requireSame().decided()).isPositive();
    assertThat(Replay.of(order(10), read).same()).isFalse();
    assertThat(charged).hasValue(3);
  }

  @Test
  void anExportThatWasCutOrIsAnotherThingIsRefused() throws Exception {
    String run = recorded().get(0);
    Path export = folder.resolve("run.jsonl");
    try (Fermata host = host();
        OutputStream to = Files.newOutputStream(export)) {
      now(host.exportWithSecrets("order", run, to));
    }
    List<String> lines = Files.readAllLines(export);
    Files.write(export, lines.subList(0, lines.size() - 2));
    assertThatThrownBy(() -> Fermata.readJournal(export))
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("truncated");
  }
}
