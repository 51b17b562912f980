package io.fermata.session;

import java.time.InstantSource;
import java.util.concurrent.ExecutorService;
import org.apache.pekko.actor.typed.ActorRef;

/** What every session actor of a host shares. */
record Shell(
    FlowCatalog catalog,
    Audience audience,
    RunLedger ledger,
    RunTally tally,
    Settings settings,
    Retentions retentions,
    InstantSource clock,
    ExecutorService handlerThreads,
    ActorRef<Sessions.Message> sessions,
    AgentHost agents,
    TaskWatches watches,
    Seals seals,
    Telemetry telemetry,
    HostGauges gauges) {}
