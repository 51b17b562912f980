package io.fermata.agent.state;

import io.fermata.agent.message.Side;
import org.jspecify.annotations.Nullable;

/**
 * The position of a thread in its turns.
 *
 * @param flowId the current execution; null while the thread rests
 * @param begun how many messages the thread had when the latest execution began
 * @param side the side that acts, or acted last
 * @param forced the side that acts next, out of turn; null if none was forced
 * @param addressed a message since the last step has decided which side acts
 * @param rest why the thread rests; null if it does not, or never acted
 * @param stopRequest a stop requested by author code or by a tool that ends the session, for the
 *     end of the step; null for none
 */
public record TurnState(
    @Nullable String flowId,
    long begun,
    Side side,
    @Nullable Side forced,
    boolean addressed,
    @Nullable Rest rest,
    @Nullable StopRequest stopRequest,
    Counts counts,
    Streak streak) {

  static final TurnState REST =
      new TurnState(null, 0, Side.A, null, false, null, null, Counts.ZERO, Streak.NONE);

  /**
   * Why a thread rests.
   *
   * @param by the side that stopped it; null if neither did
   * @param code one of {@link StopCode}
   */
  public record Rest(@Nullable Side by, String code, @Nullable String detail) {}

  /** A stop that takes effect at the end of the step. */
  public record StopRequest(@Nullable Side by, String code, @Nullable String reason) {}

  /**
   * The counters of the limits.
   *
   * @param steps how often models were called in this execution
   * @param turnsA the turns of side A in this session
   */
  public record Counts(int steps, int stepsA, int stepsB, int turnsA, int turnsB) {
    static final Counts ZERO = new Counts(0, 0, 0, 0, 0);

    Counts stepped(Side by) {
      return new Counts(
          steps + 1, stepsA + one(by, Side.A), stepsB + one(by, Side.B), turnsA, turnsB);
    }

    Counts steppedInside() {
      return new Counts(steps + 1, stepsA, stepsB, turnsA, turnsB);
    }

    Counts turned(Side by) {
      return new Counts(steps, stepsA, stepsB, turnsA + one(by, Side.A), turnsB + one(by, Side.B));
    }

    Counts newExecution() {
      return new Counts(0, 0, 0, turnsA, turnsB);
    }

    Counts newSession() {
      return new Counts(steps, stepsA, stepsB, 0, 0);
    }

    private static int one(Side by, Side side) {
      return by == side ? 1 : 0;
    }
  }

  /**
   * Consecutive empty replies and failed calls.
   *
   * @param empty how many replies had neither text nor calls
   * @param error the text of the latest error, normalized; null if the latest call succeeded
   * @param sameError how many calls failed with that text
   */
  public record Streak(int empty, @Nullable String error, int sameError) {
    static final Streak NONE = new Streak(0, null, 0);

    Streak replied(boolean nothing) {
      return new Streak(nothing ? empty + 1 : 0, error, sameError);
    }

    /** After a call; null means success. */
    Streak called(@Nullable String failure) {
      int same = failure == null ? 0 : failure.equals(error) ? sameError + 1 : 1;
      return new Streak(empty, failure, same);
    }
  }

  /** Whether the thread acts, or waits for its effects. */
  public boolean running() {
    return flowId != null;
  }

  public boolean stopped() {
    return rest != null;
  }

  /** Whether a client stopped it, so that everything waits for the next message. */
  public boolean held() {
    return StopCode.ABORTED_BY_USER.equals(code());
  }

  public @Nullable Side stoppedBy() {
    return rest == null ? null : rest.by();
  }

  public @Nullable String code() {
    return rest == null ? null : rest.code();
  }

  public @Nullable String detail() {
    return rest == null ? null : rest.detail();
  }

  public boolean stopWanted() {
    return stopRequest != null;
  }

  public int steps() {
    return counts.steps();
  }

  public int steps(Side of) {
    return of == Side.A ? counts.stepsA() : counts.stepsB();
  }

  public int turnsA() {
    return counts.turnsA();
  }

  public int turnsB() {
    return counts.turnsB();
  }

  /** What a queued call, or one that left its step, wants to stop is not over yet. */
  TurnState woken(String flow, long messages) {
    return new TurnState(
        flow,
        messages,
        side,
        forced,
        addressed,
        null,
        stopRequest,
        counts.newExecution(),
        Streak.NONE);
  }

  /** A side acts: a model, or code. */
  TurnState acting(Side who) {
    return new TurnState(flowId, begun, who, null, false, rest, stopRequest, counts, streak);
  }

  /** A model is asked. */
  TurnState stepped(Side by) {
    return acting(by).with(counts.stepped(by));
  }

  /** The model of a sub-prompt is asked. */
  TurnState steppedInside() {
    return with(counts.steppedInside());
  }

  TurnState forced(Side next) {
    return new TurnState(flowId, begun, side, next, addressed, rest, stopRequest, counts, streak);
  }

  TurnState counted(Side by) {
    return with(counts.turned(by));
  }

  TurnState turnedTo(Side next) {
    return new TurnState(flowId, begun, next, null, addressed, rest, stopRequest, counts, streak);
  }

  /** A message from outside arrived. */
  TurnState spokenTo() {
    return new TurnState(flowId, begun, side, forced, true, rest, stopRequest, counts, streak);
  }

  TurnState wantingStop(StopRequest wanted) {
    return new TurnState(flowId, begun, side, forced, addressed, rest, wanted, counts, streak);
  }

  TurnState resting(Rest why, boolean session) {
    Counts left = session ? counts.newSession() : counts;
    return new TurnState(null, begun, side, null, false, why, null, left, Streak.NONE);
  }

  /** A message arrived after the thread was stopped from outside. */
  TurnState released() {
    return new TurnState(flowId, begun, side, forced, addressed, null, stopRequest, counts, streak);
  }

  TurnState said(boolean nothing) {
    return with(streak.replied(nothing));
  }

  /** After a call; null means success. */
  TurnState called(@Nullable String failure) {
    return with(streak.called(failure));
  }

  private TurnState with(Counts value) {
    return new TurnState(flowId, begun, side, forced, addressed, rest, stopRequest, value, streak);
  }

  private TurnState with(Streak value) {
    return new TurnState(flowId, begun, side, forced, addressed, rest, stopRequest, counts, value);
  }
}
