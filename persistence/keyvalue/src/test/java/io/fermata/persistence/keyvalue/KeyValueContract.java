package io.fermata.persistence.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.JournalContract;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.contract.Notebook;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What every key-value store promises: as much as any store, except history. */
abstract class KeyValueContract extends JournalContract {

  /** The value that is kept for a key of the store that a test uses. */
  abstract Optional<byte[]> value(String key);

  @Override
  protected List<Long> records(String persistenceId) {
    return document(persistenceId).records().stream().map(SerializedEntry::sequenceNr).toList();
  }

  @Override
  protected List<Long> snapshots(String persistenceId) {
    return document(persistenceId)
        .snapshot(any -> true)
        .map(SerializedSnapshot::sequenceNr)
        .stream()
        .toList();
  }

  KvDocument document(String persistenceId) {
    return value("fermata:journal:" + persistenceId)
        .map(bytes -> KvFormat.journal(persistenceId, bytes))
        .orElse(KvDocument.NONE);
  }

  // --- where it needs no sweep -----------------------------------------------------------------

  @Test
  void whatARunLeavesBehindGoesWithItsEndAndNothingIsLeftToSweep() {
    try (Host host = Host.on(store())) {
      host.openWithSnapshots("a")
          .write(new Line("one"))
          .write(new Plan("two"))
          .write(new Line("three"))
          .write(new Conclusion("over"));
      host.open("b").write(new Line("still going"));

      assertThat(records("a")).containsExactly(4L);
      assertThat(records("b")).containsExactly(1L);
      assertThat(snapshots("a")).allMatch(sequenceNr -> sequenceNr >= 4);
      assertThat(host.sweep()).isZero();
    }
  }

  @Test
  void whatFollowsAnEndStaysWithIt() {
    try (Host host = Host.on(store())) {
      host.open("a")
          .write(new Line("one"))
          .write(new Conclusion("first run over"))
          .write(new Line("again"))
          .write(new Conclusion("second run over"))
          .write(new Plan("and again"));

      assertThat(records("a")).containsExactly(4L, 5L);
      assertThat(host.working()).containsExactly("a");
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").lines()).containsExactly("second run over", "and again");
    }
  }

  @Test
  void anEndThatHasExpiredGoesWhenItIsFollowed() {
    try (Host host = Host.on(store())) {
      host.open("a")
          .write(new Line("one"))
          .write(new Conclusion("first run over", 0, 9), new Line("again"));

      assertThat(records("a")).containsExactly(3L);
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").write(new Line("and again")).lines())
          .containsExactly("again", "and again");
    }
  }

