package io.fermata.persistence.keyvalue;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.keyvalue.FakeKvStore.Mood;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Verified;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("slow")
final class KeyValueStoreTest extends KeyValueContract {

  private static final int READ_AT_ONCE = 16;

  private final List<FakeKvStore> fakes = new ArrayList<>();
  private final AtomicLong millis = new AtomicLong(1_790_000_000_000L);
  private final AtomicLong nanos = new AtomicLong();

  @Override
  protected Store newStore() {
    FakeKvStore fake = new FakeKvStore();
    fakes.add(fake);
    return KeyValueStore.of(fake);
  }

  private FakeKvStore fake() {
    return fakes.get(0);
  }

  @Override
  Optional<byte[]> value(String key) {
    return fake().value(key).map(KvStore.Versioned::value);
  }

  @Test
  void theValueOfAnotherJournalIsDamageOfThatJournalAlone() {
    try (Host host = Host.on(store())) {
      for (String id : List.of("a", "b", "c")) {
        Host.Desk desk = host.openWithSnapshots(id);
        desk.write(new Line("one")).write(new Line("two")).write(new Line("three"));
      }
    }
    String key = "fermata:journal:";
    fake().put(key + "b", fake().value(key + "a").orElseThrow().value());
    byte[] altered = fake().value(key + "c").orElseThrow().value().clone();
    altered[altered.length / 2] ^= 1;
    fake().put(key + "c", altered);
    try (Host host = Host.on(store())) {
      assertThat(host.openWithSnapshots("a").lines()).containsExactly("one", "two", "three");
      for (String id : List.of("b", "c")) {
        assertThatThrownBy(() -> host.read(id, 3, 10))
            .rootCause()
            .isInstanceOf(DamagedException.class)
            .hasMessageContainingAll("journal " + id, "is damaged", "backup");
      }
    }
  }

  @Test
  void aSessionWhoseValueIsDamagedIsFoundWithItsMarkAndKeepsNoOtherFromBeingFound() {
    try (Host host = Host.on(store())) {
      for (String id : List.of("damaged", "foreign", "intact")) {
        host.open(id + " works").write(new Plan("to do"));
        host.open(id + " waits").write(new Appointment(7));
      }
    }
    for (String what : List.of("works", "waits")) {
      fake().put("fermata:journal:damaged " + what, new byte[] {1});
      fake().put("fermata:journal:foreign " + what, "hello world".getBytes(UTF_8));
    }
    try (Host host = Host.on(store())) {
      assertThat(host.working()).containsExactly("damaged works", "foreign works", "intact works");
      assertThat(host.due(10, 10))
          .containsExactly(
              new Due("damaged waits", 7), new Due("foreign waits", 7), new Due("intact waits", 7));
      fake().mood(Mood.DOWN);
      assertThatThrownBy(() -> host.due(10, 10)).hasStackTraceContaining("nobody answers");
      fake().mood(Mood.WELL);
      host.forget("damaged works", "damaged waits");
      assertThat(host.working()).containsExactly("foreign works", "intact works");
      assertThat(host.due(10, 10))
          .containsExactly(new Due("foreign waits", 7), new Due("intact waits", 7));
    }
  }

