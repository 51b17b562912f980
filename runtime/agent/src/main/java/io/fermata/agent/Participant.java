package io.fermata.agent;

import io.fermata.flow.json.Given;
import io.fermata.flow.json.Options;
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
    return new Speaker(new Speaker.Terms(prompt));
  }

  /**
   * A tool that ends a session, or reports its status, and the argument that becomes the result.
   */
  record Ending(String tool, @Nullable String messageProperty) {}

  /** A prompt that speaks for a side, with its stop conditions. */
  final class Speaker implements Participant {
    private final Terms terms;

    private Speaker(Terms terms) {
      Given.required("The side " + terms.label, terms);
      this.terms = terms;
    }

    public Speaker label(String value) {
      return with(terms -> terms.label = value);
    }

    /** Whether the turn ends when the model replies without calling a tool; true by default. */
    public Speaker stopOnResponse(boolean value) {
      return with(terms -> terms.stopOnResponse = value);
    }

    /** The turn ends when this tool has been called. */
    public Speaker stopTool(String tool) {
      Objects.requireNonNull(tool, "tool");
      return with(terms -> terms.stopTool = tool);
    }

    /**
     * The turn ends when this tool has been called; one of its arguments becomes the side's
     * message.
     */
    public Speaker stopTool(String tool, String responseProperty) {
      Objects.requireNonNull(tool, "tool");
      Objects.requireNonNull(responseProperty, "responseProperty");
      return with(
          terms -> {
            terms.stopTool = tool;
            terms.stopToolResponseProperty = responseProperty;
          });
    }

    /**
     * How often the side's model may be called in one execution, without its sub-prompts; 0 for the
     * agent's limit, which holds in any case.
     */
    public Speaker maxSteps(int steps) {
      return with(terms -> terms.maxSteps = steps);
    }

    /** Ends the session successfully when this tool has succeeded. */
    public Speaker sessionStop(String tool, @Nullable String messageProperty) {
      return with(terms -> terms.sessionStop = new Ending(tool, messageProperty));
    }

    /** Fails the session when this tool has succeeded. */
    public Speaker sessionFail(String tool, @Nullable String messageProperty) {
      return with(terms -> terms.sessionFail = new Ending(tool, messageProperty));
    }

    /** Publishes the status of the thread when this tool has succeeded. */
    public Speaker sessionStatus(String tool, @Nullable String messageProperty) {
      return with(terms -> terms.sessionStatus = new Ending(tool, messageProperty));
    }

    /** The same with another prompt. */
    Speaker speaking(Prompt other) {
      return with(terms -> terms.prompt = other);
    }

    public Prompt prompt() {
      return terms.prompt;
    }

    @Override
    public String label() {
      return terms.label;
    }

    public boolean stopsOnResponse() {
      return terms.stopOnResponse;
    }

    public @Nullable String stopTool() {
      return terms.stopTool;
    }

    public @Nullable String stopToolResponseProperty() {
      return terms.stopToolResponseProperty;
    }

    public int maxSteps() {
      return terms.maxSteps;
    }

    public @Nullable Ending sessionStop() {
      return terms.sessionStop;
    }

    public @Nullable Ending sessionFail() {
      return terms.sessionFail;
    }

    public @Nullable Ending sessionStatus() {
      return terms.sessionStatus;
    }

    /** Whether the turn passes to the other side after every step. */
    public boolean hasNoStopCondition() {
      return !terms.stopOnResponse && terms.stopTool == null;
    }

    private Speaker with(Consumer<Terms> change) {
      return new Speaker(terms.with(Terms.class, change));
    }

    private static final class Terms extends Options {
      Prompt prompt;
      String label;
      boolean stopOnResponse = true;
      @Nullable String stopTool;
      @Nullable String stopToolResponseProperty;
      int maxSteps;
      @Nullable Ending sessionStop;
      @Nullable Ending sessionFail;
      @Nullable Ending sessionStatus;

      Terms(Prompt prompt) {
        this.prompt = Objects.requireNonNull(prompt, "prompt");
        label = prompt.name();
      }
    }
  }
}
