package io.fermata.agent.history;

import io.fermata.agent.state.ThreadEvent;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds the key of the latest call of a tool. */
public final class LatestCall implements BackwardReader {
  private final String tool;
  private @Nullable String key;

  public LatestCall(String tool) {
    this.tool = tool;
  }

  /** The key of the call; empty if there was none. */
  public Optional<String> key() {
    return Optional.ofNullable(key);
  }

  @Override
  public boolean full() {
    return key != null;
  }

  @Override
  public void take(List<ThreadEvent> entry) {
    for (int i = entry.size() - 1; i >= 0 && key == null; i--) {
      if (entry.get(i) instanceof ThreadEvent.StepEnded ended) {
        take(ended);
      } else if (entry.get(i) instanceof ThreadEvent.Queued queued
          && queued.call().function().name().equals(tool)) {
        key = queued.call().id();
      }
    }
  }

  private void take(ThreadEvent.StepEnded ended) {
    for (int place = ended.calls().size() - 1; place >= 0 && key == null; place--) {
      if (ended.calls().get(place).function().name().equals(tool)) {
        key = ended.key(place);
      }
    }
  }
}
