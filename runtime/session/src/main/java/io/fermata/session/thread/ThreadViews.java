package io.fermata.session.thread;

import io.fermata.agent.state.ThreadMetadata;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.Threads;
import java.util.List;
import java.util.Map;

/** Views and directory entries of threads. Pure. */
public final class ThreadViews {
  public static final String KIND = "thread";
  public static final String STATUS = "status";
  private static final String ID = "id";

  private ThreadViews() {}

  public static Threads.View view(ThreadState state, Threads.Status status, long seq) {
    ThreadMetadata about = state.metadata();
    TurnState turn = state.turn();
    List<Threads.Question> questions =
        state.open().stream()
            .map(
                call ->
                    new Threads.Question(
                        call.key(),
                        call.call().name(),
                        call.phase() == io.fermata.agent.state.CallState.Phase.APPROVING,
                        java.util.Objects.requireNonNull(call.question())))
            .toList();
    return new Threads.View(
        about.threadId(),
        about.agent(),
        about.origin(),
        about.principal(),
        about.tags(),
        about.createdAt(),
        about.parent(),
        status,
        turn.side(),
        turn.stoppedBy(),
        turn.code(),
        turn.detail(),
        state.stored().status(),
        questions,
        state.inbox().size(),
        state.history().count(),
        state.usage(),
        List.copyOf(state.children().values()),
        seq);
  }

  static DirectoryEntry entry(
      String entityId, ThreadState state, Threads.Status status, long seq, long now) {
    ThreadMetadata about = state.metadata();
    return new DirectoryEntry(
        entityId,
        KIND,
        about.principal(),
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
