package io.fermata.flow.observe;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fact;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a recorder gets: an event of the journal, or one of the changes below that an event makes to
 * a run, with the moment. Trees in it are those of the run and must not be changed. Paths are those
 * of the whole run, except in the evidence of decisions, where a flow speaks of its own fields
 * ({@link Occurrence#field}).
 */
public record Observation(Occurrence moment, Fact fact) {

  /** Calls the hook that is meant for it. */
  public void to(Recorder recorder) {
    Hooks.call(recorder, this);
  }

  /** Whether there is a hook for an event as it stands in the journal. */
  public static boolean hasHook(Event event) {
    return Hooks.has(event);
  }

  /** Whether it happens in a sub-flow, or is that sub-flow's entry or exit. */
  public boolean under(String mount) {
    return mount.isEmpty()
        || moment.node().startsWith(mount + "/")
        || (fact instanceof Event.Opened opened && opened.subflow().equals(mount))
        || (fact instanceof Event.Closed closed && closed.subflow().equals(mount))
        || (fact instanceof Written written
            && written.write().path().startsWith(mount.replace('/', '.') + "."));
  }

  /** What a stage does. */
  public enum Kind {
    ASK,
    WIDGET,
    ACT,
    SLEEP,
    SIGNAL,
    SUBFLOW,
    LIST,
    /** It is no stage, or the flow does not have it, but another version. */
    UNKNOWN
  }

  // --- data -----------------------------------------------------------------------------------

  /** The run entered a node. */
  public record StageStart() implements Fact {}

  /**
   * The run left a node.
   *
   * @param done false if the step was dropped: its branch was dropped, or the run went back or
   *     ended
   */
  public record StageEnd(boolean done) implements Fact {}

  /** A stage is done. */
  public record StageExecuted() implements Fact {}

  /**
   * An action read a value.
   *
   * @param path "" for the whole state
   */
  public record Read(String path, @Nullable JsonNode value) implements Fact {}

  /**
   * A value changed: in the branch of the moment's place alone; without a place in all of the run.
   */
  public record Written(Source source, Write write) implements Fact {}

  /** Who changed a value. */
  public enum Source {
    CLIENT,
    ACTION,
    /** A validator normalised an answer, took it back, or set what follows from it. */
    VALIDATOR,
    /** A question was left open or put off: its default, or nothing. */
    PASSED,
    SIGNAL,
    /** Branches became one. */
    JOIN,
    /** A sub-flow begins with it. */
    INPUT,
    /** A sub-flow ended. */
    OUTPUT,
    /** The run went back to what it knew before. */
    RESET,
    /** The run was carried over to another version. */
    MIGRATION
  }

  /**
   * A client's answer was judged.
   *
   * @param given what it was
   * @param refusal why it was refused; null if it stands
   * @param normalised what became of it; null if it stands as it was given
   * @param sets what follows from it
   */
  public record Answer(
      String field,
      @Nullable JsonNode given,
      @Nullable String refusal,
      @Nullable JsonNode normalised,
      Map<String, JsonNode> sets)
      implements Fact {}

  /**
   * Something went wrong.
   *
   * @param code null if a recorder threw
   * @param detail for the operator
   * @param recorder the recorder that threw, if one did
   */
  public record Failure(
      @Nullable ErrorCode code, String message, String detail, @Nullable String recorder)
      implements Fact {}

  // --- control --------------------------------------------------------------------------------

  /**
   * A run began.
   *
   * @param intent why, in the client's words
   * @param input what the client gave with it
   */
  public record RunStart(int version, String intent, Map<String, JsonNode> input) implements Fact {}

  /** The run is a fork: what was observed before happened to the run that it comes from. */
  public record Fork(ForkOrigin origin) implements Fact {}

  /**
   * A run ended without an error.
   *
   * @param status completed, cancelled, expired, or abandoned for another run
   * @param reason why it ended early
   */
  public record RunEnd(RunState.Status status, @Nullable JsonNode result, @Nullable String reason)
      implements Fact {}

  /** Branches were chosen; the join alone if no rule matched. */
  public record Selected(Event.Decided decided) implements Fact {}

  /**
   * Branches became one.
   *
   * @param list they were for the items of a list
   */
  public record Join(Event.Joined joined, boolean list) implements Fact {}

  /**
   * The run went back along its graph, to a place before the moment's.
   *
   * @param pass which pass begins there; those that a correction took back do not count
   */
  public record Loop(Event.Moved moved, int pass) implements Fact {}

  /** What a step waits for. */
  public enum Wait {
    ANSWER,
    WIDGET,
    SIGNAL,
    TIME,
    /** It halts until somebody retries it, or decides. */
    REPAIR
  }

  /**
   * A step begins to wait.
   *
   * @param questions what it asks, as it was put
   * @param context what else the model gets
   * @param signal the signal that it waits for
   * @param code why it halted
   * @param until when a sleep ends, or when any other wait expires
   */
  public record Pause(
      Wait what,
      List<Event.Question> questions,
      @Nullable String context,
      Event.@Nullable Widget widget,
      @Nullable String signal,
      @Nullable ErrorCode code,
      @Nullable String message,
      @Nullable Long until)
      implements Fact {}

  /** Why a step waits no longer. */
  public enum Cause {
    ANSWERED,
    SIGNALLED,
    WOKEN,
    /** Its deadline passed: the run continues elsewhere. */
    DEADLINE,
    RETRIED,
    /** Somebody marked the step as done. */
    SKIPPED,
    /** Another step failed, the run went back or was carried over, or it ended. */
    ABANDONED
  }

  /** A step waits no longer. */
  public record Resume(Wait what, Cause cause) implements Fact {}

  /**
   * A signal came from outside, or was taken by the moment's step.
   *
   * @param field where its payload went
   */
  public record Signal(
      String name, boolean taken, @Nullable String field, @Nullable JsonNode payload)
      implements Fact {}

  /** How far the undoing of a step is, or the sending of a reminder. */
  public enum Progression {
    BEGUN,
    DONE,
    FAILED,
    /** Somebody says that it is done. */
    SKIPPED
  }

  /** The moment's step is undone. If that fails, the step fails like any other. */
  public record Compensation(Progression progression) implements Fact {}

  /**
   * Somebody is reminded of a step that waits.
   *
   * @param number counts from 1
   * @param failure why it could not be sent
   * @param next when the next one is due
   */
  public record Reminder(
      int number, Progression progression, @Nullable String failure, @Nullable Long next)
      implements Fact {}
}
