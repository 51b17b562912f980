package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.json.Json;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Rejects what would take a thread beyond its {@link Bounds}. */
final class Capacity {
  private Capacity() {}

  static void requireForValue(ThreadStorage stored, String key, JsonNode value) {
    long used = size(stored.context(), key) + size(stored.storage(), key);
    long wanted = used + Json.text(value).length() + key.length();
    if (wanted > Bounds.STORAGE) {
      throw new IllegalArgumentException(
          "%s does not fit: context and storage of a thread hold up to %d characters, and this would make %d; store large data as files"
              .formatted(key, Bounds.STORAGE, wanted));
    }
  }

  /** Prevents tools that queue each other from running forever. */
  static void requireForCall(ThreadState state, @Nullable StepFrame frame) {
    int calls =
        state.waiting().size() + (frame == null ? 0 : frame.calls().size() + frame.made().size());
    if (calls >= Bounds.CALLS) {
      throw new IllegalArgumentException("A step has at most %d calls".formatted(Bounds.CALLS));
    }
  }

  static void requireForEffect(Collection<ScheduledEffect> effects, JsonNode arguments) {
    int waiting = 1;
    long size = Json.text(arguments).length();
    for (ScheduledEffect effect : effects) {
      if (!effect.over()) {
        waiting++;
        size += Json.text(effect.arguments()).length();
      }
    }
    if (waiting > Bounds.EFFECTS || size > Bounds.EFFECTS_ARGUMENTS) {
      throw new IllegalArgumentException(
          "A thread has at most %d scheduled effects with %d characters of arguments, and this would make %d with %d; remove some, or store large data as files"
              .formatted(Bounds.EFFECTS, Bounds.EFFECTS_ARGUMENTS, waiting, size));
    }
  }

  private static long size(Map<String, JsonNode> values, String except) {
    long size = 0;
    for (Map.Entry<String, JsonNode> entry : values.entrySet()) {
      if (!entry.getKey().equals(except)) {
        size += entry.getKey().length() + Json.text(entry.getValue()).length();
      }
    }
    return size;
  }
}
