package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.INTEGER;

import io.fermata.persistence.contract.ChildJvm;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.postgres.PostgresClaimTest;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Verified;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What every store promises that keeps its journals in tables. */
public abstract class SqlContract extends HistoryContract {

  /** How many tags there are of records. */
  public abstract long tags();

  @Test
  void aSweepTakesTheTagsToo() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Plan("one")).write(new Conclusion("over", 0, 9));
      host.sweep();
      assertThat(tags()).isEqualTo(1);
      host.sweep(9);
      assertThat(tags()).isZero();
    }
  }

  @Test
  void aSweepTakesTheTimesOfTheEndedRunToo() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Appointment(Long.MAX_VALUE)).write(new Conclusion("over"));
      host.sweep();
      assertThat(tags()).isEqualTo(1);
    }
  }

  @Test
  void theLoadOfEachPoolOfConnectionsIsKnown() {
    try (OpenStore open = store().open()) {
      Host.await(open.newest());
      assertThat(open.pools()).extracting(StorePool::name).doesNotHaveDuplicates();
      assertThat(open.pools())
          .extracting(StorePool::name)
          .contains("write", "wake", "upkeep", "read", "search");
      for (StorePool pool : open.pools()) {
        assertThat(pool.used() + pool.idle()).as(pool.name()).isPositive();
        assertThat(pool.waiting()).as(pool.name()).isZero();
      }
    }
  }

  @Test
  void whatAnImportHasWrittenIsNoLongerInMemory() {
    int entries = 2_000;
    List<WeakReference<byte[]>> passed = new ArrayList<>();
    List<Integer> inMemory = new ArrayList<>();
    Iterator<NewEntry> records =
        LongStream.rangeClosed(1, entries)
            .mapToObj(
                seq -> {
                  if (seq == entries) {
                    System.gc();
                    passed.removeIf(payload -> payload.get() == null);
                    inMemory.add(passed.size());
                  }
                  NewEntry entry = ImportProcess.entry(seq);
                  passed.add(new WeakReference<>(entry.entry().payload()));
                  return entry;
                })
            .iterator();
    try (OpenStore open = store().open()) {
      assertThat(Host.await(open.importJournal("a", () -> records))).isEqualTo(entries);
      assertThat(inMemory).singleElement(INTEGER).isLessThan(entries / 10);
      assertThat(Host.await(open.readBack("a", Long.MAX_VALUE, 1)))
          .extracting(StoredEntry::seq)
          .containsExactly((long) entries);
    }
    assertThat(store().verify(damage -> {})).isEqualTo(new Verified(1, entries, 0));
  }

  @Test
  void nothingIsLeftOfAnImportThatFailsInTheMiddle() {
    try (OpenStore open = store().open()) {
      Iterator<NewEntry> cut =
          LongStream.rangeClosed(1, 500)
              .mapToObj(
                  seq -> {
                    if (seq == 450) {
                      throw new UncheckedIOException(new IOException("It was cut"));
                    }
                    return ImportProcess.entry(seq);
                  })
              .iterator();
      assertThatThrownBy(() -> Host.await(open.importJournal("a", () -> cut)))
          .rootCause()
          .hasMessage("It was cut");
      assertThat(Host.await(open.journals("", 10))).isEmpty();
      assertThat(tags()).isZero();
    }
  }

  @Test
  @Tag("faults")
  void nothingIsLeftOfAnImportWhoseHostIsKilled() {
    String address;
    try (OpenStore open = store().open()) {
      address = open.describe();
    }
    try (ChildJvm child = ChildJvm.start(ImportProcess.class, address, Integer.MAX_VALUE)) {
      assertThat(child.acknowledged(10_000)).hasSize(10_000);
      child.kill();
      child.exitCode();
    }
    // A server notices a moment later that a host is gone.
    PostgresClaimTest.await(this::opens);
    try (OpenStore open = store().open()) {
      assertThat(Host.await(open.journals("", 10))).isEmpty();
      assertThat(Host.await(open.unfinished("", 10))).isEmpty();
      assertThat(tags()).isZero();
      assertThat(Host.await(open.importJournal("a", List.of(ImportProcess.entry(1))))).isEqualTo(1);
    }
  }

  private boolean opens() {
    try {
      store().open().close();
      return true;
    } catch (StoreException stillInUse) {
      return false;
    }
  }

  @Test
  void timesThatWereLeftBehindAreForgottenWhenTheyHavePassed() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a");
      IntStream.rangeClosed(1, 30).forEach(at -> desk.write(new Appointment(at)));
      assertThat(host.due(20, 10)).isEmpty();
      assertThat(tags()).isEqualTo(10);
      assertThat(host.due(30, 10)).containsExactly(new Due("a", 30));
      assertThat(tags()).isEqualTo(1);
    }
  }

  @Test
  void workThatWasLeftBehindIsForgottenByTheNextSweep() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a");
      IntStream.rangeClosed(1, 30).forEach(plan -> desk.write(new Plan("plan " + plan)));
      host.sweep();
      assertThat(tags()).isEqualTo(1);
      assertThat(host.working()).containsExactly("a");
      desk.write(new Line("did it"));
      host.sweep();
      assertThat(tags()).isZero();
      assertThat(desk.lines()).hasSize(31);
    }
  }
}
