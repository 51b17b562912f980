package io.fermata.session;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.RunState;
import io.fermata.persistence.pekko.SessionTroubles;
import io.fermata.persistence.pekko.SnapshotUse;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.LostSessions;
import io.fermata.session.actor.Placement;
import io.fermata.session.actor.Recorders;
import io.fermata.session.actor.SessionActor;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.admin.Settings;
import io.fermata.session.archive.Archives;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolContracts;
import io.fermata.session.cluster.HostCluster;
import io.fermata.session.cluster.Offers;
import io.fermata.session.host.AgentAsTool;
import io.fermata.session.host.AgentThreads;
import io.fermata.session.host.CallRouter;
import io.fermata.session.host.Eraser;
import io.fermata.session.host.HostOutside;
import io.fermata.session.host.HostRuns;
import io.fermata.session.host.HostThreads;
import io.fermata.session.host.NoRemoting;
import io.fermata.session.host.RunAccounts;
import io.fermata.session.host.RunExplanations;
import io.fermata.session.host.RunForks;
import io.fermata.session.host.Timetable;
import io.fermata.session.host.ToolUses;
import io.fermata.session.host.Upkeep;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.Closing;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.observe.Congestion;
import io.fermata.session.observe.HostGauges;
import io.fermata.session.observe.SlowDecisions;
import io.fermata.session.observe.Telemetries;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.run.RunPort;
import io.fermata.session.runs.QuotaCounts;
import io.fermata.session.runs.Retentions;
import io.fermata.session.runs.SessionDirectory;
import io.fermata.session.runs.StoreRuns;
import io.fermata.session.thread.ThreadPort;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.pekko.actor.BootstrapSetup;
import org.apache.pekko.actor.setup.ActorSystemSetup;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.jspecify.annotations.Nullable;

/** The wired parts of a host, behind the facade {@link Fermata}. */
final class HostParts {
  final AtomicBoolean closed = new AtomicBoolean();
  final Closing closing = new Closing();
  final OpenStore store;
  final HostBuilder config;
  final Settings settings;
  final HostThreads threads;
  final HostGauges gauges;
  final Telemetry telemetry;
  final FlowCatalog catalog;
  final Agents agents;
  final Encryption encryption;
  final Handles handles;
  final Recorders recorders;
  final SessionSubscriptions subscriptions = new SessionSubscriptions();
  final LostSessions lostSessions = new LostSessions();
  final SessionDirectory directory;
  final Runs runs;
  final Gateway gateway;
  final AgentThreads agentThreads;
  final CallRouter router;
  final ToolUses toolUses;
  final List<ToolContract> tools;
  final ActorSystem<SessionRegion.Message> system;
  final Eraser eraser;
  final Archives archives;
  final HostRuns hosted;
  final Upkeep upkeep;
  private final HostOutside.Services outside;

  /** Null for the only host of a store. */
  final @Nullable HostCluster cluster;

  HostParts(HostBuilder builder, OpenStore store) {
    this.store = store;
    this.config = builder;
    this.telemetry = Telemetries.of(builder.telemetries);
    this.cluster = cluster(builder, store, telemetry);
    Placement placement = placement();
    this.settings =
        builder.settings.snapshotEvery(store.snapshotEvery(builder.settings.snapshotEvery()));
    this.gauges =
        new HostGauges(store.pools(), new Congestion(settings.longestWait(), System::nanoTime));
    this.catalog = new FlowCatalog(builder.flows, builder.tools(), builder.jobs, settings.limits());
    this.agents = new Agents(builder.agents);
    this.encryption = builder.encryption(catalog.secretFields());
    this.handles = new Handles(store.serverKey(), builder.acceptedKeys);
    this.recorders =
        new Recorders(
            builder.recorders, builder.recordersWithSecrets, catalog, settings.recorderBacklog());
    this.threads = HostThreads.start(settings, builder.handlers);
    this.directory = new SessionDirectory(store, encryption, builder.clock, this::wakeUp);
    this.runs = new StoreRuns(store, directory, threads.replies(), () -> {});
    this.gateway =
        new Gateway(
            settings,
            builder.nanos,
            handles,
            threads.replies(),
            gauges,
            catalog::secretFields,
            placement,
            builder.carrier);
    this.agentThreads =
        new AgentThreads(
            gateway,
            agents,
            store,
            subscriptions,
            encryption,
            builder.clock,
            threads.replies(),
            threads.feeds(),
            closed::get);
    Map<String, AgentAsTool> agentTools = agentTools();
    RunExplanations explanations =
        new RunExplanations(catalog, store, encryption, handles, threads.replies());
    RunExplanations offered = builder.explains ? explanations : null;
    this.router = new CallRouter(catalog, agentTools, offered, gateway, telemetry, closed::get);
    this.toolUses = new ToolUses(router::call, catalog, this::ended);
    this.tools = offered(agentTools, offered);
    this.system = system(sessions(), placement);
    Consumer<SessionRegion.Message> everywhere =
        cluster == null ? system::tell : cluster.everywhere();
    this.gateway.start(system);
    this.eraser =
        new Eraser(
            store,
            everywhere,
            cluster == null ? store::delete : cluster::delete,
            // The calls of others would wait as long as a file takes to be rewritten.
            builder.dormant ? store::rewrite : store::scrub,
            recorders,
            this::erased,
            directory,
            threads.replies());
    this.archives =
        new Archives(
            store,
            eraser,
            encryption,
            this::wakeUp,
            directory,
            new ThreadProgram(agents),
            threads.handlers());
    this.hosted =
        new HostRuns(
            runs,
            new RunForks(
                store,
                encryption,
                catalog,
                name -> agents.all().stream().anyMatch(agent -> agent.name().equals(name)),
                gateway,
                handles,
                eraser,
                builder.clock,
                threads.handlers()),
            new RunAccounts(store, encryption, catalog, threads.handlers()),
            store,
            encryption,
            catalog,
            gateway,
            this::erase,
            threads.replies(),
            closed::get);
    this.outside =
        new HostOutside.Services(
            agentThreads,
            subscriptions,
            toolUses,
            explanations,
            store,
            eraser,
            directory,
            builder.clock,
            builder.env::get,
            threads);
    this.upkeep =
        new Upkeep(store, system, this::isOurs, builder.clock, builder.nanos, closed::get, gauges);
  }

