package io.fermata.flow.route;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Texts;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the test of one rule has looked at, in order and each look once, small enough to journal.
 */
public final class Evidence {
  static final int LONGEST = 200;

  private final Set<Event.Seen> seen = new LinkedHashSet<>();

  /** A function read a value. */
  public void read(String what, JsonNode is) {
    seen.add(new Event.Seen(shortened(what), small(is), null, null, null));
  }

  /** A condition compared a value. */
  public void compared(
      String what, JsonNode is, String operator, @Nullable JsonNode than, boolean held) {
    JsonNode other = than == null ? null : small(than);
    seen.add(new Event.Seen(what, small(is), operator, other, held));
  }

  public List<Event.Seen> seen() {
    return List.copyOf(seen);
  }

  /** What was kept of a value, as JSON: of a long list or record, it is a text that begins so. */
  public static String text(JsonNode kept) {
    String text = kept.isTextual() ? kept.textValue() : "";
    boolean cut = text.length() >= LONGEST - 1 && text.endsWith("…");
    return cut && (text.startsWith("[") || text.startsWith("{")) ? text : Json.text(kept);
  }

  private static @Nullable JsonNode small(JsonNode value) {
    if (Paths.absent(value)) {
      return null;
    }
    if (value.isContainerNode()) {
      String text = Json.text(value);
      return text.length() > LONGEST ? Json.tree(shortened(text)) : value;
    }
    return value.isTextual() && value.textValue().length() > LONGEST
        ? Json.tree(shortened(value.textValue()))
        : value;
  }

  private static String shortened(String text) {
    return text.length() > LONGEST ? Texts.shortened(text, LONGEST - 1) : text;
  }
}
