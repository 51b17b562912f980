package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.ThreadEvent;
import io.fermata.flow.Event;
import io.fermata.flow.RunState;
import io.fermata.persistence.JournalTags;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One entry of a session's journal, written atomically. */
sealed interface JournalRecord {

  /** What the store finds its session by. */
  Set<String> tags();

  /** What a log may say of a record: what happened in it is nobody's business there. */
  private static String told(String kind, long at, int events) {
    return kind + " at " + at + " with " + events + " events";
  }

  /** The tags of a record after which its session goes on by itself, at once or at some time. */
  static Set<String> goingOn(boolean working, @Nullable Long wakeAt) {
    if (working) {
      return Set.of(JournalTags.WORKING);
    }
    return wakeAt == null ? Set.of() : Set.of(JournalTags.due(wakeAt));
  }

  /**
   * The events of one step.
   *
   * @param origin who opened the session; on the step that starts a run
   * @param callId the client's name for the call that drove the step
   * @param reply what that call was told; absent while it is still being driven
   * @param working effects are outstanding after this step
   * @param wakeAt when the run has to be awake, if it only waits for that
   */
  record Step(
      long at,
      @Nullable Origin origin,
      @Nullable String callId,
      @Nullable Reply reply,
      boolean working,
      @Nullable Long wakeAt,
      List<Event> events)
      implements JournalRecord {
    @Override
    public Set<String> tags() {
      return goingOn(working, wakeAt);
    }

    @Override
    public String toString() {
      return told("step", at, events.size());
    }
  }

  /** Who a session belongs to. */
  record Origin(String principal, String session) {}

  /**
   * All that remains of a run that has ended.
   *
   * @param callId the client's name for the call that ended it, and
   * @param reply what it was told, so that a repeated call is told the same
   * @param calls the names of the latest calls before it, so that a repeated one drives nothing
   * @param unheard the run ended while nobody waited: the next call fetches what it came to
   * @param reason why an unheard run ended early, or failed
   * @param keptUntil when what the journal has of the run is swept
   * @param knownUntil when even this record is; null if it stays
   * @param task whether the run was handed out as a task
   * @param earlierTasks what is kept of the tasks that the session had before; null for none
   */
  record Ended(
      long at,
      String runId,
      int version,
      RunState.Status status,
      @Nullable String callId,
      @Nullable Reply reply,
      List<String> calls,
      boolean unheard,
      @Nullable JsonNode result,
      @Nullable String reason,
      long keptUntil,
      @Nullable Long knownUntil,
      boolean task,
      @Nullable List<TaskEnd> earlierTasks)
      implements JournalRecord {
    @Override
    public Set<String> tags() {
      String sweep = JournalTags.sweep(keptUntil);
      return knownUntil == null ? Set.of(sweep) : Set.of(sweep, JournalTags.forget(knownUntil));
    }

    @Override
    public String toString() {
      return told("end of " + runId, at, 0);
    }

    /** The run as it was at last, as far as its end is concerned. */
    RunState last(RunState before) {
      return before.ended(status, at);
    }
  }

  /**
   * The events of a thread that one thing brought about.
   *
   * @param seq the record's own number, by which a file finds its bytes again
   * @param working effects are outstanding after it
   * @param wakeAt when the thread has to be awake, if it only waits for that
   */
  record Turn(long seq, long at, boolean working, @Nullable Long wakeAt, List<ThreadEvent> events)
      implements JournalRecord {
    @Override
    public Set<String> tags() {
      return goingOn(working, wakeAt);
    }

    @Override
    public String toString() {
      return told("turn " + seq, at, events.size());
    }
  }

  /**
   * What a task came to, for those who still ask when its session has gone on to another run.
   *
   * @param at when it ended
   * @param keptUntil until when it is told
   */
  record TaskEnd(String runId, RunState.Status status, Reply reply, long at, long keptUntil) {}

  /** A reply as it was given: the structured object, and the run's entry in {@code _meta}. */
  record Reply(JsonNode body, JsonNode run) {}
}
