package io.fermata.agent.state;

import java.util.Set;

/** Why a thread rests: stable codes for clients. */
public final class StopCode {
  /** A side replied, and the other side is a person. */
  public static final String STOP_ON_RESPONSE = "stop_on_response";

  /** A side called the tool that ends its turn, and the other side is a person. */
  public static final String STOP_TOOL = "stop_tool";

  public static final String SESSION_STOP = "session_stop";
  public static final String SESSION_FAIL = "session_fail";

  /** A tool or hook stopped it. */
  public static final String STATE_STOP_SESSION = "state_stop_session";

  public static final String MAX_SESSION_TURNS = "max_session_turns";
  public static final String MAX_SIDE_STEPS = "max_side_steps";
  public static final String MAX_TOTAL_STEPS = "max_total_steps";

  /** It is a person's turn. */
  public static final String AWAITING_HUMAN = "awaiting_human";

  /** A person's turn was forced. */
  public static final String FORCED_HUMAN_TURN = "forced_human_turn";

  /** Code had the turn and added no message. */
  public static final String HANDLER_IDLE = "handler_idle";

  /** A hook blocked the call of the model. */
  public static final String HOOK_BLOCKED = "hook_blocked";

  /** A client stopped it. */
  public static final String ABORTED_BY_USER = "aborted_by_user";

  /** No model replied, or code threw. */
  public static final String STEP_ERROR = "step_error";

  /** Calls failed repeatedly with the same error. */
  public static final String REPEATED_TOOL_ERROR = "repeated_tool_error";

  /** The budget is spent. */
  public static final String BUDGET_SPENT = "budget_spent";

  /** A fork in a sandbox called what it does not perform. */
  public static final String SANDBOXED = "sandboxed";

  private static final Set<String> BAD =
      Set.of(
          SESSION_FAIL,
          MAX_SIDE_STEPS,
          MAX_TOTAL_STEPS,
          HOOK_BLOCKED,
          ABORTED_BY_USER,
          STEP_ERROR,
          REPEATED_TOOL_ERROR,
          BUDGET_SPENT,
          SANDBOXED);

  private StopCode() {}

  /** Whether a tool ended the session, well or badly. */
  public static boolean endsSession(String code) {
    return code.equals(SESSION_STOP) || code.equals(SESSION_FAIL);
  }

  /** Whether the thread stopped without a result. */
  public static boolean failed(String code) {
    return BAD.contains(code);
  }
}
