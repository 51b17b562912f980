package io.fermata.persistence.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.DirectoryQuery.Order;
import io.fermata.persistence.directory.Span;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.sql.SqlListing;
import io.fermata.persistence.sql.Trigrams;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every directory promises. */
public abstract class DirectoryContract {

  private static final DirectoryQuery THREADS = DirectoryQuery.of("thread");

  private Store store = Store.memory();
  private OpenStore open = store.open();

  public abstract Store newStore();

  @BeforeEach
  void openStore() {
    store = newStore();
    open = store.open();
  }

  @AfterEach
  void closeStore() {
    open.close();
  }

  public static DirectoryEntry entry(String id) {
    return entry(id, 1, 1, 1);
  }

  private static DirectoryEntry entry(String id, long seq, long createdAt, long activeAt) {
    return new DirectoryEntry(
        id, "thread", "ann", "support", seq, createdAt, activeAt, Set.of(), Map.of());
  }

  private static DirectoryEntry entry(
      String id, String principal, String name, Set<String> tags, Map<String, String> attributes) {
    return new DirectoryEntry(id, "thread", principal, name, 1, 1, 1, tags, attributes);
  }

  private static DirectoryEntry withStatus(String id, String how, long since) {
    return withStatus(entry(id), "", how, since);
  }

  private static DirectoryEntry withStatus(
      DirectoryEntry entry, String session, String how, long since) {
    return entry.in(session, how, since);
  }

  private void put(DirectoryEntry... entries) {
    for (DirectoryEntry entry : entries) {
      Host.await(open.directory().put(entry));
    }
  }

  private @Nullable DirectoryEntry get(String id) {
    return Host.await(open.directory().get(id)).orElse(null);
  }

  private DirectoryPage page(DirectoryQuery query) {
    return Host.await(open.directory().list(query));
  }

  private List<String> ids(DirectoryQuery query) {
    return ids(page(query));
  }

  private static List<String> ids(DirectoryPage page) {
    return page.entries().stream().map(DirectoryEntry::persistenceId).toList();
  }

  @Test
  void anEntryIsGivenBackAsItWasPutAndSurvivesARestart() {
    DirectoryEntry odd =
        new DirectoryEntry(
            "thread|\"1\"",
            "thread",
            "ann'; --",
            "\u00dcber \u4f60\u597d \ud83d\ude00\n%",
            Long.MAX_VALUE,
            -5,
            7,
            Set.of("a.b", "\"", "\\", "${c}", "tags"),
            Map.of("include", "\"file\"", "x.y", "", "attributes", "\u0001\t", "$", "{}"));
    put(odd);
    assertThat(get(odd.persistenceId())).isEqualTo(odd);
    open.close();
    open = store.open();
    assertThat(get(odd.persistenceId())).isEqualTo(odd);
    assertThat(page(THREADS.tagged("a.b", "\"").having("x.y", "").having("$", "{}")).entries())
        .containsExactly(odd);
    assertThat(get("nobody's")).isNull();
  }

  @Test
  void aListIsTheSameOnAMachineWhoseLanguageHasOtherDigits() {
    put(entry("a"));
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.forLanguageTag("ar-EG"));
      assertThat("%d".formatted(10)).isNotEqualTo("10");
      assertThat(ids(THREADS)).containsExactly("a");
      assertThat(ids(THREADS.containing("support"))).containsExactly("a");
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void aLateEntryNeverReplacesOneWithAHigherNumber() {
    DirectoryEntry first = entry("a", "ann", "first", Set.of("new"), Map.of());
    DirectoryEntry third = entry("a", 3, 1, 30);
    put(first, third, entry("a", 2, 1, 20), first);
    assertThat(get("a")).isEqualTo(third);
    assertThat(ids(THREADS.tagged("new"))).isEmpty();
    put(entry("a", 3, 1, 31));
    assertThat(page(THREADS).entries()).containsExactly(entry("a", 3, 1, 31));
  }

  @Test
  void whatIsRemovedIsNotListedUntilItIsPutAgain() {
    put(entry("a", 9, 1, 1), entry("b"));
    Host.await(open.directory().remove("a"));
    Host.await(open.directory().remove("nobody's"));
    assertThat(get("a")).isNull();
    assertThat(ids(THREADS)).containsExactly("b");
    put(entry("a", 1, 1, 1));
    assertThat(ids(THREADS)).containsExactly("b", "a");
  }

