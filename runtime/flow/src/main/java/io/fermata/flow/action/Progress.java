package io.fermata.flow.action;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Place;
import org.jspecify.annotations.Nullable;

/** Hears at once what steps tell while they work. Called on the thread of the step. */
public interface Progress {
  Progress NONE = new Progress() {};

  default void emitted(Place place, String name, @Nullable JsonNode payload) {}

  default void streamed(Place place, String text) {}
}
