package io.fermata.session.thread;

import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import io.fermata.flow.event.Program;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.SessionKey;
import io.fermata.session.runs.QuotaCounts;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/** Views and directory entries of threads. Pure. */
public final class ThreadViews {
  public static final String KIND = QuotaCounts.THREADS;
  private static final String ID = "id";

  /** The effects of a turn, as opposed to those beside it. */
  private static final Set<ThreadEffect.Kind> IN_TURN =
      EnumSet.of(
          ThreadEffect.Kind.GREET,
          ThreadEffect.Kind.RECEIVE,
          ThreadEffect.Kind.STEP,
          ThreadEffect.Kind.HANDLE,
          ThreadEffect.Kind.CALL,
          ThreadEffect.Kind.STORE,
          ThreadEffect.Kind.COMPACT);

  private ThreadViews() {}

  static Threads.Status status(ThreadProgram program, ThreadState state) {
    Program.Next<ThreadEffect> next = program.next(state);
    return status(
        state,
        next instanceof Program.Perform<ThreadEffect> perform ? perform.effects() : List.of());
  }

  static Threads.Status status(ThreadState state, List<ThreadEffect> outstanding) {
    for (ThreadEffect effect : outstanding) {
      if (IN_TURN.contains(effect.kind())) {
        return Threads.Status.WORKING;
      }
    }
    if (!state.open().isEmpty() || !state.askingIn().isEmpty()) {
      return Threads.Status.ASKING;
    }
    boolean works = state.turn().running() && state.waitingStep() == null;
    return works ? Threads.Status.WORKING : Threads.Status.RESTING;
  }

  public static Threads.View view(ThreadReply reply) {
    ThreadState state = reply.state();
    TurnState turn = state.turn();
    List<Threads.Question> questions =
        state.open().stream()
            .map(
                call ->
                    new Threads.Question(
                        call.questionId(),
                        call.key(),
                        call.call().name(),
                        call.phase() == CallState.Phase.APPROVING,
                        Objects.requireNonNull(call.question()).deepCopy()))
            .toList();
    List<Threads.Wait> waits =
        Stream.concat(
                state.paused().stream()
                    .map(
                        call ->
                            wait(call, CallState.words(Objects.requireNonNull(call.question())))),
                state.waitingIn().stream().map(call -> wait(call, "in the thread " + call.child())))
            .toList();
    return new Threads.View(
        state.metadata(),
        new Threads.Progress(
            reply.status(),
            turn.side(),
            turn.stoppedBy(),
            turn.code(),
            turn.detail(),
            state.stored().status()),
        questions,
        waits,
        reply.held(),
        state.inbox().stream().map(Message::id).toList(),
        state.history().count(),
        state.usage(),
        List.copyOf(state.children().values()),
        reply.seq());
  }

  private static Threads.Wait wait(CallState call, String waitsFor) {
    return new Threads.Wait(call.key(), call.call().name(), waitsFor);
  }

  /**
   * What lists show of a thread.
   *
   * @param seq the number of its last entry
   * @param at when that was written
   */
  public static DirectoryEntry entry(
      String entityId, ThreadState state, ThreadProgram program, long seq, long at) {
    ThreadMetadata about = state.metadata();
    // Threads are not listed by how long they have had their status.
    return new DirectoryEntry(
            entityId,
            KIND,
            SessionKey.lookup(about.principal()),
            about.agent(),
            seq,
            about.createdAt(),
            at,
            about.tags(),
            Map.of(ID, about.threadId()))
        .in("", RunJson.name(status(program, state)), at);
  }

  public static Threads.Listed listed(DirectoryEntry entry) {
    return new Threads.Listed(
        entry.attributes().getOrDefault(ID, ""),
        entry.name(),
        entry.tags(),
        entry.createdAt(),
        entry.activeAt(),
        entry.statusName());
  }
}