  @Test
  void changesTakeEffectInTheOrderTheyWereAskedFor() {
    Directory directory = open.directory();
    directory.put(entry("a", 9, 1, 1));
    directory.remove("a");
    directory.put(entry("a", 1, 1, 1));
    open.delete(List.of("a"));
    Host.await(directory.put(entry("a", 2, 1, 1)));
    assertThat(get("a")).isEqualTo(entry("a", 2, 1, 1));
  }

  @Test
  void aListHoldsWhatMatchesInEverything() {
    put(
        entry("1", "ann", "support", Set.of("vip", "open"), Map.of("lang", "de", "plan", "pro")),
        entry("2", "ann", "sales", Set.of("vip"), Map.of("lang", "de")),
        entry("3", "bob", "support", Set.of("open"), Map.of("lang", "en", "plan", "pro")),
        entry("4", "bob", "sales", Set.of("vip", "open"), Map.of("lang", "de")),
        new DirectoryEntry(
            "5", "run", "ann", "support", 1, 1, 1, Set.of("vip"), Map.of("lang", "de")));

    assertThat(ids(THREADS)).containsExactly("4", "3", "2", "1");
    assertThat(ids(DirectoryQuery.of("run"))).containsExactly("5");
    assertThat(ids(DirectoryQuery.of("other"))).isEmpty();
    assertThat(ids(THREADS.belongingTo("ann"))).containsExactly("2", "1");
    assertThat(ids(THREADS.named("support"))).containsExactly("3", "1");
    assertThat(ids(THREADS.belongingTo("ann").named("support"))).containsExactly("1");
    assertThat(ids(THREADS.tagged("vip"))).containsExactly("4", "2", "1");
    assertThat(ids(THREADS.tagged("vip", "open"))).containsExactly("4", "1");
    assertThat(ids(THREADS.tagged("open").named("sales"))).containsExactly("4");
    assertThat(ids(THREADS.tagged("open").belongingTo("bob"))).containsExactly("4", "3");
    assertThat(ids(THREADS.having("plan", "pro"))).containsExactly("3", "1");
    assertThat(ids(THREADS.having("plan", "pro").having("lang", "de"))).containsExactly("1");
    assertThat(ids(THREADS.having("plan", "PRO"))).isEmpty();
    assertThat(ids(THREADS.having("pro", "plan"))).isEmpty();
  }

  @Test
  void matchesAreCountedUpToANumber() {
    put(
        entry("1", "ann", "support", Set.of("vip"), Map.of()),
        entry("2", "ann", "sales", Set.of("vip"), Map.of()),
        entry("3", "bob", "sales", Set.of(), Map.of("lang", "en")));

    assertThat(count(THREADS, 9)).isEqualTo(3);
    assertThat(count(THREADS, 2)).isEqualTo(2);
    assertThat(count(THREADS.belongingTo("ann").limitedTo(1), 9)).isEqualTo(2);
    assertThat(count(THREADS.tagged("vip").named("sales"), 9)).isEqualTo(1);
    assertThat(count(THREADS.having("lang", "en"), 9)).isEqualTo(1);
    assertThat(count(THREADS.containing("SALES"), 9)).isEqualTo(2);
    assertThat(count(THREADS.statuses(Set.of("", "open")), 9)).isEqualTo(3);
    assertThat(count(THREADS.belongingTo("carl"), 9)).isZero();
  }

  private int count(DirectoryQuery query, int most) {
    return Host.await(open.directory().count(query, most));
  }

  @Test
  void textIsFoundInNameTagsAndValuesInUpperOrLowerCase() {
    put(
        entry("name", "", "\u00c4rger mit der Rechnung", Set.of(), Map.of()),
        entry("tag", "", "", Set.of("\u00c4rgerlich"), Map.of()),
        entry("value", "", "", Set.of(), Map.of("subject", "gro\u00dfer \u00e4rger")),
        entry("key", "", "", Set.of(), Map.of("\u00e4rger", "no")),
        entry("\u00e4rger", "\u00e4rger", "", Set.of(), Map.of()));

    assertThat(ids(THREADS.containing("\u00c4RGER"))).containsExactly("value", "tag", "name");
    assertThat(ids(THREADS.containing("%"))).isEmpty();
    assertThat(ids(THREADS.containing("_rger"))).isEmpty();
  }

