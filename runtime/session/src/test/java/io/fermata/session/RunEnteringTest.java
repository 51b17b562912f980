package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.RunState;
import io.fermata.persistence.OpenStore;
import io.fermata.persistence.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

class RunEnteringTest {
  @Test
  void aRunThatTheDirectoryRefusesIsLeftOutAndNoOther() {
    try (OpenStore store = Store.memory().open()) {
      RunEntering entering = new RunEntering(store.directory());
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
