package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.SqlContract;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.directory.DirectoryCursor;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.DirectoryQuery.Order;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.sql.Dialect;
import io.fermata.persistence.sql.SqlListing;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
final class PostgresStoreTest extends SqlContract {

  private final List<PostgresProbe> databases = new ArrayList<>();

  @Override
  protected Store newStore() {
    PostgresProbe fresh = PostgresProbe.fresh();
    databases.add(fresh);
    return fresh.store();
  }

  private PostgresProbe database() {
    return databases.get(0);
  }

  @Override
  protected List<Long> records(String persistenceId) {
    return database().records(persistenceId);
  }

  @Override
  protected List<Long> snapshots(String persistenceId) {
    return database().snapshots(persistenceId);
  }

  @Override
  public long tags() {
    return database().number("SELECT count(*) FROM event_tag");
  }

  @Test
  void aClosedStoreSaysSo() {
    OpenStore open = store().open();
    open.close();
    open.close();
    for (CompletionStage<?> late :
        List.of(open.sweep(1), open.unfinished("", 1), open.read("a", 1, 1))) {
      assertThatThrownBy(() -> Host.await(late))
          .hasRootCauseInstanceOf(StoreException.class)
          .rootCause()
          .hasMessage(database().address() + " is closed; open the store again");
    }
  }

