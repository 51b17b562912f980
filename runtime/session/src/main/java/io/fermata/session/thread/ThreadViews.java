package io.fermata.session.thread;

import io.fermata.agent.state.ThreadMetadata;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.session.admin.Threads;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Threads as those outside see them. Pure. */
public final class ThreadViews {
  public static final String KIND = "thread";
  private static final String STANDING = "standing";
  private static final String ID = "id";

  private ThreadViews() {}

  public static Threads.View view(ThreadState state, Threads.Standing standing, long seq) {
    ThreadMetadata about = state.metadata();
    TurnState course = state.course();
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
        standing,
        course.side(),
        course.stoppedBy(),
        course.code(),
        course.detail(),
        state.shelf().status(),
        questions,
        state.inbox().size(),
        state.history().count(),
        state.usage(),
        List.copyOf(state.children().values()),
        seq);
  }

  static DirectoryEntry entry(
      String entityId, ThreadState state, Threads.Standing standing, long seq, long now) {
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
        Map.of(STANDING, standing.name().toLowerCase(Locale.ROOT), ID, about.threadId()));
  }

  public static Threads.Listed listed(DirectoryEntry entry) {
    return new Threads.Listed(
        entry.attributes().getOrDefault(ID, ""),
        entry.name(),
        entry.tags(),
        entry.createdAt(),
        entry.activeAt(),
        entry.attributes().getOrDefault(STANDING, ""));
  }
}
