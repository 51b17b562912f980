package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.sqlite.Forgery;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Journals are read from a store that no host has open, and from streams of exports. */
class StoredJournalTest {
  record Word(String word) {}

  private static final Flow<Word> TALK =
      Flow.of("talk", Word.class)
          .description("Asks.")
          .ask("ask", q -> q.question("word", "Which word?"))
          .edge(Flow.START, "ask")
          .edge("ask", Flow.END)
          .compile();

  @TempDir Path folder;

  private Store store() {
    return Store.sqlite(folder.resolve("stored.db"));
  }

  private static Agent echo() {
    return Agent.aiHuman("echo", Prompt.of("echo", ScriptedModels.saying("Heard.")));
  }

  private Fermata host() {
    return Fermata.host().store(store()).flow(TALK).agent(echo()).start();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static String begun(Fermata host) throws Exception {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to talk");
    return now(host.call(new ToolCall("talk", "ann", start, Json.object(), "chat")))
        .meta()
        .at("/fermata~1run/runId")
        .asText();
  }

  private static String talked(Fermata host) throws Exception {
    Threads.View thread =
        now(
            host.threads()
                .create(new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of())));
    Threads.NewMessage hello = new Threads.NewMessage(Message.user("Hello"), List.of(), null);
    now(host.threads().post("ann", thread.threadId(), hello));
    now(host.threads().settled("ann", thread.threadId(), Duration.ofSeconds(30)));
    return thread.threadId();
  }

  @Test
  void theJournalsOfAStoreAreThoseThatAHostReads() throws Exception {
    RunJournal run;
    ThreadJournal thread;
    try (Fermata host = host()) {
      run = now(host.journals().run("talk", begun(host)).readWithSecrets());
      thread = now(host.journals().thread(talked(host)).readWithSecrets());
      assertThatThrownBy(() -> Journals.readRun(store(), "talk", run.runId()))
          .as("a host has it open")
          .isInstanceOf(StoreException.class);
    }

    RunJournal stored = Journals.readRun(store(), "talk", run.runId());

    assertThat(stored).isEqualTo(run);
    Replay.of(TALK, stored).requireSame();
    assertThat(Journals.readThread(store(), thread.threadId())).isEqualTo(thread);
  }

  @Test
  void whatAStoreDoesNotHaveIsNamed() throws Exception {
    host().close();

    assertThatThrownBy(() -> Journals.readRun(store(), "talk", "none"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(store() + " has no journal of a run none of talk; ");
    assertThatThrownBy(() -> Journals.readThread(store(), "echo.none"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(store() + " has no journal of a thread echo.none");
    try (Fermata host = host()) {
      assertThatThrownBy(() -> now(host.journals().run("talk", "none").readWithSecrets()))
          .hasMessageContaining("The store has no journal of a run none of talk; ");
    }
  }

  @Test
  void aStoreWithAJournalThatCannotBeReadIsNamed() throws Exception {
    String runId;
    try (Fermata host = host()) {
      runId = begun(host);
    }
    Path file = folder.resolve("stored.db");
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
        Statement update = connection.createStatement()) {
      update.executeUpdate("update event_journal set event_ser_manifest = 'later'");
    }
    Forgery.seal(file);

    assertThatThrownBy(() -> Journals.readRun(store(), "talk", runId))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(store() + " has a journal that this release cannot read: ");
  }

  @Test
  void anExportIsReadFromAStream() throws Exception {
    Path file = folder.resolve("run.jsonl");
    RunJournal run;
    try (Fermata host = host()) {
      String runId = begun(host);
      try (var to = Files.newOutputStream(file)) {
        now(host.journals().run("talk", runId).export(to));
      }
      run = now(host.journals().run("talk", runId).readWithSecrets());
    }

    try (InputStream from = Files.newInputStream(file)) {
      assertThat(ExportedJournal.read(from)).isEqualTo(new ExportedJournal.OfRun(run));
    }
  }
}
