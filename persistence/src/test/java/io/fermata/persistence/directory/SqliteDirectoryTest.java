package io.fermata.persistence.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.SqliteProbe;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.directory.DirectoryQuery.Order;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.sql.Dialect;
import io.fermata.persistence.sql.SqlListing;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class SqliteDirectoryTest extends DirectoryContract {

  private static final DirectoryQuery THREADS = DirectoryQuery.of("thread");

  @TempDir private Path directory = Path.of("");

  @Override
  public Store newStore() {
    return Store.sqlite(file());
  }

  private Path file() {
    return directory.resolve("fermata.db");
  }

  @Test
  void everyListWalksAnIndexInItsOrderAndSortsEntriesOfOneTimeOnly() {
    walks(THREADS, "directory_%s (kind=?");
    walks(THREADS.containing("text").having("lang", "de"), "directory_%s (kind=?");
    String principal = "directory_%s_principal (kind=? AND principal=?";
    walks(THREADS.belongingTo("ann"), principal);
    walks(THREADS.belongingTo("ann").named("support"), principal);
    walks(THREADS.belongingTo("ann").tagged("vip", "open"), principal);
    walks(THREADS.named("support"), "directory_created_name (kind=? AND name=?", Order.CREATION);
    String tag = "directory_tag_created (kind=? AND tag=?";
    walks(THREADS.tagged("vip"), tag, Order.CREATION);
    walks(THREADS.tagged("vip", "open").named("support"), tag, Order.CREATION);
    walks(THREADS.tagged("vip").named("support"), "directory_active (kind=?", Order.ACTIVITY);
  }

  @Test
  void howAnEntryStandsAndItsSessionAreLookedUp() {
    DirectoryQuery waiting = THREADS.statuses(Set.of("waits")).since(new Span(null, 9L));
    String walk = "INDEX directory_%s_status (kind=? AND status=?%s)";
    assertThat(plan(waiting.orderedBy(Order.STATUS)))
        .anyMatch(step -> step.contains(walk.formatted("since", " AND since<?")));
    assertThat(plan(THREADS.statuses(Set.of("waits")).orderedBy(Order.CREATION)))
        .anyMatch(step -> step.contains(walk.formatted("created", "")));
    String cursor = DirectoryCursor.of(Order.STATUS, entry("last")).encode();
    assertThat(plan(THREADS.statuses(Set.of("waits")).orderedBy(Order.STATUS).after(cursor)))
        .anyMatch(step -> step.contains(walk.formatted("since", " AND since>?")));
    DirectoryQuery either = THREADS.statuses(Set.of("waits", "works")).orderedBy(Order.STATUS);
    assertThat(plans(either))
        .filteredOn(step -> step.contains(walk.formatted("since", "")))
        .hasSize(2);
    assertThat(plans(THREADS.inSession("s").belongingTo("ann")))
        .anyMatch(step -> step.contains("INDEX directory_session (kind=? AND session=?)"));
  }

  @Test
  void theQuotaOfAPrincipalIsCountedWithinAnIndex() {
    DirectoryQuery quota = THREADS.belongingTo("ann").statuses(Set.of("waits", "works"));
    String index = "INDEX directory_since_principal (kind=? AND principal=? AND status=?)";
    assertThat(SqliteProbe.plan(file(), SqlListing.count(Dialect.SQLITE, quota, 9).sql()))
        .anyMatch(step -> step.contains("COVERING " + index));
    assertThat(plans(quota.orderedBy(Order.STATUS)))
        .filteredOn(step -> step.contains(index))
        .hasSize(2);
  }

  private void walks(DirectoryQuery query, String index) {
    walks(query, index.formatted("active"), Order.ACTIVITY);
    walks(query, index.formatted("created"), Order.CREATION);
  }

  /** The index of a tag ends with the name, so that nothing is sorted. */
  private void walks(DirectoryQuery unordered, String index, Order order) {
    DirectoryQuery query = unordered.orderedBy(order);
    String time = order == Order.ACTIVITY ? "active_at" : "created_at";
    String cursor = DirectoryCursor.of(query.order(), entry("last")).encode();
    String after = index.contains("tag") ? "(" + time + ",persistence_id)<" : time + "<?)";
    assertThat(plan(query)).anyMatch(step -> step.contains("INDEX " + index + ")"));
    assertThat(plan(query.after(cursor)))
        .anyMatch(step -> step.contains("INDEX " + index + " AND " + after));
  }

  private List<String> plan(DirectoryQuery query) {
    List<String> plan = plans(query);
    assertThat(plan)
        .as(query.toString())
        .noneMatch(
            step ->
                step.contains("TEMP B-TREE")
                    && !step.equals("USE TEMP B-TREE FOR LAST TERM OF ORDER BY"))
        .noneMatch(step -> step.matches("SCAN (entry|tagged|other).*"));
    return plan;
  }

  private List<String> plans(DirectoryQuery query) {
    return SqlListing.of(Dialect.SQLITE, query).stream()
        .flatMap(scan -> SqliteProbe.plan(file(), scan.matches().sql()).stream())
        .toList();
  }

  @Test
  void aListThatItsIndexAnswersIsReadOnce() {
    DirectoryQuery anns = THREADS.belongingTo("ann");
    DirectoryQuery waiting = anns.statuses(Set.of("waits", "works")).orderedBy(Order.STATUS);
    for (DirectoryQuery query : List.of(THREADS, anns, waiting)) {
      assertThat(SqlListing.of(Dialect.SQLITE, query))
          .extracting(SqlListing::end)
          .containsOnlyNulls();
    }
    assertThat(SqlListing.of(Dialect.SQLITE, anns.containing("text")))
        .extracting(SqlListing::end)
        .doesNotContainNull();
  }

  /** A text of two characters has no trigram. */
  @Test
  void aSearchExaminesABoundedNumberOfEntriesForAPage() {
    Directory entries = open().directory();
    List<CompletionStage<?>> puts = new ArrayList<>();
    int all = SqlListing.EXAMINED * 2 + 500;
    for (int i = 1; i <= all; i++) {
      String tag = i == 1 || i == all ? "Zq" : "hay";
      puts.add(
          entries.put(
              new DirectoryEntry(
                  "e" + i, "thread", "", "", 1, i, i, Set.of(), Map.of("what", tag))));
      if (i % 5_000 == 0) {
        puts.forEach(Host::await);
      }
    }
    puts.forEach(Host::await);

    DirectoryQuery needles = THREADS.containing("zq");
    DirectoryPage first = Host.await(entries.list(needles));
    assertThat(first.entries())
        .extracting(DirectoryEntry::persistenceId)
        .containsExactly("e" + all);
    DirectoryPage second = Host.await(entries.list(needles.after(first.next())));
    assertThat(second.entries()).isEmpty();
    DirectoryPage third = Host.await(entries.list(needles.after(second.next())));
    assertThat(third.entries()).extracting(DirectoryEntry::persistenceId).containsExactly("e1");
    assertThat(third.next()).isNull();
    assertThat(Host.await(entries.count(needles, 9))).isEqualTo(1);
    assertThat(Host.await(entries.count(THREADS, all))).isEqualTo(all);
  }

  @Test
  void theSameLabelsAreTheSameTextInEveryProcess() {
    Directory entries = open().directory();
    DirectoryEntry entry =
        new DirectoryEntry(
            "a",
            "thread",
            "",
            "",
            1,
            1,
            1,
            Set.of("g", "d", "\"", "a", "f", "c", "e"),
            Map.of("z", "1", "y", "ü\n", "x", "3"));
    Host.await(entries.put(entry));
    assertThat(SqliteProbe.strings(file(), "SELECT labels FROM directory", "labels"))
        .containsExactly(
            "{\"attributes\":{\"x\":\"3\",\"y\":\"ü\\n\",\"z\":\"1\"},"
                + "\"tags\":[\"\\\"\",\"a\",\"c\",\"d\",\"e\",\"f\",\"g\"]}");
    assertThat(Host.await(entries.get("a"))).contains(entry);
  }

  @Test
  void theIndexesOfTheDirectoryAreLittleLargerThanItsEntries() {
    Directory entries = open().directory();
    List<CompletionStage<?>> puts = new ArrayList<>();
    for (int i = 1; i <= 4_000; i++) {
      String id = "trip|" + UUID.nameUUIDFromBytes(new byte[] {(byte) i, (byte) (i >> 8)});
      puts.add(
          entries.put(
              new DirectoryEntry(
                  id + ".run" + i,
                  "run",
                  "person" + i % 50 + "@example.com",
                  "trip",
                  2,
                  i * 20L,
                  i * 20L + 300,
                  new DirectoryLabels(
                      Set.of(), Map.of("version", "1", "waits", "ask_to answers to the person")),
                  id + "session",
                  new DirectoryEntry.Status("waiting", i * 20L + 300))));
    }
    puts.forEach(Host::await);
    String bytes = "SELECT sum(pgsize) FROM dbstat WHERE name ";
    long table = SqliteProbe.numbers(file(), bytes + "= ?", "directory").get(0);
    long indexes =
        SqliteProbe.numbers(file(), bytes + "LIKE ? AND name <> 'directory'", "%directory%").get(0);
    assertThat(indexes).isLessThan(table * 3 / 2);
  }

  @Test
  void aTextGoesFromTheIndexWithItsEntryAndWhenItChanges() {
    Directory entries = open().directory();
    Host.await(entries.put(entry("kept")));
    List<Long> kept = index();
    for (String id : List.of("removed", "deleted", "deleted.part", "changed", "kept")) {
      Host.await(entries.put(labelled(id, "Rumpelstiltskin")));
    }
    assertThat(index()).isNotEqualTo(kept);
    Host.await(entries.put(labelled("changed", "Snow White")));
    Host.await(entries.remove("removed"));
    Host.await(entries.remove("changed"));
    Host.await(open().delete(List.of("deleted")));
    Host.await(entries.put(entry("kept")));
    assertThat(index()).isEqualTo(kept);
    assertThat(pending()).containsExactly(0L);
    Host.await(entries.remove("kept"));
    assertThat(index()).isEmpty();
  }

  @Test
  void aSweepTakesTheTextsOfWhatItDeletesFromTheIndex() {
    Path swept = directory.resolve("swept.db");
    try (Host host = Host.on(Store.sqlite(swept))) {
      host.open("a").write(new Line("one")).write(new Conclusion("over", 0, 9));
      Directory entries = host.store().directory();
      Host.await(entries.put(labelled("a.part", "Rumpelstiltskin")));
      assertThat(index(swept)).isNotEmpty();
      host.sweep();
      assertThat(index(swept)).as("a part").isEmpty();
      Host.await(entries.put(labelled("a", "Rumpelstiltskin")));
      assertThat(index(swept)).isNotEmpty();
      host.sweep(9);
      assertThat(index(swept)).as("all of it").isEmpty();
    }
  }

  @Test
  void activityLeavesTheIndexOfTextsAlone() {
    Directory entries = open().directory();
    Host.await(entries.put(labelled("a", "Rumpelstiltskin")));
    SqliteProbe.execute(file(), "DELETE FROM directory_trigram");
    DirectoryEntry active = labelled("a", "Rumpelstiltskin").in("", "waits", 7);
    Host.await(entries.put(active));
    assertThat(index()).isEmpty();
    Host.await(entries.put(labelled("a", "Snow White").in("", "waits", 7)));
    assertThat(index()).isNotEmpty();
  }

  private static DirectoryEntry labelled(String id, String value) {
    return new DirectoryEntry(
        id, "thread", "ann", "support", 1, 1, 1, Set.of(), Map.of("who", value));
  }

  private List<Long> index() {
    return index(file());
  }

  private static List<Long> index(Path file) {
    return SqliteProbe.numbers(
        file,
        "SELECT trigram FROM directory_trigram WHERE entries <> ? ORDER BY block, trigram",
        "");
  }

  private List<Long> pending() {
    return SqliteProbe.numbers(
        file(), "SELECT count(*) FROM directory_text WHERE before <> ?", "none");
  }

  @Test
  void theTagsGoWithTheirEntry() {
    Directory entries = open().directory();
    for (String id : List.of("removed", "forgotten", "untagged")) {
      Host.await(
          entries.put(
              new DirectoryEntry(id, "thread", "", "", 1, 1, 1, Set.of("x", "y"), Map.of())));
    }
    Host.await(entries.remove("removed"));
    Host.await(open().delete(List.of("forgotten")));
    Host.await(entries.put(entry("untagged")));
    assertThat(SqliteProbe.numbers(file(), "SELECT count(*) FROM directory_tag WHERE tag <> ?", ""))
        .containsExactly(0L);
  }
}
