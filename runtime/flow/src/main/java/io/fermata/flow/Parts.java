package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How the parts of what a recorder is told are rewritten, and told as texts. */
final class Parts {
  private Parts() {}

  static @Nullable JsonNode value(
      Recorded.Rewriting rewriting, String path, @Nullable JsonNode value) {
    return value == null ? null : rewriting.value(path, value);
  }

  static @Nullable String text(Recorded.Rewriting rewriting, @Nullable String text) {
    return text == null ? null : rewriting.text(text);
  }

  static Map<String, JsonNode> values(Recorded.Rewriting rewriting, Map<String, JsonNode> values) {
    Map<String, JsonNode> rewritten = new LinkedHashMap<>();
    values.forEach((path, value) -> rewritten.put(path, rewriting.value(path, value)));
    return rewritten;
  }

  static List<Write> writes(Recorded.Rewriting rewriting, List<Write> writes) {
    return writes.stream()
        .map(w -> new Write(w.verb(), w.path(), value(rewriting, w.at(), w.value())))
        .toList();
  }

  static Event.Question question(Recorded.Rewriting rewriting, Event.Question question) {
    return new Event.Question(
        question.field(),
        rewriting.text(question.question()),
        question.schema(),
        question.suggestions().stream().map(rewriting::text).toList(),
        text(rewriting, question.context()));
  }

  static Event.Widget widget(Recorded.Rewriting rewriting, Event.Widget widget) {
    JsonNode data = widget.data() == null ? null : rewriting.value(widget.data());
    return new Event.Widget(
        widget.tool(), data, widget.interactive(), widget.field(), widget.schema());
  }

  static List<Event.Tried> tried(
      Recorded.Rewriting rewriting, Moment moment, List<Event.Tried> tried) {
    List<Event.Tried> rewritten = new ArrayList<>();
    for (Event.Tried rule : tried) {
      List<Event.Seen> seen =
          rule.seen().stream().map(look -> seen(rewriting, moment, look)).toList();
      rewritten.add(new Event.Tried(rewriting.text(rule.rule()), rule.matched(), seen));
    }
    return rewritten;
  }

  private static Event.Seen seen(Recorded.Rewriting rewriting, Moment moment, Event.Seen seen) {
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
