package io.fermata.session.admin;

import com.fasterxml.jackson.databind.EnumNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.flow.event.ForkOrigin;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A run in a list, at most about a second old.
 *
 * @param session its session, as the client names it
 * @param waitsFor what it waits for, or which error stopped it
 * @param tags the tags that its steps set
 * @param fork where it was forked from; null if it was not
 */
public record RunInfo(
    String runId,
    String flow,
    int version,
    String principal,
    String session,
    Status status,
    Times times,
    List<Wait> waitsFor,
    List<String> tags,
    @Nullable ForkOrigin fork) {

  /**
   * In epoch milliseconds.
   *
   * @param changedAt when it last changed; for an ended run, when it ended
   * @param since when this status began, or another step or question in it
   */
  public record Times(long startedAt, long changedAt, long since) {}

  /** The status of a run. */
  @EnumNaming(SnakeCaseStrategy.class)
  public enum Status {
    /** A handler runs, or a failed one will be retried. */
    WORKING,
    /** It waits for a person, a signal or a time. */
    WAITING,
    /** A step failed permanently: it continues when somebody retries or resolves it. */
    STOPPED,
    COMPLETED,
    FAILED,
    CANCELLED,
    /** Another run replaced it in the session. */
    ABANDONED,
    /** It was inactive for longer than its flow allows. */
    EXPIRED
  }

  /**
   * Something that a run waits for.
   *
   * @param step the waiting node
   * @param what the field of the question, the tool of the widget, the signal, the time, or the
   *     code of the error that stopped the step
   */
  public record Wait(String step, Kind kind, String what) {
    /** The kind of a wait. */
    public enum Kind {
      ANSWER,
      WIDGET,
      SIGNAL,
      TIME,
      REPAIR
    }
  }

  public RunInfo {
    waitsFor = List.copyOf(waitsFor);
    tags = List.copyOf(tags);
  }

  public long startedAt() {
    return times.startedAt();
  }

  /** When it last changed; for an ended run, when it ended. */
  public long changedAt() {
    return times.changedAt();
  }

  /** When this status began, or another step or question in it. */
  public long since() {
    return times.since();
  }
}
