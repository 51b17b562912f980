package io.fermata.agent;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a thread is in its turns.
 *
 * @param flowId the execution under way; null while the thread rests
 * @param side who acts, or acted last
 * @param forced who acts next whoever's turn it is; null if nobody was forced
 * @param addressed somebody spoke since the last step, and decided who acts
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
    boolean addressed,
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
          null, Side.A, null, false, false, null, null, null, false, null, null, 0, 0, 0, 0, 0, 0,
          null, 0);

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
    return with(
        draft -> {
          draft.flowId = flow;
          draft.nothingStopped();
          draft.stopNotWanted();
          draft.steps = 0;
          draft.stepsA = 0;
          draft.stepsB = 0;
          draft.noFailures();
        });
  }

  /** A side acts: a model, or code. */
  Course acting(Side who) {
    return with(
        draft -> {
          draft.side = who;
          draft.forced = null;
          draft.addressed = false;
        });
  }

  /** A model is asked. */
  Course stepped(Side by) {
    return acting(by)
        .with(
            draft -> {
              draft.steps++;
              draft.stepsA += by == Side.A ? 1 : 0;
              draft.stepsB += by == Side.B ? 1 : 0;
            });
  }

  Course forced(Side next) {
    return with(draft -> draft.forced = next);
  }

  Course counted(Side by) {
    return with(
        draft -> {
          draft.turnsA += by == Side.A ? 1 : 0;
          draft.turnsB += by == Side.B ? 1 : 0;
        });
  }

  Course turnedTo(Side next) {
    return with(
        draft -> {
          draft.side = next;
          draft.forced = null;
        });
  }

  /** Somebody outside spoke. */
  Course spokenTo() {
    return with(draft -> draft.addressed = true);
  }

  Course wantingStop(@Nullable Side by, @Nullable String reason) {
    return with(
        draft -> {
          draft.stopWanted = true;
          draft.stopWantedBy = by;
          draft.stopReason = reason;
        });
  }

  Course resting(@Nullable Side by, String why, @Nullable String more, boolean session) {
    return with(
        draft -> {
          draft.flowId = null;
          draft.forced = null;
          draft.addressed = false;
          draft.stopped = true;
          draft.stoppedBy = by;
          draft.code = why;
          draft.detail = more;
          draft.stopNotWanted();
          draft.turnsA = session ? 0 : turnsA;
          draft.turnsB = session ? 0 : turnsB;
          draft.noFailures();
        });
  }

  /** Somebody spoke after it was stopped from outside. */
  Course released() {
    return with(Draft::nothingStopped);
  }

  Course said(boolean nothing) {
    return with(draft -> draft.empty = nothing ? empty + 1 : 0);
  }

  /** After a call came to something; null stands for a success. */
  Course called(@Nullable String failure) {
    int same = failure == null ? 0 : failure.equals(error) ? sameError + 1 : 1;
    return with(
        draft -> {
          draft.error = failure;
          draft.sameError = same;
        });
  }

  private Course with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.course();
  }

  private static final class Draft {
    @Nullable String flowId;
    Side side;
    @Nullable Side forced;
    boolean addressed;
    boolean stopped;
    @Nullable Side stoppedBy;
    @Nullable String code;
    @Nullable String detail;
    boolean stopWanted;
    @Nullable Side stopWantedBy;
    @Nullable String stopReason;
    int steps;
    int stepsA;
    int stepsB;
    int turnsA;
    int turnsB;
    int empty;
    @Nullable String error;
    int sameError;

    Draft(Course from) {
      flowId = from.flowId;
      side = from.side;
      forced = from.forced;
      addressed = from.addressed;
      stopped = from.stopped;
      stoppedBy = from.stoppedBy;
      code = from.code;
      detail = from.detail;
      stopWanted = from.stopWanted;
      stopWantedBy = from.stopWantedBy;
      stopReason = from.stopReason;
      steps = from.steps;
      stepsA = from.stepsA;
      stepsB = from.stepsB;
      turnsA = from.turnsA;
      turnsB = from.turnsB;
      empty = from.empty;
      error = from.error;
      sameError = from.sameError;
    }

    void nothingStopped() {
      stopped = false;
      stoppedBy = null;
      code = null;
      detail = null;
    }

    void stopNotWanted() {
      stopWanted = false;
      stopWantedBy = null;
      stopReason = null;
    }

    void noFailures() {
      empty = 0;
      error = null;
      sameError = 0;
    }

    Course course() {
      return new Course(
          flowId,
          side,
          forced,
          addressed,
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
  }
}
