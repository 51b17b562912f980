package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fact;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Replaces values in a fact as in the tree that a journal has of it: all texts in it but the names
 * that a flow gives, so that a text that an event learns to hold is replaced as well.
 */
public final class FactValues {
  /** What holds names, of nodes, fields and the like, or words of the journal. */
  private static final Set<String> NAMES =
      names(
          "e place from to undo done acknowledged recipients branch checkpoint label merged dropped",
          "targets nodes fields places scope kept end field path reads what op tool signal left",
          "schema fingerprint code resume status source verb cause progression recorder relocated");

  /** What holds values by the paths of their fields. */
  private static final Set<String> BY_PATH = names("sets input corrected values read");

  /** What holds the value of the field that is named beside it. */
  private static final Set<String> OF_FIELD = names("value payload given normalised is");

  /** What holds a value that is of no field. */
  private static final Set<String> VALUES = names("item data result");

  private final Replacement replacement;
  private final UnaryOperator<String> field;

  /** What stands in place of values. */
  public interface Replacement {
    /** A text with its values replaced. */
    String text(String text);

    /**
     * A value with its values replaced.
     *
     * @param path the path of the field that it is of, in the state of the run; null if it is of
     *     none
     */
    JsonNode value(@Nullable String path, JsonNode value);
  }

  /**
   * Replaces in facts of one place.
   *
   * @param field the path of a field, by the name that decisions there have for it
   */
  FactValues(Replacement replacement, UnaryOperator<String> field) {
    this.replacement = replacement;
    this.field = field;
  }

  private static Set<String> names(String... lines) {
    return Set.of(String.join(" ", lines).split(" "));
  }

  /** An event of a journal with its values replaced. */
  public static Event replaced(Event event, Replacement replacement) {
    Place place = event.place();
    Occurrence moment =
        new Occurrence("", "", "", 0, 0, 0, place, Observation.Kind.UNKNOWN, null, false);
    return new FactValues(replacement, moment::field).in(event);
  }

  <F extends Fact> F in(F fact) {
    JsonNode tree = Json.MAPPER.valueToTree(fact);
    JsonNode replaced = replaced(tree);
    @SuppressWarnings("unchecked") // it is read as what it was
    Class<F> kind = (Class<F>) fact.getClass();
    return replaced.equals(tree) ? fact : Json.value(replaced, kind);
  }

  private JsonNode replaced(JsonNode tree) {
    return tree.isTextual()
        ? TextNode.valueOf(replacement.text(tree.textValue()))
        : Json.mapped(
            tree, (name, part) -> tree.isArray() ? replaced(part) : replaced(tree, name, part));
  }

  private JsonNode replaced(JsonNode whole, String name, JsonNode part) {
    if (NAMES.contains(name)) {
      return part;
    } else if (BY_PATH.contains(name)) {
      return Json.mapped(part, replacement::value);
    } else if (OF_FIELD.contains(name)) {
      return replacement.value(path(whole), part);
    } else if (name.equals("than")) {
      String other = Json.value(whole, Event.Seen.class).otherField();
      return replacement.value(other == null ? null : field.apply(other), part);
    }
    return VALUES.contains(name) ? replacement.value(null, part) : replaced(part);
  }

  /** The path of the field that an object names, if it does. */
  private @Nullable String path(JsonNode object) {
    if (object.has("what")) {
      return field.apply(object.path("what").asText());
    }
    JsonNode path = object.has("path") ? object.get("path") : object.get("field");
    boolean element = object.path("verb").asText().equals(Write.Verb.APPEND.name());
    return path == null ? null : path.asText() + (element ? ".0" : "");
  }
}