  @Test
  void aRunThatBeginsWhenTheOneBeforeItHasExpiredIsRecovered() throws InterruptedException {
    try (Host host = Host.on(store())) {
      Host.Desk awake = host.open("awake").write(new Line("one"), new Conclusion("over", 0, 9));
      awaitExpiry("awake");
      awake.write(new Line("again")).write(new Line("and again"));
      assertThat(records("awake")).containsExactly(3L, 4L);
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("awake").lines()).containsExactly("again", "and again");
    }
  }

  private void awaitExpiry(String persistenceId) throws InterruptedException {
    while (value("fermata:journal:" + persistenceId).isPresent()) {
      Thread.sleep(50);
    }
  }

  @Test
  void aRunThatAnotherHostBeganWhenTheOneBeforeItHadExpiredIsNotOverwritten()
      throws InterruptedException {
    try (Host first = Host.on(store());
        Host second = Host.on(store())) {
      Host.Desk stale = first.open("a").write(new Conclusion("over", 0, 9));
      awaitExpiry("a");
      second.open("a").write(new Line("new"));

      assertThatThrownBy(() -> Host.await(stale.attempt(new Line("lost"))))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      assertThat(first.open("a").lines()).containsExactly("new");
    }
  }

  @Test
  void nothingCanBeListed() {
    try (OpenStore open = store().open()) {
      for (CompletionStage<?> listing :
          List.of(
              open.journals("", 10),
              open.journals("ann"),
              open.newest(),
              open.written(0, 10),
              open.directory().list(DirectoryQuery.of("thread")))) {
        assertThatThrownBy(() -> Host.await(listing))
            .rootCause()
            .isInstanceOf(NoHistoryException.class)
            .hasMessageContainingAll(open.describe(), "cannot be listed or searched");
      }
    }
  }

  // --- what it has no history for --------------------------------------------------------------

  @Test
  void aSnapshotMakesTheValueShortAndLeavesALittleOfWhatWasBefore() {
    String long1 = "x".repeat(2_000);
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.openWithSnapshots("a");
      IntStream.rangeClosed(1, 60).forEach(line -> desk.write(new Line(line + long1)));

      assertThat(records("a")).endsWith(59L, 60L).hasSizeBetween(2, 12);
      assertThat(host.readBack("a", Long.MAX_VALUE, 2))
          .extracting(text -> text.replace("x", ""))
          .containsExactly("60", "59");
      assertThatThrownBy(() -> host.read("a", 1, 1))
          .hasRootCauseInstanceOf(StoreException.class)
          .rootCause()
          .hasMessageContainingAll("records of a up to ", "keeps no history", "Read from record");
      assertThat(host.readBack("a", document("a").lostTo() + 1, 10)).isEmpty();
    }
    try (Host host = Host.on(store())) {
      assertThat(host.openWithSnapshots("a").lines()).hasSize(60);
    }
  }

  @Test
  void theDirectoryKnowsAnEntryByItsName() {
    try (OpenStore open = store().open()) {
      Host.await(open.directory().put(entry("a")));

      assertThat(Host.await(open.directory().get("a"))).contains(entry("a"));
      assertThat(Host.await(open.directory().get("b"))).isEmpty();
      Host.await(open.directory().remove("a"));
      assertThat(Host.await(open.directory().get("a"))).isEmpty();
    }
  }

  // --- what it promises ------------------------------------------------------------------------

  @Test
  void aWriteThatAnotherHostOvertookFailsAndItsActorRecoversWhatTheOtherWrote() {
    try (Host first = Host.on(store());
        Host second = Host.on(store())) {
      Host.Desk stale = first.open("a").write(new Line("one"));
      second.open("a").write(new Line("two"));

      assertThatThrownBy(() -> Host.await(stale.attempt(new Line("lost"))))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      assertThat(first.open("a").write(new Line("three")).lines())
          .containsExactly("one", "two", "three");
      assertThat(second.open("a").lines()).containsExactly("one", "two", "three");
    }
  }

  @Test
  void whatTwoHostsAcknowledgedIsAllThere() {
    try (Host first = Host.on(store());
        Host second = Host.on(store())) {
      for (int round = 0; round < 10; round++) {
        first.open("a").write(new Line("first " + round));
        second.open("a").write(new Line("second " + round));
      }
      assertThat(first.open("a").content())
          .isEqualTo(
              new Notebook.Content(
                  IntStream.range(0, 10)
                      .boxed()
                      .flatMap(round -> Stream.of("first " + round, "second " + round))
                      .toList(),
                  20));
    }
  }

  @Test
  void whatAHostThatWasLostWasAtIsFoundByTheNext() {
    try (OpenStore abandoned = store().open();
        Host lost = Host.over(abandoned)) {
      lost.open("at work").write(new Line("said")).write(new Plan("to do"));
      lost.open("waits").write(new Appointment(7));
      lost.open("worked").write(new Plan("to do")).write(new Line("did it"));
      lost.open("was there").write(new Appointment(7)).write(new Line("was there"));
      try (Host next = Host.on(store())) {
        assertThat(next.working()).containsExactly("at work");
        assertThat(next.due(10, 10)).containsExactly(new Due("waits", 7));
      }
    }
  }
}
