package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.Note.Line;
import java.util.List;
import org.junit.jupiter.api.Test;

final class MemoryStoreTest extends HistoryContract {

  @Override
  Store newStore() {
    return Store.memory();
  }

  @Override
  List<Long> records(String persistenceId) {
    return journal(persistenceId).read(0, Long.MAX_VALUE, Long.MAX_VALUE).stream()
        .map(SerializedRecord::sequenceNr)
        .toList();
  }

  @Override
  List<Long> snapshots(String persistenceId) {
    return journal(persistenceId).snapshots();
  }

  private MemoryJournal journal(String persistenceId) {
    return ((MemoryStore) store()).journals().of(persistenceId);
  }

  @Test
  void sequenceNumbersAreNotGivenTwiceAfterEverythingWasDeleted() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one"), new Line("two"));
      journal("a").deleteTo(Long.MAX_VALUE);
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").write(new Line("three")).content())
          .isEqualTo(new Notebook.Content(List.of("three"), 3));
    }
  }

  @Test
  void itSaysWhatItIs() {
    try (OpenStore open = Store.memory().open()) {
      assertThat(open.describe()).isEqualTo("memory");
    }
  }
}
