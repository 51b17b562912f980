package io.fermata.agent;

import org.jspecify.annotations.Nullable;

/**
 * Where a thread is in its turns.
 *
 * @param flowId the execution under way; null while the thread rests
 * @param side who acts, or acted last
 * @param forced who acts next whoever's turn it is; null if nobody was forced
 * @param stopped the thread rests until somebody speaks
 * @param stopWanted an author's code wants it to rest at the end of the step
 * @param steps how often models were called in this execution
 * @param turnsA the turns of side A in the session
 * @param empty how often in a row the model said nothing and called nothing
 * @param sameError how often in a row calls failed with the same words
 */
public record Course(
    @Nullable String flowId,
    Side side,
    @Nullable Side forced,
    boolean stopped,
    @Nullable Side stoppedBy,
    @Nullable String code,
    @Nullable String detail,
    boolean stopWanted,
    @Nullable Side stopWantedBy,
    @Nullable String stopReason,
    int steps,
    int stepsA,
    int stepsB,
    int turnsA,
    int turnsB,
    int empty,
    @Nullable String error,
    int sameError) {

  static final Course REST =
      new Course(
          null, Side.A, null, false, null, null, null, false, null, null, 0, 0, 0, 0, 0, 0, null,
          0);

  /** Whether the thread acts, or waits for what it has begun. */
  public boolean running() {
    return flowId != null;
  }

  int steps(Side of) {
    return of == Side.A ? stepsA : stepsB;
  }

  int turns(Side of) {
    return of == Side.A ? turnsA : turnsB;
  }

  Course woken(String flow) {
    return new Course(
        flow, side, forced, false, null, null, null, false, null, null, 0, 0, 0, turnsA, turnsB, 0,
        null, 0);
  }

  Course stepped(Side by) {
    return new Course(
        flowId,
        by,
        null,
        stopped,
        stoppedBy,
        code,
        detail,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps + 1,
        by == Side.A ? stepsA + 1 : stepsA,
        by == Side.B ? stepsB + 1 : stepsB,
        turnsA,
        turnsB,
        empty,
        error,
        sameError);
  }

  Course forced(@Nullable Side next) {
    return new Course(
        flowId,
        side,
        next,
        stopped,
        stoppedBy,
        code,
        detail,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps,
        stepsA,
        stepsB,
        turnsA,
        turnsB,
        empty,
        error,
        sameError);
  }

  Course counted(Side by) {
    return new Course(
        flowId,
        side,
        forced,
        stopped,
        stoppedBy,
        code,
        detail,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps,
        stepsA,
        stepsB,
        by == Side.A ? turnsA + 1 : turnsA,
        by == Side.B ? turnsB + 1 : turnsB,
        empty,
        error,
        sameError);
  }

  Course turnedTo(Side next) {
    return new Course(
        flowId,
        next,
        null,
        stopped,
        stoppedBy,
        code,
        detail,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps,
        stepsA,
        stepsB,
        turnsA,
        turnsB,
        empty,
        error,
        sameError);
  }

  Course wantingStop(@Nullable Side by, @Nullable String reason) {
    return new Course(
        flowId, side, forced, stopped, stoppedBy, code, detail, true, by, reason, steps, stepsA,
        stepsB, turnsA, turnsB, empty, error, sameError);
  }

  Course resting(@Nullable Side by, String why, @Nullable String more, boolean session) {
    return new Course(
        null,
        side,
        null,
        true,
        by,
        why,
        more,
        false,
        null,
        null,
        steps,
        stepsA,
        stepsB,
        session ? 0 : turnsA,
        session ? 0 : turnsB,
        0,
        null,
        0);
  }

  /** Somebody spoke after it was stopped from outside. */
  Course released() {
    return new Course(
        flowId,
        side,
        forced,
        false,
        null,
        null,
        null,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps,
        stepsA,
        stepsB,
        turnsA,
        turnsB,
        empty,
        error,
        sameError);
  }

  Course said(boolean nothing) {
    return new Course(
        flowId,
        side,
        forced,
        stopped,
        stoppedBy,
        code,
        detail,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps,
        stepsA,
        stepsB,
        turnsA,
        turnsB,
        nothing ? empty + 1 : 0,
        error,
        sameError);
  }

  /** After a call came to something; null stands for a success. */
  Course called(@Nullable String failure) {
    int same = failure == null ? 0 : failure.equals(error) ? sameError + 1 : 1;
    return new Course(
        flowId,
        side,
        forced,
        stopped,
        stoppedBy,
        code,
        detail,
        stopWanted,
        stopWantedBy,
        stopReason,
        steps,
        stepsA,
        stepsB,
        turnsA,
        turnsB,
        empty,
        failure,
        same);
  }
}
