package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The new names of nodes and fields after one migration, by their old ones. */
public record Renaming(Map<String, String> nodes, Map<String, String> fields) {
  private static final Set<String> NODES =
      names("place from to acknowledged undo target end checkpoint");
  private static final Set<String> FIELDS = names("field fields path scope reads kept left");
  private static final Set<String> BY_FIELD = names("values sets corrected input");

  /** What a field or a path beside it says the place of in the state. */
  private static final Set<String> VALUES = names("value payload");

  private static final Set<String> LABELS = names("targets merged dropped");

  /** What holds such properties. */
  private static final Set<String> PARTS = names("to questions widget heads");

  private static Set<String> names(String line) {
    return Set.of(line.split(" "));
  }

  /** The names that a migration gives. */
  public static Renaming by(Event.Migrated migrated) {
    return new Renaming(migrated.nodes(), migrated.fields());
  }

  // --- names ----------------------------------------------------------------------------------

  /** The new name of a field, where {@code *} in the names stands for any item of a list. */
  String field(String path) {
    String at = path;
    while (at != null) {
      String now = fields.get(at);
      now = now == null ? inItem(at) : now;
      if (now != null) {
        return now + path.substring(at.length());
      }
      int dot = at.lastIndexOf('.');
      at = dot < 0 ? null : at.substring(0, dot);
    }
    return path;
  }

  private @Nullable String inItem(String path) {
    String[] parts = path.split("\\.", -1);
    for (Map.Entry<String, String> each : fields.entrySet()) {
      String[] old = each.getKey().split("\\.", -1);
      List<String> items = new ArrayList<>();
      boolean named = old.length == parts.length;
      for (int i = 0; named && i < parts.length; i++) {
        boolean item = old[i].equals(Paths.ANY);
        named = item || old[i].equals(parts[i]);
        if (item) {
          items.add(parts[i]);
        }
      }
      if (named) {
        return inItems(each.getValue(), items);
      }
    }
    return null;
  }

  private static String inItems(String field, List<String> items) {
    Iterator<String> next = items.iterator();
    List<String> parts = new ArrayList<>();
    for (String part : field.split("\\.", -1)) {
      parts.add(part.equals(Paths.ANY) && next.hasNext() ? next.next() : part);
    }
    return String.join(".", parts);
  }

  /** The new name of a node, or of what is named after it: a part of a mounted flow. */
  public String node(String path) {
    for (String at = path; ; at = at.substring(0, at.lastIndexOf('/'))) {
      String now = nodes.get(at);
      if (now != null) {
        return now + path.substring(at.length());
      }
      if (at.lastIndexOf('/') < 0) {
        return path;
      }
    }
  }

  /** The name of a checkpoint: that of a node, or of the moment before it forked. */
  String checkpoint(String name) {
    String node = Fold.checkpointNode(name);
    return node(node) + name.substring(node.length());
  }

  /** The new name of a place. */
  public Place place(Place place) {
    return new Place(branch(place.branch()), node(place.node()), place.visit());
  }

  /** A branch is named after the place that forked and the node that it begins with. */
  String branch(String name) {
    Place fork = Place.forkOf(name);
    return fork == null ? name : place(fork).branch(label(fork, Place.labelOf(name)));
  }

  /** The item of a list is a number, which no node of the same flow is taken for. */
  String label(Place fork, String label) {
    String node = fork.node();
    String head = node.substring(0, node.lastIndexOf('/') + 1) + label;
    String now = nodes.getOrDefault(head, label);
    return now.substring(now.lastIndexOf('/') + 1);
  }

  // --- values ---------------------------------------------------------------------------------

  /** The value at a path by the new names of what lies in it; the empty path is the whole state. */
  JsonNode value(String path, JsonNode value) {
    return path.isEmpty()
        ? renamed((ObjectNode) value)
        : Paths.get(renamed(Paths.set(Json.object(), path, value)), field(path));
  }

  /**
   * What lies in the value at a path and has a new name outside of it, by that name; missing where
   * the value has no such part.
   */
  Map<String, JsonNode> movedOut(String path, JsonNode value) {
    JsonNode whole = value.isObject() ? value : Json.object();
    ObjectNode before = path.isEmpty() ? Json.object() : Paths.set(Json.object(), path, whole);
    ObjectNode after = renamed(before);
    String now = field(path);
    Map<String, JsonNode> moved = new LinkedHashMap<>();
    here(before)
        .forEach(
            (old, name) -> {
              boolean stays = name.equals(now) || name.startsWith(now + ".");
              if (old.startsWith(path + ".") && !stays) {
                moved.put(name, Paths.get(after, name));
              }
            });
    return moved;
  }

  /**
   * All old names are taken away before the new ones come, so that two may be exchanged. What lies
   * in a renamed part under a name of its own is taken away before that, and comes after it.
   */
  public ObjectNode renamed(ObjectNode data) {
    Map<String, String> names = here(data);
    Deque<Map.Entry<String, JsonNode>> taken = new ArrayDeque<>();
    ObjectNode next = data;
    for (String old : innermostFirst(names.keySet())) {
      JsonNode value = Paths.get(next, old);
      if (!value.isMissingNode()) {
        taken.push(Map.entry(Objects.requireNonNull(names.get(old)), value));
      }
      next = Paths.delete(next, old);
    }
    for (Map.Entry<String, JsonNode> field : taken) {
      next = Paths.set(next, field.getKey(), field.getValue());
    }
    return next;
  }

  private static List<String> innermostFirst(Set<String> names) {
    return names.stream().sorted(Comparator.comparing(String::length).reversed()).toList();
  }

