package io.fermata.session;

import io.fermata.agent.Agents;
import io.fermata.agent.Outside;
import io.fermata.agent.ThreadProgram;
import io.fermata.agent.ThreadState;
import io.fermata.persistence.Directory;
import java.time.InstantSource;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;

/** What the session actors of a host share. */
record SessionHost(
    FlowCatalog catalog,
    Threading threading,
    Settings settings,
    Retentions retentions,
    InstantSource clock,
    ExecutorService handlerThreads,
    Observers observers,
    Listing listing,
    Seals seals,
    LostEffects lostEffects) {

  /**
   * What the sessions of threads share.
   *
   * @param outside what the effects of a thread reach, by its id
   * @param state the state of a thread, by its id
   */
  record Threading(
      ThreadProgram program,
      Function<String, Outside> outside,
      Function<String, CompletionStage<ThreadState>> state) {
    Agents agents() {
      return program.agents();
    }
  }

  /** Those who follow what sessions do. */
  record Observers(
      Audience audience, Subscriptions subscriptions, Telemetry telemetry, HostGauges gauges) {}

  /** The lists of sessions that a host keeps. */
  record Listing(RunLedger ledger, RunTally tally, Directory directory) {}

  Telemetry telemetry() {
    return observers.telemetry();
  }

  long now() {
    return clock.millis();
  }
}
