package io.fermata.persistence.sqlite;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.SqliteProbe;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.sql.LargeStore;
import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.SqlDirectory;
import io.fermata.persistence.sql.SqlEntries;
import io.fermata.persistence.sql.SqlListing;
import io.fermata.persistence.sql.SqlNames;
import io.fermata.persistence.sql.SqlObsoleteTags;
import io.fermata.persistence.sql.SqlShards;
import io.fermata.persistence.sql.SqlUpkeep;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever a store is asked for, each of its transactions takes few steps of SQLite's virtual
 * machine, however many sessions there are. So nothing waits long for the only connection that
 * writes.
 */
@Tag("long")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class SqliteStepsTest {

  /** {@code -Dplans.sessions=1000000} tries a million, which takes minutes to fill. */
  private static final int SESSIONS = Integer.getInteger("plans.sessions", 100_000);

  /** For each row of a page, or of a portion of a sweep. */
  private static final int STEPS = 100;

  private static final long MOST_STEPS = STEPS * OpenStore.MAX_ENTRIES;

  private static final long MOST_STEPS_OF_A_SEARCH = STEPS * SqlListing.EXAMINED;

  private static final long NEVER = Long.MAX_VALUE;

  private final StepMeter meter = new StepMeter(SqliteStepsTest::most);

  private Path file = Path.of("");
  private Host host;
  private int uses;

  @BeforeAll
  void fill(@TempDir Path directory) {
    file = directory.resolve("many.db");
    ManySqliteSessions.fill(file, SESSIONS);
    requireTexts();
    SqliteFile located = SqliteFile.locate(file);
    FileClaim claim = FileClaim.take(located);
    InodeClaim inode = InodeClaim.take(located);
    byte[] key = SqliteSchema.prepare(located);
    SqliteBackend backend = SqliteBackend.connect(located, claim, inode, later -> {});
    host = Host.over(new OpenSqlStore("many", key, meter.over(backend)));
  }

  @AfterAll
  void close() {
    host.close();
  }

  private void requireTexts() {
    assertThat(number("SELECT count(*) FROM directory_text WHERE before <> ?", "-")).isZero();
    assertThat(number("SELECT max(block) FROM directory_trigram WHERE entries <> ?", ""))
        .isEqualTo(SqliteBlock.of(SESSIONS));
  }

  private long number(String sql, String parameter) {
    return SqliteProbe.numbers(file, sql, parameter).get(0);
  }

  @Test
  void everyTransactionTakesFewStepsHoweverManySessionsThereAre() {
    List<StepMeter.Metered> used = used();
    assertThat(expensive(used)).isEmpty();

    Set<String> sent = new LinkedHashSet<>();
    used.forEach(each -> sent.addAll(each.statements().keySet()));
    for (String sql :
        List.of(
            SqlShards.UNDIVIDED.scan(SqlUpkeep.WORKING.select()),
            SqlShards.UNDIVIDED.scan(SqlUpkeep.ENDS.select()),
            SqlShards.UNDIVIDED.scan(SqlUpkeep.SOME_TAG),
            SqlUpkeep.POSTPONE,
            SqlShards.UNDIVIDED.scan(SqlUpkeep.DUE.select()),
            SqlShards.UNDIVIDED.scan(SqlObsoleteTags.EXAMINE.select()),
            SqlEntries.FORWARDS,
            SqlEntries.BACKWARDS,
            SqlEntries.REPLAY,
            SqlEntries.WRITTEN,
            SqlEntries.DELETE_EVENTS,
            SqlEntries.DELETE_SNAPSHOTS,
            SqlEntries.DELETE_ENTRY,
            SqlNames.NEXT.formatted("directory"),
            SqlNames.WITHIN.formatted("directory"),
            SqlDirectory.TOUCH,
            SqlDirectory.DELETE,
            SqlDirectory.DELETE_TAGS,
            SqlDirectory.GET,
            SqliteJournal.PROMISED,
            SqlObsoleteTags.DELETE,
            SqliteJournal.TIP,
            SqliteJournal.SNAPSHOT,
            SqliteTexts.BLOCK_BEFORE,
            SqliteTexts.ENTRIES)) {
      assertThat(sent).contains(sql.strip());
    }
  }

  @Test
  void aLargeBacklogIsSweptInSmallTransactions() {
    meter.transactions();
    host.open("run|postponed")
        .write(new Conclusion("kept long", LargeStore.FUTURE + 1, NEVER))
        .write(new Conclusion("kept shortly", 1, NEVER));
    Host.await(host.store().due(LargeStore.FUTURE, OpenStore.MAX_ENTRIES));
    assertThat(host.store().sweep(LargeStore.FUTURE).toCompletableFuture().join())
        .isGreaterThanOrEqualTo(10_000);
    List<StepMeter.Metered> swept = meter.transactions();
    assertThat(swept).hasSizeGreaterThan(100);
    assertThat(expensive(swept)).isEmpty();
  }

  @Test
  void aLostIndexIsNoticed() {
    List<String> unnoticed = new ArrayList<>();
    List<String> indexes = indexes();
    assertThat(indexes).isNotEmpty();
    for (String index : indexes) {
      String name = index.split("\\s+", 4)[2];
      SqliteProbe.execute(file, "DROP INDEX " + name);
      if (expensive(used()).isEmpty()) {
        unnoticed.add(name);
      }
      SqliteProbe.execute(file, index);
    }
    assertThat(unnoticed).isEmpty();
  }

  /** Those that the schema creates; a table always has those of its keys. */
  private List<String> indexes() {
    return SqliteProbe.strings(
        file, "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL", "sql");
  }

  /**
   * What the store does for all that hosts and people ask for. It ends with a transaction that is
   * interrupted.
   */
  private List<StepMeter.Metered> used() {
    meter.transactions();
    try {
      use("run|mine" + uses++);
      return meter.transactions();
    } catch (AssertionError failed) {
      List<StepMeter.Metered> done = meter.transactions();
      if (expensive(done).isEmpty()) {
        throw failed;
      }
      return done;
    }
  }

  private void use(String mine) {
    OpenStore store = host.store();
    host.openWithSnapshots(mine).write(new Line("one"), new Line("two")).write(new Plan("three"));
    host.open(mine)
        .write(new Conclusion("kept long", LargeStore.FUTURE, NEVER))
        .write(new Conclusion("kept shortly", 1, NEVER));
    host.open(mine + " too").write(new Conclusion("forgotten", 1, 1));
    LargeStore.use(store, SESSIONS);
    Host.await(store.due(LargeStore.FUTURE, OpenStore.MAX_ENTRIES));
    Host.await(store.read(mine, 1, OpenStore.MAX_ENTRIES));
    Host.await(store.directory().remove("run|7"));
    Host.await(store.delete(List.of(mine)));
  }

  private static long most(String sql) {
    return sql.contains("LIMIT " + SqlListing.EXAMINED) ? MOST_STEPS_OF_A_SEARCH : MOST_STEPS;
  }

  private static List<String> expensive(List<StepMeter.Metered> transactions) {
    List<String> expensive = new ArrayList<>();
    for (StepMeter.Metered each : transactions) {
      long most =
          each.statements().keySet().stream().mapToLong(SqliteStepsTest::most).max().orElse(0);
      if (each.steps() > most) {
        expensive.add(each.steps() + " steps: " + each.statements());
      }
    }
    return expensive;
  }
}
