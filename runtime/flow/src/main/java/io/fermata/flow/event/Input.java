package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What comes into a run from outside. Times are milliseconds of the epoch. */
public sealed interface Input {
  long at();

  /** Begins a run; an unfinished earlier one ends as abandoned. */
  record Start(String runId, String intent, ObjectNode updates, long at) implements Input {}

  /**
   * Answers the open pause and drives on; without updates it repeats or retries.
   *
   * @param toQuestions whether its sender names the very questions that the updates are for, and so
   *     has seen these
   */
  record Continue(ObjectNode updates, boolean toQuestions, long at) implements Input {
    public Continue(ObjectNode updates, long at) {
      this(updates, false, at);
    }
  }

  /** Shows what nobody has seen, and retries, but passes nothing. */
  record Again(long at) implements Input {}

  /** Corrects earlier answers. */
  record Reset(ObjectNode updates, long at) implements Input {}

  /** Leaves questions open that were put to somebody, who is asked again. */
  record Postpone(Set<String> fields, long at) implements Input {}

  record Cancel(long at) implements Input {}

  /** Something happened outside that the run may wait for. */
  record Signal(String name, @Nullable JsonNode payload, long at) implements Input {}

  /** Decides about a step whose outcome is unknown. */
  record Resolve(Resolution resolution, long at) implements Input {}

  /** Try the step again, or take it as done. */
  enum Resolution {
    RETRY,
    SKIP
  }

  /** An effect has ended. */
  record EffectEnded(StepEffect effect, Result result, long at) implements Input {}

  /** The moment of a timer has come. */
  record EffectDue(StepEffect effect, long at) implements Input {}

  /** The last caller is answered although the run still works. */
  record Unattended(long at) implements Input {}

  /**
   * The run was read back from its journal: attempts that were running are lost.
   *
   * @param running the keys of the effects that are not
   */
  record Recovered(Set<String> running, long at) implements Input {
    /** After the process was lost, and every attempt with it. */
    public Recovered(long at) {
      this(Set.of(), at);
    }
  }

  /** How an effect ended. */
  sealed interface Result {}

  /**
   * An action succeeded.
   *
   * @param reads the fields it read; the empty path stands for the whole state
   * @param tagged the tags that it gave the run, and those that it took away
   * @param ends why it ended its flow early, if it did
   */
  record Wrote(
      List<Write> writes,
      List<String> reads,
      List<Event.Emitted> emitted,
      Tagging tagged,
      @Nullable String ends)
      implements Result {
    public static Wrote of(Event.Committed event, Tagging tagged) {
      return new Wrote(event.writes(), event.reads(), event.emitted(), tagged, event.ends());
    }
  }

  /** An answer was checked. */
  record Judged(Verdict verdict) implements Result {}

  /**
   * An attempt failed.
   *
   * @param message what the client may read
   * @param detail what the operator may read
   * @param thrown what the author's code threw, for its stack trace; may hold secrets. Null if it
   *     threw nothing
   * @param terminal whether no further attempt is made
   */
  record Failed(
      ErrorCode code,
      String message,
      @Nullable String detail,
      @Nullable Throwable thrown,
      boolean terminal)
      implements Result {
    /** A failure that may be retried. */
    public Failed(
        ErrorCode code, String message, @Nullable String detail, @Nullable Throwable thrown) {
      this(code, message, detail, thrown, false);
    }
  }
}