  @Test
  void whatIsDueOrUnfinishedIsReadInPagesAndOnlyAsFarAsItIsAskedFor() {
    int sessions = 10 * READ_AT_ONCE;
    try (Host host = Host.on(store())) {
      List<CompletionStage<Integer>> imported = new ArrayList<>();
      for (int i = 0; i < sessions; i++) {
        imported.add(host.store().importJournal("works " + i, tagged(JournalTags.UNFINISHED)));
        imported.add(host.store().importJournal("waits " + i, tagged(JournalTags.due(1_000 - i))));
      }
      imported.forEach(Host::await);
    }
    try (Host host = Host.on(store())) {
      int before = fake().calls();
      assertThat(Host.await(host.store().unfinished("", 3)))
          .extracting(Unfinished::persistenceId)
          .containsExactly("works 0", "works 1", "works 10");
      assertThat(Host.await(host.store().unfinished("works 98", 3)))
          .extracting(Unfinished::persistenceId)
          .containsExactly("works 99");
      assertThat(fake().calls() - before).isLessThanOrEqualTo(2 * READ_AT_ONCE);
      assertThat(host.working()).hasSize(sessions);

      before = fake().calls();
      assertThat(host.due(2_000, 3))
          .extracting(Due::at)
          .containsExactly(1_001L - sessions, 1_002L - sessions, 1_003L - sessions);
      assertThat(fake().calls() - before).isLessThanOrEqualTo(READ_AT_ONCE);

      fake().mood(Mood.SLOW);
      CompletionStage<List<Due>> due = host.store().due(2_000, sessions);
      Host.await(host.store().read("nothing", 1, 1));
      assertThat(due.toCompletableFuture()).as("calls do not wait for it").isNotDone();
      assertThat(Host.await(due))
          .hasSize(sessions)
          .isSortedAccordingTo(Comparator.comparingLong(Due::at));
    }
  }

  private static List<NewEntry> tagged(String tag) {
    return List.of(new NewEntry(imported(1).entry(), 5, Set.of(tag)));
  }

  // --- verification

  private void threeSessions() {
    try (Host host = Host.on(store())) {
      for (String id : List.of("a", "b", "c")) {
        Host.Desk desk = host.openWithSnapshots(id);
        desk.write(new Line("one")).write(new Line("two")).write(new Line("three"));
      }
    }
  }

  private List<String> damages() {
    List<String> damages = new ArrayList<>();
    Verified verified = store().verify(damages::add);
    assertThat(verified.damages()).isEqualTo(damages.size());
    return damages;
  }

  private void replace(String id, UnaryOperator<KvDocument> change) {
    fake().put("fermata:journal:" + id, KvFormat.journal(id, change.apply(document(id))));
  }

  private static KvDocument with(KvDocument document, List<SerializedEntry> entries) {
    return new KvDocument(document.tip(), document.lostTo(), document.snapshot(), entries, null);
  }

