package io.fermata.flow.action;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Optional;

/** The caller of a flow that was called as a tool, as one step of the flow sees it. */
public interface Caller {
  /** Nobody who could be met. */
  Caller NONE =
      new Caller() {
        @Override
        public <T> Optional<T> as(Class<T> type) {
          return Optional.empty();
        }

        @Override
        public List<JsonNode> changes() {
          return List.of();
        }
      };

  /** The caller as what it is to the step; empty if it is no such thing. It may block. */
  <T> Optional<T> as(Class<T> type);

  /** What the step has done to the caller. It is journaled with what the step did to the state. */
  List<JsonNode> changes();
}
