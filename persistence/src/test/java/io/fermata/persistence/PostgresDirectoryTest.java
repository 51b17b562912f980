package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
final class PostgresDirectoryTest extends DirectoryContract {

  private static final int CHANGES = 4_000;

  @Override
  public Store newStore() {
    return PostgresProbe.fresh().store();
  }

  private static DirectoryEntry entry(int number, long seq, String tag, String attribute) {
    return new DirectoryEntry(
        "run|" + number,
        "run",
        "ann",
        "order",
        seq,
        1,
        seq,
        Set.of(tag),
        Map.of("state", attribute));
  }

  @Test
  void manyChangesShareTheirRoundTrips() {
    PostgresServer server = PostgresServer.shared();
    try (Cable cable = Cable.to(server);
        OpenStore store = Store.postgres(cable.through(server.newDatabase())).open()) {
      Map<String, Long> roundTrips =
          Map.of(
              "new", roundTrips(cable, i -> store.directory().put(entry(i, 1, "a", "x"))),
              "active", roundTrips(cable, i -> store.directory().put(entry(i, 2, "a", "x"))),
              "relabelled", roundTrips(cable, i -> store.directory().put(entry(i, 3, "b", "y"))),
              "removed", roundTrips(cable, i -> store.directory().remove("run|" + i)),
              "deleted", roundTrips(cable, i -> store.delete(List.of("run|" + i))));
      assertThat(roundTrips.values()).allMatch(each -> each < CHANGES / 10, roundTrips.toString());
    }
  }

  @Test
  void sessionsThatAreForgottenShareTheirRoundTrips() {
    int sessions = 500;
    PostgresServer server = PostgresServer.shared();
    StoredEntry entry = new StoredEntry(1, 1, "m", new byte[] {1, 2, 3});
    List<NewEntry> ended = List.of(new NewEntry(entry, 5, Set.of(JournalTags.forget(7))));
    try (Cable cable = Cable.to(server);
        OpenStore store = Store.postgres(cable.through(server.newDatabase())).open()) {
      for (int i = 0; i < sessions; i++) {
        Host.await(store.importJournal("run|" + i, ended));
      }
      long before = cable.roundTrips();
      assertThat(Host.await(store.sweep(10))).isEqualTo(sessions);
      assertThat(cable.roundTrips() - before).isLessThan(sessions / 10);
      assertThat(Host.await(store.read("run|1", 1, 2))).isEmpty();
    }
  }

  @Test
  void sessionsThatAreKeptForAnEarlierEndShareTheirRoundTrips() {
    int sessions = 500;
    PostgresServer server = PostgresServer.shared();
    StoredEntry first = new StoredEntry(1, 1, "m", new byte[] {1, 2, 3});
    StoredEntry second = new StoredEntry(2, 1, "m", new byte[] {1, 2, 3});
    List<NewEntry> kept =
        List.of(
            new NewEntry(first, 5, Set.of(JournalTags.sweep(100))),
            new NewEntry(second, 5, Set.of(JournalTags.sweep(7), JournalTags.forget(7))));
    List<NewEntry> over = List.of(new NewEntry(first, 5, Set.of(JournalTags.forget(7))));
    try (Cable cable = Cable.to(server);
        OpenStore store = Store.postgres(cable.through(server.newDatabase())).open()) {
      for (int i = 0; i < sessions; i++) {
        Host.await(store.importJournal("run|" + i, i % 2 == 0 ? kept : over));
      }
      long before = cable.roundTrips();
      assertThat(Host.await(store.sweep(10))).isEqualTo(sessions / 2);
      assertThat(cable.roundTrips() - before).isLessThan(sessions / 10);
      assertThat(Host.await(store.read("run|0", 1, 3))).hasSize(2);
      assertThat(Host.await(store.read("run|1", 1, 3))).isEmpty();
      assertThat(Host.await(store.sweep(99))).isZero();
      Host.await(store.sweep(100));
      assertThat(Host.await(store.read("run|0", 1, 3))).isEmpty();
    }
  }

  @Test
  void theEntriesOfAnImportedJournalShareTheirRoundTrips() {
    PostgresServer server = PostgresServer.shared();
    List<NewEntry> entries = new ArrayList<>();
    for (int seq = 1; seq <= CHANGES; seq++) {
      StoredEntry entry = new StoredEntry(seq, 1, "m", new byte[] {1, 2, 3});
      entries.add(new NewEntry(entry, 5, Set.of(JournalTags.due(7))));
    }
    try (Cable cable = Cable.to(server);
        OpenStore store = Store.postgres(cable.through(server.newDatabase())).open()) {
      long before = cable.roundTrips();
      assertThat(Host.await(store.importJournal("run|a", entries))).isEqualTo(CHANGES);
      assertThat(cable.roundTrips() - before).isLessThan(CHANGES / 10);
      assertThat(Host.await(store.read("run|a", CHANGES, 2))).hasSize(1);
    }
  }

  @Test
  void activityLeavesTheIndexOfTextsAloneAndATextGoesWithItsEntry() {
    PostgresProbe database = PostgresProbe.fresh();
    try (OpenStore store = database.store().open()) {
      Host.await(store.directory().put(entry(1, 1, "a", "x")));
      long written = database.number("SELECT xmin::text::bigint FROM directory_text");
      Host.await(store.directory().put(entry(1, 2, "a", "x").in("s", "waits", 7)));
      Host.await(store.directory().put(entry(1, 3, "a", "x").in("s", "works", 8)));
      assertThat(database.number("SELECT xmin::text::bigint FROM directory_text"))
          .isEqualTo(written);
      Host.await(store.directory().put(entry(1, 4, "a", "other").in("s", "works", 8)));
      assertThat(database.number("SELECT xmin::text::bigint FROM directory_text"))
          .isGreaterThan(written);
      Host.await(store.delete(List.of("run|1")));
      assertThat(database.number("SELECT count(*) FROM directory_text")).isZero();
    }
  }

  private static long roundTrips(Cable cable, IntFunction<CompletionStage<?>> change) {
    long before = cable.roundTrips();
    List<CompletionStage<?>> changes = new ArrayList<>();
    IntStream.range(0, CHANGES).forEach(number -> changes.add(change.apply(number)));
    changes.forEach(Host::await);
    return cable.roundTrips() - before;
  }
}
