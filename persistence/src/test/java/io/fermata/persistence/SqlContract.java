package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StorePool;
import java.util.stream.IntStream;
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
