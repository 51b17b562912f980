package io.fermata.persistence.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.HistoryContract;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Notebook;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.spi.OpenStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
final class MemoryStoreTest extends HistoryContract {

  private final Map<Store, MemoryStore> sources = new HashMap<>();

  @Override
  protected Store newStore() {
    MemoryStore source = new MemoryStore();
    Store store = Store.of(source);
    sources.put(store, source);
    return store;
  }

  @Override
  protected List<Long> records(String persistenceId) {
    return journal(persistenceId).read(0, Long.MAX_VALUE, Long.MAX_VALUE).stream()
        .map(SerializedEntry::sequenceNr)
        .toList();
  }

  @Override
  protected List<Long> snapshots(String persistenceId) {
    return journal(persistenceId).snapshots();
  }

  private MemoryJournal journal(String persistenceId) {
    return Objects.requireNonNull(sources.get(store())).journals().of(persistenceId);
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
