package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.postgres.PostgresClaimTest;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Verified;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a verification of a store finds, and what it leaves in peace. */
abstract class VerificationContract {

  /** How many verifications have writes to meet. */
  private static final int VERIFICATIONS = 10;

  /** How many journals grow meanwhile. */
  private static final int WRITTEN = 20;

  /** No byte, in SQL. */
  private final String nothing;

  private Store store = Store.memory();

  VerificationContract(String nothing) {
    this.nothing = nothing;
  }

  /** A new store. */
  abstract Store newStore();

  /** Changes its tables past the store. */
  abstract void execute(String... sql);

  @BeforeEach
  void write() {
    store = newStore();
    try (Host host = Host.on(store)) {
      for (String id : List.of("run|a", "run|b", "run|c")) {
        Host.Desk desk = host.openWithSnapshots(id);
        for (int i = 1; i <= 5; i++) {
          desk.write(new Line("line " + i));
        }
      }
    }
  }

  final List<String> damages() {
    List<String> found = new ArrayList<>();
    Verified verified = store.verify(found::add);
    assertThat(verified.damages()).isEqualTo(found.size());
    assertThat(verified.intact()).isEqualTo(found.isEmpty());
    return found;
  }

  private void is(String damage, String... sql) {
    execute(sql);
    assertThat(damages())
        .singleElement()
        .asString()
        .isEqualTo("The journal run|b is damaged: " + damage + "; restore the store from a backup");
  }

  /** One session is damaged, and the others are not. */
  private void stops(String damage, String... sql) {
    is(damage, sql);
    try (Host host = Host.on(store)) {
      assertThatThrownBy(() -> host.read("run|b", 1, 10))
          .hasMessageContaining("The journal run|b is damaged: " + damage);
      for (String intact : List.of("run|a", "run|c")) {
        assertThat(host.open(intact).write(new Line("line 6")).lines()).hasSize(6);
      }
    }
  }

  @Test
  void anIntactStoreIsIntactWhetherOrNotAHostHasItOpen() {
    assertThat(damages()).isEmpty();
    try (Host host = Host.on(store)) {
      host.open("run|a").write(new Line("line 6"));
      assertThat(store.verify(damage -> {})).isEqualTo(new Verified(3, 16, 0));
    }
  }

  @Test
  void whatAHostWritesDuringAVerificationIsNoDamage() {
    AtomicInteger rounds = new AtomicInteger();
    AtomicBoolean over = new AtomicBoolean();
    try (Host host = Host.on(store)) {
      List<Host.Desk> desks =
          IntStream.range(0, WRITTEN).mapToObj(i -> host.openWithSnapshots("run|" + i)).toList();
      // All journals grow at once, so what is read of any of them is soon old.
      Runnable round =
          () -> {
            List<CompletionStage<Long>> writes =
                desks.stream().map(desk -> desk.begin(new Line("more"))).toList();
            writes.forEach(Host::await);
            rounds.incrementAndGet();
          };
      round.run();
      CompletableFuture<Void> writes =
          CompletableFuture.runAsync(
              () -> {
                while (!over.get()) {
                  round.run();
                }
              });
      try {
        int during = 0;
        while (during < VERIFICATIONS) {
          assertThat(writes).as("the host writes").isNotDone();
          int before = rounds.get();
          List<String> damages = new ArrayList<>();
          Verified verified = store.verify(damages::add);
          int after = rounds.get();
          assertThat(damages).isEmpty();
          assertThat(verified.journals()).isEqualTo(3 + WRITTEN);
          // The round after the last may be half written.
          assertThat(verified.entries())
              .isBetween(15 + (long) WRITTEN * before, 15 + (long) WRITTEN * (after + 1));
          during += after > before ? 1 : 0;
        }
      } finally {
        over.set(true);
      }
      writes.join();
    }
    assertThat(store.verify(damage -> {}))
        .isEqualTo(new Verified(3 + WRITTEN, 15 + WRITTEN * rounds.get(), 0));
  }

  @Test
  void aMissingEntryIsNamed() {
    stops(
        "entry 2 is missing",
        "DELETE FROM event_journal WHERE persistence_id = 'run|b' AND sequence_number = 2");
  }

  @Test
  void theFirstEntryIsMissed() {
    stops(
        "entry 1 is missing",
        "DELETE FROM event_journal WHERE persistence_id = 'run|b' AND sequence_number = 1");
  }

