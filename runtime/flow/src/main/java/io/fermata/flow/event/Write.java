package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Paths;
import org.jspecify.annotations.Nullable;

/** One change of the state by an action, as it stands in the journal. */
public record Write(Verb verb, String path, @Nullable JsonNode value) {
  /** What a write does to the value at its path. */
  public enum Verb {
    SET,
    MERGE,
    APPEND,
    DELETE
  }

  /** The same write in a state that this one's is part of. */
  public Write under(String prefix) {
    return prefix.isEmpty() ? this : new Write(verb, prefix + path, value);
  }

  /** The path of what is written: what is appended to a list is an element of it. */
  public String at() {
    return verb == Verb.APPEND ? path + ".0" : path;
  }

  public ObjectNode applyTo(ObjectNode data) {
    if (value == null) {
      return Paths.delete(data, path);
    }
    return switch (verb) {
      case SET -> Paths.set(data, path, value);
      case MERGE -> Paths.merge(data, path, value);
      case APPEND -> Paths.append(data, path, value);
      case DELETE -> Paths.delete(data, path);
    };
  }
}
