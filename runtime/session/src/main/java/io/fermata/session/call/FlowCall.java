package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call of a flow's tool that was read: what it asks, of which session.
 *
 * @param callId the client's name for the call; null if it has none
 * @param session the host's key of the session, which is the conversation that the call belongs to
 * @param sessionInReplies whether replies must carry it, because the client does not know it
 * @param fresh whether it was generated for this call, so that it has no journal
 */
public record FlowCall(
    Request.OfRun request,
    @Nullable String callId,
    String session,
    boolean sessionInReplies,
    boolean fresh) {

  public static final String SESSION_ID = "fermata/sessionId";
  public static final String CALL_ID = "fermata/callId";
  public static final String SEQ = "fermata/seq";
  public static final String RESOLVE = "fermata/resolve";
  static final String ASKED = "fermata/asked";

  /** Where clients name a conversation in {@code _meta}. */
  private static final List<String> SESSION_KEYS =
      List.of(
          SESSION_ID,
          "waniwani/sessionId",
          "openai/sessionId",
          "openai/session",
          "sessionId",
          "conversationId",
          "threadId",
          "ai.opencode/sessionID",
          "antigravity.google/conversation_id",
          "mcp-session-id");

  private static final List<String> KNOWN =
      List.of("action", "intent", "stateUpdates", "sessionId");
  private static final int MOST_VIOLATIONS = 20;
  private static final int LONGEST_NAME = 80;
  private static final int LONGEST_CALL_ID = 200;
  private static final int LONGEST_INTENT = 8_192;
  private static final int LONGEST_HINT = 1_024;

  /** The call, or why it cannot be made. */
  public sealed interface Parsed {
    /** Why it cannot be made; null if it can. */
    Outcome.@Nullable Failure refusal();
  }

  /** A call of a session, which also refuses what cannot be made. */
  public record Valid(FlowCall call) implements Parsed {
    @Override
    public Outcome.@Nullable Failure refusal() {
      return call.request().refusal();
    }
  }

  /** A call of no session. */
  public record Invalid(Outcome.Failure refusal) implements Parsed {}

  public static Parsed read(ToolCall call, Handles handles) {
    return new Reader(call, handles).read();
  }

  /** The handle of a session; null if the client chose its key. */
  public static @Nullable String handle(String session) {
    return session.startsWith(SessionKey.CHOSEN) ? null : session;
  }

  /** The host's key of a session, for a handle or a key of the client. */
  public static String keyOf(String session, Handles handles) {
    // A handle means the same session in every argument.
    return handles.minted(session) ? session : SessionKey.CHOSEN + session;
  }

  /** A call's {@code _meta} that names no conversation. */
  public static ObjectNode withoutConversation(ObjectNode meta) {
    ObjectNode others = Json.object();
    others.setAll(meta);
    return others.remove(SESSION_KEYS);
  }

  /**
   * The client's name for a call in its {@code _meta}; null if it has none. One that cannot be used
   * is refused, as a client that relies on it would be carried out twice.
   *
   * @param refused gets what is wrong with it
   */
  public static @Nullable String callId(ObjectNode meta, int longest, Consumer<Violation> refused) {
    JsonNode given = meta.path(CALL_ID);
    if (given.isMissingNode() || given.isNull()) {
      return null;
    }
    if (!given.isTextual() || given.textValue().isEmpty()) {
      refused.accept(new Violation(CALL_ID, "must be a string that is not empty"));
      return null;
    }
    if (given.textValue().length() > longest) {
      refused.accept(new Violation(CALL_ID, "is longer than " + longest + " characters"));
    }
    return given.textValue();
  }

  static @Nullable String conversation(ToolCall call) {
    for (String key : SESSION_KEYS) {
      JsonNode value = call.meta().path(key);
      if (value.isTextual() && !value.textValue().isEmpty()) {
        return value.textValue();
      }
    }
    return null;
  }

  private static final class Reader {
    private final ToolCall call;
    private final ObjectNode arguments;
    private final ObjectNode meta;
    private final Handles handles;
    private final List<Violation> violations = new ArrayList<>();

    Reader(ToolCall call, Handles handles) {
      this.call = call;
      this.arguments = call.arguments();
      this.meta = call.meta();
      this.handles = handles;
    }

    Parsed read() {
      unknown();
      CallAction action = action().orElse(CallAction.STATUS);
      String intent = text("intent");
      if (intent != null && intent.length() > LONGEST_INTENT) {
        violations.add(new Violation("intent", "is longer than " + LONGEST_INTENT + " characters"));
      }
      ObjectNode updates = updates();
      String sessionId = text("sessionId");
      String callId = callId(meta, LONGEST_CALL_ID, violations::add);
      Long seq = seq();
      Input.Resolution resolution = resolution();
      QuestionIds asked = asked();
      if (resolution != null && !(action == CallAction.CONTINUE && updates.isEmpty())) {
        violations.add(new Violation(RESOLVE, "goes with a continue without stateUpdates only"));
      }
      if (!violations.isEmpty()) {
        Outcome.Failure why = failure();
        Parsed refused = inSession(Request.OfRun.refused(why), null, sessionId);
        return refused instanceof Valid ? refused : new Invalid(why);
      }
      Request.Only only = seq == null && asked == null ? null : new Request.Only(null, seq, asked);
      return inSession(
          new Request.OfRun(
              action, intent == null ? "" : intent, updates, resolution, null, only, null, null),
          callId,
          sessionId);
    }

    /** Finds the session: by the argument, a hint, the transport; a start may begin one. */
    private Parsed inSession(
        Request.OfRun request, @Nullable String callId, @Nullable String sessionId) {
      if (sessionId != null) {
        return handles.minted(sessionId)
            ? new Valid(new FlowCall(request, callId, sessionId, true, false))
            : new Invalid(HostError.UNKNOWN_SESSION.failure());
      }
      String hint = conversation(call);
      if (hint != null) {
        return hint.length() > LONGEST_HINT
            ? new Invalid(HostError.UNKNOWN_SESSION.failure())
            : new Valid(new FlowCall(request, callId, keyOf(hint, handles), false, false));
      }
      String transport = call.transportSession();
      if (transport != null && !transport.isEmpty()) {
        String derived = handles.derive(call.principal() + "\n" + transport);
        return new Valid(new FlowCall(request, callId, derived, true, false));
      }
      if (request.action() != CallAction.START) {
        return new Invalid(HostError.MISSING_SESSION.failure());
      }
      return callId == null
          ? new Valid(new FlowCall(request, null, handles.mint(), true, true))
          : new Valid(new FlowCall(request, callId, ofStart(callId), true, false));
    }

    /** The session that a call begins under an id: a repeated call reaches the same one. */
    private String ofStart(String callId) {
      String principal = call.principal();
      return handles.derive(
          "start\n" + principal.length() + "\n" + principal + "\n" + call.tool() + "\n" + callId);
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