  @Test
  void onlyTheFirstEntryOfALaterRunMayBeginItsJournal() {
    try (Host host = Host.on(store)) {
      host.open("run|b")
          .write(new Conclusion("end", 0, Long.MAX_VALUE))
          .write(new Line("line 7"))
          .write(new Line("line 8"));
    }
    stops(
        "entry 7 is missing",
        "DELETE FROM event_journal WHERE persistence_id = 'run|b' AND sequence_number <= 7");
  }

  @Test
  void theEntryOfAnotherJournalIsNamed() {
    stops(
        "entry 3 was altered, or is not an entry of this journal",
        """
        UPDATE event_journal SET (writer, write_timestamp, event_payload, checksum) = (
          SELECT other.writer, other.write_timestamp, other.event_payload, other.checksum
          FROM event_journal AS other
          WHERE other.persistence_id = 'run|a' AND other.sequence_number = 3)
        WHERE persistence_id = 'run|b' AND sequence_number = 3
        """);
  }

  @Test
  void swappedEntriesAreNamed() {
    stops(
        "entry 2 was altered, or is not an entry of this journal",
        "UPDATE event_journal SET sequence_number = 30"
            + " WHERE persistence_id = 'run|b' AND sequence_number = 3",
        "UPDATE event_journal SET sequence_number = 3"
            + " WHERE persistence_id = 'run|b' AND sequence_number = 2",
        "UPDATE event_journal SET sequence_number = 2"
            + " WHERE persistence_id = 'run|b' AND sequence_number = 30");
  }

  @Test
  void anAlteredSnapshotIsNamedAndTheEntriesSuffice() {
    is(
        "the snapshot of entry 4 was altered",
        "UPDATE snapshot SET snapshot_payload = "
            + nothing
            + " WHERE persistence_id = 'run|b' AND sequence_number = 4");
    try (Host host = Host.on(store)) {
      assertThat(host.openWithSnapshots("run|b").lines()).hasSize(5).startsWith("line 1");
    }
  }

  @Test
  void whatTheSnapshotKnowsAndTheJournalHasNotIsMissing() {
    is(
        "entry 3 is missing",
        "DELETE FROM event_journal WHERE persistence_id = 'run|b' AND sequence_number >= 3");
  }

  @Test
  void whatTheDirectoryListsAndTheJournalHasNotIsMissing() {
    try (Host host = Host.on(store)) {
      DirectoryEntry listed =
          new DirectoryEntry("run|b.1", "run", "ann", "b", 5, 1, 1, Set.of(), Map.of());
      Host.await(host.store().directory().put(listed));
    }
    assertThat(damages()).isEmpty();
    is(
        "entry 5 is missing",
        "DELETE FROM event_journal WHERE persistence_id = 'run|b' AND sequence_number = 5");
  }

  @Test
  void aJournalWhoseActorDeletesItsEventsIsIntact() {
    try (Host host = Host.on(store)) {
      Host.Desk desk = host.openDeleting("deleting");
      for (int line = 0; line < 6; line++) {
        desk.write(new Line("line"));
      }
      PostgresClaimTest.await(() -> host.read("deleting", 1, 10).size() == 2);
    }
    assertThat(damages()).isEmpty();
  }

  @Test
  void aSweptAnErasedAndAnImportedJournalAreIntact() {
    try (Host host = Host.on(store)) {
      host.open("run|a").write(new Conclusion("end", 0, 100), new Line("later"));
      assertThat(host.sweep(1)).isEqualTo(1);
      assertThat(host.read("run|a", 1, 10)).containsExactly("end", "later");
      host.forget("run|c");
      List<StoredEntry> late = Host.await(host.store().read("run|a", 7, 10));
      List<NewEntry> added = late.stream().map(entry -> new NewEntry(entry, 5, Set.of())).toList();
      assertThat(Host.await(host.store().importJournal("run|d", added))).isEqualTo(1);
      host.open("run|a").write(new Line("last"));
      host.open("run|c").write(new Line("again"));
    }
    assertThat(store.verify(damage -> {})).isEqualTo(new Verified(4, 10, 0));
    try (Host host = Host.on(store)) {
      assertThat(host.open("run|a").lines()).containsExactly("end", "later", "last");
      assertThat(host.open("run|d").write(new Line("more")).lines())
          .containsExactly("later", "more");
    }
    assertThat(damages()).isEmpty();
  }
}
