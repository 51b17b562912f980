package io.fermata.flow.action;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Place;
import org.jspecify.annotations.Nullable;

/** Gets at once what steps emit while they run. Called on the thread of the step. */
public interface Progress {
  Progress NONE = new Progress() {};

  default void emitted(Place place, String name, @Nullable JsonNode payload) {}

  default void streamed(Place place, String text) {}

  /** A step wrote after it had succeeded; that is lost. Called on any thread. */
  default void refused(IllegalStateException refusal) {}
}