  @Test
  void theLatestComesFirst() {
    put(entry("a", 1, 1, 30), entry("b", 1, 3, 10), entry("c", 1, 2, 20));
    assertThat(ids(THREADS)).containsExactly("a", "c", "b");
    assertThat(ids(THREADS.orderedBy(Order.CREATION))).containsExactly("b", "c", "a");
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "STATUS")
  void pagesThatFollowEachOtherListEverythingOnce(Order order) {
    List<String> all = IntStream.range(10, 57).mapToObj(Integer::toString).toList();
    // Many at the same time, so that pages begin within one.
    all.forEach(id -> put(entry(id, 1, Long.parseLong(id) / 7, Long.parseLong(id) / 7)));
    List<String> listed = new ArrayList<>();
    DirectoryQuery query = THREADS.orderedBy(order).limitedTo(5);
    DirectoryPage page = page(query);
    while (page.next() != null) {
      assertThat(page.entries()).hasSize(5);
      listed.addAll(ids(page));
      page = page(query.after(page.next()));
    }
    listed.addAll(ids(page));
    assertThat(listed).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(all);
  }

  @Test
  void aFullPageWithNothingBehindItIsTheLast() {
    put(entry("a"), entry("b"));
    assertThat(page(THREADS.limitedTo(2)).next()).isNull();
    assertThat(page(THREADS.limitedTo(1)).next()).isNotNull();
  }

