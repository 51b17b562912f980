package io.fermata.flow.event;

import java.util.Locale;

/** The stable names of what can go wrong in a run, each with its cause and its repair. */
public enum ErrorCode {
  MISSING_INTENT("The call starts a run without saying why", "Send intent with action start"),
  INVALID_UPDATES(
      "stateUpdates does not fit the flow's fields; nothing was applied",
      "Correct the fields named in violations and call again"),
  ANSWER_REJECTED(
      "The flow refused an answer; the other answers of the call were kept",
      "Ask the user again and continue with a better answer"),
  ALREADY_ANSWERED(
      "The call changes what the run has already built on; nothing was applied",
      "Use action reset to correct earlier answers"),
  MISSING_UPDATES("The call corrects nothing", "Send the corrected fields in stateUpdates"),
  RESET_PAST_ONCE(
      "The correction lies before a step that may run only once and did run",
      "Start a new run, or cancel this one"),
  STEP_FAILED("A step of the flow failed", "Continue without stateUpdates to try that step again"),
  STEP_TIMEOUT(
      "A step of the flow took too long", "Continue without stateUpdates to try that step again"),
  QUESTION_FAILED(
      "The flow could not put its question or widget",
      "Continue without stateUpdates to try again; tell the flow's author"),
  VALIDATOR_FAILED(
      "The flow could not check an answer",
      "Continue without stateUpdates to check it again, or send another answer; tell the flow's"
          + " author"),
  DECISION_FAILED(
      "The flow could not decide which node comes next",
      "Continue without stateUpdates to decide again; tell the flow's author"),
  RESULT_FAILED(
      "The flow could not build its result",
      "Continue without stateUpdates to try again; tell the flow's author"),
  OUTCOME_UNKNOWN(
      "A step that may run only once was interrupted; whether it happened is not known",
      "Find out, then decide: retry or skip"),
  SANDBOXED(
      "A sandboxed fork performs no effects, and its source has no result of this one",
      "Fork with other answers, or with replayEffects or live to perform it"),
  NOTHING_TO_RESOLVE("No step of the run waits for a decision", "Ask for its status"),
  VISIT_LIMIT(
      "The call entered more nodes than one call may",
      "Continue without stateUpdates to resume it"),
  RUN_LIMIT(
      "The run entered more nodes than it may between two pauses",
      "Cancel it, or start a new run; tell the flow's author"),
  STATE_TOO_LARGE("The state would become larger than it may", "Send less"),
  BRANCH_CANCELLED("Another branch failed", "Continue without stateUpdates to try again"),
  JOIN_CONFLICT(
      "Branches that ran side by side disagree",
      "Reset an answer that one of them got; tell the flow's author"),
  JOIN_FAILED(
      "Too many branches failed", "Reset an answer that one of them got, or cancel the run"),
  TOO_MANY_BRANCHES("A list has more items than the flow takes", "Reset the list to fewer items"),
  UNKNOWN_SIGNAL("The flow waits for no such signal", "Use the name that the flow declares"),
  INVALID_SIGNAL("The signal does not carry what the flow expects", "Correct its payload"),
  SIGNAL_LIMIT("Too many signals wait in this run", "Send it again later"),
  COMPENSATION_FAILED(
      "A step could not be undone",
      "Continue without stateUpdates to try again, or resolve with skip once it is undone by hand"),
  RUN_FAILED("This run has failed", "Start a new run"),
  RUN_ENDING("The run is being undone", "Ask for its status"),
  UNKNOWN_RUN("There is no run of this flow in this session", "Start one"),
  RUN_COMPLETED(
      "This run has completed",
      "Read `result`, if there is one; start another run only if the user wants one"),
  RUN_CANCELLED("This run was cancelled", "Start a new run"),
  RUN_EXPIRED("This run waited too long and has expired", "Start a new run"),
  VERSION_CHANGED(
      "The flow has changed since the run began",
      "Start a new run, or register the version it began on"),
  MIGRATION_FAILED(
      "The run could not be carried over to a newer version of its flow, and is as it was",
      "Register the version it is on beside the newer one, or correct the migration");

  private final String cause;
  private final String repair;

  ErrorCode(String cause, String repair) {
    this.cause = cause;
    this.repair = repair;
  }

  /** What the failure of an effect is called. */
  public static ErrorCode ofFailed(StepEffect effect) {
    return switch (effect.kind()) {
      case CHECK -> VALIDATOR_FAILED;
      case UNDO -> COMPENSATION_FAILED;
      default -> STEP_FAILED;
    };
  }

  /** Whether it means that a step failed for good, and not that somebody has to decide. */
  public boolean ofStep() {
    return switch (this) {
      case STEP_FAILED,
          STEP_TIMEOUT,
          STATE_TOO_LARGE,
          QUESTION_FAILED,
          VALIDATOR_FAILED,
          DECISION_FAILED,
          RESULT_FAILED,
          TOO_MANY_BRANCHES,
          JOIN_CONFLICT,
          JOIN_FAILED ->
          true;
      default -> false;
    };
  }

  /** The name on the wire: {@code run_completed}. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public String cause() {
    return cause;
  }

  public String repair() {
    return repair;
  }

  /** Cause and repair as one text for a client. */
  public String explained() {
    return explained(cause);
  }

  /** A cause in words of its own, and the repair, as one text for a client. */
  public String explained(String why) {
    String text = why.strip();
    String end = text.isEmpty() || ".!?".indexOf(text.charAt(text.length() - 1)) < 0 ? "." : "";
    return text + end + " " + repair + ".";
  }
}
