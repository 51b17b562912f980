package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.HistoryContract;
import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.SqlContract;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.DirectoryQuery.Order;
import io.fermata.persistence.directory.Span;
import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.sql.SqlListing;
import io.fermata.postgres.PostgresRelease;
import io.fermata.postgres.PostgresServer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Every statement that a store sends finds its rows by an index made for it, however many sessions
 * there are. The planner's settings forbid scans, so a statement without its index would not fail
 * but walk through another index; what counts is how many pages it reads.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class PlansContract {

  /** The quota of a principal. */
  private static final int MOST_RUNS = 10_000;

  private static final int SESSIONS = 100_000;

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

  private static final NewEntry NEW =
      new NewEntry(
          new StoredEntry(1, 1, "m", "x".getBytes(StandardCharsets.UTF_8)), 1, Set.of("tag"));

  private final PostgresServer server;
  private final List<PostgresProbe> filled = new ArrayList<>();

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
  }

  private void verify() {
    PostgresProbe database = PostgresProbe.of(server);
    try (Host host = Host.on(database.store())) {
      host.openWithSnapshots("run|a").write(new Line("one"), new Line("two"), new Line("three"));
      Host.await(host.store().directory().put(entry(1, "x")));
    }
    database.store().verify(damage -> {});
  }

  @AfterAll
  void stopServer() {
    server.close();
  }

  private PostgresProbe large() {
    return filled.get(0);
  }

  private PostgresProbe filled(int sessions) {
    PostgresProbe database = PostgresProbe.of(server);
    database.store().open().close();
    ManySessions.fill(database, sessions);
    deleteBehindSnapshots(database);
    try (OpenStore store = database.store().open()) {
      use(store, sessions);
    }
    try (OpenStore store = database.store().openShared()) {
      SharedStore shared = store.shared().orElseThrow();
      Shard.all().forEach(shard -> Host.await(shared.acquire(shard, "a host")));
      use(store, sessions);
      Host.await(shared.unfinished(3, "", OpenStore.MAX_ENTRIES));
      Host.await(shared.heartbeat(new ClusterHost("here", "10.0.0.7:25520", "{}")));
      Host.await(shared.lease("lease7", "here", Duration.ofSeconds(10)));
      Host.await(shared.endLease("lease7", "here"));
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

  /** What hosts and people ask a store for. */
  private static void use(OpenStore store, int sessions) {
    Host.await(store.unfinished("", OpenStore.MAX_ENTRIES));
    Host.await(store.due(1, OpenStore.MAX_ENTRIES));
    Host.await(store.sweep(1));
    Host.await(store.newest());
    Host.await(store.read("run|none", 1, 1));
    Host.await(store.readBack("run|none", Long.MAX_VALUE, 1));
    Host.await(store.written(sessions, OpenStore.MAX_ENTRIES));
    Host.await(store.journals("run|5", OpenStore.MAX_ENTRIES));
    Host.await(store.journals("77"));
    Directory directory = store.directory();
    Host.await(directory.mark(1));
    Host.await(directory.marked());
    for (long seq = 2; seq < 4; seq++) {
      Host.await(directory.put(entry(seq, "x")));
      Host.await(directory.put(entry(seq, "y")));
    }
    Host.await(directory.put(entry(4, "y")));
    // Without the tag that was put last, whose statement is tried again.
    Host.await(directory.put(entry(5)));
    Host.await(directory.get("run|7"));
    for (Order order : Order.values()) {
      for (UnaryOperator<DirectoryQuery> narrowed : criteria()) {
        DirectoryQuery all = DirectoryQuery.of("run").limitedTo(50);
        DirectoryQuery query =
            narrowed.apply(
                order == Order.STATUS
                    ? all.statuses(Set.of("failed")).orderedBy(order)
                    : all.orderedBy(order));
        Host.await(directory.list(query.after(last(order))));
        DirectoryPage page = Host.await(directory.list(query));
        if (page.next() != null) {
          Host.await(directory.list(query.after(page.next())));
        }
        Host.await(directory.count(query, MOST_RUNS));
      }
    }
    Host.await(directory.remove("run|6"));
    Host.await(store.delete(List.of("run|8", "run|9")));
    Host.await(store.importJournal("run|imported", List.of(NEW)));
    Host.await(store.delete(List.of("run|imported")));
  }

  /** Nothing follows it, so the list asks where its scan was cut. */
  private static String last(Order order) {
    String cursor = order + ":" + (order.latestFirst() ? 0 : ManySessions.FUTURE) + ":run|";
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(cursor.getBytes(StandardCharsets.UTF_8));
  }

  private static DirectoryEntry entry(long seq, String... tags) {
    return new DirectoryEntry(
        "run|7", "run", "p7", "flow7", seq, 1, 1, Set.of(tags), Map.of("a", "x"));
  }

  private static List<UnaryOperator<DirectoryQuery>> criteria() {
    return List.of(
        query -> query,
        query -> query.belongingTo("p7"),
        query -> query.belongingTo("p7").statuses(Set.of("complete", "failed")),
        query -> query.belongingTo("local").statuses(Set.of("working", "waiting", "stopped")),
        query -> query.belongingTo("p7").named("flow7").tagged("t7"),
        query -> query.named("flow3"),
        query -> query.inSession("s500"),
        query -> query.inSession("s500").statuses(Set.of("waiting")),
        query -> query.statuses(Set.of("failed")),
        query -> query.statuses(Set.of("complete", "failed")),
        query -> query.tagged("t5"),
        query -> query.tagged("t5", "t6"),
        query -> query.having("a", "x"),
        query -> query.having("a", "none"),
        query -> query.containing("text 5"),
        query -> query.containing("nowhere"),
        query -> query.containing("text 77"),
        query -> query.containing("of an old run"),
        query -> query.named("flow3").tagged("t5").containing("of an old run"),
        query -> query.belongingTo("local").containing("of an old run"),
        query -> query.named("flow3").containing("nowhere"),
        query -> query.statuses(Set.of("failed")).containing("nowhere"),
        query -> query.created(new Span(10L, 20L)),
        query -> query.since(new Span(10L, 20L)));
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
    assertThat(SqlConstants.missing(StatementLog.of(server).keySet())).isEmpty();
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
      assertThat(tables).containsExactlyInAnyOrder("shard", "fermata_meta");
    }
  }

  @Test
  void everyStatementReadsFewPagesHoweverManySessionsThereAre() throws SQLException {
    assertThat(expensive(large())).isEmpty();
  }

  @Test
  @Tag("long")
  void aLostIndexIsNoticed() throws SQLException {
    List<String> unnoticed = new ArrayList<>();
    for (String index : indexes()) {
      try (Connection connection = server.connect(large().database());
          Statement statement = connection.createStatement()) {
        String valid =
            "UPDATE pg_index SET indisvalid = %s WHERE indexrelid = '" + index + "'::regclass";
        statement.execute(valid.formatted(false));
        if (expensive(large()).isEmpty()) {
          unnoticed.add(index);
        }
        statement.execute(valid.formatted(true));
      }
    }
    assertThat(unnoticed).isEmpty();
  }

  /** Without those of primary keys, which a table always has. */
  private List<String> indexes() throws SQLException {
    List<String> indexes = new ArrayList<>();
    try (Connection connection = server.connect(large().database());
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON oid = indrelid
                WHERE NOT indisunique AND relnamespace = 'public'::regnamespace ORDER BY 1
                """)) {
      while (rows.next()) {
        indexes.add(rows.getString(1));
      }
    }
    return indexes;
  }

  /** {@code -Dplans.sessions=1000000} tries a million, which takes minutes to fill. */
  @Test
  @Tag("long")
  void amongThreeTimesAsManySessionsOrMoreEveryStatementReadsAsFew() throws SQLException {
    assertThat(expensive(filled(Integer.getInteger("plans.sessions", 3 * SESSIONS)))).isEmpty();
  }

  /** The statements that read too much, with their plans. */
  private Map<String, String> expensive(PostgresProbe database) throws SQLException {
    Map<String, String> expensive = new LinkedHashMap<>();
    PostgresAddress address = PostgresAddress.parse(database.address(), Map.of());
    try (Connection connection = PostgresSource.forClaim(address).getConnection()) {
      for (Map.Entry<String, List<String>> each : StatementLog.of(server).entrySet()) {
        String sql = each.getKey();
        String plan = plan(connection, sql, each.getValue());
        int most = sql.contains("LIMIT " + SqlListing.EXAMINED) ? MOST_PAGES_OF_A_SCAN : MOST_PAGES;
        if (pages(plan) > most
            || plan.lines().anyMatch(line -> line.matches(FORBIDDEN))
            || sortsOrWalks(sql, plan)) {
          expensive.put(sql, pages(plan) + " pages\n" + plan);
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

  private static long pages(String plan) {
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