  private static @Nullable HostCluster cluster(
      HostBuilder builder, OpenStore store, Telemetry telemetry) {
    return builder.cluster == null
        ? null
        : new HostCluster(store.shared().orElseThrow(), builder.cluster, builder.config, telemetry);
  }

  /** In a dormant host nothing wakes by itself. */
  private CompletionStage<?> wakeUp(List<String> entityIds) {
    if (config.dormant) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("A dormant host wakes no sessions"));
    }
    SessionRegion.WakeUp wake = new SessionRegion.WakeUp(entityIds);
    system.tell(wake);
    return wake.begun();
  }

  void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("The host is closed; start another one");
    }
  }

  /** What a host does while it is open; of a closed one the stage fails. */
  <T> CompletionStage<T> whileOpen(Supplier<CompletionStage<T>> asked) {
    try {
      requireOpen();
    } catch (IllegalStateException e) {
      return CompletableFuture.failedFuture(e);
    }
    return asked.get();
  }

  CompletionStage<Erased> erase(Erasure what) {
    SessionScope scope = SessionScope.of(what, handles);
    return scope == null
        ? CompletableFuture.completedFuture(Erased.of(Deleted.NOTHING, 0))
        : what instanceof Erasure.Thread thread && !config.dormant
            ? eraseReporting(thread.threadId(), scope)
            : eraser.erase(scope);
  }

  /** The parent may wait for the thread; in a dormant host it could not continue. */
  private CompletionStage<Erased> eraseReporting(String threadId, SessionScope scope) {
    return eraser.scrubbed(
        eraser.alone(scope, () -> agentThreads.reportErased(threadId, () -> eraser.delete(scope))));
  }

  /** Starts the background work: of all sessions, or of the shards that this host takes. */
  void start(Timetable timetable) {
    directory.start();
    if (config.dormant) {
      return;
    } else if (cluster == null) {
      upkeep.start();
      startSchedules(
          timetable,
          journal -> true,
          (behavior, name) -> system.systemActorOf(behavior, name, Props.empty()));
      return;
    }
    SharedStore shared = store.shared().orElseThrow();
    upkeep.startAlarms();
    cluster.join(
        system,
        gateway,
        subscriptions,
        new HostCluster.ShardUpkeep() {
          @Override
          public void opened(int shard, long mark, ActorContext<?> context) {
            directory.opened(shard, mark);
            upkeep.resumeShard(shared, shard);
            startSchedules(timetable, journal -> Shard.of(journal) == shard, context::spawn);
          }

          @Override
          public CompletionStage<?> closing() {
            return directory.entered();
          }

          @Override
          public void closed(int shard) {
            directory.closed(shard);
            lostSessions.forget(entityId -> Shard.of(entityId) == shard);
          }

          @Override
          public void agreed(Map<String, Integer> newest) {
            catalog.confine(newest);
          }

          @Override
          public CompletionStage<Void> stopped(SessionScope scope) {
            recorders.forget(scope::has);
            return directory.forget(scope::has);
          }

          @Override
          public CompletionStage<Deleted> delete(List<String> entityIds) {
            return store
                .delete(entityIds)
                .thenApply(
                    deleted -> {
                      entityIds.forEach(HostParts.this::erased);
                      return deleted;
                    });
          }
        },
        Offers.of(
            catalog.programs(),
            agents.all().stream().map(Agent::name).toList(),
            Offers.Keys.of(encryption)));
    cluster
        .lost()
        .thenAccept(
            reason -> {
              // Nothing here replies any more: the actor system of a removed host ends.
              gateway.end(HostError.MOVED);
              upkeep.lose(reason);
            });
  }

  private void startSchedules(
      Timetable timetable, Predicate<String> journals, BiConsumer<Behavior<?>, String> spawn) {
    timetable.start(journals, spawn, router::start, config.clock, telemetry);
  }

  private Map<String, AgentAsTool> agentTools() {
    Map<String, AgentAsTool> tools = new LinkedHashMap<>();
    for (Agent agent : agents.all()) {
      if (!agent.isInternal()) {
        tools.put(agent.name(), new AgentAsTool(agent, agentThreads, settings.callDeadline()));
      }
    }
    return tools;
  }

  private List<ToolContract> offered(
      Map<String, AgentAsTool> agentTools, @Nullable RunExplanations explanations) {
    List<ToolContract> offered =
        Stream.of(
                catalog.offered().stream().map(ToolContracts::of),
                catalog.jobs().values().stream().map(ToolContracts::of),
                agentTools.values().stream().map(AgentAsTool::contract),
                Stream.ofNullable(explanations).map(RunExplanations::contract))
            .flatMap(each -> each)
            .toList();
    if (explanations != null
        && offered.stream().filter(each -> each.name().equals(RunExplanations.NAME)).count() > 1) {
      throw new IllegalStateException(
          "The host explains runs with the tool %s, which is also the name of a flow or an agent; rename that"
              .formatted(RunExplanations.NAME));
    }
    return offered;
  }

  private Placement placement() {
    return cluster == null ? Placement.SINGLE : cluster.placement();
  }

  private SessionHost sessions() {
    QuotaCounts unfinished =
        new QuotaCounts(
            QuotaCounts.unfinished(runs), directory::entered, settings.quotas().unfinishedRuns());
    QuotaCounts conversations =
        new QuotaCounts(
            QuotaCounts.threads(store.directory()),
            directory::entered,
            settings.quotas().threads());
    return new SessionHost(
        catalog,
        new SessionHost.Threading(
            new ThreadProgram(agents), this::outside, this::state, agentThreads::flowChanged),
        settings,
        new Retentions(config.retention, config.retentions),
        config.clock,
        new SessionHost.Handlers(threads.handlers(), config.steps),
        new SessionHost.Observers(
            recorders,
            subscriptions,
            telemetry,
            gauges,
            new SlowDecisions(config.nanos),
            new SessionTroubles(config.nanos, "could not be read and is retried")),
        new SessionHost.Listing(directory, unfinished, conversations, store.directory()),
        encryption,
        new SessionHost.Continuity(lostSessions, placement()));
  }

  private Outside outside(String threadId, BooleanSupplier cancelled) {
    return new HostOutside(outside, threadId, cancelled);
  }

  private CompletionStage<ThreadState> state(String threadId) {
    return agentThreads.state(threadId);
  }

  private CompletionStage<SessionState<RunState>> ended(SessionKey key) {
    return JournalPages.ended(store, encryption, key.entityId(), threads.replies());
  }

  private ActorSystem<SessionRegion.Message> system(SessionHost sessions, Placement placement) {
    SessionRegion.SessionFactory factory =
        (entityId, fresh, region) -> {
          if (fresh) {
            store.expectNew(entityId);
          }
          return SessionKey.agentOf(entityId) == null
              ? SessionActor.create(entityId, sessions, region, RunPort::new)
              : SessionActor.create(entityId, sessions, region, ThreadPort::new);
        };
    return ActorSystem.create(
        SessionRegion.create(
            factory, settings, config.nanos, gauges, gateway, store::ping, placement),
        cluster == null ? "fermata" : HostCluster.systemName(store.serverKey()),
        setup());
  }

  private ActorSystemSetup setup() {
    Config own = configuration(store);
    // Other snapshots are left aside, so that a key is not needed for them alone.
    SnapshotUse snapshots = new SnapshotUse((id, snapshot) -> encryption.hasKeyOf(snapshot));
    if (cluster == null) {
      return ActorSystemSetup.create(
          BootstrapSetup.create(NoRemoting.in(config.config.withFallback(own))),
          store.setup(),
          snapshots);
    }
    return ActorSystemSetup.create(
        BootstrapSetup.create(config.config.withFallback(cluster.config()).withFallback(own)),
        store.setup(),
        snapshots,
        cluster.setup());
  }

  private static Config configuration(OpenStore store) {
    return store
        .config()
        .withFallback(ConfigFactory.parseResources(Fermata.class, "/fermata-session.conf"))
        .withFallback(ConfigFactory.load());
  }

  private void erased(String entityId) {
    lostSessions.forget(entityId);
    subscriptions.ended(entityId);
  }

  private boolean isOurs(String entityId) {
    return SessionKey.agentOf(entityId) != null || catalog.has(SessionKey.flowOf(entityId));
  }
}
