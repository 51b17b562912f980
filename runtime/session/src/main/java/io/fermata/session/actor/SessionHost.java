package io.fermata.session.actor;

import io.fermata.agent.Agents;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.ThreadState;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.pekko.SessionTroubles;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.observe.HostGauges;
import io.fermata.session.observe.SlowDecisions;
import io.fermata.session.observe.StepInterceptor;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.runs.QuotaCounts;
import io.fermata.session.runs.Retentions;
import io.fermata.session.runs.SessionDirectory;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** What the session actors of a host share. */
public record SessionHost(
    FlowCatalog catalog,
    Threading threading,
    Settings settings,
    Retentions retentions,
    InstantSource clock,
    Handlers handlers,
    Observers observers,
    Listing listing,
    Encryption encryption,
    Continuity continuity) {

  /** How sessions continue when their actor or their host changes. */
  public record Continuity(LostSessions lostSessions, Placement placement) {}

  public LostSessions lostSessions() {
    return continuity.lostSessions();
  }

  public Placement placement() {
    return continuity.placement();
  }

  /**
   * What the sessions of threads share.
   *
   * @param outside the world of a thread's effect, by its id and whether the effect is cancelled
   * @param state the state of a thread, by its id
   * @param flowChanged notifies a thread that the flow behind one of its calls has changed
   */
  public record Threading(
      ThreadProgram program,
      BiFunction<String, BooleanSupplier, Outside> outside,
      Function<String, CompletionStage<ThreadState>> state,
      BiConsumer<ThreadKey, String> flowChanged) {
    public Agents agents() {
      return program.agents();
    }
  }

  /**
   * What runs authors' code.
   *
   * @param steps stands between runs and the code of their steps
   */
  public record Handlers(ExecutorService threads, StepInterceptor steps) {}

  /** The observers of sessions. */
  public record Observers(
      Recorders recorders,
      SessionSubscriptions subscriptions,
      Telemetry telemetry,
      HostGauges gauges,
      SlowDecisions decisions,
      SessionTroubles unread) {}

  /**
   * The lists of sessions that a host keeps.
   *
   * @param runs how many unfinished ones each principal has
   * @param threads how many each principal has
   */
  public record Listing(
      SessionDirectory sessions, QuotaCounts runs, QuotaCounts threads, Directory directory) {}

  public Telemetry telemetry() {
    return observers.telemetry();
  }

  public long now() {
    return clock.millis();
  }

  /** A call waits for the end of a pause that is shorter than this, and so does the session. */
  public Duration longestHeld() {
    return settings.callDeadline().dividedBy(2);
  }
}
