package io.fermata.persistence.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Unfinished;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The part of the {@link JournalContract} that also runs over a network, where a fake in the same
 * process passes all of it.
 */
public abstract class EssentialContract {

  Store store = Store.memory();

  protected abstract Store newStore();

  @BeforeEach
  public void chooseStore() {
    store = newStore();
  }

  @Test
  void whatWasWrittenIsThereAfterARestart() {
    try (Host host = Host.on(store)) {
      host.open("a").write(new Line("one"), new Line("two")).write(new Line("three"));
    }
    try (Host host = Host.on(store)) {
      assertThat(host.open("a").content())
          .isEqualTo(new Notebook.Content(List.of("one", "two", "three"), 3));
    }
  }

  @Test
  void aSnapshotStandsForTheEventsBeforeIt() {
    try (Host host = Host.on(store)) {
      Host.Desk desk = host.openWithSnapshots("a");
      IntStream.rangeClosed(1, 7).forEach(line -> desk.write(new Line("line " + line)));
    }
    try (Host host = Host.on(store)) {
      assertThat(host.openWithSnapshots("a").lines())
          .hasSize(7)
          .startsWith("line 1")
          .endsWith("line 7");
    }
  }

  @Test
  void unfinishedJournalsAreListedPageByPage() {
    try (Host host = Host.on(store)) {
      List<String> all = IntStream.rangeClosed(1, 7).mapToObj(number -> "plan " + number).toList();
      all.forEach(id -> host.open(id).write(new Plan("it")));
      host.open("plan 4").write(new Line("did it"));
      List<String> read = new ArrayList<>();
      String cursor = "";
      for (int expected : List.of(2, 2, 2, 0)) {
        List<Unfinished> page = Host.await(host.store().unfinished(cursor, 2));
        assertThat(page).hasSize(expected);
        for (Unfinished each : page) {
          read.add(each.persistenceId());
          cursor = each.cursor();
        }
      }
      assertThat(read)
          .containsExactlyInAnyOrderElementsOf(
              all.stream().filter(id -> !id.equals("plan 4")).toList());
    }
  }

  @Test
  void whatASweepTookIsNotRead() {
    try (Host host = Host.on(store)) {
      host.open("a").write(new Line("one")).write(new Conclusion("over")).write(new Line("three"));
      host.sweep();

      assertThat(host.read("a", 1, 10)).containsExactly("over", "three");
      assertThat(host.readBack("a", 3, 10)).containsExactly("over");
    }
  }

  @Test
  void theServerKeyIsTheSameAfterARestart() {
    byte[] before;
    try (OpenStore open = store.open()) {
      before = open.serverKey();
    }
    try (OpenStore open = store.open()) {
      assertThat(open.serverKey()).hasSize(32).isEqualTo(before);
    }
    try (OpenStore other = newStore().open()) {
      assertThat(other.serverKey()).isNotEqualTo(before);
    }
  }

  public Store store() {
    return store;
  }
}
