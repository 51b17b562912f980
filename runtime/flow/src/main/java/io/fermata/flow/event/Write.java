package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
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

  /**
   * What merges a value into the one at a path: a write of each field that the value names. The
   * fields beside them are not written. An empty object makes sure that there is one.
   *
   * @param field whether a path is one of a field
   */
  public static List<Write> merging(String path, JsonNode value, Predicate<String> field) {
    if (value.isNull()) {
      return List.of(new Write(Verb.DELETE, path, null));
    } else if (!value.isObject()) {
      return List.of(new Write(Verb.SET, path, value));
    } else if (value.isEmpty()) {
      return List.of(new Write(Verb.MERGE, path, value));
    }
    List<Write> writes = new ArrayList<>();
    for (Map.Entry<String, JsonNode> part : value.properties()) {
      String name = path + "." + part.getKey();
      if (!field.test(name)) {
        return List.of(new Write(Verb.MERGE, path, value));
      }
      writes.addAll(merging(name, part.getValue(), field));
    }
    return writes;
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
    return applyTo(data, null);
  }

  /** What several writes leave of a tree, each object of which they copy at most once. */
  public static ObjectNode all(ObjectNode data, List<Write> writes) {
    Set<ObjectNode> copies = writes.size() > 1 ? Paths.copies() : null;
    ObjectNode changed = data;
    for (Write write : writes) {
      changed = write.applyTo(changed, copies);
    }
    return changed;
  }

  private ObjectNode applyTo(ObjectNode data, @Nullable Set<ObjectNode> copies) {
    if (value == null) {
      return Paths.delete(data, path, copies);
    }
    return switch (verb) {
      case SET -> Paths.set(data, path, value, copies);
      case MERGE -> Paths.merge(data, path, value, copies);
      case APPEND -> Paths.append(data, path, value, copies);
      case DELETE -> Paths.delete(data, path, copies);
    };
  }
}