  @Test
  void aSessionWhoseNameTheDatabaseDoesNotTakeHarmsNoneThatIsReadTogetherWithIt() {
    try (Host host = Host.on(store())) {
      List<Host.Desk> desks = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        if (i % 4 == 0) {
          host.open("no\0name" + i);
        }
        desks.add(host.open("desk" + i));
      }
      for (Host.Desk desk : desks) {
        desk.write(new Line("one"));
        assertThat(desk.lines()).containsExactly("one");
      }
    }
  }

  @Test
  void aClosedStoreLeavesNoConnection() {
    store().open().close();
    // The server ends the process of a connection a moment after the store has closed it.
    PostgresClaimTest.await(() -> connections().isEmpty());
  }

  private List<Long> connections() {
    return database()
        .numbers(
            "SELECT pid FROM pg_stat_activity WHERE datname = ? AND usename = 'fermata'",
            database().database());
  }

  /** The columns whose statistics quote a text, or its bytes. */
  private List<String> quoting(String text) {
    String columns =
        database()
            .text(
                """
                SELECT coalesce(string_agg(DISTINCT attname, ' ' ORDER BY attname), '')
                FROM pg_stats
                WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
                  AND concat(most_common_vals, histogram_bounds, most_common_elems)
                    ~* ('%1$s|' || encode('%1$s', 'hex'))
                """
                    .formatted(text));
    return columns.isEmpty() ? List.of() : List.of(columns.split(" "));
  }

  /** The tables and indexes whose files have a text, deleted or not. */
  private List<String> holding(String text) {
    return Stream.of(
            "event_journal",
            "event_journal_pkey",
            "snapshot",
            "directory",
            "directory_tag_pkey",
            "pg_statistic")
        .filter(
            name ->
                database()
                        .number(
                            "SELECT position(convert_to(?, 'UTF8') IN"
                                + " pg_read_binary_file(pg_relation_filepath(?)))",
                            text,
                            name)
                    > 0)
        .toList();
  }

  @Test
  void theStatisticsOfTheDatabaseQuoteNoContentAndAFullVacuumLeavesNothingErased() {
    String marker = "Rumpelstiltskin";
    try (Host host = Host.on(store())) {
      List<String> marked = new ArrayList<>();
      for (String text : List.of(marker, "other")) {
        for (int i = 0; i < 40; i++) {
          String id = text + " " + i;
          host.openWithSnapshots(id).write(new Line(id), new Line(id), new Line(id), new Line(id));
          Host.await(
              host.store()
                  .directory()
                  .put(
                      new DirectoryEntry(
                          id, "run", text, id, 1, i, i, Set.of(text), Map.of("of", id))));
          marked.add(id);
        }
      }
      database().execute("ANALYZE");
      assertThat(quoting(marker))
          .contains("persistence_id", "principal", "tag")
          .doesNotContain("event_payload", "snapshot_payload", "searchable", "labels");

      host.forget(marked.subList(0, 40).toArray(String[]::new));
      database().execute("VACUUM (FULL, ANALYZE)", "VACUUM FULL pg_statistic", "CHECKPOINT");
      assertThat(quoting(marker)).isEmpty();
      assertThat(holding(marker)).isEmpty();
      assertThat(holding("other")).hasSize(6);
    }
  }

  @Test
  void theTagsOfManyRecordsGoWithThemByTheirIndex() throws SQLException {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a");
      IntStream.rangeClosed(1, 200).forEach(plan -> desk.write(new Plan("plan " + plan)));
      assertThat(tags()).isEqualTo(200);
      // While there are any, as either index finds nothing for the same cost; all are few rows.
      PostgresAddress address = PostgresAddress.parse(database().address(), Map.of());
      try (Connection connection = PostgresSource.forClaim(address).getConnection();
          Statement few = connection.createStatement()) {
        few.execute("SET enable_seqscan = off");
        few.execute("ANALYZE event_tag");
        String gone = "DELETE FROM event_tag WHERE event_id = ANY (ARRAY(SELECT ? ::bigint))";
        assertThat(plan(connection, gone))
            .anyMatch(step -> step.contains("Index Scan using event_tag_pkey on event_tag"));
      }
      assertThat(Host.await(host.store().delete(List.of("a"))).records()).isEqualTo(200);
      assertThat(tags()).isZero();
    }
  }

  @Test
  void everyListWalksAnIndexInItsOrderAndSortsEntriesOfOneTimeOnly() throws SQLException {
    try (Host host = Host.on(store())) {
      Host.await(host.store().directory().put(DirectoryContract.entry("a")));
    }
    PostgresAddress address = PostgresAddress.parse(database().address(), Map.of());
    DirectoryQuery all = DirectoryQuery.of("thread");
    DirectoryQuery waiting = all.statuses(Set.of("waits"));
    try (Connection connection = PostgresSource.forClaim(address).getConnection()) {
      for (boolean analyzed : new boolean[] {false, true}) {
        walks(connection, "directory_%s", all, all.containing("text"));
        walks(connection, "directory_%s_principal", all.belongingTo("ann"));
        walks(connection, Order.CREATION, "directory_created_name", all.named("support"));
        walks(connection, Order.ACTIVITY, "directory_active", all.named("support"));
        walks(connection, Order.CREATION, "directory_created_status", waiting);
        walks(connection, Order.STATUS, "directory_since_status", waiting);
        if (!analyzed) {
          database().execute("ANALYZE");
        }
      }
    }
  }

  private static void walks(Connection connection, String index, DirectoryQuery... queries)
      throws SQLException {
    for (DirectoryQuery query : queries) {
      walks(connection, Order.ACTIVITY, index.formatted("active"), query);
      walks(connection, Order.CREATION, index.formatted("created"), query);
    }
  }

  private static void walks(
      Connection connection, Order order, String index, DirectoryQuery unordered)
      throws SQLException {
    DirectoryQuery query = unordered.orderedBy(order);
    DirectoryCursor last = DirectoryCursor.of(order, DirectoryContract.entry("last"));
    String cursor = Objects.requireNonNull(query.page(List.of(), last).next());
    for (DirectoryQuery each : List.of(query, query.after(cursor))) {
      for (SqlListing scan : SqlListing.of(Dialect.POSTGRES, each)) {
        assertThat(plan(connection, scan.matches().sql()))
            .as(each.toString())
            .noneMatch(step -> step.matches(".*(Seq Scan|Bitmap|Hash Join|Merge Join).*"))
            .anyMatch(step -> step.matches(".*Index Scan (Backward )?using " + index + " .*"))
            .anyMatch(step -> step.contains("Incremental Sort"));
      }
    }
  }

  /** The plan for any parameters. */
  private static List<String> plan(Connection connection, String sql) throws SQLException {
    int parameters = (int) sql.chars().filter(each -> each == '?').count();
    StringBuilder numbered = new StringBuilder(sql);
    for (int i = 1; i <= parameters; i++) {
      int next = numbered.indexOf("?");
      numbered.replace(next, next + 1, "$" + i);
    }
    String nothing = String.join(", ", Collections.nCopies(parameters, "NULL"));
    List<String> plan = new ArrayList<>();
    try (Statement statement = connection.createStatement()) {
      statement.execute("SET plan_cache_mode = force_generic_plan");
      statement.execute("PREPARE asked AS " + numbered);
      try (ResultSet rows = statement.executeQuery("EXPLAIN EXECUTE asked (" + nothing + ")")) {
        while (rows.next()) {
          plan.add(rows.getString(1));
        }
      }
      statement.execute("DEALLOCATE asked");
    }
    return plan;
  }
}
