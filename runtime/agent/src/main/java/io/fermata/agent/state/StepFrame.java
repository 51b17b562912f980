package io.fermata.agent.state;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A step of a thread in progress: at top level, or of a sub-prompt inside a call.
 *
 * @param step the step's number; 0 if no model was asked
 * @param messageId the message that the model's reply becomes, or that code answers
 * @param calls the calls of the step, in order; finished ones are removed from the front
 * @param made the finished calls that were removed
 * @param said the messages inside a sub-prompt
 * @param text the text of the model in this step
 */
public record StepFrame(
    Level level,
    Stage stage,
    int attempt,
    long step,
    @Nullable String messageId,
    List<CallState> calls,
    List<Made> made,
    List<Message> said,
    @Nullable String text) {

  public static final String TOP = "";

  /** Ends the id of the result of a call that continued without its step. */
  static final String LATE = ".late";

  /**
   * Which side and prompt speak in a frame, and how deep it is nested.
   *
   * @param path empty at top level, else the key of the call that a sub-prompt answers
   * @param prompt the prompt that speaks; null where code acts, or calls were queued at rest
   * @param parentId the message of the call that a sub-prompt answers
   * @param detached the agent whose call continues without the step that asked for it; null for a
   *     step of the agent that acts
   */
  public record Level(
      String path,
      @Nullable String prompt,
      Side side,
      int depth,
      @Nullable String parentId,
      @Nullable String detached) {
    static Level top(@Nullable String prompt, Side side) {
      return new Level(TOP, prompt, side, 0, null, null);
    }
  }

  /** What a step is doing. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Stage {
    /** A sub-prompt is about to ask its model. */
    OPENED,
    /** A model is asked. */
    THINKING,
    /** Code has the turn. */
    HANDLING,
    /** Tools are called. */
    CALLING
  }

  /**
   * A finished call of the step.
   *
   * @param cutOff whether the output limit of the model cut it off, so that it was not made
   * @param pending whether it continues without the step, so that its outcome is not known
   */
  public record Made(
      RequestedCall call,
      boolean failed,
      @Nullable String text,
      boolean queued,
      boolean cutOff,
      boolean pending) {
    /** Whether it has succeeded. */
    public boolean succeeded() {
      return !failed && !pending;
    }
  }

  public StepFrame {
    calls = List.copyOf(calls);
    made = List.copyOf(made);
    said = List.copyOf(said);
  }

  static StepFrame of(Level level, Stage stage) {
    return new StepFrame(level, stage, 0, 0, null, List.of(), List.of(), List.of(), null);
  }

  /** With what is asked and waited for alone. */
  StepFrame outline() {
    List<CallState> shown = calls.stream().filter(CallState::shown).toList();
    return new StepFrame(level, stage, attempt, step, messageId, shown, List.of(), List.of(), null);
  }

  public String path() {
    return level.path();
  }

  public @Nullable String prompt() {
    return level.prompt();
  }

  public Side side() {
    return level.side();
  }

  public int depth() {
    return level.depth();
  }

  public @Nullable String parentId() {
    return level.parentId();
  }

  /** Whether it is a call that a person decides while the conversation continues. */
  public boolean detached() {
    return level.detached() != null;
  }

  /** Where author code that a call runs adds messages and calls. */
  public String place() {
    return detached() ? TOP : path();
  }

  /** The id of the message with the result of a call. */
  public String resultId(CallState call) {
    return "m-" + call.key() + (detached() ? LATE : "");
  }

  public boolean top() {
    return path().equals(TOP);
  }

  public @Nullable CallState call(String key) {
    for (CallState call : calls) {
      if (call.key().equals(key)) {
        return call;
      }
    }
    return null;
  }

  StepFrame with(CallState changed) {
    List<CallState> all = new ArrayList<>(calls.size());
    for (CallState call : calls) {
      all.add(call.key().equals(changed.key()) ? changed : call);
    }
    return withCalls(all);
  }

  StepFrame withCalls(List<CallState> all) {
    return new StepFrame(level, stage, attempt, step, messageId, all, made, said, text);
  }

  /** The frame without the finished calls at its front. */
  StepFrame without(int over, List<Made> whatTheyCameTo) {
    List<CallState> left = calls.subList(over, calls.size());
    List<Made> all = new ArrayList<>(made);
    all.addAll(whatTheyCameTo);
    return new StepFrame(level, stage, attempt, step, messageId, left, all, said, text);
  }

  StepFrame saying(List<Message> all) {
    return new StepFrame(level, stage, attempt, step, messageId, calls, made, all, text);
  }

  StepFrame answered(@Nullable String words, List<CallState> wanted) {
    List<CallState> all = new ArrayList<>(wanted);
    all.addAll(calls);
    return new StepFrame(level, Stage.CALLING, attempt, step, messageId, all, made, said, words);
  }

  /** An attempt at a step: a model is asked, or code acts. */
  StepFrame attempting(Stage what, int newAttempt, long newStep, String message) {
    return new StepFrame(level, what, newAttempt, newStep, message, calls, made, said, text);
  }

  StepFrame replyingTo(@Nullable String message) {
    return new StepFrame(level, stage, attempt, step, message, calls, made, said, text);
  }
}
