package io.fermata.session.journal;

import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolReply;
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** An entry that is missing, altered or another session's stops its session, and no other. */
class DamagedJournalTest {
  private static final int SESSIONS = 12;

  @TempDir Path dir;

  private Path file() {
    return dir.resolve("test.db");
  }

  private int sql(String sql) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        Statement statement = connection.createStatement()) {
      return statement.executeUpdate(sql);
    }
  }

  private static Flow<?>[] flows() {
    return new Flow<?>[] {TestFlows.trip(), TestFlows.talk()};
  }

  /** Sessions of one flow are damaged, those of the other are not. */
  private void isDamaged(int entry, String... damage) throws Exception {
    isDamaged(entry, s -> s, damage);
  }

  private void isDamaged(
      int entry, UnaryOperator<io.fermata.session.admin.Settings> settings, String... damage)
      throws Exception {
    try (TestHost host = new TestHost(Store.sqlite(file()), settings, flows())) {
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
  void aDamagedSessionIsLoggedOnceWithItsEntryAndTheNextStep() throws Exception {
    Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    try (TestHost host = new TestHost(Store.sqlite(file()), flows())) {
      Client client = host.client("talk");
      client.start("word", "one");
      client.proceed("word", "two");
      host.fermata().close();
      sql("delete from event_journal where sequence_number = 2");
      root.addAppender(logged);
      logged.start();
      host.restart();
      assertThat(code(client.proceed())).isEqualTo("damaged");
      assertThat(code(client.proceed())).isEqualTo("damaged");
    } finally {
      root.detachAppender(logged);
    }
    List<ILoggingEvent> lines =
        logged.list.stream().filter(line -> line.getLevel().isGreaterOrEqual(Level.WARN)).toList();
    assertThat(lines)
        .as("%s", lines)
        .singleElement()
        .satisfies(
            line ->
                assertThat(line.getFormattedMessage())
                    .contains("talk|", "entry 2 is missing", "restore the store from a backup"));
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
        update event_journal set event_payload = cast(
            substr(event_payload, 1, length(event_payload) - 9)
            || case substr(event_payload, length(event_payload) - 8, 1)
                 when x'62' then x'63' else x'62' end
            || substr(event_payload, length(event_payload) - 7) as blob)
        where sequence_number = 2 and persistence_id like 'talk|%'
        """);
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
    return Fermata.host().store(Store.sqlite(file())).agent(echo).start();
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
      isDamaged(threads.messages("ann", id, null, 10, 0, true));
      assertThatThrownBy(
              () ->
                  host.exportThread(id, new ByteArrayOutputStream())
                      .toCompletableFuture()
                      .get(60, TimeUnit.SECONDS))
          .hasMessageContaining("entry 2")
          .hasMessageContaining("backup");
    }
  }

  @Test
  void aPageThatIsZeroedWhileTheHostRunsIsDamageOfItsSessionsAlone() throws Exception {
    try (TestHost host =
        new TestHost(Store.sqlite(file()), settings -> settings.awake(1), TestFlows.talk())) {
      List<Client> clients = new ArrayList<>();
      for (int i = 0; i < 4 * SESSIONS; i++) {
        Client client = host.client("talk");
        client.start("word", "one " + i);
        client.proceed("word", "two " + i);
        clients.add(client);
      }
      Path log = dir.resolve("test.db-wal");
      while (Files.size(log) > 0) {
        Thread.sleep(50);
      }

      zero(page("event_journal"));

      Map<String, Long> codes =
          clients.stream()
              .map(client -> String.valueOf(code(unchecked(client))))
              .collect(Collectors.groupingBy(code -> code, Collectors.counting()));
      assertThat(codes.keySet()).contains("damaged").doesNotContain("store_unavailable");
      assertThat(codes.get("damaged")).isLessThan(clients.size());
      assertThat(host.fermata().health().toCompletableFuture().get().ready()).isTrue();
    }
  }

  private static ToolReply unchecked(Client client) {
    try {
      return client.proceed();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** A page with entries of the middle of a table. */
  private long page(String table) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT pageno FROM dbstat WHERE name = '"
                    + table
                    + "' AND pagetype = 'leaf' ORDER BY path")) {
      List<Long> pages = new ArrayList<>();
      while (rows.next()) {
        pages.add(rows.getLong(1));
      }
      return pages.get(pages.size() / 2);
    }
  }

  /** In another process: one that closes the file would lose its locks on it. */
  private void zero(long page) throws Exception {
    Process dd =
        new ProcessBuilder(
                "dd",
                "if=/dev/zero",
                "of=" + file(),
                "bs=4096",
                "count=1",
                "seek=" + (page - 1),
                "conv=notrunc",
                "status=none")
            .inheritIO()
            .start();
    assertThat(dd.waitFor()).isZero();
  }
}
