package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.time.Instant;
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
      String field = body.has("fieldSchema") ? body.path("field").asText() : null;
      return "shows " + widget(body.path("tool").asText(), field, body.get("data"));
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

  private static String widget(String tool, @Nullable String field, @Nullable JsonNode data) {
    return "the widget " + tool + (field == null ? "" : " for " + field) + " with " + json(data);
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
    } else if (event instanceof Event.Misplaced e) {
      return e.place() + " has no item for " + String.join(", ", e.fields());
    } else if (event instanceof Event.Passed e) {
      String took = e.value() == null ? "" : ", which takes its default " + json(e.value());
      return e.place() + " was left without " + e.field() + took;
    } else if (event instanceof Event.Asked e) {
      return e.place() + " asked " + list(e.questions(), Event.Question::field);
    } else if (event instanceof Event.Shown e) {
      Event.Widget widget = e.widget();
      return e.place() + " showed " + widget(widget.tool(), widget.field(), widget.data());
    } else if (event instanceof Event.Attempted e) {
      return e.place() + " attempt " + e.attempt() + checked(e.field());
    } else if (event instanceof Event.AttemptFailed e) {
      return e.place() + " attempt " + e.attempt() + " failed: " + because(e.message(), e.detail());
    } else if (event instanceof Event.Committed e) {
      return e.place() + " wrote " + writes(e);
    } else if (event instanceof Event.Decided e) {
      return e.place() + decided(e) + ", having tried " + tried(e);
    } else if (event instanceof Event.Moved e) {
      return e.to().node().equals(Flow.END) ? "→ END" : "→ " + e.to();
    } else if (event instanceof Event.Stopped e) {
      String why = because(e.message(), e.detail());
      return e.place() + " stopped with " + e.code().wireName() + ": " + why;
    } else if (event instanceof Event.Retried e) {
      return e.place() + " is tried again";
    } else if (event instanceof Event.Skipped e) {
      return e.place() + " is taken as done";
    } else if (event instanceof Event.Reset e) {
      return "reset to " + list(e.to(), Event.Back::place) + " with " + values(e.corrected());
    } else if (event instanceof Event.Completed e) {
      return "completed with " + json(e.result());
    } else if (event instanceof Event.Cancelled) {
      return "cancelled";
    } else if (event instanceof Event.Expired) {
      return "expired";
    } else if (event instanceof Event.Abandoned) {
      return "abandoned for a new run";
    }
    return rarer(event);
  }

  private static String rarer(Event event) {
    if (event instanceof Event.Migrated e) {
      return "migrated from version " + e.from() + " to version " + e.to();
    } else if (event instanceof Event.ForkedFrom e) {
      return "forked from entry " + e.origin().entry() + " of run " + e.origin().runId();
    } else if (event instanceof Event.Forked e) {
      return e.place() + " forked into " + list(e.heads(), Event.Head::label);
    } else if (event instanceof Event.Arrived e) {
      return e.place() + " arrived at the join";
    } else if (event instanceof Event.BranchFailed e) {
      return e.place() + " failed and was dropped: " + e.message();
    } else if (event instanceof Event.Joined e) {
      String dropped = e.dropped().isEmpty() ? "" : ", dropping " + String.join(", ", e.dropped());
      return e.place() + " joined " + String.join(", ", e.merged()) + dropped;
    } else if (event instanceof Event.Opened e) {
      return e.place() + " opened with " + values(e.input());
    } else if (event instanceof Event.Closed e) {
      return e.place() + " closed with " + json(e.result());
    } else if (event instanceof Event.Broken e) {
      return e.place() + " ended the flow: " + e.reason();
    } else if (event instanceof Event.Slept e) {
      return e.place() + " sleeps until " + Instant.ofEpochMilli(e.until());
    } else if (event instanceof Event.Awaited e) {
      return e.place() + " waits for the signal " + e.signal();
    } else if (event instanceof Event.Signalled e) {
      return "signal " + e.signal() + " with " + json(e.payload());
    } else if (event instanceof Event.Received e) {
      return e.place() + " took the signal " + e.signal();
    } else if (event instanceof Event.Unattended) {
      return "nobody waits for the run any more";
    } else if (event instanceof Event.Woken e) {
      return e.place() + " wakes";
    } else if (event instanceof Event.DeadlinePassed e) {
      return e.place() + " missed its deadline";
    } else if (event instanceof Event.Reminding e) {
      return e.place() + " sends reminder " + e.number();
    } else if (event instanceof Event.Reminded e) {
      String failed = e.failure() == null ? " was sent" : " failed: " + e.failure();
      return e.place() + " reminder " + e.number() + failed;
    } else if (event instanceof Event.Undoing e) {
      return e.place() + " is to be undone";
    } else if (event instanceof Event.Undone e) {
      return e.place() + " is undone";
    } else if (event instanceof Event.Ending e) {
      return e.code() == null ? "to be cancelled" : "to end with " + e.code().wireName();
    } else if (event instanceof Event.Tagged e) {
      String without = tags(" without ", e.removed());
      return e.place() + " tagged the run" + tags(" with ", e.added()) + without;
    } else if (event instanceof Event.Failed e) {
      return "failed: " + e.message();
    }
    return Texts.shortened(Json.text(Json.tree(event)), MAX_LENGTH);
  }

  private static String tags(String how, List<String> tags) {
    return tags.isEmpty() ? "" : how + String.join(", ", tags);
  }

  private static String checked(@Nullable String field) {
    return field == null ? "" : " to check " + field;
  }

  private static String because(String message, String detail) {
    return Texts.shortened(detail.isEmpty() ? message : message + " (" + detail + ")", MAX_LENGTH);
  }

  private static String writes(Event.Committed e) {
    return e.writes().isEmpty()
        ? "nothing"
        : list(
            e.writes(), w -> w.path() + (w.value() == null ? " deleted" : " = " + json(w.value())));
  }

  private static String decided(Event.Decided e) {
    return e.targets().isEmpty()
        ? " could not decide"
        : " decided for " + String.join(", ", e.targets());
  }

  private static String tried(Event.Decided e) {
    return e.tried().stream()
        .map(t -> t.rule() + (t.matched() ? " (yes" : " (no") + seen(t) + ")")
        .collect(Collectors.joining(", "));
  }

  private static String seen(Event.Tried tried) {
    String seen =
        tried.seen().stream()
            .map(s -> s.what() + (s.is() == null ? " is absent" : " = " + s.is()))
            .distinct()
            .collect(Collectors.joining(", "));
    return seen.isEmpty() ? "" : ": " + Texts.shortened(seen, MAX_LENGTH);
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
