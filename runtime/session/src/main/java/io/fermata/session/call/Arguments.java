package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import io.fermata.session.key.HostError;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The valid arguments of a call, with the hints of its {@code _meta}. */
public record Arguments(
    CallAction action,
    String intent,
    ObjectNode updates,
    @Nullable String sessionId,
    @Nullable String callId,
    @Nullable Long expectedSeq,
    Input.@Nullable Resolution resolution,
    @Nullable QuestionIds asked) {

  public static final String CALL_ID = "fermata/callId";
  static final String SEQ = "fermata/seq";
  public static final String RESOLVE = "fermata/resolve";
  static final String ASKED = "fermata/asked";
  private static final List<String> KNOWN =
      List.of("action", "intent", "stateUpdates", "sessionId");
  private static final int MOST_VIOLATIONS = 20;
  private static final int LONGEST_NAME = 80;
  private static final int LONGEST_CALL_ID = 200;
  private static final int LONGEST_INTENT = 8_192;

  /** The request to the run. */
  public Request.OfRun request() {
    boolean any = expectedSeq == null && asked == null;
    return new Request.OfRun(
        action,
        intent,
        updates,
        resolution,
        null,
        any ? null : new Request.Only(null, expectedSeq, asked),
        null);
  }

  /** The arguments, or their violations. */
  public sealed interface Parsed {}

  public record Valid(Arguments arguments) implements Parsed {}

  public record Invalid(Outcome.Failure failure) implements Parsed {}

  public static Parsed read(ToolCall call) {
    return new Reader(call).read();
  }

  private static final class Reader {
    private final ObjectNode arguments;
    private final ObjectNode meta;
    private final List<Violation> violations = new ArrayList<>();

    Reader(ToolCall call) {
      this.arguments = call.arguments();
      this.meta = call.meta();
    }

    Parsed read() {
      unknown();
      Optional<CallAction> action = action();
      String intent = text("intent");
      if (intent != null && intent.length() > LONGEST_INTENT) {
        violations.add(new Violation("intent", "is longer than " + LONGEST_INTENT + " characters"));
      }
      Arguments read =
          new Arguments(
              action.orElse(CallAction.STATUS),
              intent == null ? "" : intent,
              updates(),
              text("sessionId"),
              callId(),
              seq(),
              resolution(),
              asked());
      return violations.isEmpty() ? new Valid(read) : new Invalid(failure());
    }

    private Outcome.Failure failure() {
      String message = Violation.listed(HostError.INVALID_ARGUMENTS.cause(), violations);
      return new Outcome.Failure(
          HostError.INVALID_ARGUMENTS.wireName(), message, null, violations, null);
    }

    private void unknown() {
      arguments
          .fieldNames()
          .forEachRemaining(
              name -> {
                if (!KNOWN.contains(name) && violations.size() < MOST_VIOLATIONS) {
                  violations.add(
                      new Violation(Texts.shortened(name, LONGEST_NAME), unknownArgument(name)));
                }
              });
    }

    private static String unknownArgument(String name) {
      return Nearest.to(Texts.shortened(name, LONGEST_NAME), KNOWN)
          .map(near -> "is not an argument; did you mean " + near + "?")
          .orElse("is not an argument; answers belong into stateUpdates");
    }

    private Optional<CallAction> action() {
      JsonNode given = arguments.path("action");
      Optional<CallAction> action =
          given.isTextual() ? CallAction.named(given.textValue()) : Optional.empty();
      if (action.isEmpty()) {
        violations.add(
            new Violation(
                "action",
                (given.isMissingNode() ? "is missing; it is" : "must be")
                    + " one of "
                    + String.join(", ", CallAction.NAMES)));
      }
      return action;
    }

    private @Nullable String text(String name) {
      JsonNode given = arguments.path(name);
      if (given.isMissingNode() || given.isNull()) {
        return null;
      }
      if (!given.isTextual()) {
        violations.add(new Violation(name, "must be a string"));
        return null;
      }
      return given.textValue().isEmpty() ? null : given.textValue();
    }

    private ObjectNode updates() {
      JsonNode given = arguments.path("stateUpdates");
      if (given instanceof ObjectNode object) {
        return object;
      }
      if (!given.isMissingNode() && !given.isNull()) {
        violations.add(new Violation("stateUpdates", "must be an object"));
      }
      return Json.object();
    }

    private @Nullable String callId() {
      JsonNode given = meta.path(CALL_ID);
      if (given.isMissingNode() || given.isNull()) {
        return null;
      }
      if (!given.isTextual() || given.textValue().isEmpty()) {
        violations.add(new Violation(CALL_ID, "must be a string that is not empty"));
        return null;
      }
      if (given.textValue().length() > LONGEST_CALL_ID) {
        violations.add(new Violation(CALL_ID, "is longer than " + LONGEST_CALL_ID + " characters"));
      }
      return given.textValue();
    }

    private @Nullable Long seq() {
      JsonNode given = meta.path(SEQ);
      if (given.isMissingNode() || given.isNull()) {
        return null;
      }
      if (!given.isIntegralNumber() || !given.canConvertToLong()) {
        violations.add(new Violation(SEQ, "must be an integer"));
        return null;
      }
      return given.longValue();
    }

    private @Nullable QuestionIds asked() {
      JsonNode given = meta.path(ASKED);
      if (given.isMissingNode() || given.isNull()) {
        return null;
      }
      Map<String, String> names = new LinkedHashMap<>();
      given
          .path("questions")
          .properties()
          .forEach(name -> names.put(name.getKey(), name.getValue().asText()));
      if (!given.path("runId").isTextual() || !given.path("questions").isObject()) {
        violations.add(new Violation(ASKED, "must have a runId and questions"));
        return null;
      }
      return new QuestionIds(given.path("runId").textValue(), names);
    }

    private Input.@Nullable Resolution resolution() {
      JsonNode given = meta.path(RESOLVE);
      if (given.isMissingNode()) {
        return null;
      }
      return switch (given.asText()) {
        case "retry" -> Input.Resolution.RETRY;
        case "skip" -> Input.Resolution.SKIP;
        default -> {
          violations.add(new Violation(RESOLVE, "must be retry or skip"));
          yield null;
        }
      };
    }
  }
}
