package io.fermata.session.journal;

import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.Rollout;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.WhatIf;
import io.fermata.session.WhatIfResult;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolReply;
import java.io.ByteArrayOutputStream;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** An entry that is missing, altered or another session's stops its session, and no other. */
abstract class DamageContract {
  static final int SESSIONS = 12;

  /** The store of this test. */
  abstract Store store();

  /** A connection to its database, past the store. */
  abstract Connection connect() throws SQLException;

  /** The payload of an entry with one byte flipped, in SQL. */
  abstract String flipped();

  int sql(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      return statement.executeUpdate(sql);
    }
  }

  static Flow<?>[] flows() {
    return new Flow<?>[] {TestFlows.trip(), TestFlows.talk()};
  }

  /** Sessions of one flow are damaged, those of the other are not. */
  private void isDamaged(int entry, String... damage) throws Exception {
    isDamaged(entry, s -> s, damage);
  }

  private void isDamaged(
      int entry, UnaryOperator<io.fermata.session.admin.Settings> settings, String... damage)
      throws Exception {
    try (TestHost host = new TestHost(store(), settings, flows())) {
      List<Client> damaged = new ArrayList<>();
      List<Client> others = new ArrayList<>();
      for (int i = 0; i < SESSIONS; i++) {
        damaged.add(host.client("talk"));
        damaged.get(i).start("word", "one " + i);
        damaged.get(i).proceed("word", "two " + i);
        damaged.get(i).proceed("word", "three " + i);
        others.add(host.client("trip"));
        others.get(i).start("from", "Ulm");
      }
      host.fermata().close();
      for (String sql : damage) {
        assertThat(sql(sql)).as(sql).isPositive();
      }
      host.restart();
      for (Client client : damaged) {
        ToolReply reply = client.proceed();
        assertThat(code(reply)).isEqualTo("damaged");
        assertThat(reply.structured().path("error").asText())
            .contains("entry " + entry)
            .contains("backup");
        assertThat(code(client.status())).isEqualTo("damaged");
      }
      for (Client client : others) {
        assertThat(field(client.proceed())).isEqualTo("to");
        assertThat(status(client.proceed("to", "Rom"))).isEqualTo("complete");
      }
      assertThat(host.fermata().health().toCompletableFuture().get().ready()).isTrue();
    }
  }

  @Test
  void aMissingEntryIsNoticed() throws Exception {
    isDamaged(
        2, "delete from event_journal where sequence_number = 2 and persistence_id like 'talk|%'");
  }

  @Test
  void theEntryOfAnotherSessionIsNoticed() throws Exception {
    isDamaged(
        2,
        """
        with swapped as materialized (
          select persistence_id, event_payload, writer from event_journal
          where sequence_number = 2 and persistence_id like 'talk|%')
        update event_journal set (event_payload, writer) = (
          select event_payload, writer from swapped
          where swapped.persistence_id <> event_journal.persistence_id limit 1)
        where sequence_number = 2 and persistence_id like 'talk|%'
        """);
  }

  @Test
  void aFlippedByteIsNoticed() throws Exception {
    isDamaged(
        2,
        """
        update event_journal set event_payload = %s
        where sequence_number = 2 and persistence_id like 'talk|%%'
        """
            .formatted(flipped()));
  }

  @Test
  void anEntryThatTheSnapshotKnowsButTheJournalHasNotIsNoticed() throws Exception {
    isDamaged(
        2,
        settings -> settings.snapshotEvery(2),
        "delete from event_journal where sequence_number >= 2 and persistence_id like 'talk|%'");
  }

  @Test
  void aMissingLastEntryThatTheDirectoryHasSeenIsNoticed() throws Exception {
    isDamaged(
        3, "delete from event_journal where sequence_number = 3 and persistence_id like 'talk|%'");
  }

  private Fermata desk() {
    Agent echo = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    return Fermata.host().store(store()).agent(echo).start();
  }

  private static void isDamaged(CompletionStage<?> asked) {
    assertThatThrownBy(() -> asked.toCompletableFuture().get(60, TimeUnit.SECONDS))
        .cause()
        .isInstanceOfSatisfying(
            ThreadException.class, why -> assertThat(why.code()).isEqualTo("damaged"));
  }

  @Test
  void aThreadsMissingEntryIsNoticedHoweverTheThreadIsRead() throws Exception {
    String id;
    try (Fermata host = desk()) {
      Threads.NewThread thread =
          new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of());
      id = host.threads().create(thread).toCompletableFuture().get().threadId();
      host.threads()
          .post("ann", id, new Threads.NewMessage(Message.user("Hello"), List.of(), null))
          .toCompletableFuture()
          .get();
    }
    assertThat(sql("delete from event_journal where sequence_number = 2")).isPositive();
    try (Fermata host = desk()) {
      Threads threads = host.threads();
      isDamaged(threads.get("ann", id));
      isDamaged(threads.messages("ann", id, Threads.MessageQuery.latest(10).withSilent()));
      assertThatThrownBy(
              () ->
                  host.journals()
                      .thread(id)
                      .export(new ByteArrayOutputStream())
                      .toCompletableFuture()
                      .get(60, TimeUnit.SECONDS))
          .hasMessageContaining("entry 2")
          .hasMessageContaining("backup");
    }
  }

  @Test
  void aDamagedRunStopsNeitherACheckNorAWhatIfOfTheOthers() throws Exception {
    try (TestHost host = new TestHost(store(), flows())) {
      Client damaged = host.client("talk");
      damaged.start("word", "one");
      damaged.proceed("word", "two");
      damaged.proceed("word", "three");
      host.client("trip").start("from", "Ulm");
    }
    assertThat(
            sql(
                "delete from event_journal where sequence_number = 2 and persistence_id like 'talk|%'"))
        .isPositive();

    Rollout rollout = Rollout.check(store(), flows());
    assertThat(rollout.runs())
        .extracting(Rollout.RunResult::flow, Rollout.RunResult::verdict)
        .containsExactlyInAnyOrder(
            tuple("talk", Rollout.Verdict.STRANDED), tuple("trip", Rollout.Verdict.CONTINUES));
    assertThat(rollout.text()).contains("is damaged", "restore the store from a backup");

    WhatIfResult result = WhatIf.of(flows()).over(store());
    assertThat(result.same()).isEqualTo(1);
    assertThat(result.skipped()).isZero();
    assertThat(result.unread()).singleElement().asString().contains("damaged", "talk|");
    assertThat(result.complete()).isFalse();
  }
}
