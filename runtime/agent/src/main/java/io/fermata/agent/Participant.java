package io.fermata.agent;

import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The participant on a side of an agent: a person, a prompt, or code. */
public sealed interface Participant
    permits Participant.Person, Participant.Speaker, Participant.Code {
  /** A name for this side, for people. */
  String label();

  /** A person, whom the thread waits for. */
  record Person(String label) implements Participant {}

  /** Code that takes the turn: it receives each message to this side, in order. */
  record Code(String label, TurnHandler handler) implements Participant {}

  static Person person() {
    return person("person");
  }

  static Person person(String label) {
    return new Person(label);
  }

  static Code code(TurnHandler handler) {
    return new Code("code", handler);
  }

  static Speaker prompt(Prompt prompt) {
    return new Speaker(new Speaker.Draft(prompt));
  }

  /**
   * A tool that ends a session, or reports its status, and the argument that becomes the result.
   */
  record Ending(String tool, @Nullable String messageProperty) {}

  /** A prompt that speaks for a side, with its stop conditions. */
  final class Speaker implements Participant {
    private final Prompt prompt;
    private final String label;
    private final boolean stopOnResponse;
    private final @Nullable String stopTool;
    private final @Nullable String stopToolResponseProperty;
    private final int maxSteps;
    private final @Nullable Ending sessionStop;
    private final @Nullable Ending sessionFail;
    private final @Nullable Ending sessionStatus;

    private Speaker(Draft draft) {
      prompt = draft.prompt;
      label = draft.label;
      stopOnResponse = draft.stopOnResponse;
      stopTool = draft.stopTool;
      stopToolResponseProperty = draft.stopToolResponseProperty;
      maxSteps = draft.maxSteps;
      sessionStop = draft.sessionStop;
      sessionFail = draft.sessionFail;
      sessionStatus = draft.sessionStatus;
    }

    public Speaker label(String value) {
      return with(draft -> draft.label = value);
    }

    /** Whether the turn ends when the model replies without calling a tool; true by default. */
    public Speaker stopOnResponse(boolean value) {
      return with(draft -> draft.stopOnResponse = value);
    }

    /** The turn ends when this tool has been called. */
    public Speaker stopTool(String tool) {
      return with(draft -> draft.stopTool = tool);
    }

    /**
     * The turn ends when this tool has been called; one of its arguments becomes the side's
     * message.
     */
    public Speaker stopTool(String tool, String responseProperty) {
      return with(
          draft -> {
            draft.stopTool = tool;
            draft.stopToolResponseProperty = responseProperty;
          });
    }

    /**
     * How often the side's model may be called in one execution, without its sub-prompts; 0 for the
     * agent's limit, which holds in any case.
     */
    public Speaker maxSteps(int steps) {
      return with(draft -> draft.maxSteps = steps);
    }

    /** Ends the session successfully when this tool has succeeded. */
    public Speaker sessionStop(String tool, @Nullable String messageProperty) {
      return with(draft -> draft.sessionStop = new Ending(tool, messageProperty));
    }

    /** Fails the session when this tool has succeeded. */
    public Speaker sessionFail(String tool, @Nullable String messageProperty) {
      return with(draft -> draft.sessionFail = new Ending(tool, messageProperty));
    }

    /** Publishes the status of the thread when this tool has succeeded. */
    public Speaker sessionStatus(String tool, @Nullable String messageProperty) {
      return with(draft -> draft.sessionStatus = new Ending(tool, messageProperty));
    }

    /** The same with another prompt. */
    Speaker speaking(Prompt other) {
      return with(draft -> draft.prompt = other);
    }

    public Prompt prompt() {
      return prompt;
    }

    @Override
    public String label() {
      return label;
    }

    public boolean stopsOnResponse() {
      return stopOnResponse;
    }

    public @Nullable String stopTool() {
      return stopTool;
    }

    public @Nullable String stopToolResponseProperty() {
      return stopToolResponseProperty;
    }

    public int maxSteps() {
      return maxSteps;
    }

    public @Nullable Ending sessionStop() {
      return sessionStop;
    }

    public @Nullable Ending sessionFail() {
      return sessionFail;
    }

    public @Nullable Ending sessionStatus() {
      return sessionStatus;
    }

    /** Whether the turn passes to the other side after every step. */
    public boolean hasNoStopCondition() {
      return !stopOnResponse && stopTool == null;
    }

    private Speaker with(Consumer<Draft> change) {
      Draft draft = new Draft(this);
      change.accept(draft);
      return new Speaker(draft);
    }

    private static final class Draft {
      Prompt prompt;
      String label;
      boolean stopOnResponse = true;
      @Nullable String stopTool;
      @Nullable String stopToolResponseProperty;
      int maxSteps;
      @Nullable Ending sessionStop;
      @Nullable Ending sessionFail;
      @Nullable Ending sessionStatus;

      Draft(Prompt prompt) {
        this.prompt = Objects.requireNonNull(prompt, "prompt");
        this.label = prompt.name();
      }

      Draft(Speaker from) {
        this(from.prompt);
        label = from.label;
        stopOnResponse = from.stopOnResponse;
        stopTool = from.stopTool;
        stopToolResponseProperty = from.stopToolResponseProperty;
        maxSteps = from.maxSteps;
        sessionStop = from.sessionStop;
        sessionFail = from.sessionFail;
        sessionStatus = from.sessionStatus;
      }
    }
  }
}
