package io.fermata.session;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.ErrorCode;
import io.fermata.flow.Outcome;
import io.fermata.flow.RunState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fold of a session's journal.
 *
 * @param run the session's run
 * @param origin whom the session belongs to, while the run goes on
 * @param replies what the latest calls that named themselves were told
 * @param past the names of calls whose replies went with their run
 * @param openCall the named call that is still being driven
 * @param unheard an end that nobody has been told
 * @param reason why the unheard run ended early
 * @param earlierTasks what the latest tasks came to, the last run's too if it was one; null for
 *     none
 */
record SessionState(
    RunState run,
    JournalRecord.@Nullable Origin origin,
    Map<String, JournalRecord.Reply> replies,
    List<String> past,
    @Nullable String openCall,
    boolean unheard,
    @Nullable JsonNode result,
    @Nullable String reason,
    @Nullable List<JournalRecord.TaskEnd> earlierTasks) {

  /** The name under which it is remembered that the run is a task; no client's call has it. */
  static final String TASK = "";

  /** The name under which a task's end is remembered that no named call was told of. */
  static final String END_OF_TASK = "\nend";

  private static final int REMEMBERED_CALLS = 16;

  /** Of how many tasks that have ended a session tells: each record of an end has them all. */
  static final int REMEMBERED_TASKS = 16;

  static final SessionState EMPTY =
      new SessionState(RunState.NONE, null, Map.of(), List.of(), null, false, null, null, null);

  SessionState apply(JournalRecord entry) {
    if (entry instanceof JournalRecord.Step step) {
      return step(step);
    }
    return ended((JournalRecord.Ended) entry);
  }

  private SessionState step(JournalRecord.Step step) {
    RunState after = run.apply(step.events());
    JournalRecord.Origin from = step.origin() == null ? origin : step.origin();
    String callId = step.callId();
    JournalRecord.Reply reply = step.reply();
    if (reply != null && TASK.equals(callId)) {
      return going(after, from, remember(TASK, reply), step.working() ? openCall : null);
    } else if (callId == null || reply == null) {
      return going(after, from, replies, step.working() ? callId : null);
    }
    return going(after, from, remember(callId, reply), null);
  }

  private SessionState going(
      RunState after,
      JournalRecord.@Nullable Origin from,
      Map<String, JournalRecord.Reply> told,
      @Nullable String open) {
    return new SessionState(after, from, told, past, open, false, null, null, earlierTasks);
  }

  private static SessionState ended(JournalRecord.Ended ended) {
    RunState run = RunState.ended(ended.status(), ended.runId(), ended.version(), ended.at());
    String callId = ended.callId();
    JournalRecord.Reply reply = ended.reply();
    Map<String, JournalRecord.Reply> replies =
        callId == null || reply == null ? Map.of() : Map.of(callId, reply);
    return new SessionState(
        run,
        null,
        replies,
        ended.calls(),
        null,
        ended.unheard(),
        ended.result(),
        ended.reason(),
        tasks(ended));
  }

  /** What an end leaves of tasks, the latest last. */
  private static @Nullable List<JournalRecord.TaskEnd> tasks(JournalRecord.Ended ended) {
    JournalRecord.Reply reply = ended.reply();
    Long until = ended.knownUntil();
    List<JournalRecord.TaskEnd> earlier = ended.earlierTasks();
    if (!ended.task() || reply == null || until == null) {
      return earlier;
    }
    List<JournalRecord.TaskEnd> all = new ArrayList<>(earlier == null ? List.of() : earlier);
    // An end that is told later is written once more.
    all.removeIf(task -> task.runId().equals(ended.runId()));
    all.add(new JournalRecord.TaskEnd(ended.runId(), ended.status(), reply, ended.at(), until));
    return List.copyOf(all.subList(Math.max(0, all.size() - REMEMBERED_TASKS), all.size()));
  }

  /** What is still to be kept of tasks at a time; null for nothing. */
  @Nullable List<JournalRecord.TaskEnd> tasksAt(long now) {
    if (earlierTasks == null) {
      return null;
    }
    List<JournalRecord.TaskEnd> kept =
        earlierTasks.stream().filter(task -> task.keptUntil() > now).toList();
    return kept.isEmpty() ? null : kept;
  }

  /** What a task came to that has ended; null if that is not known. */
  JournalRecord.@Nullable TaskEnd taskEnd(String runId) {
    if (earlierTasks == null) {
      return null;
    }
    return earlierTasks.stream()
        .filter(task -> task.runId().equals(runId))
        .findFirst()
        .orElse(null);
  }

  private Map<String, JournalRecord.Reply> remember(String callId, JournalRecord.Reply reply) {
    Map<String, JournalRecord.Reply> more = new LinkedHashMap<>(replies);
    more.put(callId, reply);
    if (more.size() > REMEMBERED_CALLS) {
      more.keySet().stream().filter(name -> !name.equals(TASK)).findFirst().ifPresent(more::remove);
    }
    return more;
  }

  /** Whether a run was handed out as a task. */
  boolean isTask(String runId) {
    return isOf(runId, replies.get(TASK)) || isOf(runId, replies.get(END_OF_TASK));
  }

  private static boolean isOf(String runId, JournalRecord.@Nullable Reply reply) {
    return reply != null && reply.run().path("runId").asText().equals(runId);
  }

  /** What a call of that name was told, if it is remembered. */
  JournalRecord.@Nullable Reply recorded(@Nullable String callId) {
    return callId == null ? null : replies.get(callId);
  }

  /** What the call was told that ended the run, if that is remembered. */
  JournalRecord.@Nullable Reply last() {
    return run.running() ? null : replies.values().stream().findFirst().orElse(null);
  }

  /** The names of the latest calls, without one. */
  List<String> callsExcept(@Nullable String callId) {
    List<String> names = new ArrayList<>(past);
    names.addAll(replies.keySet());
    names.remove(callId);
    return List.copyOf(names.subList(Math.max(0, names.size() - REMEMBERED_CALLS), names.size()));
  }

  /**
   * What the run has come to, as long as nobody has heard of it; null if it was told, or goes on.
   */
  @JsonIgnore
  @Nullable Outcome untold() {
    if (!unheard) {
      return null;
    }
    if (run.status() == RunState.Status.COMPLETED) {
      return new Outcome.Complete(result, reason);
    }
    return reason == null
        ? Outcome.Failure.of(ErrorCode.RUN_FAILED)
        : Outcome.Failure.of(ErrorCode.RUN_FAILED, reason);
  }
}
