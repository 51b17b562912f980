package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Describes replies and events for a person who reads a failed test. */
final class Story {
  static final int LINES = 16;
  private static final int MAX_LENGTH = 160;
  private static final int MAX_EVENT = 400;

  private Story() {}

  static String of(JsonNode body) {
    String status = body.path("status").asText();
    if (status.equals("complete")) {
      return "it completed with " + json(body.get("result"));
    }
    String open = pause(body);
    return status.equals("error")
        ? "it failed with %s: %s%s"
            .formatted(
                body.path("code").asText(),
                body.path("error").asText(),
                open.isEmpty() ? "" : "\nand still " + open)
        : "it " + open;
  }

  private static String pause(JsonNode body) {
    if (body.has("tool")) {
      return "shows the widget "
          + body.path("tool").asText()
          + (body.has("fieldSchema") ? " for " + body.path("field").asText() : "")
          + " with "
          + json(body.get("data"));
    } else if (body.has("waitsFor")) {
      return "waits for " + body.path("waitsFor").asText();
    }
    List<JsonNode> questions = questions(body);
    return questions.isEmpty()
        ? ""
        : "asks " + questions.stream().map(Story::question).collect(Collectors.joining(", "));
  }

  /** The questions that a reply asks, whether it has one or several. */
  static List<JsonNode> questions(JsonNode body) {
    if (body.has("questions")) {
      return body.path("questions").valueStream().toList();
    }
    return body.has("question") ? List.of(body) : List.of();
  }

  static List<String> suggestions(JsonNode question) {
    return question.path("suggestions").valueStream().map(JsonNode::asText).toList();
  }

  private static String question(JsonNode question) {
    List<String> suggestions = suggestions(question);
    String offered = suggestions.isEmpty() ? "" : " offering " + suggestions;
    String open = question.path("optional").asBoolean() ? " (optional)" : "";
    return question.path("field").asText()
        + " \""
        + question.path("question").asText()
        + "\""
        + offered
        + open;
  }

  static String of(Event event) {
    if (event instanceof Event.Started e) {
      return "started version " + e.version() + " because \"" + e.intent() + "\"";
    } else if (event instanceof Event.Answered e) {
      return "answered " + values(e.values());
    } else if (event instanceof Event.Accepted e) {
      String value = e.value() == null ? "" : " as " + json(e.value());
      String sets = e.sets().isEmpty() ? "" : ", which sets " + values(e.sets());
      return e.place() + " accepted " + e.field() + value + sets;
    } else if (event instanceof Event.Rejected e) {
      return e.place() + " rejected " + e.field() + ": " + e.message();
    } else if (event instanceof Event.Passed e) {
      String took = e.value() == null ? "" : ", which takes its default " + json(e.value());
      return e.place() + " was left without " + e.field() + took;
    } else if (event instanceof Event.Asked e) {
      return e.place() + " asked " + list(e.questions(), Event.Question::field);
    } else if (event instanceof Event.Committed e) {
      return e.place() + " wrote " + writes(e);
    } else if (event instanceof Event.Tagged e) {
      String without = tags(" without ", e.removed());
      return e.place() + " tagged the run" + tags(" with ", e.added()) + without;
    } else if (event instanceof Event.Moved e) {
      return e.to().node().equals(Flow.END) ? "→ END" : "→ " + e.to();
    }
    return Texts.shortened(Json.text(Json.tree(event)), MAX_EVENT);
  }

  private static String tags(String how, List<String> tags) {
    return tags.isEmpty() ? "" : how + String.join(", ", tags);
  }

  private static String writes(Event.Committed e) {
    return e.writes().isEmpty()
        ? "nothing"
        : list(
            e.writes(), w -> w.path() + (w.value() == null ? " deleted" : " = " + json(w.value())));
  }

  private static String values(Map<String, JsonNode> values) {
    return Texts.shortened(
        list(values.entrySet(), e -> e.getKey() + " = " + e.getValue()), MAX_LENGTH);
  }

  private static <T> String list(Collection<T> some, Function<T, ?> text) {
    return some.stream().map(text).map(String::valueOf).collect(Collectors.joining(", "));
  }

  private static String json(@Nullable JsonNode value) {
    return value == null ? "nothing" : Texts.shortened(value.toString(), MAX_LENGTH);
  }
}
