package io.fermata.session.thread;

import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.SessionKey;
import io.fermata.session.runs.QuotaCounts;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Views and directory entries of threads. Pure. */
public final class ThreadViews {
  public static final String KIND = QuotaCounts.THREADS;
  public static final String STATUS = "status";
  private static final String ID = "id";

  private ThreadViews() {}

  public static Threads.View view(ThreadReply reply) {
    ThreadState state = reply.state();
    TurnState turn = state.turn();
    List<Threads.Question> questions =
        state.open().stream()
            .map(
                call ->
                    new Threads.Question(
                        call.key(),
                        call.call().name(),
                        call.phase() == CallState.Phase.APPROVING,
                        Objects.requireNonNull(call.question())))
            .toList();
    List<Threads.Wait> waits =
        state.paused().stream()
            .map(
                call ->
                    new Threads.Wait(
                        call.key(),
                        call.call().name(),
                        CallState.words(Objects.requireNonNull(call.question()))))
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
        state.inbox().size(),
        state.history().count(),
        state.usage(),
        List.copyOf(state.children().values()),
        reply.seq());
  }

  static DirectoryEntry entry(
      String entityId, ThreadState state, Threads.Status status, long seq, long now) {
    ThreadMetadata about = state.metadata();
    return new DirectoryEntry(
        entityId,
        KIND,
        SessionKey.lookup(about.principal()),
        about.agent(),
        seq,
        about.createdAt(),
        now,
        about.tags(),
        Map.of(STATUS, RunJson.name(status), ID, about.threadId()));
  }

  public static Threads.Listed listed(DirectoryEntry entry) {
    return new Threads.Listed(
        entry.attributes().getOrDefault(ID, ""),
        entry.name(),
        entry.tags(),
        entry.createdAt(),
        entry.activeAt(),
        entry.attributes().getOrDefault(STATUS, ""));
  }
}