  /** The new names of the fields of a state by their old ones, in each item of its lists. */
  public Map<String, String> here(ObjectNode data) {
    Map<String, String> here = new LinkedHashMap<>();
    fields.forEach(
        (old, now) ->
            paths(data, List.of(old.split("\\.", -1)), List.of())
                .forEach(
                    path -> here.put(path, new Renaming(nodes, Map.of(old, now)).field(path))));
    return here;
  }

  /** The paths that a name has in a tree. */
  private static List<String> paths(JsonNode at, List<String> name, List<String> before) {
    if (before.size() == name.size()) {
      return List.of(String.join(".", before));
    }
    String part = name.get(before.size());
    List<String> parts = new ArrayList<>(List.of(part));
    if (part.equals(Paths.ANY)) {
      parts.clear();
      at.fieldNames().forEachRemaining(parts::add);
    }
    List<String> paths = new ArrayList<>();
    parts.forEach(one -> paths.addAll(paths(at.path(one), name, RunState.plus(before, one))));
    return paths;
  }

  // --- events ---------------------------------------------------------------------------------

  /**
   * The event as a later version of its flow would call what it names.
   *
   * @param to the number of that version
   */
  public Event of(Event event, int to) {
    return event instanceof Event.ForkedFrom forked ? forked.named(this, to) : of(event);
  }

  /** The same of an event that holds no results that may have these names already. */
  public Event of(Event event) {
    JsonNode tree = new InEvent(event.place()).of(Json.MAPPER.<JsonNode>valueToTree(event));
    return Json.value(tree, Event.class);
  }

  /**
   * The names in an event as in the tree that a journal has of it: by the names of its properties,
   * so that an event that learns to hold such a property is renamed, too.
   */
  private final class InEvent {
    /** The place of the event, at whose fork the labels in it are branches. */
    private final @Nullable Place at;

    InEvent(@Nullable Place at) {
      this.at = at;
    }

    private JsonNode of(JsonNode object) {
      JsonNode path = object.path(object.has("path") ? "path" : "field");
      JsonNode named =
          Json.mapped(
              object,
              (name, part) ->
                  VALUES.contains(name) && path.isTextual()
                      ? valueOf(path.textValue(), part)
                      : of(name, part));
      if (named.path("sets") instanceof ObjectNode sets) {
        left(path.asText(), object.path("value")).forEach(sets::putIfAbsent);
      }
      if (named.path("recipients") instanceof ObjectNode alone) {
        Stream.of("values", "corrected")
            .flatMap(name -> object.path(name).properties().stream())
            .filter(e -> object.path("recipients").has(e.getKey()))
            .forEach(e -> moveOut(e.getKey(), e.getValue(), alone));
      }
      return named;
    }

    private JsonNode of(String name, JsonNode part) {
      if (BY_FIELD.contains(name)) {
        ObjectNode named = keys(part, this::valueOf);
        part.properties().forEach(e -> left(e.getKey(), e.getValue()).forEach(named::putIfAbsent));
        return named;
      } else if (name.equals("writes")) {
        return writes(part);
      } else if (name.equals("recipients")) {
        return keys(part, (field, branches) -> of("branch", branches));
      } else if (part.isArray()) {
        String each = LABELS.contains(name) ? "label" : name;
        return Json.mapped(part, (index, one) -> of(each, one));
      } else if (part.isTextual()) {
        return TextNode.valueOf(text(name, part.textValue()));
      }
      return PARTS.contains(name) ? of(part) : part;
    }

    private String text(String property, String text) {
      if (NODES.contains(property)) {
        return text.contains("#") ? placeOf(Place.parse(text)).toString() : checkpoint(text);
      } else if (FIELDS.contains(property)) {
        return field(text);
      } else if (property.equals("label")) {
        return label(Objects.requireNonNull(at), text);
      }
      return property.equals("branch") ? branch(text) : text;
    }

    private Place placeOf(Place place) {
      return place.undoes() ? place(place.undone()).undo() : place(place);
    }

    /** What lies in the value of a field may have other names, too. */
    private JsonNode valueOf(String path, JsonNode value) {
      return value.isObject() ? value(path, value) : value;
    }

    /** The parts of a value that have a place outside of it now. */
    private Map<String, JsonNode> left(String path, JsonNode value) {
      if (!value.isObject()) {
        return Map.of();
      }
      Map<String, JsonNode> moved = movedOut(path, value);
      moved.values().removeIf(JsonNode::isMissingNode);
      return moved;
    }

    /** Who alone gets a value alone gets what has left it, too. */
    private void moveOut(String path, JsonNode value, ObjectNode recipients) {
      JsonNode alone = recipients.path(field(path));
      left(path, value).keySet().forEach(out -> recipients.putIfAbsent(out, alone));
    }

    /** A part that has a place outside of what is written now is a write of its own. */
    private ArrayNode writes(JsonNode writes) {
      ArrayNode all = Json.MAPPER.createArrayNode();
      for (JsonNode tree : writes) {
        all.add(of(tree));
        Write write = Json.value(tree, Write.class);
        movedOut(write.path(), tree.path("value"))
            .forEach(
                (out, part) -> {
                  if (!part.isMissingNode()) {
                    all.add(Json.tree(new Write(write.verb(), out, part)));
                  } else if (write.verb() != Write.Verb.MERGE) {
                    all.add(Json.tree(new Write(Write.Verb.DELETE, out, null)));
                  }
                });
      }
      return all;
    }

    private ObjectNode keys(JsonNode byField, BiFunction<String, JsonNode, JsonNode> value) {
      ObjectNode named = Json.object();
      byField
          .properties()
          .forEach(e -> named.set(field(e.getKey()), value.apply(e.getKey(), e.getValue())));
      return named;
    }
  }
}
