package io.fermata.session.call;

import io.fermata.agent.FlowTool;
import io.fermata.session.key.SessionKey;
import java.util.Objects;

/**
 * One call of a {@link FlowTool}. Repeating a use is idempotent: after a crash of the caller it
 * returns the outcome of the first call.
 *
 * @param tool the tool's name
 * @param caller the caller, for example a thread of an agent
 * @param callId the caller's unique id of this call
 */
public record ToolUse(String tool, String caller, String callId) {
  public ToolUse {
    Objects.requireNonNull(tool, "tool");
    Objects.requireNonNull(caller, "caller");
    Objects.requireNonNull(callId, "callId");
    if (caller.isEmpty() || callId.isEmpty()) {
      throw new IllegalArgumentException("A use of a tool needs a caller and a callId");
    }
  }

  public String session() {
    return caller + "\n" + callId;
  }

  /** The use that started a run, from the name of its session. */
  public static ToolUse of(String tool, String conversation) {
    String session = SessionKey.named(conversation);
    int end = session.indexOf('\n');
    return new ToolUse(tool, session.substring(0, end), session.substring(end + 1));
  }
}
