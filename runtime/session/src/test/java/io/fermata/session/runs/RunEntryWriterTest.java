package io.fermata.session.runs;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.RunState;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

class RunEntryWriterTest {
  @Test
  void aRunThatTheDirectoryRefusesIsLeftOutAndNoOther() {
    try (OpenStore store = Store.memory().open()) {
      RunEntryWriter entering = new RunEntryWriter(store.directory());
      List<CompletionStage<?>> writes = new ArrayList<>();
      assertThat(entering.put(row("f".repeat(300)), writes)).isFalse();
      assertThat(entering.put(row("order"), writes)).isTrue();
      assertThat(writes).hasSize(1);
    }
  }

  private static RunRow row(String flow) {
    return new RunRow(flow, RunState.NONE, null, 1);
  }
}
