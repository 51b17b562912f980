package io.fermata.persistence.sql;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.DirectoryQuery.Order;
import io.fermata.persistence.directory.Span;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/** The directory of a store with many sessions, and what hosts and people ask such a store for. */
public final class LargeStore {

  /** The quota of a principal. */
  private static final int MOST_RUNS = 10_000;

  /** A time that has not come, in milliseconds since 1970. */
  public static final long FUTURE = 4_000_000_000_000L;

  private static final NewEntry NEW =
      new NewEntry(
          new StoredEntry(1, 1, "m", "x".getBytes(StandardCharsets.UTF_8)), 1, Set.of("tag"));

  /** How many runs of one session are kept. */
  public static final int PARTS = 20_000;

  private LargeStore() {}

  /**
   * Lists a run for each number. A quarter belongs to one principal, and most of these have ended.
   */
  public static List<String> directory(int sessions) {
    // Neighbours in time are not neighbours in the table.
    String time = "(CAST(i AS bigint) * 7919 % " + sessions + ")";
    return List.of(
        """
        INSERT INTO directory (persistence_id, kind, principal, name, session, seq, created_at,
          active_at, status, since, labels, searchable)
        %1$s
        SELECT 'run|' || i, 'run', CASE i %% 4 WHEN 0 THEN 'local' ELSE 'p' || (i %% 1000) END,
          'flow' || (i %% 10), 's' || (i / 2), 2, %2$s, %2$s,
          CASE WHEN i %% 100 = 1 THEN 'failed' WHEN i %% 100 = 2 THEN 'complete'
            WHEN i %% 4 = 0 AND i > 400 THEN 'expired' ELSE 'waiting' END, %2$s,
          '{"attributes":{"a":"x"},"tags":["t' || (i %% 50) || '"]}',
          'text ' || i || CASE i WHEN 7919 THEN ' of an old run' ELSE '' END
        FROM numbers
        """
            .formatted(numbers(sessions), time),
        """
        INSERT INTO directory_tag (persistence_id, tag, kind, created_at)
        %s
        SELECT 'run|' || i, 't' || (i %% 50), 'run', %s FROM numbers
        """
            .formatted(numbers(sessions), time),
        // Parts of the journal of a session, of which the first are to be forgotten.
        """
        INSERT INTO directory (persistence_id, kind, principal, name, session, seq, created_at,
          active_at, status, since, labels, searchable)
        %s
        SELECT 'run|kept.' || (%d + i), 'part', 'local', 'flow', 'kept',
          CASE WHEN i <= 50 THEN 1 ELSE 2 END, i, i, 'complete', i, '{}', ''
        FROM numbers
        """
            .formatted(numbers(PARTS), 10 * PARTS));
  }

  /** All numbers, which a statement that inserts begins with. */
  public static String numbers(int sessions) {
    return """
    WITH RECURSIVE numbers (i) AS (
      SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < %d)\
    """
        .formatted(sessions);
  }

  /** Asks for everything that hosts and people ask a store for. */
  public static void use(OpenStore store, int sessions) {
    Host.await(store.unfinished("", OpenStore.MAX_ENTRIES));
    Host.await(store.due(1, OpenStore.MAX_ENTRIES));
    Host.await(store.sweep(1));
    // Continues where the first ended.
    Host.await(store.sweep(1));
    Host.await(store.newest());
    Host.await(((StoreSetup) store.setup()).journals().tip("run|kept"));
    Host.await(store.read("run|none", 1, 1));
    Host.await(store.readBack("run|none", Long.MAX_VALUE, 1));
    Host.await(store.written(sessions, OpenStore.MAX_ENTRIES));
    Host.await(store.journals("run|5", OpenStore.MAX_ENTRIES));
    Host.await(store.journals("77777"));
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

  /** Nothing follows it, so a list that checks criteria asks where its scan was cut. */
  private static String last(Order order) {
    String cursor = order + ":" + (order.latestFirst() ? 0 : FUTURE) + ":run|";
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(cursor.getBytes(StandardCharsets.UTF_8));
  }

  public static DirectoryEntry entry(long seq, String... tags) {
    return new DirectoryEntry(
        "run|7", "run", "p7", "flow7", seq, 1, 1, Set.of(tags), Map.of("a", "x"));
  }

  /** With values that many entries have, few, and none: the wrong index is cheap for some only. */
  private static List<UnaryOperator<DirectoryQuery>> criteria() {
    return List.of(
        query -> query,
        query -> query.belongingTo("p7"),
        query -> query.belongingTo("local"),
        query -> query.belongingTo("none"),
        query -> query.belongingTo("p7").statuses(Set.of("complete", "failed")),
        query -> query.belongingTo("local").statuses(Set.of("working", "waiting", "stopped")),
        query -> query.belongingTo("p7").named("flow7").tagged("t7"),
        query -> query.named("flow3"),
        query -> query.named("none"),
        query -> query.inSession("s500"),
        query -> query.inSession("s500").statuses(Set.of("waiting")),
        query -> query.statuses(Set.of("waiting")),
        query -> query.statuses(Set.of("failed")),
        query -> query.statuses(Set.of("none")),
        query -> query.statuses(Set.of("complete", "failed")),
        query -> query.tagged("t5"),
        query -> query.tagged("none"),
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
}
