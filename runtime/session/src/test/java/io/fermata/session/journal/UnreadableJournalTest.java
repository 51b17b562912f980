package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.StoredRun;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolReply;
import io.fermata.sqlite.Forgery;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What this release does not know it refuses, for that session alone, and leaves it as it is. */
@Tag("slow")
class UnreadableJournalTest {
  @TempDir Path dir;

  private Path file() {
    return dir.resolve("test.db");
  }

  /** A record as it lies in the file. */
  @SuppressWarnings("ArrayRecordComponent") // nobody compares rows
  private record Row(long ordering, String manifest, byte[] payload) {}

  /** The first record of the oldest session. */
  private Row first() throws SQLException {
    return row("ordering");
  }

  private Row last() throws SQLException {
    return row("ordering desc");
  }

  private Row row(String order) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        PreparedStatement select =
            connection.prepareStatement(
                "select ordering, event_ser_manifest, event_payload from event_journal"
                    + " order by %s limit 1".formatted(order));
        ResultSet row = select.executeQuery()) {
      return new Row(row.getLong(1), row.getString(2), row.getBytes(3));
    }
  }

  private void put(Row row) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        PreparedStatement update =
            connection.prepareStatement(
                "update event_journal set event_ser_manifest = ?, event_payload = ?"
                    + " where ordering = ?")) {
      update.setString(1, row.manifest());
      update.setBytes(2, row.payload());
      update.setLong(3, row.ordering());
      assertThat(update.executeUpdate()).isEqualTo(1);
    }
    Forgery.seal(file());
  }

  private static Row changed(Row row, UnaryOperator<ObjectNode> change) throws Exception {
    JsonNode tree = JournalSerializer.tree(row.payload());
    byte[] payload = JournalSerializer.cbor(change.apply((ObjectNode) tree));
    return new Row(row.ordering(), row.manifest(), payload);
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  private void isRefused(Row strange, Client client, Client other, TestHost host) throws Exception {
    Row known = first();
    put(strange);
    host.restart();
    assertThat(code(client.proceed())).isEqualTo("journal_unreadable");
    assertThat(code(client.proceed())).isEqualTo("journal_unreadable");
    assertThat(other.proceed().structured().path("field").asText()).isEqualTo("to");
    assertThat(host.fermata().awake()).isEqualTo(1);
    assertThat(first().payload()).isEqualTo(strange.payload());
    host.fermata().close();
    put(known);
    host.restart();
    assertThat(client.proceed().structured().path("field").asText()).isEqualTo("to");
  }

  private Fermata desk() {
    Agent echo = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    return Fermata.host().store(Store.sqlite(file())).agent(echo).start();
  }

  private static void isRefused(CompletionStage<?> asked) {
    assertThatThrownBy(() -> asked.toCompletableFuture().get(60, TimeUnit.SECONDS))
        .cause()
        .isInstanceOfSatisfying(
            ThreadException.class, why -> assertThat(why.code()).isEqualTo("journal_unreadable"));
  }

  @Test
  void aThreadThatCannotBeReadIsRefusedWithTheReasonAndContinuesWhenItCan() throws Exception {
    String id;
    try (Fermata host = desk()) {
      Threads.NewThread thread =
          new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of());
      id = host.threads().create(thread).toCompletableFuture().get().threadId();
    }
    Row known = first();
    put(new Row(known.ordering(), "turn:9", known.payload()));
    try (Fermata host = desk()) {
      Threads threads = host.threads();
      isRefused(threads.get("ann", id));
      isRefused(
          threads.post("ann", id, new Threads.NewMessage(Message.user("Hello"), List.of(), null)));
      isRefused(threads.messages("ann", id, Threads.MessageQuery.latest(10).withSilent()));
    }
    put(known);
    try (Fermata host = desk()) {
      assertThat(host.threads().get("ann", id).toCompletableFuture().get().threadId())
          .isEqualTo(id);
    }
  }

  private Fermata agency() {
    return Fermata.host().store(Store.sqlite(file())).flow(TestFlows.trip()).explainRuns().start();
  }

  private static ToolReply called(Fermata host, String tool, ObjectNode arguments) {
    ObjectNode meta = Json.object().put("fermata/sessionId", "s");
    return host.call(new ToolCall(tool, "ann", arguments, meta, null)).toCompletableFuture().join();
  }

  @Test
  void aRunThatCannotBeReadIsRefusedWithTheReasonHoweverItIsRead() throws Exception {
    String id;
    try (Fermata host = agency()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to test");
      id = called(host, "trip", start).meta().at("/fermata~1run/runId").asText();
    }
    Row known = first();
    put(new Row(known.ordering(), "step:9", known.payload()));
    try (Fermata host = agency()) {
      isRefused(host.runs().entries("trip", id, 0, 10));
      ObjectNode question = Json.object().put("flow", "trip").put("about", "path");
      assertThat(code(called(host, ToolContract.EXPLAIN_RUN, question)))
          .isEqualTo("journal_unreadable");
      assertThatThrownBy(
              () -> host.fork("trip", id, 1, ForkOptions.sandbox()).toCompletableFuture().join())
          .cause()
          .isInstanceOfSatisfying(
              ForkException.class, why -> assertThat(why.code()).isEqualTo("journal_unreadable"));
      StoredRun stored = host.journals().run("trip", id);
      for (CompletionStage<?> read : List.of(stored.readWithSecrets(), stored.replay())) {
        assertThatThrownBy(() -> read.toCompletableFuture().get(60, TimeUnit.SECONDS))
            .cause()
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("this release cannot read");
      }
    }
  }

  @Test
  void aPageOfARunsEntriesIsReadWithoutThoseThatFollow() throws Exception {
    String id;
    try (Fermata host = agency()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to test");
      id = called(host, "trip", start).meta().at("/fermata~1run/runId").asText();
      ObjectNode answer = Json.object().put("action", "continue");
      answer.putObject("stateUpdates").put("from", "Ulm");
      called(host, "trip", answer);
    }
    Row known = last();
    put(new Row(known.ordering(), "step:9", known.payload()));
    try (Fermata host = agency()) {
      assertThat(host.runs().entries("trip", id, 0, 1).toCompletableFuture().join())
          .singleElement()
          .satisfies(entry -> assertThat(entry.account()).isNotEmpty());
      isRefused(host.runs().entries("trip", id, 1, 10));
    }
  }

  @Test
  void aRecordAnEventOrAPartOfALaterReleaseIsRefusedUntilThatReleaseIsBack() throws Exception {
    try (TestHost host = new TestHost(Store.sqlite(file()), TestFlows.trip())) {
      Client client = host.client();
      client.start("from", "Ulm");
      Client other = host.client();
      other.start("from", "Rom");
      host.fermata().close();
      Row known = first();

      isRefused(new Row(known.ordering(), "step:9", known.payload()), client, other, host);
      host.fermata().close();
      isRefused(
          changed(
              known,
              tree -> {
                ((ObjectNode) tree.path("events").get(0)).put("e", "teleported");
                return tree;
              }),
          client,
          other,
          host);
      host.fermata().close();
      isRefused(changed(known, tree -> tree.put("mood", "fine")), client, other, host);
    }
  }
}
