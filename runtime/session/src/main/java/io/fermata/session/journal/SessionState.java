package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The fold of a session's journal.
 *
 * @param program the state of the session's program
 * @param owner the owner of the session, while a run is unfinished
 * @param calls the calls that it remembers
 * @param task whether its run is a task
 * @param ended the end of its last run; null while one is unfinished, and for threads
 * @param earlierTasks the ends of its latest tasks; null for none
 * @param replaced the run that the start being handled has ended; null for none
 * @param changes what the run has changed in the thread that called it; null for nothing
 * @param wake when it resumes by itself, as its last entry says; null for never
 * @param <S> the state of the program
 */
public record SessionState<S>(
    S program,
    Entry.@Nullable Owner owner,
    CallLog calls,
    boolean task,
    @Nullable Ended ended,
    @Nullable List<RunEnd.TaskEnd> earlierTasks,
    @Nullable Replaced replaced,
    @Nullable List<JsonNode> changes,
    Entry.@Nullable Wake wake)
    implements Journaled {

  /** How many ended tasks a session remembers; every end of a run contains them. */
  public static final int REMEMBERED_TASKS = 16;

  /**
   * The end of a run, and its reply.
   *
   * @param reply null if no caller waited
   */
  public record Ended(RunEnd end, @Nullable RunReply reply) {}

  public static <S> SessionState<S> of(S initial) {
    return new SessionState<>(initial, null, CallLog.EMPTY, false, null, null, null, null, null);
  }

  /**
   * The state after an entry.
   *
   * @param after the state of the program after it
   */
  public SessionState<S> apply(Entry<?> entry, S after) {
    RunEnd end = entry.end();
    if (end != null) {
      return new SessionState<>(
          after,
          null,
          CallLog.afterEnd(entry, end),
          end.task(),
          new Ended(end, entry.reply()),
          tasks(entry, end),
          end.status() == RunState.Status.ABANDONED ? Replaced.of(program) : null,
          null,
          entry.wake());
    }
    boolean continues = ended == null && task;
    Entry.Owner starter = entry.origin().owner();
    Entry.Owner from = starter == null ? owner : starter;
    return new SessionState<>(
        after,
        from,
        calls.after(entry),
        continues || entry.task(),
        null,
        earlierTasks,
        entry.working() ? replaced : null,
        changed(entry.events()),
        entry.wake());
  }

  /** The state of a run's session after an entry of its journal. */
  @SuppressWarnings("unchecked") // the entries of a run hold its events
  public static SessionState<RunState> replay(SessionState<RunState> before, Entry<?> entry) {
    RunEnd end = entry.end();
    RunState run =
        end == null ? before.program().apply((List<Event>) entry.events()) : end.state(entry.at());
    return before.apply(entry, run);
  }

  /** What the run has changed in the thread that called it, also in events that come next. */
  public List<JsonNode> changesOfCaller(List<?> next) {
    List<JsonNode> all = changed(next);
    return all == null ? List.of() : all;
  }

  private @Nullable List<JsonNode> changed(List<?> next) {
    List<JsonNode> more = Event.changesOfCaller(next);
    if (changes == null || more.isEmpty()) {
      return more.isEmpty() ? changes : more;
    }
    List<JsonNode> all = new ArrayList<>(changes);
    all.addAll(more);
    return all;
  }

  /** The remembered ended tasks, latest last. */
  private static @Nullable List<RunEnd.TaskEnd> tasks(Entry<?> entry, RunEnd end) {
    RunReply reply = entry.reply();
    Long until = end.knownUntil();
    List<RunEnd.TaskEnd> earlier = end.earlierTasks();
    if (!end.task() || reply == null || until == null) {
      return earlier;
    }
    List<RunEnd.TaskEnd> all = new ArrayList<>(earlier == null ? List.of() : earlier);
    // An outcome that is fetched later writes the end again.
    all.removeIf(task -> task.runId().equals(end.runId()));
    all.add(new RunEnd.TaskEnd(end.runId(), end.status(), reply, entry.at(), until));
    return List.copyOf(all.subList(Math.max(0, all.size() - REMEMBERED_TASKS), all.size()));
  }

  /** The ended tasks that are still kept at a time; null for none. */
  public @Nullable List<RunEnd.TaskEnd> tasksAt(long now) {
    if (earlierTasks == null) {
      return null;
    }
    List<RunEnd.TaskEnd> kept =
        earlierTasks.stream().filter(task -> task.keptUntil() > now).toList();
    return kept.isEmpty() ? null : kept;
  }

  /** The end of a task; null if unknown. */
  public RunEnd.@Nullable TaskEnd taskEnd(String runId) {
    if (earlierTasks == null) {
      return null;
    }
    return earlierTasks.stream()
        .filter(task -> task.runId().equals(runId))
        .findFirst()
        .orElse(null);
  }

  /** Whether the last run is this one, and has ended; its end is written again when fetched. */
  public boolean hasEnded(String runId) {
    return ended != null && ended.end().runId().equals(runId);
  }

  /** The reply at the end of the last run, if there was one. */
  public @Nullable RunReply lastReply() {
    return ended == null ? null : ended.reply();
  }

  /** The outcome of the last run if no client has fetched it; otherwise null. */
  public @Nullable Outcome unclaimed() {
    RunEnd.Unclaimed outcome = ended == null ? null : ended.end().unclaimed();
    if (ended == null || outcome == null) {
      return null;
    }
    if (ended.end().status() == RunState.Status.COMPLETED) {
      return new Outcome.Complete(outcome.result(), outcome.reason());
    }
    String reason = outcome.reason();
    return reason == null
        ? Outcome.Failure.of(ErrorCode.RUN_FAILED)
        : Outcome.Failure.of(ErrorCode.RUN_FAILED, ErrorCode.RUN_FAILED.explained(reason));
  }
}
