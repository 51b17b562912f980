package io.fermata.testkit.eval;

import io.fermata.session.admin.ArchiveException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A conversation to be tried: a user with a script, or a recorded thread from one of its messages
 * on. Immutable; each option returns a copy.
 */
public final class EvalCase {
  private final String name;
  private final EvalUser user;
  private final @Nullable RecordedThread recording;
  private final int from;
  private final List<EvalJudge> judges;

  private EvalCase(
      String name,
      EvalUser user,
      @Nullable RecordedThread recording,
      int from,
      List<EvalJudge> judges) {
    this.name = name;
    this.user = user;
    this.recording = recording;
    this.from = from;
    this.judges = List.copyOf(judges);
  }

  /** A new conversation with this user. */
  public static EvalCase of(String name, EvalUser user) {
    return new EvalCase(name, user, null, 0, List.of());
  }

  /**
   * A recorded thread from its last message of a user on, named like its file.
   *
   * @param export a thread that was exported; encrypted data is read with the keys from the
   *     environment
   * @throws ArchiveException if the export is incomplete or inconsistent, or that of a run
   * @throws IllegalArgumentException if no user said anything in it
   */
  public static EvalCase recorded(Path export) throws IOException {
    RecordedThread thread = RecordedThread.read(export);
    String name = String.valueOf(export.getFileName());
    if (thread.said() == 0) {
      throw new IllegalArgumentException(
          "%s has no message of a user to continue from; record a thread that a person spoke in"
              .formatted(export));
    }
    return new EvalCase(name, soFar -> null, thread, thread.said(), List.of());
  }

  /**
   * Continues from another message: what was said before it is the history, then the user says it
   * and what the recording has after it.
   *
   * @param message the number of a user's message in the recording, from 1
   */
  public EvalCase from(int message) {
    int known = recording == null ? 0 : recording.said();
    if (message < 1 || message > known) {
      throw new IllegalArgumentException(
          "The case %s has no recorded message %s of a user; it has %s"
              .formatted(name, message, known));
    }
    return new EvalCase(name, user, recording, message, judges);
  }

  /** Adds a judge of this case alone. */
  public EvalCase judge(EvalJudge judge) {
    List<EvalJudge> all = new ArrayList<>(judges);
    all.add(judge);
    return new EvalCase(name, user, recording, from, all);
  }

  /** Adds an assertion about this case alone. */
  public EvalCase judge(String what, Predicate<EvalRun> holds) {
    return judge(EvalJudge.that(what, holds));
  }

  public String name() {
    return name;
  }

  EvalUser user() {
    return user;
  }

  List<EvalJudge> judges() {
    return judges;
  }

  /** Where the recording is continued; null without one. */
  RecordedThread.@Nullable Fork fork() {
    return recording == null ? null : recording.fork(from);
  }
}
