package io.fermata.flow.observe;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How the parts of what a recorder is told are rewritten, and told as texts. */
final class ObservationText {
  private ObservationText() {}

  static @Nullable JsonNode value(
      Observation.Rewriting rewriting, String path, @Nullable JsonNode value) {
    return value == null ? null : rewriting.value(path, value);
  }

  static @Nullable String text(Observation.Rewriting rewriting, @Nullable String text) {
    return text == null ? null : rewriting.text(text);
  }

  static Map<String, JsonNode> values(
      Observation.Rewriting rewriting, Map<String, JsonNode> values) {
    Map<String, JsonNode> rewritten = new LinkedHashMap<>();
    values.forEach((path, value) -> rewritten.put(path, rewriting.value(path, value)));
    return rewritten;
  }

  static List<Write> writes(Observation.Rewriting rewriting, List<Write> writes) {
    return writes.stream()
        .map(w -> new Write(w.verb(), w.path(), value(rewriting, w.at(), w.value())))
        .toList();
  }

  static Event.Question question(Observation.Rewriting rewriting, Event.Question question) {
    return new Event.Question(
        question.field(),
        rewriting.text(question.question()),
        question.schema(),
        question.suggestions().stream().map(rewriting::text).toList(),
        text(rewriting, question.context()));
  }

  static Event.Widget widget(Observation.Rewriting rewriting, Event.Widget widget) {
    JsonNode data = widget.data() == null ? null : rewriting.value(widget.data());
    return new Event.Widget(
        widget.tool(), data, widget.interactive(), widget.field(), widget.schema());
  }

  static List<Event.Tried> tried(
      Observation.Rewriting rewriting, Occurrence moment, List<Event.Tried> tried) {
    List<Event.Tried> rewritten = new ArrayList<>();
    for (Event.Tried rule : tried) {
      List<Event.Seen> seen =
          rule.seen().stream().map(look -> seen(rewriting, moment, look)).toList();
      rewritten.add(new Event.Tried(rewriting.text(rule.rule()), rule.matched(), seen));
    }
    return rewritten;
  }

  private static Event.Seen seen(
      Observation.Rewriting rewriting, Occurrence moment, Event.Seen seen) {
    JsonNode than = seen.than();
    if (than != null) {
      String other = seen.otherField();
      than = other == null ? rewriting.value(than) : rewriting.value(moment.field(other), than);
    }
    return new Event.Seen(
        seen.what(),
        value(rewriting, moment.field(seen.what()), seen.is()),
        seen.op(),
        than,
        seen.held());
  }

  static List<String> evidence(List<Event.Tried> tried) {
    List<String> evidence = new ArrayList<>();
    tried.forEach(rule -> rule.seen().forEach(seen -> evidence.add(text(seen))));
    return evidence;
  }

  static String text(Event.Seen seen) {
    StringBuilder text = new StringBuilder(seen.what());
    String op = seen.op();
    JsonNode than = seen.than();
    boolean field = seen.otherField() != null;
    if (op != null) {
      text.append(' ').append(op);
      if (than != null) {
        text.append(field ? " (" : " ").append(Json.text(than)).append(field ? ")" : "");
      }
    }
    text.append(": ").append(seen.is() == null ? "nothing" : Json.text(seen.is()));
    if (seen.held() != null) {
      text.append(" (").append(seen.held()).append(')');
    }
    return text.toString();
  }
}
