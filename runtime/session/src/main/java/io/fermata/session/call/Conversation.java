package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Outcome;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The conversation that a call belongs to.
 *
 * @param session the key of the session
 * @param inReplies whether replies must carry it, because the client does not know it
 * @param fresh whether its key was generated for this call, so that it has no journal
 */
public record Conversation(String session, boolean inReplies, boolean fresh) {
  public static final String SESSION_ID = "fermata/sessionId";

  private static final List<String> META_KEYS =
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

  /** The handle of a session; null if the client chose its key. */
  public static @Nullable String handle(String session) {
    return session.startsWith(SessionKey.CHOSEN) ? null : session;
  }

  /** The host's key of a session, for a handle or a key of the client. */
  public static String keyOf(String session, Handles handles) {
    // A handle means the same session in every argument.
    return handles.minted(session) ? session : SessionKey.CHOSEN + session;
  }

  private static final int LONGEST_HINT = 1_024;

  /** The conversation, or the reason why there is none. */
  public sealed interface Finding {}

  public record Found(Conversation conversation) implements Finding {}

  public record None(Outcome.Failure failure) implements Finding {}

  public static Finding of(ToolCall call, Arguments arguments, Handles handles) {
    String handle = arguments.sessionId();
    if (handle != null) {
      return handles.minted(handle)
          ? new Found(new Conversation(handle, true, false))
          : new None(HostError.UNKNOWN_SESSION.failure());
    }
    String hint = hint(call);
    if (hint != null && hint.length() > LONGEST_HINT) {
      return new None(HostError.UNKNOWN_SESSION.failure());
    }
    if (hint != null) {
      return new Found(new Conversation(keyOf(hint, handles), false, false));
    }
    String transport = call.transportSession();
    if (transport != null && !transport.isEmpty()) {
      String derived = handles.derive(call.principal() + "\n" + transport);
      return new Found(new Conversation(derived, true, false));
    }
    return arguments.action() == CallAction.START
        ? new Found(new Conversation(handles.mint(), true, true))
        : new None(HostError.MISSING_SESSION.failure());
  }

  static @Nullable String hint(ToolCall call) {
    for (String key : META_KEYS) {
      JsonNode value = call.meta().path(key);
      if (value.isTextual() && !value.textValue().isEmpty()) {
        return value.textValue();
      }
    }
    return null;
  }
}