  @Test
  void theNextPageStaysRightWhenEntriesAreAddedAndTouchedMeanwhile() {
    for (int id = 1; id <= 6; id++) {
      put(entry("" + id, 1, id, id));
    }
    for (Order order : List.of(Order.ACTIVITY, Order.CREATION)) {
      DirectoryQuery query = THREADS.orderedBy(order).limitedTo(2);
      DirectoryPage first = page(query);
      assertThat(ids(first)).containsExactly("6", "5");
    }
    DirectoryQuery active = THREADS.limitedTo(2);
    DirectoryQuery created = active.orderedBy(Order.CREATION);
    String afterActive = page(active).next();
    String afterCreated = page(created).next();

    put(entry("new", 1, 7, 7), entry("6", 2, 6, 8), entry("4", 2, 4, 9));
    Host.await(open.directory().remove("5"));

    assertThat(ids(active.after(afterActive))).containsExactly("3", "2");
    assertThat(ids(created.after(afterCreated))).containsExactly("4", "3");
    assertThat(ids(active)).containsExactly("4", "6");
    assertThat(ids(created)).containsExactly("new", "6");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "?",
        "bm9uc2Vuc2U",
        "QUNUSVZJVFk6OTk5OTk5OTk5OTk5OTk5OTk5OTphfg",
        "QUNUSVZJVFk6MTphAA"
      })
  void aCursorThatNoPageGaveIsRefused(String nonsense) {
    assertThatThrownBy(() -> THREADS.after(nonsense))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "The cursor does not come from a page of this directory; omit it to start again");
  }

  @Test
  void aCursorOfAnotherOrderIsRefused() {
    put(entry("a"), entry("b"));
    String next = page(THREADS.limitedTo(1)).next();
    assertThatThrownBy(() -> THREADS.orderedBy(Order.CREATION).after(next))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "The cursor is of a list ordered by ACTIVITY and not by CREATION;"
                + " omit it to start again");
  }

  @Test
  void everyQueryIsAnsweredAsMemoryAnswersIt() {
    Random random = new Random(5);
    Directory expected = new MemoryDirectory();
    List<CompletionStage<?>> puts = new ArrayList<>();
    for (int put = 0; put < 600; put++) {
      DirectoryEntry entry = randomEntry(random);
      puts.add(expected.put(entry));
      puts.add(open.directory().put(entry));
    }
    puts.forEach(Host::await);
    int found = 0;
    for (int list = 0; list < 500; list++) {
      DirectoryQuery query = randomQuery(random);
      List<DirectoryEntry> entries = walk(open.directory(), query);
      assertThat(entries).as(query.toString()).isEqualTo(walk(expected, query));
      found += entries.size();
    }
    assertThat(found).isGreaterThan(1_000);
  }

  @Test
  void aTextIsFoundBehindManyEntriesAsMemoryFindsIt() {
    Random random = new Random(7);
    Directory expected = new MemoryDirectory();
    List<DirectoryEntry> entries = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      entries.add(worded("old" + i, 1, i % 9, text(random, 12)));
    }
    // No search finds these, which would take thousands of pages.
    for (int i = 0; i < SqlListing.EXAMINED + 50; i++) {
      entries.add(worded("new" + i, 1, 100 + i, "dust"));
    }
    // Their texts change, and some are taken out.
    for (int i = 0; i < 10; i++) {
      entries.add(worded("old" + i, 2, i, text(random, 12)));
    }
    putAll(expected, entries);
    for (String id : List.of("old20", "old21")) {
      Host.await(expected.remove(id));
      Host.await(open.directory().remove(id));
    }
    int found = 0;
    for (int search = 0; search < 40; search++) {
      DirectoryQuery query = randomSearch(random, entries.get(random.nextInt(60)));
      List<DirectoryEntry> all = walk(open.directory(), query);
      assertThat(all).as(query.toString()).isEqualTo(walk(expected, query.limitedTo(500)));
      if (Trigrams.of(DirectoryEntry.folded(String.valueOf(query.text()))).length > 0) {
        assertThat(count(query, 9)).as(query.toString()).isEqualTo(Math.min(all.size(), 9));
      }
      found += all.size();
    }
    assertThat(found).isGreaterThan(100);
  }

  private void putAll(Directory expected, List<DirectoryEntry> entries) {
    List<CompletionStage<?>> puts = new ArrayList<>();
    for (DirectoryEntry entry : entries) {
      puts.add(expected.put(entry));
      puts.add(open.directory().put(entry));
    }
    puts.forEach(Host::await);
  }

  private static DirectoryEntry worded(String id, long seq, long at, String text) {
    String who = at % 2 == 0 ? "ann" : "bob";
    return new DirectoryEntry(
            id, "thread", who, "support", seq, at, at, Set.of("all"), Map.of("text", text))
        .in("", at % 3 == 0 ? "waits" : "works", at);
  }

  /** Of characters that SQL, indexes and encodings treat in ways of their own. */
  private static String text(Random random, int length) {
    String[] characters = {
      "a",
      "B",
      "%",
      "_",
      "'",
      "\"",
      "\\",
      "*",
      "(",
      "^",
      ":",
      " ",
      "\n",
      "-",
      "\u00e4",
      "\u00df",
      "\u0130",
      "\u03a3",
      "\u4f60",
      "\ud83d\ude00",
      "\ud83d\ude01"
    };
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append(one(random, characters));
    }
    return text.toString();
  }

  private static DirectoryQuery randomSearch(Random random, DirectoryEntry entry) {
    String text = Objects.requireNonNull(entry.attributes().get("text"));
    int length = text.codePointCount(0, text.length());
    int from = random.nextInt(length);
    int to = Math.min(length, from + 1 + random.nextInt(6));
    DirectoryQuery query =
        THREADS
            .containing(
                random.nextInt(5) == 0
                    ? text(random, 4)
                    : text.substring(
                        text.offsetByCodePoints(0, from), text.offsetByCodePoints(0, to)))
            .limitedTo(1 + random.nextInt(3))
            .orderedBy(random.nextBoolean() ? Order.ACTIVITY : Order.CREATION);
    return switch (random.nextInt(5)) {
      case 0 -> query.belongingTo("ann");
      case 1 -> query.statuses(Set.of("waits", "works")).orderedBy(Order.STATUS);
      case 2 -> query.tagged("all").statuses(Set.of("waits"));
      case 3 -> query.named("support").created(new Span(2L, null));
      default -> query;
    };
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
    return withStatus(
        entry,
        one(random, "s1", "s2", ""),
        one(random, "waits", "works", "", "failed"),
        random.nextInt(20));
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
      query = query.statuses(Set.of(one(random, "waits", "works"), one(random, "done", "failed")));
      query = random.nextBoolean() ? query.orderedBy(Order.STATUS) : query;
    }
    if (random.nextInt(4) == 0) {
      query = query.created(new Span((long) random.nextInt(10), 15L));
    }
    if (random.nextInt(4) == 0) {
      query = query.since(new Span(null, (long) random.nextInt(20)));
    }
    return random.nextInt(3) == 0 ? query.containing(one(random, "SUP", "e", "vip")) : query;
  }

  public OpenStore open() {
    return open;
  }

  // --- how things stand -----------------------------------------------------------------------

  @Test
  void whatHasStoodSoForLongestIsListedFirst() {
    put(
        withStatus("late", "waits", 30),
        withStatus("early", "waits", 10),
        withStatus("works", "works", 5),
        withStatus("done", "done", 1));
    DirectoryQuery longest = THREADS.statuses(Set.of("waits")).orderedBy(Order.STATUS);
    assertThat(ids(longest)).containsExactly("early", "late");
    assertThat(ids(longest.since(new Span(null, 30L)))).containsExactly("early");
    assertThat(ids(longest.statuses(Set.of("waits", "works"))))
        .containsExactly("works", "early", "late");
  }

  @Test
  void pagesInThatOrderListEverythingOnce() {
    for (int i = 0; i < 20; i++) {
      put(withStatus("j" + i, i % 2 == 0 ? "waits" : "works", i % 7));
    }
    DirectoryQuery query =
        THREADS.statuses(Set.of("waits", "works")).orderedBy(Order.STATUS).limitedTo(3);
    List<String> listed = new ArrayList<>();
    DirectoryPage page = Host.await(open.directory().list(query));
    while (page.next() != null) {
      page.entries().forEach(entry -> listed.add(entry.persistenceId()));
      page = Host.await(open.directory().list(query.after(page.next())));
    }
    page.entries().forEach(entry -> listed.add(entry.persistenceId()));
    assertThat(listed).hasSize(20).doesNotHaveDuplicates();
  }

  @Test
  void anOrderByStatusSaysWhichIsMeant() {
    assertThatThrownBy(() -> THREADS.orderedBy(Order.STATUS))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("at least one");
  }

  @Test
  void whatBeganInATimeOrBelongsToASessionIsFound() {
    put(
        entry("old", 1, 10, 10),
        entry("new", 1, 20, 20),
        withStatus(entry("other", 1, 15, 15), "s", "", 15));
    assertThat(ids(THREADS.created(new Span(11L, null)))).containsExactly("new", "other");
    assertThat(ids(THREADS.created(new Span(null, 15L)))).containsExactly("old");
    assertThat(ids(THREADS.inSession("s"))).containsExactly("other");
  }

  @Test
  void anEntryThatIsPutAgainStandsAsItSaysAndHasTheTagsItSays() {
    DirectoryEntry first = entry("j", "ann", "support", Set.of("vip"), Map.of("a", "1"));
    DirectoryEntry second = entry("j", "ann", "support", Set.of("late"), Map.of("a", "2"));
    put(withStatus(first, "", "works", 1));
    DirectoryEntry again = withStatus(second, "", "waits", 2);
    put(again);
    assertThat(Host.await(open.directory().get("j"))).contains(again);
    assertThat(ids(THREADS.tagged("vip"))).isEmpty();
    assertThat(ids(THREADS.tagged("late"))).containsExactly("j");
    assertThat(ids(THREADS.containing("vip"))).isEmpty();
  }

  // --- parts, and the mark --------------------------------------------------------------------

  @Test
  void thePartsOfAJournalAreForgottenWithIt() {
    put(entry("a|j.1"), entry("a|j.2"), entry("a|j"), entry("a|j2.1"), entry("a|j-.1"));
    Host.await(open.delete(List.of("a|j")));
    assertThat(ids(THREADS)).containsExactlyInAnyOrder("a|j2.1", "a|j-.1");
  }

  @Test
  void aPartIsTakenOutAlone() {
    put(entry("a|j.1"), entry("a|j.2"));
    Host.await(open.directory().remove("a|j.1"));
    assertThat(ids(THREADS)).containsExactly("a|j.2");
  }

  @Test
  void theMarkIsWhatWasMarkedLastAndSurvives() {
    assertThat(Host.await(open.directory().marked())).isEqualTo(0);
    Host.await(open.directory().mark(7));
    Host.await(open.directory().mark(9));
    open.close();
    open = store.open();
    assertThat(Host.await(open.directory().marked())).isEqualTo(9);
  }
}
