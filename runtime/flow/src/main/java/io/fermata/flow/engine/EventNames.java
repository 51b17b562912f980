package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.MigrationFold;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The events of a run as they would be called in a later version of its flow, whose migrations say
 * what became of nodes and fields. Values, and words that were said, stay as they were.
 */
public final class EventNames {
  /** Everything is called what it was. */
  public static final EventNames SAME = new EventNames(List.of());

  private final List<Renaming> steps;

  /** The new names of one migration, by their old ones. */
  private record Renaming(Map<String, String> nodes, Map<String, String> fields) {}

  private EventNames(List<Renaming> steps) {
    this.steps = steps;
  }

  /** These names, and then those of a further migration. */
  public EventNames then(Map<String, String> nodes, Map<String, String> fields) {
    if (nodes.isEmpty() && fields.isEmpty()) {
      return this;
    }
    return new EventNames(RunState.plus(steps, new Renaming(nodes, fields)));
  }

  /** Whether nothing has another name. */
  public boolean same() {
    return steps.isEmpty();
  }

  /** Events under the new names. Migrations are not among them. */
  public List<Event> of(List<Event> events) {
    if (steps.isEmpty()) {
      return events;
    }
    return events.stream().map(this::of).toList();
  }

  private Event of(Event event) {
    Event named = event;
    for (Renaming step : steps) {
      JsonNode tree = new Named(step, named.place()).of(Json.MAPPER.<JsonNode>valueToTree(named));
      named = Json.value(tree, Event.class);
    }
    return named;
  }

  /**
   * The names after one migration, for an event as in the tree that a journal has of it: by the
   * names of its properties, so that an event that learns to hold such a property is renamed, too.
   *
   * @param at the place of the event, at whose fork the labels in it are branches
   */
  private record Named(Renaming names, @Nullable Place at) {
    private static final Set<String> NODES =
        names("place from to acknowledged undo target end checkpoint");
    private static final Set<String> FIELDS = names("field path scope reads kept left");
    private static final Set<String> BY_FIELD = names("values sets corrected input");
    private static final Set<String> LABELS = names("targets merged dropped");

    /** What holds such properties. */
    private static final Set<String> PARTS = names("to questions widget heads writes");

    private static Set<String> names(String line) {
      return Set.of(line.split(" "));
    }

    JsonNode of(JsonNode object) {
      return SecretFields.mapped(object, this::of);
    }

    private JsonNode of(String name, JsonNode part) {
      if (BY_FIELD.contains(name)) {
        return keys(part, value -> value);
      } else if (name.equals("recipients")) {
        return keys(part, branches -> of("branch", branches));
      } else if (part.isArray()) {
        String each = LABELS.contains(name) ? "label" : name;
        return SecretFields.mapped(part, (index, one) -> of(each, one));
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
        return MigrationFold.label(Objects.requireNonNull(at), text, names.nodes());
      }
      return property.equals("branch") ? MigrationFold.branch(text, names.nodes()) : text;
    }

    private String node(String name) {
      return MigrationFold.checkpoint(name, names.nodes());
    }

    private Place place(Place place) {
      return place.undoes()
          ? MigrationFold.place(place.undone(), names.nodes()).undo()
          : MigrationFold.place(place, names.nodes());
    }

    private String field(String path) {
      return MigrationFold.field(path, names.fields());
    }

    private ObjectNode keys(JsonNode byField, UnaryOperator<JsonNode> value) {
      ObjectNode named = Json.object();
      byField.properties().forEach(e -> named.set(field(e.getKey()), value.apply(e.getValue())));
      return named;
    }
  }
}
