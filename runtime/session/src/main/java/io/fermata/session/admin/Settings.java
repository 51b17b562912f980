package io.fermata.session.admin;

import io.fermata.flow.json.Limits;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * The limits and timeouts of a host.
 *
 * @param limits the bounds of one run
 * @param callDeadline how long a call may take before it is replied to with {@code still_working}
 * @param waitingCalls the queue length of a session
 * @param callsInFlight the maximum number of calls in flight, of all sessions
 * @param quotas what one principal may have at most
 * @param idle how long a session stays in memory after its last call
 * @param awake sessions in memory before the least used are stopped
 * @param snapshotEvery journal entries between two snapshots of a session
 * @param handlerThreads threads for blocking handlers on a JDK before 24
 * @param recorderBacklog journal entries that a recorder may lag behind before some are dropped
 */
public record Settings(
    Limits limits,
    Duration callDeadline,
    int waitingCalls,
    int callsInFlight,
    Quotas quotas,
    Duration idle,
    int awake,
    int snapshotEvery,
    int handlerThreads,
    int recorderBacklog) {

  public static final Settings DEFAULT =
      new Settings(
          Limits.DEFAULT,
          Duration.ofSeconds(25),
          16,
          10_000,
          Quotas.DEFAULT,
          Duration.ofMinutes(2),
          20_000,
          100,
          64,
          1024);

  /**
   * What one principal may have at most, approximately.
   *
   * @param unfinishedRuns the maximum of unfinished runs
   * @param threads the maximum of threads, which are kept until they are deleted; those that agents
   *     create for themselves count, and are not refused
   */
  public record Quotas(int unfinishedRuns, int threads) {
    public static final Quotas DEFAULT = new Quotas(10_000, 100_000);

    public Quotas {
      if (unfinishedRuns < 1 || threads < 1) {
        throw new IllegalArgumentException("unfinishedRuns and threads must be at least 1");
      }
    }
  }

  private static final Duration SHORT = Duration.ofSeconds(1);

  public Settings {
    if (waitingCalls < 0 || callsInFlight < 1 || awake < 1) {
      throw new IllegalArgumentException(
          "waitingCalls must be at least 0, callsInFlight and awake at least 1");
    }
    if (snapshotEvery < 1 || handlerThreads < 1 || recorderBacklog < 1) {
      throw new IllegalArgumentException(
          "snapshotEvery, handlerThreads and recorderBacklog must be at least 1");
    }
    if (callDeadline.isNegative() || callDeadline.isZero()) {
      throw new IllegalArgumentException("callDeadline must be positive");
    }
    if (idle.compareTo(Duration.ofMillis(1)) < 0) {
      throw new IllegalArgumentException("idle must be at least a millisecond");
    }
    Limits.requireCountable("callDeadline", callDeadline);
    Limits.requireCountable("idle", idle);
  }

  /** How long calls may wait for the host itself before it refuses new runs and threads. */
  public Duration longestWait() {
    Duration part = callDeadline.dividedBy(5);
    return part.compareTo(SHORT) < 0 ? SHORT : part;
  }

  public Settings limits(Limits value) {
    return with(draft -> draft.limits = value);
  }

  public Settings callDeadline(Duration value) {
    return with(draft -> draft.callDeadline = value);
  }

  public Settings waitingCalls(int value) {
    return with(draft -> draft.waitingCalls = value);
  }

  public Settings callsInFlight(int value) {
    return with(draft -> draft.callsInFlight = value);
  }

  public Settings quotas(Quotas value) {
    return with(draft -> draft.quotas = value);
  }

  public Settings unfinishedRuns(int value) {
    return quotas(new Quotas(value, quotas.threads));
  }

  public Settings threads(int value) {
    return quotas(new Quotas(quotas.unfinishedRuns, value));
  }

  public Settings idle(Duration value) {
    return with(draft -> draft.idle = value);
  }

  public Settings awake(int value) {
    return with(draft -> draft.awake = value);
  }

  public Settings snapshotEvery(int value) {
    return with(draft -> draft.snapshotEvery = value);
  }

  public Settings handlerThreads(int value) {
    return with(draft -> draft.handlerThreads = value);
  }

  public Settings recorderBacklog(int value) {
    return with(draft -> draft.recorderBacklog = value);
  }

  private Settings with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.build();
  }

  private static final class Draft {
    Limits limits;
    Duration callDeadline;
    int waitingCalls;
    int callsInFlight;
    Quotas quotas;
    Duration idle;
    int awake;
    int snapshotEvery;
    int handlerThreads;
    int recorderBacklog;

    Draft(Settings from) {
      limits = from.limits;
      callDeadline = from.callDeadline;
      waitingCalls = from.waitingCalls;
      callsInFlight = from.callsInFlight;
      quotas = from.quotas;
      idle = from.idle;
      awake = from.awake;
      snapshotEvery = from.snapshotEvery;
      handlerThreads = from.handlerThreads;
      recorderBacklog = from.recorderBacklog;
    }

    Settings build() {
      return new Settings(
          limits,
          callDeadline,
          waitingCalls,
          callsInFlight,
          quotas,
          idle,
          awake,
          snapshotEvery,
          handlerThreads,
          recorderBacklog);
    }
  }
}
