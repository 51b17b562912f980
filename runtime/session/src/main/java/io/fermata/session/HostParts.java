package io.fermata.session;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.ThreadState;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.LostEffects;
import io.fermata.session.actor.Recorders;
import io.fermata.session.actor.SessionActor;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Retentions;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolContracts;
import io.fermata.session.host.AgentAsTool;
import io.fermata.session.host.AgentThreads;
import io.fermata.session.host.Archives;
import io.fermata.session.host.CallRouter;
import io.fermata.session.host.Eraser;
import io.fermata.session.host.HostOutside;
import io.fermata.session.host.HostRuns;
import io.fermata.session.host.HostThreads;
import io.fermata.session.host.RunExplanations;
import io.fermata.session.host.RunForks;
import io.fermata.session.host.ToolUses;
import io.fermata.session.host.Upkeep;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.Handles;
import io.fermata.session.key.SessionKey;
import io.fermata.session.observe.HostGauges;
import io.fermata.session.observe.Telemetries;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.run.RunPort;
import io.fermata.session.runs.RunCounts;
import io.fermata.session.runs.SessionDirectory;
import io.fermata.session.runs.StoreRuns;
import io.fermata.session.thread.ThreadPort;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.apache.pekko.actor.BootstrapSetup;
import org.apache.pekko.actor.setup.ActorSystemSetup;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/** The wired parts of a host, behind the facade {@link Fermata}. */
final class HostParts {
  final AtomicBoolean closed = new AtomicBoolean();
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
  final LostEffects lostEffects = new LostEffects();
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
  final Runs hosted;
  final Upkeep upkeep;
  private final HostOutside.Shared outside;

  HostParts(HostBuilder builder, OpenStore store) {
    this.store = store;
    this.config = builder;
    this.gauges = new HostGauges(store.pools());
    this.settings =
        builder.settings.snapshotEvery(store.snapshotEvery(builder.settings.snapshotEvery()));
    this.telemetry = Telemetries.of(builder.telemetries);
    this.catalog =
        new FlowCatalog(builder.flows, builder.flowTools, builder.jobs, settings.limits());
    this.agents = new Agents(builder.agents);
    requireFlowsOf(agents, catalog);
    this.encryption = builder.encryption(catalog.secretFields());
    this.handles = new Handles(store.serverKey(), builder.acceptedKeys);
    this.recorders =
        new Recorders(
            builder.recorders, builder.recordersWithSecrets, catalog, settings.recorderBacklog());
    this.threads = HostThreads.start(settings);
    this.directory = new SessionDirectory(store, encryption, builder.clock);
    this.runs = new StoreRuns(store, directory, threads.replies());
    this.gateway =
        new Gateway(
            settings, builder.nanos, handles, threads.replies(), gauges, catalog::secretFields);
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
        builder.explains
            ? new RunExplanations(catalog, store, encryption, handles, threads.replies())
            : null;
    this.router =
        new CallRouter(catalog, agentTools, explanations, gateway, handles, telemetry, closed::get);
    this.toolUses = new ToolUses(router::call, catalog.tools());
    this.tools = offered(agentTools, explanations);
    this.system = system(sessions());
    this.gateway.start(system);
    this.eraser =
        new Eraser(store, system::tell, recorders, this::erased, directory, threads.replies());
    this.archives =
        new Archives(
            store,
            eraser,
            encryption,
            builder.dormant ? unwanted -> {} : system::tell,
            directory::lookAgain,
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
                threads.handlers()));
    this.outside =
        new HostOutside.Shared(
            agentThreads,
            subscriptions,
            toolUses,
            store,
            eraser,
            directory,
            builder.clock,
            builder.env::get,
            threads);
    this.upkeep =
        new Upkeep(store, system, this::isOurs, builder.clock, builder.nanos, closed::get, gauges);
  }

  private static void requireFlowsOf(Agents agents, FlowCatalog catalog) {
    for (Agent agent : agents.all()) {
      for (String flow : agent.flows()) {
        if (!catalog.tools().containsKey(flow)) {
          throw new IllegalStateException(
              "The agent %s calls the flow %s, which is not registered as a tool; call tool(…) for it"
                  .formatted(agent.name(), flow));
        }
      }
    }
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

  private SessionHost sessions() {
    RunCounts counts = new RunCounts(runs, directory::entered, settings.unfinishedRuns());
    return new SessionHost(
        catalog,
        new SessionHost.Threading(new ThreadProgram(agents), this::outside, this::state),
        settings,
        new Retentions(config.retention, config.retentions),
        config.clock,
        new SessionHost.Handlers(threads.handlers(), config.steps),
        new SessionHost.Observers(recorders, subscriptions, telemetry, gauges),
        new SessionHost.Listing(directory, counts, store.directory()),
        encryption,
        lostEffects);
  }

  private Outside outside(String threadId) {
    return new HostOutside(outside, threadId);
  }

  private CompletionStage<ThreadState> state(String threadId) {
    return agentThreads.state(threadId);
  }

  private ActorSystem<SessionRegion.Message> system(SessionHost sessions) {
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
        SessionRegion.create(factory, settings, config.nanos, gauges, gateway, store::ping),
        "fermata",
        ActorSystemSetup.create(
            BootstrapSetup.create(config.config.withFallback(configuration(store))),
            store.setup()));
  }

  private static Config configuration(OpenStore store) {
    return store
        .config()
        .withFallback(ConfigFactory.parseResources(Fermata.class, "/fermata-session.conf"))
        .withFallback(ConfigFactory.load());
  }

  private void erased(String entityId) {
    lostEffects.forget(entityId);
    subscriptions.ended(entityId, null);
  }

  private boolean isOurs(String entityId) {
    return SessionKey.agentOf(entityId) != null || catalog.has(SessionKey.flowOf(entityId));
  }
}
