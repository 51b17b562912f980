package io.fermata.session.call;

import io.fermata.session.key.SessionKey;
import java.util.Objects;

/**
 * One call of a {@link FlowTool}. The same use named again is the same call: after a crash of the
 * caller it is told what the call came to, and nothing happens twice.
 *
 * @param tool the tool's name
 * @param caller who calls, for instance the thread of an agent
 * @param callId the caller's name for this call, different for every other one
 */
public record ToolUse(String tool, String caller, String callId) {
  public ToolUse {
    Objects.requireNonNull(tool, "tool");
    if (caller.isEmpty() || callId.isEmpty()) {
      throw new IllegalArgumentException("A use of a tool needs a caller and a callId");
    }
  }

  public String session() {
    return caller + "\n" + callId;
  }

  /** The use that a run's conversation stands for. */
  public static ToolUse of(String tool, String conversation) {
    String session = SessionKey.named(conversation);
    int end = session.indexOf('\n');
    return new ToolUse(tool, session.substring(0, end), session.substring(end + 1));
  }
}