  @Test
  void aStoreThatListsItsKeysIsVerifiedAsAWholeWhetherOrNotAHostWritesIt() {
    fake().list();
    threeSessions();
    assertThat(damages()).isEmpty();
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("four"));
      host.open("d").write(new Plan("to do"));
      List<String> written = fake().written();
      Verified verified = store().verify(damage -> {});
      assertThat(verified.intact()).isTrue();
      assertThat(verified.unread()).isEmpty();
      assertThat(verified.journals()).isGreaterThanOrEqualTo(4);
      assertThat(fake().written()).as("it only reads").isEqualTo(written);
      host.open("a").write(new Line("five"));
    }
  }

  @Test
  void aVerificationNamesWhatIsMissingAlteredOrOfAnotherSession() {
    fake().list();
    threeSessions();
    KvDocument whole = document("b");
    replace("a", document -> with(document, document.records().subList(0, 1)));
    replace("b", document -> document("c"));
    byte[] altered = value("fermata:journal:c").orElseThrow().clone();
    altered[altered.length / 2] ^= 1;
    fake().put("fermata:journal:c", altered);
    fake().put("fermata:journal:d", "hello world".getBytes(UTF_8));
    fake().put("fermata:index:3", new byte[] {1});
    assertThat(damages())
        .hasSize(5)
        .anyMatch(each -> each.matches("The journal a is damaged: entry \\d is missing; restore.*"))
        .anyMatch(each -> each.matches("The journal b is damaged: entry \\d was altered, or is .*"))
        .anyMatch(each -> each.contains("journal c is damaged: it was altered; restore"))
        .anyMatch(each -> each.contains("journal d was not written by Fermata"))
        .anyMatch(each -> each.contains("index:3 is damaged"));

    List<SerializedEntry> swapped = new ArrayList<>(whole.records());
    Collections.swap(swapped, 1, 2);
    replace("b", document -> with(whole, swapped));
    assertThat(damages()).anyMatch(each -> each.contains("journal b is damaged: entry 2 is miss"));
    replace("b", document -> whole);
    assertThat(damages()).noneMatch(each -> each.contains("journal b"));
  }

  @Test
  void anAlteredSnapshotOfAKeyValueStoreIsNamed() {
    fake().list();
    threeSessions();
    replace(
        "a",
        document -> {
          SerializedSnapshot taken = Objects.requireNonNull(document.snapshot());
          return new KvDocument(
              document.tip(),
              document.lostTo(),
              new SerializedSnapshot(
                  taken.persistenceId(),
                  taken.sequenceNr(),
                  taken.timestamp(),
                  taken.state(),
                  taken.last() + 1,
                  taken.checksum()),
              document.records(),
              null);
        });
    assertThat(damages())
        .singleElement()
        .asString()
        .matches("The journal a is damaged: the snapshot of entry \\d was altered; restore.*");
  }

  @Test
  void ofAStoreThatCannotBeListedTheSessionsWithWorkAreVerifiedAndTheOthersNamed() {
    try (Host host = Host.on(store())) {
      host.open("rests").write(new Line("one"));
      host.open("works").write(new Plan("to do"));
      host.open("waits").write(new Appointment(Long.MAX_VALUE / 2));
      host.open("went").write(new Plan("to do"));
      Host.await(host.store().delete(List.of("went")));
    }
    assertThat(store().verify(damage -> {}))
        .isEqualTo(
            new Verified(
                2,
                2,
                0,
                List.of(
                    "fake cannot list its keys, so only the sessions that work or wait for a moment"
                        + " were read; any other is checked when it is called")));
    for (String id : List.of("rests", "works")) {
      replace(id, document -> with(document, List.of()));
    }
    assertThat(damages())
        .containsExactly(
            "The journal works is damaged: entry 1 is missing; restore the store from a backup");
  }

  @Test
  void aLostServerKeyIsDamageAndAnEmptyStoreIsNone() {
    assertThatThrownBy(() -> store().verify(damage -> {}))
        .isInstanceOf(StoreException.class)
        .hasMessage("fake holds nothing of Fermata; name the store that a host uses");
    fake().list();
    threeSessions();
    Host.await(fake().delete("fermata:server-key"));
    assertThat(damages()).singleElement().asString().contains("server key is damaged: it is miss");
  }

  @Test
  void aStoreThatIsDownIsNotDamaged() {
    fake().list();
    threeSessions();
    fake().mood(Mood.DOWN);
    assertThatThrownBy(this::damages)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("fake could not be read: nobody answers");
  }

  @Test
  void theIndexIsWrittenBeforeTheJournalThatNeedsIt() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Plan("to do"));
      assertThat(fake().written())
          .endsWith("fermata:" + key("a"), "fermata:journal:a")
          .doesNotHaveDuplicates();
    }
  }

  @Test
  void aSessionThatWorksAgainAndAgainIsMarkedOnce() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a");
      for (int i = 0; i < 10; i++) {
        desk.write(new Plan("to do")).write(new Line("did it")).write(new Appointment(1_000 + i));
      }
      assertThat(fake().written()).filteredOn(("fermata:" + key("a"))::equals).hasSize(1);
    }
  }

  @Test
  void aWakeUpThatIsFarAheadIsMarkedAfterwardsAndForManySessionsAtOnce() {
    KvIndex index = index();
    long month = millis.get() + Duration.ofDays(30).toMillis();
    for (int i = 0; i < 200; i++) {
      assertThat(index.require("session " + i, month + i)).isCompleted();
      index.settled("session " + i, month + i);
    }
    assertThat(fake().calls()).isZero();

    Host.await(index.clean(false));
    assertThat(fake().written()).hasSize(KvIndex.SHARDS);
    assertThat(marks("session 7")).contains("session 7");

    nanos.addAndGet(KvShard.RESTS.toNanos());
    for (int i = 0; i < 200; i++) {
      index.settled("session " + i, i < 100 ? month + 1_000 : KvDocument.NOTHING);
    }
    Host.await(index.clean(false));
    assertThat(fake().written()).as("a call later nothing is written").hasSize(KvIndex.SHARDS);

    Host.await(index.clean(true));
    assertThat(marks("session 7")).contains("session 7");
    assertThat(marks("session 107")).doesNotContain("session 107");
  }

  /** An index that has no clock but those of the test. */
  private KvIndex index() {
    return index("a host");
  }

  private KvIndex index(String host) {
    KvCalls calls = new KvCalls(fake(), Duration.ofSeconds(10), Runnable::run);
    InstantSource clock = () -> Instant.ofEpochMilli(millis.get());
    return new KvIndex(calls, Runnable::run, host, clock, nanos::get);
  }

  @Test
  void aMarkIsRenewedAndRemovedInTimeHoweverTheWallClockIsSet() {
    KvIndex index = index();
    Host.await(index.require("a", KvDocument.WORKING));
    millis.addAndGet(-Duration.ofHours(1).toMillis());
    nanos.addAndGet(KvShard.FRESH.toNanos());
    Host.await(index.require("a", KvDocument.WORKING));
    assertThat(fake().written()).as("renewed, as others may remove it").hasSize(2);
    millis.addAndGet(KvShard.FRESH.toMillis());
    Host.await(index.require("a", KvDocument.WORKING));
    assertThat(fake().written()).as("also after the machine has slept").hasSize(3);

    index.settled("a", KvDocument.NOTHING);
    millis.addAndGet(Duration.ofHours(2).toMillis());
    Host.await(index.clean(false));
    assertThat(marks("a")).as("it has not rested").contains("a");
    millis.addAndGet(-Duration.ofHours(2).toMillis());
    nanos.addAndGet(KvShard.RESTS.toNanos());
    Host.await(index.clean(false));
    assertThat(marks("a")).doesNotContain("a");
  }

  @Test
  void aMarkGivesWayOnlyToWhatAnotherHostLearnedLongAfterItWasWritten() {
    KvIndex first = index("first");
    KvIndex second = index("second");
    for (String id : List.of("a", "b")) {
      Host.await(first.require(id, KvDocument.WORKING));
    }
    pass(Duration.ofSeconds(1));
    first.settled("a", KvDocument.NOTHING);
    first.settled("b", millis.get() + Duration.ofHours(3).toMillis());
    for (String id : List.of("a", "b")) {
      Host.await(second.require(id, KvDocument.WORKING));
    }
    for (Duration passed = Duration.ZERO;
        passed.compareTo(KvShard.ABANDONED.multipliedBy(2)) < 0;
        passed = passed.plus(KvShard.RESTS)) {
      pass(KvShard.RESTS);
      Host.await(first.clean(false));
    }
    for (String id : List.of("a", "b")) {
      assertThat(mark(id)).as("learned before the mark").isEqualTo(KvDocument.WORKING);
    }

    KvIndex third = index("third");
    Host.await(third.load());
    third.settled("a", KvDocument.NOTHING);
    pass(KvShard.RESTS);
    Host.await(third.clean(false));
    assertThat(marks("a")).as("learned long after the mark").doesNotContain("a");
  }

  @Test
  void aStaleMarkOfALostHostIsRemovedOnceItsSessionIsReadAgain() {
    Host.await(index("lost").require("a", KvDocument.WORKING));
    KvIndex next = index("next");
    Host.await(next.load());
    List<String> read = new ArrayList<>();
    Function<String, CompletionStage<Long>> look =
        id -> {
          read.add(id);
          next.settled(id, KvDocument.NOTHING);
          return CompletableFuture.completedFuture(KvDocument.NOTHING);
        };
    for (Duration passed = Duration.ZERO;
        passed.compareTo(KvShard.ABANDONED.multipliedBy(2)) < 0;
        passed = passed.plus(KvShard.RESTS)) {
      pass(KvShard.RESTS);
      Host.await(next.until(millis.get(), "", 10, at -> true, look));
      Host.await(next.clean(false));
    }
    assertThat(marks("a")).doesNotContain("a");
    assertThat(read).as("once at first, and once after the mark was abandoned").hasSize(2);
  }

  private void pass(Duration duration) {
    millis.addAndGet(duration.toMillis());
    nanos.addAndGet(duration.toNanos());
  }

  @Test
  void aMarkStaysWhileTheWriteThatReliesOnItIsUnderWay() {
    KvIndex index = index();
    Host.await(index.require("a", KvDocument.WORKING));
    index.settled("a", KvDocument.NOTHING);
    nanos.addAndGet(KvShard.RESTS.toNanos());
    assertThat(index.require("a", KvDocument.WORKING)).isCompleted();
    Host.await(index.clean(false));
    assertThat(marks("a")).contains("a");
    assertThat(fake().written()).as("and needs no other write").hasSize(1);

    index.settled("a", KvDocument.NOTHING);
    nanos.addAndGet(KvShard.RESTS.toNanos());
    Host.await(index.clean(false));
    assertThat(marks("a")).doesNotContain("a");
  }

  @Test
  void aMarkIsWrittenAgainIfItIsRequiredWhileTheWriteThatRemovesItIsUnderWay() {
    KvIndex index = index();
    Host.await(index.require("a", KvDocument.WORKING));
    index.settled("a", KvDocument.NOTHING);
    nanos.addAndGet(KvShard.RESTS.toNanos());
    fake().holdWrites();
    CompletionStage<?> cleaned = index.clean(false);
    CompletionStage<?> required = index.require("a", KvDocument.WORKING);
    fake().releaseWrites();
    Host.await(cleaned);
    Host.await(required);
    assertThat(marks("a")).contains("a");
  }

  @Test
  void aWakeUpThatIsNearIsMarkedBeforeItsJournalIsWritten() {
    long tomorrow = System.currentTimeMillis() + Duration.ofHours(20).toMillis();
    try (Host host = Host.on(store())) {
      host.open("a").write(new Appointment(tomorrow));
      assertThat(fake().written()).endsWith("fermata:" + key("a"), "fermata:journal:a");
    }
  }

  @Test
  void anEntryOfTheDirectoryIsStoredWithItsJournal() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a").write(new Line("one"));
      int before = fake().calls();
      Host.await(host.store().directory().put(entry("a", 1)));
      assertThat(fake().calls()).as("the first is written at once").isEqualTo(before + 1);
      Host.await(host.store().directory().put(entry("a", 2)));
      assertThat(Host.await(host.store().directory().get("a"))).contains(entry("a", 2));
      assertThat(fake().calls()).as("the next waits").isEqualTo(before + 1);
      assertThat(document("a").entry()).isEqualTo(entry("a", 1));
      desk.write(new Line("two"));
      assertThat(fake().calls()).as("for the next record").isEqualTo(before + 2);
      assertThat(document("a").entry()).isEqualTo(entry("a", 2));
    }
  }

  @Test
  void aSnapshotIsStoredWithTheNextEntryAlsoIfItsSessionWakesForThatOne() {
    List<SerializedEntry> entries = new ArrayList<>();
    SerializedEntry.imported("a", List.of(imported(1), imported(2))).forEachRemaining(entries::add);
    SerializedSnapshot taken = new SerializedSnapshot("a", 1, 5, entries.get(0).event(), 0, 0);
    try (OpenStore open = store().open()) {
      StoreJournals journals = ((StoreSetup) open.setup()).journals();
      Host.await(journals.append("a", entries.subList(0, 1), 0));
      Host.await(journals.save(taken));
      assertThat(snapshots("a")).isEmpty();
      assertThat(Host.await(journals.snapshot("a", SnapshotSelectionCriteria.latest())))
          .contains(taken);
      Host.await(journals.append("a", entries.subList(1, 2), 0));
      assertThat(snapshots("a")).containsExactly(1L);
    }
  }

  private static NewEntry imported(long seq) {
    return new NewEntry(new StoredEntry(seq, 1, "", new byte[] {1}), 5, Set.of());
  }

  private static DirectoryEntry entry(String persistenceId, long seq) {
    return new DirectoryEntry(persistenceId, "thread", "ann", "", seq, 1, 2, Set.of(), Map.of());
  }

  @Test
  void closingTakesTheMarksAway() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Plan("to do")).write(new Line("did it"));
      host.open("b").write(new Plan("to do"));
    }
    assertThat(marks("a")).doesNotContain("a");
    assertThat(marks("b")).contains("b");
  }

  private static String key(String persistenceId) {
    return "index:" + Math.floorMod(persistenceId.hashCode(), KvIndex.SHARDS);
  }

  private List<String> marks(String persistenceId) {
    return List.copyOf(shard(persistenceId).keySet());
  }

  private long mark(String persistenceId) {
    return Objects.requireNonNull(shard(persistenceId).get(persistenceId)).at();
  }

  private Map<String, KvMark> shard(String persistenceId) {
    String key = key(persistenceId);
    return value("fermata:" + key).map(bytes -> KvFormat.marks(key, bytes)).orElse(Map.of());
  }

  @Test
  void manyRecordsThatWaitGoIntoOneValueAtOnce() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a");
      List<CompletionStage<Long>> writes =
          IntStream.range(0, 50).mapToObj(line -> desk.begin(new Line("line"))).toList();
      writes.forEach(Host::await);
      int before = fake().calls();
      desk.write(new Line("one"), new Line("two"), new Line("three"));
      assertThat(fake().calls()).isEqualTo(before + 1);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Mood.class,
      names = {"DOWN", "FORGETFUL"})
  void aStoreThatFailsInTheMiddleAcknowledgesNothingAndLosesNothing(Mood mood) {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a").write(new Line("one"));
      fake().mood(mood);
      assertThatThrownBy(() -> Host.await(desk.attempt(new Line("two"))))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      fake().mood(Mood.WELL);
      List<String> lines = host.open("a").write(new Line("three")).lines();
      assertThat(lines)
          .isEqualTo(mood == Mood.DOWN ? List.of("one", "three") : List.of("one", "two", "three"));
    }
  }

  @Test
  void halfOfASurrogatePairKeepsNoJournalFromBeingWritten() {
    NewEntry halfPair = new NewEntry(imported(1).entry(), 5, Set.of("\ud800"));
    try (OpenStore open = store().open()) {
      assertThat(Host.await(open.importJournal("a", List.of(halfPair)))).isEqualTo(1);
    }
  }

  @Test
  void aMarkThatCouldNotBeWrittenKeepsTheJournalFromBeingWritten() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a").write(new Line("one"));
      fake().mood(Mood.DOWN);
      assertThatThrownBy(() -> Host.await(desk.attempt(new Plan("two"))))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      fake().mood(Mood.WELL);
      assertThat(host.open("a").write(new Plan("three")).lines()).containsExactly("one", "three");
      assertThat(marks("a")).containsExactly("a");
    }
  }

  @Test
  void aStoreThatDoesNotAnswerIsAbandoned() {
    var threads = Executors.newSingleThreadExecutor();
    try {
      KvCalls calls = new KvCalls(fake(), Duration.ofMillis(50), threads);
      fake().mood(Mood.SILENT);
      List<CompletionStage<?>> unanswered = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        unanswered.add(calls.get("key " + i));
      }
      for (CompletionStage<?> stage : unanswered) {
        assertThatThrownBy(() -> Host.await(stage))
            .hasRootCauseInstanceOf(TimeoutException.class)
            .hasStackTraceContaining("fake could not be read: it did not respond within 50 ms");
      }
      fake().mood(Mood.WELL);
      assertThat(Host.await(calls.get("key"))).isEmpty();
    } finally {
      threads.shutdown();
    }
  }

  @Test
  void whatIsToBeForgottenExpiresUnlessSomethingFollows() {
    long tomorrow = System.currentTimeMillis() + Duration.ofDays(1).toMillis();
    try (Host host = Host.on(store())) {
      host.open("going").write(new Line("said"));
      host.open("over").write(new Conclusion("over", 0, tomorrow));
      host.open("kept").write(new Conclusion("over", 0, Long.MAX_VALUE));
      assertThat(fake().expiry("fermata:journal:going")).isNull();
      assertThat(fake().expiry("fermata:journal:over"))
          .isBetween(Duration.ofHours(23), Duration.ofHours(24));
      assertThat(fake().expiry("fermata:journal:kept")).isNull();
      host.open("over").write(new Line("again"));
      assertThat(fake().expiry("fermata:journal:over")).isNull();
    }
  }

  @Test
  void aValueThatIsNotOursIsRefused() {
    fake().put("fermata:journal:a", "hello world".getBytes(UTF_8));
    try (OpenStore open = store().open()) {
      assertThatThrownBy(() -> Host.await(open.read("a", 1, 1)))
          .rootCause()
          .isInstanceOf(StoreException.class)
          .hasMessageContainingAll("the journal a", "was not written by Fermata");
    }
  }

  @Test
  void aStoreThatCannotBeWrittenIsRefusedWhenItIsOpenedAndNoticedByAPing() {
    store().open().close();
    try (OpenStore open = store().open()) {
      Host.await(open.ping());
      fake().mood(Mood.READ_ONLY);
      assertThatThrownBy(() -> Host.await(open.ping()))
          .rootCause()
          .hasMessageContaining("a replica is not written");
      fake().mood(Mood.WELL);
      Host.await(open.ping());
    }
    fake().mood(Mood.READ_ONLY);
    assertThatThrownBy(() -> store().open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("fake could not be written", "a replica is not written", "check");
  }

  @Test
  void aStoreThatIsDownCannotBeOpened() {
    fake().mood(Mood.DOWN);
    assertThatThrownBy(() -> store().open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("fake could not be read: nobody answers", "retry");
  }

  @Test
  void whatIsUnderWayWhenAStoreIsClosedIsFinishedFirst() {
    OpenStore open = store().open();
    fake().mood(Mood.SLOW);
    CompletionStage<?> put = open.directory().put(entry("listed", 1));
    CompletionStage<Integer> imported = open.importJournal("new", List.of(imported(1)));
    open.close();
    Host.await(put);
    assertThat(Host.await(imported)).isEqualTo(1);
    assertThat(value("fermata:journal:listed")).isPresent();
    assertThat(records("new")).containsExactly(1L);
  }

  @Test
  void whatAStoreDoesNotAnswerBeforeItIsClosedFails() {
    OpenStore open = store().open();
    fake().mood(Mood.SILENT);
    List<CompletionStage<?>> unanswered =
        List.of(
            open.directory().put(entry("a", 1)),
            open.delete(List.of("b")),
            open.importJournal("c", List.of(imported(1))));
    open.close();
    for (CompletionStage<?> late : unanswered) {
      assertThatThrownBy(() -> Host.await(late))
          .rootCause()
          .hasMessage("fake is closed; open the store again");
    }
  }

  @Test
  void aClosedStoreSaysSo() {
    OpenStore open = store().open();
    open.close();
    open.close();
    for (CompletionStage<?> late :
        List.of(
            open.sweep(1),
            open.unfinished("", 1),
            open.due(1, 1),
            open.read("a", 1, 1),
            open.delete(List.of("a")),
            open.directory().get("a"))) {
      assertThatThrownBy(() -> Host.await(late))
          .rootCause()
          .hasMessage("fake is closed; open the store again");
    }
  }
}
