package io.fermata.flow;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import org.jspecify.annotations.Nullable;

/** What a place is busy with. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "p")
@JsonSubTypes({
  @JsonSubTypes.Type(value = Phase.Entering.class, name = "entering"),
  @JsonSubTypes.Type(value = Phase.Asking.class, name = "asking"),
  @JsonSubTypes.Type(value = Phase.Showing.class, name = "showing"),
  @JsonSubTypes.Type(value = Phase.Working.class, name = "working"),
  @JsonSubTypes.Type(value = Phase.Leaving.class, name = "leaving"),
  @JsonSubTypes.Type(value = Phase.Halted.class, name = "halted")
})
public sealed interface Phase {
  /** Its node has not begun. */
  record Entering() implements Phase {}

  /** It waits for answers. */
  record Asking() implements Phase {}

  /** It waits for a widget's answer, or for word that the widget was shown. */
  record Showing(Event.Widget widget) implements Phase {}

  /** It waits for an effect, or until a failed one is due again. */
  record Working(@Nullable String field, int attempt, @Nullable Long retryAt) implements Phase {}

  /** Its node is done; the way out is still to be chosen. */
  record Leaving() implements Phase {}

  /** It cannot go on by itself. */
  record Halted(Event.Resume resume, ErrorCode code, String message, @Nullable String field)
      implements Phase {}
}
