package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The names after one migration, for an event as in the tree that a journal has of it: by the names
 * of its properties, so that an event that learns to hold such a property is renamed, too.
 *
 * @param at the place of the event, at whose fork the labels in it are branches
 */
public record RenamedEvent(
    Map<String, String> nodes, Map<String, String> fields, @Nullable Place at) {
  private static final Set<String> NODES =
      names("place from to acknowledged undo target end checkpoint");
  private static final Set<String> FIELDS = names("field path scope reads kept left");
  private static final Set<String> BY_FIELD = names("values sets corrected input");

  /** What a field or a path beside it says the place of in the state. */
  private static final Set<String> VALUES = names("value payload");

  private static final Set<String> LABELS = names("targets merged dropped");

  /** What holds such properties. */
  private static final Set<String> PARTS = names("to questions widget heads");

  private static Set<String> names(String line) {
    return Set.of(line.split(" "));
  }

  /** The event as a later version of its flow would call what it names. */
  public static Event of(Event event, Map<String, String> nodes, Map<String, String> fields) {
    RenamedEvent names = new RenamedEvent(nodes, fields, event.place());
    JsonNode tree = names.of(Json.MAPPER.<JsonNode>valueToTree(event));
    return Json.value(tree, Event.class);
  }

  private JsonNode of(JsonNode object) {
    JsonNode path = object.path(object.has("path") ? "path" : "field");
    JsonNode named =
        Json.mapped(
            object,
            (name, part) ->
                VALUES.contains(name) && path.isTextual()
                    ? value(path.textValue(), part)
                    : of(name, part));
    if (named.path("sets") instanceof ObjectNode sets) {
      movedOut(path.asText(), object.path("value")).forEach(sets::putIfAbsent);
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
      ObjectNode named = keys(part, this::value);
      part.properties()
          .forEach(e -> movedOut(e.getKey(), e.getValue()).forEach(named::putIfAbsent));
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
      return text.contains("#") ? place(Place.parse(text)).toString() : node(text);
    } else if (FIELDS.contains(property)) {
      return field(text);
    } else if (property.equals("label")) {
      return MigrationFold.label(Objects.requireNonNull(at), text, nodes);
    }
    return property.equals("branch") ? MigrationFold.branch(text, nodes) : text;
  }

  private String node(String name) {
    return MigrationFold.checkpoint(name, nodes);
  }

  private Place place(Place place) {
    return place.undoes()
        ? MigrationFold.place(place.undone(), nodes).undo()
        : MigrationFold.place(place, nodes);
  }

  private String field(String path) {
    return MigrationFold.field(path, fields);
  }

  /** What lies in the value of a field may have other names, too. */
  private JsonNode value(String path, JsonNode value) {
    return value.isObject() ? MigrationFold.value(path, value, fields) : value;
  }

  /** The parts of a value that have a place outside of it now. */
  private Map<String, JsonNode> movedOut(String path, JsonNode value) {
    if (!value.isObject()) {
      return Map.of();
    }
    Map<String, JsonNode> moved = MigrationFold.movedOut(path, value, fields);
    moved.values().removeIf(JsonNode::isMissingNode);
    return moved;
  }

  /** Who alone gets a value alone gets what has left it, too. */
  private void moveOut(String path, JsonNode value, ObjectNode recipients) {
    JsonNode alone = recipients.path(field(path));
    movedOut(path, value).keySet().forEach(out -> recipients.putIfAbsent(out, alone));
  }

  /** A part that has a place outside of what is written now is a write of its own. */
  private ArrayNode writes(JsonNode writes) {
    ArrayNode all = Json.MAPPER.createArrayNode();
    for (JsonNode tree : writes) {
      all.add(of(tree));
      Write write = Json.value(tree, Write.class);
      MigrationFold.movedOut(write.path(), tree.path("value"), fields)
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
