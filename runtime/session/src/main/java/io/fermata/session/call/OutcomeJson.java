package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The JSON of outcomes for clients. */
public final class OutcomeJson {
  /** The status of a run that waits for a moment or a signal. */
  public static final String WAITING = "waiting";

  /** What a run waits for that nobody can hurry. */
  public static final String TIME = "time";

  private OutcomeJson() {}

  /** Whether a reply says that its run waits for a moment or a signal. */
  public static boolean waits(JsonNode body) {
    return body.path("status").asText().equals(WAITING);
  }

  public static ObjectNode body(Outcome outcome) {
    ObjectNode body = Json.object();
    if (outcome instanceof Outcome.Failure failure) {
      failure(body, failure);
    } else {
      body.put("status", status(outcome));
      put(body, outcome);
    }
    return body;
  }

  /** The body of the reply to the call that cancelled a run. */
  public static ObjectNode cancelled() {
    return body(new Outcome.Complete(null, "The run was cancelled.")).put("cancelled", true);
  }

  private static String status(Outcome outcome) {
    if (outcome instanceof Outcome.Interrupt) {
      return "interrupt";
    } else if (outcome instanceof Outcome.ShowWidget) {
      return "widget";
    } else if (outcome instanceof Outcome.Waiting) {
      return WAITING;
    }
    return "complete";
  }

  private static void put(ObjectNode body, Outcome outcome) {
    if (outcome instanceof Outcome.Interrupt interrupt) {
      interrupt(body, interrupt);
    } else if (outcome instanceof Outcome.ShowWidget show) {
      widget(body, show.widget());
    } else if (outcome instanceof Outcome.Waiting waiting) {
      waiting(body, waiting);
    } else if (outcome instanceof Outcome.Complete complete) {
      putIfPresent(body, "result", complete.result());
      if (complete.reason() != null) {
        body.put("reason", complete.reason());
      }
      violations(body, complete.violations());
    }
  }

  /** Puts the result of a completed run into another reply about it. */
  public static void copyResult(JsonNode completed, ObjectNode body) {
    for (String property : List.of("result", "reason")) {
      putIfPresent(body, property, completed.get(property));
    }
  }

  private static void interrupt(ObjectNode body, Outcome.Interrupt interrupt) {
    Event.Question only = interrupt.questions().get(0);
    if (interrupt.questions().size() == 1 && free(body, only.field())) {
      question(body, only);
      if (only.context() == null && interrupt.context() != null) {
        body.put("context", interrupt.context());
      }
      return;
    }
    ArrayNode questions = body.putArray("questions");
    interrupt.questions().forEach(question -> question(questions.addObject(), question));
    if (interrupt.context() != null) {
      body.put("context", interrupt.context());
    }
  }

  /** Whether the property {@code field} is still free, or names the same field. */
  private static boolean free(ObjectNode body, String field) {
    return !body.has("field") || body.path("field").textValue().equals(field);
  }

  private static void question(ObjectNode body, Event.Question question) {
    body.put("question", question.question());
    body.put("field", question.field());
    putIfPresent(body, "fieldSchema", question.schema());
    if (question.optional()) {
      body.put("optional", true);
    }
    if (!question.suggestions().isEmpty()) {
      question.suggestions().forEach(body.putArray("suggestions")::add);
    }
    if (question.context() != null) {
      body.put("context", question.context());
    }
  }

  /** Puts a hint for the model in front of the context that a reply has. */
  public static void hint(ObjectNode body, String hint) {
    String context = body.path("context").asText();
    body.put("context", context.isEmpty() ? hint : hint + "\n" + context);
  }

  private static void widget(ObjectNode body, Event.Widget widget) {
    body.put("tool", widget.tool());
    putIfPresent(body, "data", widget.data());
    body.put("description", description(widget));
    body.put("interactive", widget.interactive());
    if (widget.field() != null && free(body, widget.field())) {
      body.put("field", widget.field());
      putIfPresent(body, "fieldSchema", widget.schema());
    }
  }

  private static void waiting(ObjectNode body, Outcome.Waiting waiting) {
    body.put("waitsFor", waiting.waitsFor());
    if (waiting.until() != null) {
      body.put("until", time(waiting.until()));
    }
    body.put("description", waiting.description());
  }

  private static String description(Event.Widget widget) {
    String show =
        "Call the tool "
            + widget.tool()
            + " with the object in data, and the sessionId if there is one";
    String answer =
        widget.field() == null
            ? "call this tool with action continue"
            : "call this tool with action continue and the choice as "
                + widget.field()
                + " in stateUpdates";
    return widget.interactive()
        ? show + ", and wait for the user. When the user has chosen, " + answer + "."
        : show + ", to show it to the user. Then " + answer + ".";
  }

  private static void failure(ObjectNode body, Outcome.Failure failure) {
    body.put("status", "error");
    body.put("code", failure.code());
    body.put("error", failure.message());
    if (failure.field() != null) {
      body.put("field", failure.field());
    }
    violations(body, failure.violations());
    if (failure.open() != null) {
      put(body, failure.open());
    }
  }

  private static void violations(ObjectNode body, List<Violation> violations) {
    if (!violations.isEmpty()) {
      ArrayNode listed = body.putArray("violations");
      violations.forEach(
          v -> listed.addObject().put("field", v.field()).put("message", v.message()));
    }
  }

  private static void putIfPresent(ObjectNode body, String name, @Nullable JsonNode value) {
    if (value != null && !value.isNull()) {
      body.set(name, value);
    }
  }

  /**
   * The position and state of a run, for {@code action: status}.
   *
   * @param state the part of the state to show
   */
  public static ObjectNode run(RunState run, JsonNode state) {
    ObjectNode report = Json.object();
    report.put("intent", run.intent());
    report.put("startedAt", time(run.startedAt()));
    report.put("since", time(run.since()));
    ArrayNode places = report.putArray("places");
    run.places().keySet().forEach(place -> places.add(place.node()));
    if (!run.tags().isEmpty()) {
      run.tags().forEach(report.putArray("tags")::add);
    }
    report.set("state", state);
    return report;
  }

  public static String time(long millis) {
    return Instant.ofEpochMilli(millis).toString();
  }
}
