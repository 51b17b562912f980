package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.HistoryContract;
import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.SqlContract;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.sql.LargeStore;
import io.fermata.persistence.sql.SqlListing;
import io.fermata.postgres.PostgresRelease;
import io.fermata.postgres.PostgresServer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Every statement that a store sends finds its rows by an index made for it, however many sessions
 * there are. The planner's settings forbid scans, so a statement without its index would not fail
 * but walk through another index; what counts is how many pages it reads.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class PlansContract {

  static final int SESSIONS = 40_000;

  /** A page of a thousand sessions, each looked up in three indexes. */
  private static final int MOST_PAGES = 10_000;

  /** Of an index over a hundred thousand sessions, and still over ten million. */
  private static final int LEVELS = 3;

  /** A scan of the directory looks up the row of each entry that it examines, and one tag. */
  private static final int MOST_PAGES_OF_A_SCAN =
      MOST_PAGES + SqlListing.EXAMINED * (LEVELS + 1 + LEVELS);

  private static final Pattern PAGES =
      Pattern.compile("Buffers: shared(?: hit=(\\d+))?(?: read=(\\d+))?");

  /** By the index that begins with the record, a tag alone is found nowhere in particular. */
  private static final Pattern WALKS_TAGS =
      Pattern.compile("using event_tag_pkey on [^\\n]*\\n\\s*Index Cond: \\(+(\\w+\\.)?tag ");

  /** The hosts of a day are few, and read whole. An index of trigrams has bitmaps only. */
  private static final String FORBIDDEN =
      ".*(Seq Scan (?!on cluster_host)|Bitmap (?!.*on directory_text)|Hash Join|Merge Join"
          + "|external merge|Gather).*";

  final PostgresServer server;
  private final List<PostgresProbe> filled = new ArrayList<>();
  private Map<String, List<String>> sent = Map.of();

  PlansContract(PostgresRelease release) {
    server = PostgresServer.start(release, StatementLog.SETTINGS);
  }

  @BeforeAll
  void sendEveryStatement() throws ReflectiveOperationException {
    for (Method contract : new Journals(server).contracts()) {
      Journals journals = new Journals(server);
      journals.chooseStore();
      contract.setAccessible(true);
      try {
        contract.invoke(journals);
      } catch (InvocationTargetException failed) {
        throw new AssertionError(contract.getName(), failed.getCause());
      }
    }
    verify();
    filled.add(filled(SESSIONS));
    sent = StatementLog.of(server);
  }

  private void verify() {
    PostgresProbe database = PostgresProbe.of(server);
    try (Host host = Host.on(database.store())) {
      host.openWithSnapshots("run|a").write(new Line("one"), new Line("two"), new Line("three"));
      Host.await(host.store().directory().put(LargeStore.entry(1, "x")));
    }
    database.store().verify(damage -> {});
  }

  @AfterAll
  void stopServer() {
    server.close();
  }

  final PostgresProbe large() {
    return filled.get(0);
  }

  final PostgresProbe filled(int sessions) {
    PostgresProbe database = PostgresProbe.of(server);
    database.store().open().close();
    ManySessions.fill(database, sessions);
    deleteBehindSnapshots(database);
    try (OpenStore store = database.store().open()) {
      LargeStore.use(store, sessions);
    }
    try (OpenStore store = database.store().openShared()) {
      SharedStore shared = store.shared().orElseThrow();
      Shard.all().forEach(shard -> Host.await(shared.acquire(shard, "a host")));
      LargeStore.use(store, sessions);
      Host.await(shared.unfinished(3, "", OpenStore.MAX_ENTRIES));
      Host.await(shared.heartbeat(new ClusterHost("here", "10.0.0.7:25520", "{}")));
      Host.await(shared.lease("lease7", "here", Duration.ofSeconds(10)));
      Host.await(shared.endLease("lease7", "here"));
      Host.await(shared.endLeaseOfLast("lease7", "here", "a host"));
      Host.await(shared.leave("here"));
    }
    return database;
  }

  /** What actors ask a store for that delete their own events. */
  private static void deleteBehindSnapshots(PostgresProbe database) {
    try (Host host = Host.on(database.store())) {
      Host.Desk desk = host.openDeleting("run|deleting");
      for (int line = 0; line < 6; line++) {
        desk.write(new Line("line"));
      }
      PostgresClaimTest.await(() -> !database.snapshots("run|deleting").contains(2L));
    }
  }

  /** Runs the contract of journals on a server. */
  private static final class Journals extends SqlContract {

    private final PostgresServer server;
    private PostgresProbe database;

    Journals(PostgresServer server) {
      this.server = server;
      this.database = PostgresProbe.of(server);
    }

    List<Method> contracts() {
      List<Method> contracts = new ArrayList<>();
      for (Class<?> contract : List.of(SqlContract.class, HistoryContract.class)) {
        for (Method method : contract.getDeclaredMethods()) {
          if (method.isAnnotationPresent(Test.class)) {
            contracts.add(method);
          }
        }
      }
      return contracts;
    }

    @Override
    protected Store newStore() {
      database = PostgresProbe.of(server);
      return database.store();
    }

    @Override
    protected List<Long> records(String persistenceId) {
      return database.records(persistenceId);
    }

    @Override
    protected List<Long> snapshots(String persistenceId) {
      return database.snapshots(persistenceId);
    }

    @Override
    public long tags() {
      return database.number("SELECT count(*) FROM event_tag");
    }
  }

  @Test
  void everyStatementOfTheClassesIsSentByTheseTests() throws IllegalAccessException {
    assertThat(SqlConstants.missing(sent.keySet())).isEmpty();
  }

  @Test
  void everyOtherTableHasAsManyRowsHoweverManySessionsThereAre() throws SQLException {
    try (Connection connection = server.connect(large().database());
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")) {
      List<String> tables = new ArrayList<>();
      while (rows.next()) {
        tables.add(rows.getString(1));
      }
      tables.removeAll(StatementLog.TABLES);
      assertThat(tables).containsExactlyInAnyOrder("shard", "shard_mark", "fermata_meta");
    }
  }

  @Test
  void everyStatementReadsFewPagesHoweverManySessionsThereAre() throws SQLException {
    assertThat(expensive()).isEmpty();
  }

  /** Of the statements that all tests sent, those that read too much, with their plans. */
  final Map<String, String> expensive() throws SQLException {
    return expensive(large(), sent, Integer.MAX_VALUE);
  }

  /** Whether any statement that all tests sent reads too much. */
  final boolean anyIsExpensive() throws SQLException {
    return !expensive(large(), sent, 1).isEmpty();
  }

  /** The first statements that read too much, with their plans. */
  static Map<String, String> expensive(
      PostgresProbe database, Map<String, List<String>> statements, int first) throws SQLException {
    Map<String, String> expensive = new LinkedHashMap<>();
    PostgresAddress address = PostgresAddress.parse(database.address(), Map.of());
    try (Connection connection = PostgresSource.forClaim(address).getConnection()) {
      for (Map.Entry<String, List<String>> each : statements.entrySet()) {
        String sql = each.getKey();
        String plan = plan(connection, sql, each.getValue());
        int most = sql.contains("LIMIT " + SqlListing.EXAMINED) ? MOST_PAGES_OF_A_SCAN : MOST_PAGES;
        if (pages(plan) > most
            || plan.lines().anyMatch(line -> line.matches(FORBIDDEN))
            || sortsOrWalks(sql, plan)) {
          expensive.put(sql, pages(plan) + " pages\n" + plan);
        }
        if (expensive.size() == first) {
          break;
        }
      }
    }
    return expensive;
  }

  /**
   * Whether another index had to do: its rows are sorted, or all of it is walked. Only the few
   * entries of a session are to be sorted.
   */
  private static boolean sortsOrWalks(String sql, String plan) {
    boolean list = sql.contains("LIMIT " + SqlListing.EXAMINED + ") AS examined");
    boolean few = sql.contains("entry.session = ");
    return (list && plan.contains("->  Sort") && !few) || WALKS_TAGS.matcher(plan).find();
  }

  static long pages(String plan) {
    Matcher pages = PAGES.matcher(plan);
    long sum = 0;
    if (pages.find()) {
      for (int group = 1; group <= 2; group++) {
        sum += pages.group(group) == null ? 0 : Long.parseLong(pages.group(group));
      }
    }
    return sum;
  }

  /** Runs a statement with the plan for any parameters, and undoes what it did. */
  private static String plan(Connection connection, String sql, List<String> parameters)
      throws SQLException {
    StringBuilder plan = new StringBuilder();
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SET LOCAL plan_cache_mode = force_generic_plan");
      if (sql.contains(" FROM directory_text\n")) {
        statement.execute("SET LOCAL enable_bitmapscan = on");
      }
      statement.execute("PREPARE asked AS " + sql);
      String with = parameters.isEmpty() ? "" : "(" + String.join(", ", parameters) + ")";
      try (ResultSet rows =
          statement.executeQuery("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE asked" + with)) {
        while (rows.next()) {
          plan.append(rows.getString(1)).append('\n');
        }
      }
      statement.execute("DEALLOCATE asked");
    } catch (SQLException failed) {
      throw new AssertionError(sql + parameters, failed);
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
    return plan.toString();
  }
}
