package io.fermata.flow.observe;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a recorder is told. Trees in it are those of the run and must not be changed. Paths are
 * those of the whole run, except in the evidence of decisions, where a flow speaks of its own
 * fields ({@link Occurrence#field}).
 */
public sealed interface Observation {
  Occurrence moment();

  /** Calls the hook that is meant for it. */
  void to(Recorder recorder);

  /** The same event in other words. */
  Observation with(Rewriting rewriting);

  /** Whether it happens in a sub-flow, or is that sub-flow's entry or exit. */
  default boolean under(String mount) {
    String node = moment().node();
    return mount.isEmpty() || node.startsWith(mount + "/");
  }

  /** How the values and texts of an event are replaced. */
  interface Rewriting {
    /** The value of a field of the run. */
    JsonNode value(String path, JsonNode value);

    /** A value that is of no field. */
    JsonNode value(JsonNode value);

    String text(String text);
  }

  /** What a stage does. */
  enum Kind {
    ASK,
    WIDGET,
    ACT,
    SLEEP,
    SIGNAL,
    SUBFLOW,
    LIST,
    /** The flow is not known, only its journal. */
    UNKNOWN
  }

  // --- data -----------------------------------------------------------------------------------

  /** The run came to a node. */
  record StageStart(Occurrence moment, Kind kind) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onStageStart(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * The run left a node.
   *
   * @param done false if the step was given up: its branch was dropped, or the run went back or
   *     ended
   * @param millis how long it was there; where its beginning was not watched, since it began to
   *     wait or to work, or null if that is not known either
   */
  record StageEnd(Occurrence moment, Kind kind, boolean done, @Nullable Long millis)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onStageEnd(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * An action read a value.
   *
   * @param path "" for the whole state
   */
  record Read(Occurrence moment, String path, @Nullable JsonNode value) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onRead(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Read(moment, path, ObservationText.value(rewriting, path, value));
    }
  }

  /**
   * A value changed: in the branch of the moment's place alone; without a place in all of the run.
   *
   * @param value what was set, merged or appended; null if the value was deleted
   */
  record Written(
      Occurrence moment, Source source, Write.Verb verb, String path, @Nullable JsonNode value)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onWrite(this);
    }

    @Override
    public boolean under(String mount) {
      return Observation.super.under(mount) || path.startsWith(mount.replace('/', '.') + ".");
    }

    @Override
    public Observation with(Rewriting rewriting) {
      String at = new Write(verb, path, value).at();
      return new Written(moment, source, verb, path, ObservationText.value(rewriting, at, value));
    }
  }

  /** Who changed a value. */
  enum Source {
    CLIENT,
    ACTION,
    /** A validator normalised an answer, took it back, or set what follows from it. */
    VALIDATOR,
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
   * An action succeeded.
   *
   * @param reads the fields it read; "" stands for the whole state
   * @param millis how long the attempt took
   */
  record Commit(Occurrence moment, List<Write> writes, List<String> reads, long millis)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onCommit(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Commit(moment, ObservationText.writes(rewriting, writes), reads, millis);
    }
  }

  /**
   * A client's answer was judged.
   *
   * @param given what it was
   * @param refusal why it was refused; null if it stands
   * @param normalised what became of it; null if it stands as it was given
   * @param sets what follows from it
   */
  record Answer(
      Occurrence moment,
      String field,
      @Nullable JsonNode given,
      @Nullable String refusal,
      @Nullable JsonNode normalised,
      Map<String, JsonNode> sets)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onAnswer(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Answer(
          moment,
          field,
          ObservationText.value(rewriting, field, given),
          ObservationText.text(rewriting, refusal),
          ObservationText.value(rewriting, field, normalised),
          ObservationText.values(rewriting, sets));
    }
  }

  /**
   * Something went wrong.
   *
   * @param code null if a recorder threw
   * @param detail for the operator
   * @param recorder the recorder that threw, if one did
   */
  record Failure(
      Occurrence moment,
      @Nullable ErrorCode code,
      String message,
      String detail,
      @Nullable String recorder)
      implements Observation {
    @Override
    public void to(Recorder listener) {
      listener.onError(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Failure(moment, code, rewriting.text(message), rewriting.text(detail), recorder);
    }
  }

  // --- the run --------------------------------------------------------------------------------

  /**
   * A run began.
   *
   * @param intent why, in the client's words
   * @param input what the client gave with it
   */
  record RunStart(Occurrence moment, int version, String intent, Map<String, JsonNode> input)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onRunStart(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new RunStart(
          moment, version, rewriting.text(intent), ObservationText.values(rewriting, input));
    }
  }

  /**
   * A run ended without an error.
   *
   * @param status completed, cancelled, or abandoned for another run
   * @param reason why it ended early
   * @param millis how long it lived
   */
  record RunEnd(
      Occurrence moment,
      RunState.Status status,
      @Nullable JsonNode result,
      @Nullable String reason,
      long millis)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onRunEnd(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new RunEnd(
          moment,
          status,
          result == null ? null : rewriting.value(result),
          ObservationText.text(rewriting, reason),
          millis);
    }
  }

  /** A run failed. */
  record RunFailed(Occurrence moment, ErrorCode code, String message, long millis)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onRunFailed(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new RunFailed(moment, code, rewriting.text(message), millis);
    }
  }

  /**
   * A run is to end once what it did has been undone.
   *
   * @param code why it fails; null if somebody cancelled it
   * @param undo the steps to be undone, the next one first
   */
  record RunEnding(
      Occurrence moment, @Nullable ErrorCode code, @Nullable String message, List<Place> undo)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onRunEnding(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new RunEnding(moment, code, ObservationText.text(rewriting, message), undo);
    }
  }

  // --- control --------------------------------------------------------------------------------

  /** A stage is done. */
  record StageExecuted(Occurrence moment, Kind kind) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onStageExecuted(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /** The run went on from the moment's place to another. */
  record Next(Occurrence moment, Place to) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onNext(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * The run went back along its graph, from the moment's place to one that lies before it.
   *
   * @param iteration the how-manieth visit to it this is
   */
  record Loop(Occurrence moment, Place to, int iteration) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onLoop(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * A way out of the moment's node was chosen.
   *
   * @param chosen the node that it leads to; null if the decision failed
   * @param rule the label of the rule that matched; null if none did
   * @param tried the rules that were tried, in order, and on what
   */
  record Decision(
      Occurrence moment, @Nullable String chosen, @Nullable String rule, List<Event.Tried> tried)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onDecision(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Decision(
          moment,
          chosen,
          ObservationText.text(rewriting, rule),
          ObservationText.tried(rewriting, moment, tried));
    }

    /** What decided, look by look: {@code seats gt 6: 7 (true)}. */
    public List<String> evidence() {
      return ObservationText.evidence(tried);
    }
  }

  /**
   * Branches were chosen.
   *
   * @param chosen their first nodes; the join alone if no branch was chosen
   */
  record Selected(Occurrence moment, List<String> chosen, List<Event.Tried> tried)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onSelected(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Selected(moment, chosen, ObservationText.tried(rewriting, moment, tried));
    }

    /** What decided, look by look: {@code seats gt 6: 7 (true)}. */
    public List<String> evidence() {
      return ObservationText.evidence(tried);
    }
  }

  /**
   * The run goes on in branches.
   *
   * @param list they are for the items of a list
   */
  record Fork(Occurrence moment, List<Event.Head> branches, boolean list) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onFork(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      List<Event.Head> heads = new ArrayList<>();
      for (Event.Head head : branches) {
        JsonNode item = head.item() == null ? null : rewriting.value(head.item());
        heads.add(new Event.Head(head.label(), head.place(), head.asks(), item));
      }
      return new Fork(moment, heads, list);
    }
  }

  /** The moment's step was the last of its branch, which waits for the others from now on. */
  record Arrival(Occurrence moment) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onArrival(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * Branches became one.
   *
   * @param list they were for the items of a list
   * @param writes what they changed, once reduced
   * @param undo what dropped branches did and is to be undone
   */
  record Join(
      Occurrence moment,
      boolean list,
      List<String> merged,
      List<String> dropped,
      List<Write> writes,
      List<Place> undo)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onJoin(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Join(
          moment, list, merged, dropped, ObservationText.writes(rewriting, writes), undo);
    }
  }

  /** A branch was given up; the moment's place is where it failed. */
  record BranchFailed(Occurrence moment, String label, ErrorCode code, String message)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onBranchFailed(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new BranchFailed(moment, label, code, rewriting.text(message));
    }
  }

  /**
   * A sub-flow begins.
   *
   * @param subflow the path of the node that mounts it
   * @param home where its state lives in that of the run
   * @param input what it is given, by the paths of the run
   * @param kept what the client has answered ahead
   */
  record SubflowEntry(
      Occurrence moment,
      String subflow,
      String home,
      Map<String, JsonNode> input,
      List<String> kept)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onSubflowEntry(this);
    }

    @Override
    public boolean under(String mount) {
      return mount.equals(subflow) || Observation.super.under(mount);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new SubflowEntry(
          moment, subflow, home, ObservationText.values(rewriting, input), kept);
    }
  }

  /**
   * A sub-flow has ended.
   *
   * @param output what of it goes into the state around it
   * @param result what it returns
   */
  record SubflowExit(
      Occurrence moment, String subflow, String home, List<Write> output, @Nullable JsonNode result)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onSubflowExit(this);
    }

    @Override
    public boolean under(String mount) {
      return mount.equals(subflow) || Observation.super.under(mount);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new SubflowExit(
          moment,
          subflow,
          home,
          ObservationText.writes(rewriting, output),
          result == null ? null : rewriting.value(result));
    }
  }

  /**
   * An action ended its flow early.
   *
   * @param subflow the sub-flow that it ended; "" for the run
   */
  record Break(Occurrence moment, String subflow, String reason) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onBreak(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Break(moment, subflow, rewriting.text(reason));
    }
  }

  /**
   * An effect begins.
   *
   * @param field the field whose answer it checks; null if it is the step's own action
   */
  record Attempt(Occurrence moment, @Nullable String field, int attempt) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onAttempt(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * An attempt failed and another one follows.
   *
   * @param millis how long it took to fail
   * @param delay the milliseconds until the next one
   */
  record StageRetry(
      Occurrence moment,
      int attempt,
      ErrorCode code,
      String message,
      String detail,
      long millis,
      long delay)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onStageRetry(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new StageRetry(
          moment, attempt, code, rewriting.text(message), rewriting.text(detail), millis, delay);
    }
  }

  /** What a step waits for. */
  enum Wait {
    ANSWER,
    WIDGET,
    SIGNAL,
    TIME,
    /** It stands still until somebody tries it again, or decides. */
    REPAIR
  }

  /**
   * A step begins to wait.
   *
   * @param questions what it asks, as it was put
   * @param context what the model is told besides
   * @param signal the signal that it waits for
   * @param code why it stands still
   * @param deadline when the wait is given up
   */
  record Pause(
      Occurrence moment,
      Wait what,
      List<Event.Question> questions,
      @Nullable String context,
      Event.@Nullable Widget widget,
      @Nullable String signal,
      @Nullable ErrorCode code,
      @Nullable String message,
      @Nullable Long deadline)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onPause(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Pause(
          moment,
          what,
          questions.stream().map(q -> ObservationText.question(rewriting, q)).toList(),
          ObservationText.text(rewriting, context),
          widget == null ? null : ObservationText.widget(rewriting, widget),
          signal,
          code,
          ObservationText.text(rewriting, message),
          deadline);
    }
  }

  /** Why a step waits no longer. */
  enum Cause {
    ANSWERED,
    SIGNALLED,
    WOKEN,
    /** Its time is over: the run goes on elsewhere. */
    OVERDUE,
    RETRIED,
    /** Somebody took the step as done. */
    SKIPPED,
    /** Another step failed, the run went back or was carried over, or it ended. */
    GIVEN_UP
  }

  /**
   * A step waits no longer.
   *
   * @param waited the milliseconds that it did
   */
  record Resume(Occurrence moment, Wait what, Cause cause, long waited) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onResume(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /** A step sleeps. */
  record Sleep(Occurrence moment, long until) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onSleep(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * A signal came from outside, or was taken by the moment's step.
   *
   * @param field where its payload went
   */
  record Signal(
      Occurrence moment,
      String name,
      boolean taken,
      @Nullable String field,
      @Nullable JsonNode payload)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onSignal(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      JsonNode value =
          payload == null || field == null
              ? payload == null ? null : rewriting.value(payload)
              : rewriting.value(field, payload);
      return new Signal(moment, name, taken, field, value);
    }
  }

  /**
   * Answers were corrected and the run went back.
   *
   * @param to where it went back to, in each branch that is concerned
   * @param undo what is to be undone first
   */
  record Reset(Occurrence moment, List<Place> to, Map<String, JsonNode> corrected, List<Place> undo)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onReset(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Reset(moment, to, ObservationText.values(rewriting, corrected), undo);
    }
  }

  /**
   * The run was carried over to another version of its flow; what that changed in its state is told
   * as writes.
   *
   * @param nodes the new names of nodes, by their old ones
   * @param fields the new names of fields, by their old ones
   * @param places where the run goes on, by where it was
   */
  record Migrated(
      Occurrence moment,
      int from,
      int to,
      Map<String, String> nodes,
      Map<String, String> fields,
      Map<Place, Place> places)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onMigrated(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /** How far the undoing of a step is, or the sending of a reminder. */
  enum Progression {
    BEGUN,
    DONE,
    FAILED,
    /** Somebody says that it is done. */
    SKIPPED
  }

  /** The moment's step is undone. If that fails, the step fails like any other. */
  record Compensation(Occurrence moment, Progression progression) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onCompensation(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return this;
    }
  }

  /**
   * Somebody is reminded of a step that waits.
   *
   * @param number counts from 1
   * @param failure why it could not be sent
   * @param next when the next one is due
   */
  record Reminder(
      Occurrence moment,
      int number,
      Progression progression,
      @Nullable String failure,
      @Nullable Long next)
      implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onReminder(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Reminder(
          moment, number, progression, ObservationText.text(rewriting, failure), next);
    }
  }

  /** A step gave the run tags, or took some away. */
  record Tag(Occurrence moment, List<String> added, List<String> removed) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onTag(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Tag(
          moment,
          added.stream().map(rewriting::text).toList(),
          removed.stream().map(rewriting::text).toList());
    }
  }

  // --- emit -----------------------------------------------------------------------------------

  /** An action had something to tell. */
  record Emit(Occurrence moment, String name, @Nullable JsonNode payload) implements Observation {
    @Override
    public void to(Recorder recorder) {
      recorder.onEmit(this);
    }

    @Override
    public Observation with(Rewriting rewriting) {
      return new Emit(
          moment, rewriting.text(name), payload == null ? null : rewriting.value(payload));
    }
  }
}
