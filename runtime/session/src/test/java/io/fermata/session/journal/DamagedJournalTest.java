package io.fermata.session.journal;

import static io.fermata.session.TestHost.code;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.call.ToolReply;
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
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Damage of a SQLite file. */
class DamagedJournalTest extends DamageContract {
  @TempDir Path dir;

  private Path file() {
    return dir.resolve("test.db");
  }

  @Override
  Store store() {
    return Store.sqlite(file());
  }

  @Override
  Connection connect() throws SQLException {
    return DriverManager.getConnection("jdbc:sqlite:" + file());
  }

  @Override
  String flipped() {
    return """
        cast(
            substr(event_payload, 1, length(event_payload) - 9)
            || case substr(event_payload, length(event_payload) - 8, 1)
                 when x'62' then x'63' else x'62' end
            || substr(event_payload, length(event_payload) - 7) as blob)
        """;
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
