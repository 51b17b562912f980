package io.fermata.session;

import io.fermata.agent.Course;
import io.fermata.agent.ThreadMetadata;
import io.fermata.agent.ThreadState;
import io.fermata.persistence.DirectoryEntry;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Threads as those outside see them. Pure. */
final class ThreadViews {
  static final String KIND = "thread";
  private static final String STANDING = "standing";
  private static final String ID = "id";

  private ThreadViews() {}

  static Threads.View view(ThreadState state, Threads.Standing standing, long seq) {
    ThreadMetadata about = state.metadata();
    Course course = state.course();
    List<Threads.Question> questions =
        state.open().stream()
            .map(
                call ->
                    new Threads.Question(
                        call.key(),
                        call.call().name(),
                        call.phase() == io.fermata.agent.CallState.Phase.APPROVING,
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

  static Threads.Listed listed(DirectoryEntry entry) {
    return new Threads.Listed(
        entry.attributes().getOrDefault(ID, ""),
        entry.name(),
        entry.tags(),
        entry.createdAt(),
        entry.activeAt(),
        entry.attributes().getOrDefault(STANDING, ""));
  }
}
