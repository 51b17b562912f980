package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.DirectoryQuery.Order;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SqliteDirectoryTest extends DirectoryContract {

  private static final DirectoryQuery THREADS = DirectoryQuery.of("thread");

  @TempDir private Path directory = Path.of("");

  @Override
  Store newStore() {
    return Store.sqlite(file());
  }

  private Path file() {
    return directory.resolve("fermata.db");
  }

  @Test
  void everyListWalksAnIndexInItsOrderAndSortsNothing() {
    walks(THREADS, "directory_%s (kind=?");
    walks(THREADS.containing("text").having("lang", "de"), "directory_%s (kind=?");
    String principal = "directory_%s_principal (kind=? AND principal=?";
    walks(THREADS.belongingTo("ann"), principal);
    walks(THREADS.belongingTo("ann").named("support"), principal);
    walks(THREADS.belongingTo("ann").tagged("vip", "open"), principal);
    walks(THREADS.named("support"), "directory_%s_name (kind=? AND name=?");
    walks(THREADS.tagged("vip"), "directory_tag_%s (kind=? AND tag=?");
    walks(THREADS.tagged("vip", "open").named("support"), "directory_tag_%s (kind=? AND tag=?");
  }

  @Test
  void howAnEntryStandsAndItsSessionAreLookedUp() {
    DirectoryQuery waiting = THREADS.standing(Set.of("waits")).since(new Span(null, 9L));
    String walk = "INDEX directory_%s_standing (kind=? AND standing=?%s)";
    assertThat(plan(waiting.orderedBy(Order.STANDING)))
        .anyMatch(step -> step.contains(walk.formatted("since", " AND since<?")));
    assertThat(plan(THREADS.standing(Set.of("waits")).orderedBy(Order.CREATION)))
        .anyMatch(step -> step.contains(walk.formatted("created", "")));
    String cursor = DirectoryCursor.of(Order.STANDING, entry("last")).encode();
    assertThat(plan(THREADS.standing(Set.of("waits")).orderedBy(Order.STANDING).after(cursor)))
        .anyMatch(
            step -> step.contains(walk.formatted("since", " AND (since,persistence_id)>(?,?)")));
    DirectoryQuery either = THREADS.standing(Set.of("waits", "works")).orderedBy(Order.STANDING);
    assertThat(SqliteProbe.plan(file(), SqlListing.of(Dialect.SQLITE, either).sql()))
        .filteredOn(step -> step.contains(walk.formatted("since", "")))
        .hasSize(2);
    assertThat(
            SqliteProbe.plan(
                file(),
                SqlListing.of(Dialect.SQLITE, THREADS.inSession("s").belongingTo("ann")).sql()))
        .anyMatch(step -> step.contains("INDEX directory_session (kind=? AND session=?)"));
  }

  private void walks(DirectoryQuery query, String index) {
    walks(query, index.formatted("active"), "active_at");
    walks(query.orderedBy(Order.CREATION), index.formatted("created"), "created_at");
  }

  private void walks(DirectoryQuery query, String index, String time) {
    String cursor = DirectoryCursor.of(query.order(), entry("last")).encode();
    assertThat(plan(query)).anyMatch(step -> step.contains("INDEX " + index + ")"));
    assertThat(plan(query.after(cursor)))
        .anyMatch(step -> step.contains("INDEX " + index + " AND (" + time + ",persistence_id)<"));
  }

  private List<String> plan(DirectoryQuery query) {
    List<String> plan = SqliteProbe.plan(file(), SqlListing.of(Dialect.SQLITE, query).sql());
    assertThat(plan)
        .as(query.toString())
        .noneMatch(step -> step.contains("TEMP B-TREE"))
        .noneMatch(step -> step.matches("SCAN (entry|tagged|other).*"));
    return plan;
  }

  @Test
  void everyQueryIsAnsweredAsMemoryAnswersIt() {
    Random random = new Random(5);
    Directory expected = new MemoryDirectory();
    List<CompletionStage<?>> puts = new ArrayList<>();
    for (int put = 0; put < 600; put++) {
      DirectoryEntry entry = randomEntry(random);
      puts.add(expected.put(entry));
      puts.add(open().directory().put(entry));
    }
    puts.forEach(Host::await);
    int found = 0;
    for (int list = 0; list < 500; list++) {
      DirectoryQuery query = randomQuery(random);
      List<DirectoryEntry> entries = walk(open().directory(), query);
      assertThat(entries).as(query.toString()).isEqualTo(walk(expected, query));
      found += entries.size();
    }
    assertThat(found).isGreaterThan(1_000);
  }

  private static List<DirectoryEntry> walk(Directory directory, DirectoryQuery query) {
    List<DirectoryEntry> entries = new ArrayList<>();
    DirectoryPage page = Host.await(directory.list(query));
    entries.addAll(page.entries());
    while (page.next() != null) {
      page = Host.await(directory.list(query.after(page.next())));
      entries.addAll(page.entries());
    }
    return entries;
  }

  private static String one(Random random, String... choices) {
    return choices[random.nextInt(choices.length)];
  }

  private static DirectoryEntry randomEntry(Random random) {
    DirectoryEntry entry =
        new DirectoryEntry(
            "journal " + random.nextInt(200),
            one(random, "thread", "thread", "run"),
            one(random, "ann", "bob", ""),
            one(random, "Support", "Sales", ""),
            random.nextInt(5),
            random.nextInt(20),
            random.nextInt(20),
            random.nextBoolean() ? Set.of() : Set.of(one(random, "vip", "open"), "all"),
            random.nextBoolean() ? Map.of() : Map.of("lang", one(random, "de", "en")));
    return entry
        .inSession(one(random, "s1", "s2", ""))
        .standing(one(random, "waits", "works", "", "failed"), random.nextInt(20));
  }

  private static DirectoryQuery randomQuery(Random random) {
    DirectoryQuery query =
        DirectoryQuery.of(one(random, "thread", "run"))
            .orderedBy(random.nextBoolean() ? Order.ACTIVITY : Order.CREATION)
            .limitedTo(1 + random.nextInt(20));
    if (random.nextInt(3) == 0) {
      query = query.belongingTo(one(random, "ann", "bob", ""));
    }
    if (random.nextInt(3) == 0) {
      query = query.named(one(random, "Support", "Sales"));
    }
    if (random.nextInt(3) == 0) {
      query = query.tagged(one(random, "vip", "open", "all"), "all");
    }
    if (random.nextInt(3) == 0) {
      query = query.having("lang", one(random, "de", "en"));
    }
    if (random.nextInt(4) == 0) {
      query = query.inSession(one(random, "s1", "s2"));
    }
    if (random.nextInt(2) == 0) {
      query = query.standing(Set.of(one(random, "waits", "works"), one(random, "done", "failed")));
      query = random.nextBoolean() ? query.orderedBy(Order.STANDING) : query;
    }
    if (random.nextInt(4) == 0) {
      query = query.created(new Span((long) random.nextInt(10), 15L));
    }
    if (random.nextInt(4) == 0) {
      query = query.since(new Span(null, (long) random.nextInt(20)));
    }
    return random.nextInt(3) == 0 ? query.containing(one(random, "SUP", "e", "vip")) : query;
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
    Host.await(open().forget("forgotten"));
    Host.await(entries.put(entry("untagged")));
    assertThat(SqliteProbe.numbers(file(), "SELECT count(*) FROM directory_tag WHERE tag <> ?", ""))
        .containsExactly(0L);
  }
}
