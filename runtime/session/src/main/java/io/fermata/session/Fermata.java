package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Outside;
import io.fermata.agent.ThreadProgram;
import io.fermata.agent.ThreadState;
import io.fermata.flow.Attached;
import io.fermata.flow.Flow;
import io.fermata.flow.Input;
import io.fermata.flow.Json;
import io.fermata.flow.Limits;
import io.fermata.flow.Recorder;
import io.fermata.flow.SecretFields;
import io.fermata.persistence.Forgotten;
import io.fermata.persistence.OpenStore;
import io.fermata.persistence.Store;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.pekko.actor.BootstrapSetup;
import org.apache.pekko.actor.setup.ActorSystemSetup;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A host: flows, the store their sessions live in, and the actors that run them.
 *
 * <pre>{@code
 * try (Fermata fermata =
 *     Fermata.host().store(Store.sqlite(Path.of("fermata.db"))).flow(quote).start()) {
 *   …
 * }
 * }</pre>
 *
 * <p>Sessions that were at work when the store was last closed, or killed, go on when it starts.
 */
public final class Fermata implements ToolHost, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Fermata.class);
  private static final Duration DRAIN = Duration.ofSeconds(30);

  /** How long those who are handed back to may take to hear it. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  private static final Duration LOOK_AGAIN = Duration.ofSeconds(5);
  private static final Duration SWEEP = Duration.ofMillis(500);

  /** A store that is silent for so long does not answer. */
  private static final Duration SILENCE = Duration.ofSeconds(2);

  private final List<ToolContract> tools;
  private final List<DisplayTool> displays;
  private final FlowCatalog catalog;
  private final Tasks tasks;
  private final Audience audience;
  private final Seals seals;
  private final ToolUses toolUses;
  private final Handles handles;
  private final OpenStore store;
  private final Pings pings;
  private final Limits limits;
  private final InstantSource clock;
  private final ExecutorService handlerThreads;
  private final ExecutorService replies;
  private final ExecutorService feedThreads;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Only the sweep tells, and one follows the other. */
  private volatile boolean storeFails;

  private final Telemetry telemetry;
  private final HostGauges gauges = new HostGauges();

  private final AtomicLong readings = new AtomicLong();
  private final ThreadFeeds feeds;
  private final Agents agents;
  private final AgentThreads threads;
  private final Map<String, AgentTool> agentTools;
  private final HostOutside.Shared shared;
  private final RunLedger ledger;
  private final RunTally tally;
  private final Runs runs;
  private final Eraser eraser;
  private final Archives archives;
  private final ActorSystem<GatewayCommand> system;

  private Fermata(Builder builder, OpenStore store) {
    Settings settings =
        builder.settings.snapshotEvery(store.snapshotEvery(builder.settings.snapshotEvery()));
    Retentions retentions = new Retentions(builder.retention, builder.retentions);
    this.store = store;
    this.pings = new Pings(store::ping, SILENCE);
    this.telemetry = Telemetries.of(builder.telemetries);
    this.limits = settings.limits();
    this.clock = builder.clock;
    this.catalog =
        new FlowCatalog(builder.flows, builder.flowTools, builder.jobs, settings.limits());
    TaskWatches watches = new TaskWatches();
    this.tasks = new HostTasks(new TaskWay(), catalog, watches);
    this.audience =
        new Audience(
            builder.recorders, builder.recordersWithSecrets, catalog, settings.recorderBacklog());
    this.seals = builder.seals(catalog.secretFields());
    this.toolUses = new ToolUses(this, catalog.tools());
    this.displays = List.copyOf(builder.displays);
    this.handles = new Handles(store.serverKey(), builder.acceptedKeys);
    this.handlerThreads = HandlerThreads.create(settings.handlerThreads());
    this.replies = HandlerThreads.replies();
    this.feedThreads = HandlerThreads.feeds();
    this.feeds = new ThreadFeeds();
    this.ledger = new RunLedger(store, seals, builder.clock);
    this.runs = new StoreRuns(store, ledger, replies);
    this.tally = new RunTally(runs, ledger::entered, settings.unfinishedRuns());
    this.agents = new Agents(builder.agents);
    requireFlowsOf(agents);
    AgentHost agentHost =
        new AgentHost(
            new ThreadProgram(agents), store.directory(), feeds, this::outside, this::state);
    this.threads =
        new AgentThreads(
            this::actors,
            store,
            agentHost,
            builder.clock,
            replies,
            feedThreads,
            settings.callsInFlight(),
            closed::get,
            seals);
    this.agentTools = new LinkedHashMap<>();
    agents.all().stream()
        .filter(agent -> !agent.isInternal())
        .forEach(
            agent ->
                agentTools.put(
                    agent.name(), new AgentTool(agent, threads, settings.callDeadline())));
    this.tools =
        Stream.of(
                catalog.offered().stream().map(ToolContracts::of),
                catalog.jobs().values().stream().map(ToolContracts::of),
                agentTools.values().stream().map(AgentTool::contract))
            .flatMap(each -> each)
            .toList();
    this.eraser =
        new Eraser(
            store,
            command -> actors().tell(command),
            audience,
            erased -> {
              feeds.ended(erased, null);
              watches.changed(erased);
            },
            ledger,
            replies);
    this.archives =
        new Archives(
            store,
            eraser,
            seals,
            builder.dormant ? unwanted -> {} : command -> actors().tell(command),
            ledger::lookAgain,
            handlerThreads);
    this.shared =
        new HostOutside.Shared(
            threads,
            feeds,
            toolUses,
            store,
            eraser,
            builder.clock,
            builder.env::get,
            replies,
            handlerThreads);
    Sessions.Birth birth =
        (entityId, fresh, region) -> {
          if (fresh) {
            store.begins(entityId);
          }
          Shell shell =
              new Shell(
                  catalog,
                  audience,
                  ledger,
                  tally,
                  settings,
                  retentions,
                  builder.clock,
                  handlerThreads,
                  region,
                  agentHost,
                  watches,
                  seals,
                  telemetry,
                  gauges);
          return SessionKey.agentOf(entityId) == null
              ? RunSession.create(entityId, shell)
              : ThreadSession.create(entityId, shell);
        };
    this.system =
        ActorSystem.create(
            Gateway.create(settings, builder.clock, handles, replies, gauges, birth),
            "fermata",
            ActorSystemSetup.create(
                BootstrapSetup.create(builder.config.withFallback(configuration(store))),
                store.setup()));
    ledger.start();
    telemetry.opened(gauges);
    if (!builder.dormant) {
      takeUpUnfinishedWork();
      wakeInTime(builder.clock);
      sweepRegularly(builder.clock);
    }
  }

  private ActorSystem<GatewayCommand> actors() {
    return system;
  }

  private CompletionStage<ThreadState> state(String threadId) {
    return threads.state(threadId);
  }

  private Outside outside(String threadId) {
    return new HostOutside(shared, threadId);
  }

  private void requireFlowsOf(Agents known) {
    for (Agent agent : known.all()) {
      for (String flow : agent.flows()) {
        if (!catalog.tools().containsKey(flow)) {
          throw new IllegalStateException(
              "The agent %s calls the flow %s, which is not registered as a tool; call tool(…) for it"
                  .formatted(agent.name(), flow));
        }
      }
    }
  }

  /** The threads of the host's agents. */
  public Threads threads() {
    return threads;
  }

  /** The runs of the host's flows, those of its tools, too. */
  public Runs runs() {
    return runs;
  }

  /** The agents of the host. */
  public Agents agents() {
    return agents;
  }

  /** Begins a host. */
  public static Builder host() {
    return new Builder();
  }

  @Override
  public List<ToolContract> tools() {
    return tools;
  }

  @Override
  public List<DisplayTool> displays() {
    return displays;
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    return call(call, Manner.WAITS, progress);
  }

  private CompletionStage<ToolReply> call(
      ToolCall call, Manner manner, Consumer<ToolProgress> progress) {
    AgentTool agent = agentTools.get(call.tool());
    if (agent == null) {
      requireFlow(call.tool());
    }
    if (telemetry == Telemetry.NONE) {
      return answered(agent, call, manner, progress, TraceContext.NONE);
    }
    Telemetry.Kind kind = agent == null ? Telemetry.Kind.FLOW : Telemetry.Kind.AGENT;
    Activity activity =
        telemetry.called(new Telemetry.Call(call.tool(), kind, TraceContext.of(call.meta())));
    return answered(agent, call, manner, progress, activity.context())
        .whenComplete(
            (reply, thrown) ->
                activity.end(
                    reply == null ? Activity.End.of(Activity.End.FAILED) : Activity.End.of(reply)));
  }

  private CompletionStage<ToolReply> answered(
      @Nullable AgentTool agent,
      ToolCall call,
      Manner manner,
      Consumer<ToolProgress> progress,
      TraceContext trace) {
    if (agent != null) {
      return agent.call(call, progress, trace);
    }
    CompletableFuture<ToolReply> reply = new CompletableFuture<>();
    FlowTool job = catalog.jobs().get(call.tool());
    String wrong = job == null ? null : job.wrong(call.arguments());
    if (wrong != null) {
      reply.complete(HostTasks.reply(HostError.INVALID_ARGUMENTS, wrong));
      return reply;
    }
    ToolCall begun = job == null ? call : Jobs.begun(call, handles);
    return passed(new GatewayCommand.Incoming(begun, manner, progress, trace, reply), reply);
  }

  @Override
  public Tasks tasks() {
    return tasks;
  }

  /** How tasks reach the sessions. */
  private final class TaskWay implements HostTasks.Way {
    @Override
    public CompletionStage<ToolReply> call(
        ToolCall call, Manner manner, Consumer<ToolProgress> progress) {
      return Fermata.this.call(call, manner, progress);
    }

    @Override
    public CompletionStage<ToolReply> tell(
        TaskRun run, Action action, ObjectNode updates, @Nullable Asked asked) {
      CompletableFuture<ToolReply> reply = new CompletableFuture<>();
      return passed(
          new GatewayCommand.ToRun(run.entityId(), run.runId(), action, updates, asked, reply),
          reply);
    }
  }

  @Override
  public Telemetry telemetry() {
    return telemetry;
  }

  @Override
  public void handBack() {
    system.tell(new GatewayCommand.HandBack());
    agentTools.values().forEach(AgentTool::handBack);
  }

  private boolean terminated() {
    return system.getWhenTerminated().toCompletableFuture().isDone();
  }

  @Override
  public CompletionStage<Health> health() {
    boolean accepts = !closed.get() && !terminated();
    if (!accepts || storeFails) {
      return CompletableFuture.completedFuture(new Health(!storeFails, accepts));
    }
    return pings.answers().thenApplyAsync(answers -> new Health(answers, accepts), replies);
  }

  private CompletionStage<ToolReply> passed(
      GatewayCommand command, CompletableFuture<ToolReply> reply) {
    if (closed.get()) {
      reply.complete(HostTasks.reply(HostError.SHUTTING_DOWN));
    } else {
      system.tell(command);
    }
    return reply;
  }

  /**
   * Tells a run of something that happened outside and that it may wait for. A signal that comes
   * early is kept until the run waits for it.
   *
   * @param runId the run's name, as {@link io.fermata.flow.Run#id} tells it to an action
   * @param payload what belongs to the signal, anything that can be written as JSON; or null
   * @param signalId the same for every repetition of a signal, so that it counts once; or null
   * @return what the run came to, as a call of its tool would be told
   */
  public CompletionStage<ToolReply> signal(
      String flow,
      String runId,
      String signal,
      @Nullable Object payload,
      @Nullable String signalId) {
    requireFlow(flow);
    CompletableFuture<ToolReply> reply = new CompletableFuture<>();
    JsonNode tree = payload == null ? null : Json.tree(payload);
    return passed(
        new GatewayCommand.Signalled(
            SessionKey.entityOf(flow, runId),
            new RunCommand.Signal(runId, signal, tree),
            signalId,
            reply),
        reply);
  }

  /**
   * Calls a flow as a tool. Named again, the same use is told what it came to.
   *
   * @param arguments what the caller gives, checked against the tool's input schema
   */
  public CompletionStage<ToolOutcome> use(ToolUse use, ObjectNode arguments) {
    return use(use, arguments, progress -> {});
  }

  /** As {@link #use(ToolUse, ObjectNode)}, hearing meanwhile what its nodes tell. */
  public CompletionStage<ToolOutcome> use(
      ToolUse use, ObjectNode arguments, Consumer<ToolProgress> progress) {
    return toolUses.start(use, arguments, progress);
  }

  /**
   * Brings the answer to what a tool's run asked back to it.
   *
   * @param answerId the same for every repetition of this answer
   */
  public CompletionStage<ToolOutcome> answer(ToolUse use, String answerId, ObjectNode answers) {
    return toolUses.answer(use, answerId, answers);
  }

  /**
   * What a use has come to by now: its open question again, or what it ended with, whether or not
   * that was told before.
   */
  public CompletionStage<ToolOutcome> again(ToolUse use) {
    return toolUses.again(use);
  }

  /**
   * Decides about the step at which a use is {@link ToolOutcome.Undecided}, and goes on.
   *
   * @param resolution try it again, or take it as done
   */
  public CompletionStage<ToolOutcome> resolve(ToolUse use, Input.Resolution resolution) {
    return toolUses.resolve(use, resolution);
  }

  /** Ends the run of a use whose caller is cancelled; what it did is undone. */
  public CompletionStage<ToolOutcome> withdraw(ToolUse use) {
    return toolUses.withdraw(use);
  }

  /**
   * Tells recorders what the journal says of a run, from its beginning to now, in the words in
   * which those who watch it live are told, and without its secrets. The run is not disturbed.
   *
   * @param runId the run's name, as {@link io.fermata.flow.Run#id} tells it to an action, and every
   *     event that a recorder hears
   * @return completes when all is told; with an {@link IllegalArgumentException} if nothing is
   *     known of the run, as of one that ended longer ago than its {@link Retention}; with an
   *     {@link IllegalStateException} if the host is closed, or if a recorder threw, which the
   *     others were told of
   */
  public CompletionStage<Void> replay(String flow, String runId, Recorder... recorders) {
    return replay(flow, runId, Arrays.stream(recorders).map(audience::withoutSecrets).toList());
  }

  /** As {@link #replay}, with all that the run keeps secret. */
  public CompletionStage<Void> replayWithSecrets(String flow, String runId, Recorder... recorders) {
    return replay(flow, runId, Arrays.stream(recorders).map(Attached::everywhere).toList());
  }

  private CompletionStage<Void> replay(String flow, String runId, List<Attached> attached) {
    requireFlow(flow);
    String entityId = SessionKey.entityOf(flow, runId);
    if (closed.get()) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("The host is closed and reads no journals"));
    }
    CompletableFuture<Reading.Journal> read = new CompletableFuture<>();
    String name = "reading-" + readings.incrementAndGet();
    system.tell(new GatewayCommand.Helper(name, Reading.create(entityId, seals, read)));
    return read.thenAcceptAsync(
        journal -> {
          long failures =
              journal
                  .tell(entityId, runId, catalog, attached)
                  .orElseThrow(() -> new IllegalArgumentException(unknown(flow, runId)));
          if (failures > 0) {
            throw new IllegalStateException(
                "Recorders threw %d times while they were told of the run %s; what they threw is told to the others (onError)"
                    .formatted(failures, runId));
          }
        },
        replies);
  }

  /**
   * What would become of this host's runs if a release with other flows took its store over.
   *
   * @param flows all that the release registers, each in all its versions, tools of agents included
   */
  public CompletionStage<Rollout> check(Flow<?>... flows) {
    return CompletableFuture.supplyAsync(
        () -> Rollout.check(store, seals, limits, clock.instant(), flows), handlerThreads);
  }

  /**
   * Erases all that the store has of somebody or something: journals, snapshots and entries of the
   * directory, and what recorders have not been told yet. Sessions that are awake stop first, their
   * effects are given up, and until it is done calls are told that the session is being erased. To
   * erase what is not there does nothing.
   *
   * @return what was removed; completes when the store has been asked again and has nothing left,
   *     and an embedded store's file neither
   */
  public CompletionStage<Erased> erase(Erasure what) {
    if (closed.get()) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("The host is closed and erases nothing"));
    }
    Scope scope = Scope.of(what, handles);
    return scope == null
        ? CompletableFuture.completedFuture(Erased.of(Forgotten.NOTHING, 0))
        : eraser.erase(scope);
  }

  /**
   * Writes the journal of a run as JSON Lines, with that of the other runs that its flow and
   * session had and that are kept. The run is not disturbed. What is encrypted in the journal is
   * encrypted in what is written, and opens in another store with the same key.
   *
   * @param to is flushed and not closed
   * @return how many records there are; completes with an {@link IllegalArgumentException} if there
   *     is no journal of the run
   */
  public CompletionStage<Long> export(String flow, String runId, OutputStream to) {
    requireOpen();
    return archives.write(Archive.Header.ofRun(flow, runId), false, to);
  }

  /** As {@link #export}, with all that the run keeps secret, readable for everybody. */
  public CompletionStage<Long> exportWithSecrets(String flow, String runId, OutputStream to) {
    requireOpen();
    return archives.write(Archive.Header.ofRun(flow, runId), true, to);
  }

  /** As {@link #export}, the journal of a thread; without the runs and threads that it began. */
  public CompletionStage<Long> exportThread(String threadId, OutputStream to) {
    requireOpen();
    ThreadKey key = ThreadKey.of(threadId);
    return key == null
        ? CompletableFuture.failedFuture(
            new IllegalArgumentException("There is no thread " + threadId))
        : archives.write(Archive.Header.ofThread(key), false, to);
  }

  /**
   * Takes a journal that was exported from another store, and lets the run or thread go on where it
   * was: its timers and its unfinished work, too. Everything is checked before anything is written.
   *
   * <p>Names stay what they were: runs, threads and the sessions that clients named themselves are
   * found as before. A session handle that the other store minted is recognised only where {@link
   * Builder#acceptHandlesOf} says so.
   *
   * @return completes with an {@link ArchiveException} if it is not complete, not consistent, not
   *     of a format and a flow that this host knows, or if the store has the run or thread already
   */
  public CompletionStage<Imported> importJournal(InputStream from) {
    requireOpen();
    return archives.read(from, catalog::has, clock.millis());
  }

  /** Copies the store into a new file while it is in use; see {@link OpenStore#backup}. */
  public CompletionStage<Void> backup(Path file) {
    requireOpen();
    return store.backup(file).thenAccept(done -> {});
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("The host is closed");
    }
  }

  private static String unknown(String flow, String runId) {
    return "The store has no journal of a run "
        + runId
        + " of "
        + flow
        + "; that of a run that has ended is kept as long as the host's retention says";
  }

  private void requireFlow(String flow) {
    if (!catalog.has(flow)) {
      throw new IllegalArgumentException("There is no flow " + flow);
    }
  }

  @Override
  public Handles handles() {
    return handles;
  }

  /** The actor system, for those who watch it, or move its time in a test. */
  public ActorSystem<?> system() {
    return system;
  }

  /** As {@link #close(Duration)}, with half a minute. */
  @Override
  public void close() {
    close(DRAIN);
  }

  /**
   * Refuses new calls, lets those under way finish, closes the store, and tells recorders what they
   * have not heard yet.
   *
   * @param patience how long work may go on; then callers are {@linkplain #handBack handed back},
   *     and what is still under way is given up, and taken up again by the next host
   */
  public void close(Duration patience) {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    feeds.endAll();
    CompletableFuture<Void> drained = new CompletableFuture<>();
    system.tell(new GatewayCommand.Drain(drained));
    boolean quiet = await(drained, patience, "the work under way");
    if (!quiet) {
      handBack();
      quiet = await(drained, LAST_WORDS, "the work that was handed back");
    }
    boolean nothingLeft = quiet;
    stop(() -> ledger.close(nothingLeft));
    audience.close(DRAIN.toMillis());
  }

  /** Stops as a lost process would: nothing under way is waited for. */
  void crash() {
    closed.set(true);
    stop(ledger::stop);
    audience.abandon();
  }

  private void stop(Runnable lastOfLedger) {
    system.terminate();
    await(system.getWhenTerminated().toCompletableFuture(), DRAIN, "the sessions");
    telemetry.closed(gauges);
    lastOfLedger.run();
    handlerThreads.shutdownNow();
    replies.shutdown();
    feedThreads.shutdown();
    store.close();
  }

  /** How many sessions are in memory. */
  public CompletionStage<Integer> awake() {
    return AskPattern.ask(
        system, GatewayCommand.CountAwake::new, Duration.ofSeconds(3), system.scheduler());
  }

  private static boolean await(CompletableFuture<?> end, Duration patience, String what) {
    try {
      end.get(patience.toMillis(), TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      LOG.warn("Closing: did not wait longer than {} for {}", patience, what);
    } catch (ExecutionException e) {
      LOG.warn("Closing: {} ended badly", what, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return false;
  }

  private void takeUpUnfinishedWork() {
    store
        .working()
        .whenComplete(
            (entityIds, thrown) -> {
              if (thrown != null) {
                if (!closed.get()) {
                  LOG.error("Unfinished runs could not be found; will look again", thrown);
                  system
                      .scheduler()
                      .scheduleOnce(
                          LOOK_AGAIN, this::takeUpUnfinishedWork, system.executionContext());
                }
                return;
              }
              List<String> ours = entityIds.stream().filter(this::isOurs).toList();
              if (!ours.isEmpty()) {
                LOG.info("Taking up {} unfinished runs", ours.size());
                system.tell(new GatewayCommand.Wake(ours));
              }
            });
  }

  private void wakeInTime(InstantSource clock) {
    system.tell(
        new GatewayCommand.Helper(
            "alarms", Alarms.create(store::due, this::isOurs, clock, system)));
  }

  private boolean isOurs(String entityId) {
    String agent = SessionKey.agentOf(entityId);
    return agent != null || catalog.has(SessionKey.flowOf(entityId));
  }

  /** One sweep follows the other, so that a slow one does not queue up more. */
  private void sweepRegularly(InstantSource clock) {
    system
        .scheduler()
        .scheduleOnce(
            SWEEP,
            () ->
                store
                    .sweep(clock.millis())
                    .whenComplete(
                        (swept, thrown) -> {
                          if (!closed.get()) {
                            noticeStore(thrown);
                            sweepRegularly(clock);
                          }
                        }),
            system.executionContext());
  }

  /** Says once that the store fails, and wakes what was lost by it when it does so no more. */
  private void noticeStore(@Nullable Throwable failure) {
    if (failure != null && !storeFails) {
      LOG.warn("The store fails; will try again until it does not", failure);
    } else if (failure == null && storeFails) {
      LOG.info("The store is back");
      system.tell(new GatewayCommand.StoreBack());
    }
    storeFails = failure != null;
  }

  private static Config configuration(OpenStore store) {
    return store
        .config()
        .withFallback(ConfigFactory.parseResources(Fermata.class, "/fermata-session.conf"))
        .withFallback(ConfigFactory.load());
  }

  /** A host being put together. */
  public static final class Builder {
    private final List<Flow<?>> flows = new ArrayList<>();
    private final List<DisplayTool> displays = new ArrayList<>();
    private final List<FlowTool> flowTools = new ArrayList<>();
    private final List<FlowTool> jobs = new ArrayList<>();
    private final List<Schedule> schedules = new ArrayList<>();
    private final List<Recorder> recorders = new ArrayList<>();
    private final List<Recorder> recordersWithSecrets = new ArrayList<>();
    private final List<Agent> agents = new ArrayList<>();
    private final List<Telemetry> telemetries = new ArrayList<>();
    private final Map<String, String> env = new LinkedHashMap<>();
    private final Map<String, Retention> retentions = new LinkedHashMap<>();
    private Settings settings = Settings.DEFAULT;
    private Retention retention = Retention.DEFAULT;
    private InstantSource clock = InstantSource.system();
    private Config config = ConfigFactory.empty();
    private Seal seal = Seal.SECRETS;
    private @Nullable KeyProvider keys;
    private final List<byte[]> acceptedKeys = new ArrayList<>();
    private @Nullable Store store;
    private boolean dormant;

    private Builder() {}

    /**
     * Where sessions live. Without this the environment names it, see {@link
     * Store#fromEnvironment}.
     */
    public Builder store(Store where) {
      store = where;
      return this;
    }

    /**
     * Recognises the session handles of another store as well, so that clients go on with runs that
     * were imported from it.
     *
     * @param serverKey what {@link OpenStore#serverKey} of that store returns; whoever has it can
     *     make handles
     */
    public Builder acceptHandlesOf(byte[] serverKey) {
      acceptedKeys.add(serverKey.clone());
      return this;
    }

    /** Offers a flow. Several versions of one flow may be registered; the newest is offered. */
    public Builder flow(Flow<?> flow) {
      flows.add(flow);
      return this;
    }

    /** Offers a flow as a tool of agents. Clients of the host do not see it. */
    public Builder tool(FlowTool tool) {
      flowTools.add(tool);
      return this;
    }

    /**
     * Offers a flow as a plain tool: a call gives arguments and is told the result, and nobody has
     * to know of sessions. A step that fails for good ends the run. What the flow asks is asked of
     * the client's user, where the client can do that.
     */
    public Builder job(FlowTool tool) {
      jobs.add(tool.asJob());
      return this;
    }

    /** Runs threads of an agent. */
    public Builder agent(Agent agent) {
      agents.add(agent);
      return this;
    }

    /** What the environment of every thread has where neither it nor its agent says otherwise. */
    public Builder env(String property, String value) {
      env.put(property, value);
      return this;
    }

    /** Offers a tool that renders widgets. */
    public Builder display(DisplayTool tool) {
      displays.add(tool);
      return this;
    }

    /** Starts runs of a flow when their time comes. */
    public Builder schedule(Schedule schedule) {
      schedules.add(schedule);
      return this;
    }

    /**
     * Lets a recorder hear of all runs of the host, those of its tools, too. It hears what the
     * journal has, on a thread of its own; what it throws, and how slow it is, disturbs nobody. One
     * that falls behind by more than {@link Settings#recorderBacklog} journal records loses the
     * newest and is told how many. What was journaled but not yet told when the process dies is not
     * told again: a recorder that must miss nothing reads the journal.
     *
     * <p>Of a flow with {@link io.fermata.flow.Secret} fields it hears without their values, and
     * without {@link Recorder#onRecord}, whose state has them.
     */
    public Builder recorder(Recorder recorder) {
      recorders.add(recorder);
      return this;
    }

    /**
     * Lets meters count and spans time what the host does, with the servers that offer it. May be
     * called several times.
     */
    public Builder telemetry(Telemetry telemetry) {
      telemetries.add(telemetry);
      return this;
    }

    /** As {@link #recorder}, for one that may hear what runs keep secret. */
    public Builder recorderWithSecrets(Recorder recorder) {
      recordersWithSecrets.add(recorder);
      return this;
    }

    /**
     * The keys that encrypt what is secret. Without this the environment variables FERMATA_KEYS or
     * FERMATA_KEYS_FILE have them, as {@link Keys#parse} reads them.
     */
    public Builder keys(KeyProvider provider) {
      keys = provider;
      return this;
    }

    /** What is encrypted; without this what flows mark as secret. */
    public Builder seal(Seal what) {
      seal = what;
      return this;
    }

    public Builder settings(Settings chosen) {
      settings = chosen;
      return this;
    }

    /** How long the store keeps what is over. */
    public Builder retention(Retention time) {
      retention = time;
      return this;
    }

    /** How long the store keeps the runs of one flow when they are over. */
    public Builder retention(String flow, Retention time) {
      retentions.put(flow, time);
      return this;
    }

    /**
     * Leaves the store as it is but for what the host is told to do: no unfinished work is taken up
     * when it starts, no timer and no schedule is kept, nothing is swept. For tools that export,
     * import or erase while no server has the store open.
     */
    public Builder dormant() {
      dormant = true;
      return this;
    }

    /** Settings of the actor system that go before the host's own. */
    public Builder config(Config overrides) {
      config = overrides;
      return this;
    }

    /** Where the time comes from; for tests. */
    public Builder clock(InstantSource source) {
      clock = source;
      return this;
    }

    /**
     * Opens the store and starts the host.
     *
     * @throws IllegalStateException if no store is named, a flow needs a display tool that is not
     *     registered, a schedule can never start a run, or there is no key for what is secret
     * @throws io.fermata.persistence.StoreException if the store cannot be opened
     */
    public Fermata start() {
      checkNames();
      checkDisplays();
      checkRetentions();
      Timetable timetable = timetable();
      OpenStore open = chosenStore().open();
      try {
        Fermata host = new Fermata(this, open);
        if (!dormant) {
          timetable.start(host.system, host::call, clock);
        }
        return host;
      } catch (RuntimeException e) {
        open.close();
        throw e;
      }
    }

    private Seals seals(Map<String, SecretFields> fields) {
      KeyProvider chosen = keys == null ? Keys.fromEnvironment().orElse(null) : keys;
      if (chosen == null && (!fields.isEmpty() || seal == Seal.EVERYTHING)) {
        throw new IllegalStateException(
            (seal == Seal.EVERYTHING
                    ? "The host is to encrypt everything"
                    : "Fields are marked as secret (" + listed(fields) + ")")
                + ", and there is no key. Set FERMATA_KEYS to id:base64 of 32 random bytes, or"
                + " FERMATA_KEYS_FILE to a file of it, or call keys(…) on the host; Keys.generate"
                + " makes a new key");
      }
      return new Seals(
          new Sealer(chosen == null ? null : Sealer.checked(chosen)), seal, Map.copyOf(fields));
    }

    private static String listed(Map<String, SecretFields> fields) {
      return fields.entrySet().stream()
          .map(e -> e.getKey() + ": " + e.getValue())
          .collect(Collectors.joining("; "));
    }

    private Store chosenStore() {
      if (store != null) {
        return store;
      }
      return Store.fromEnvironment()
          .orElseThrow(
              () ->
                  new IllegalStateException(
                      "No store is named. Call store(Store.sqlite(path)) on the host, or set"
                          + " FERMATA_STORE to sqlite:<file>, postgres://… or redis://…; for tests"
                          + " only, Store.memory() or FERMATA_STORE=memory"));
    }

    private void checkNames() {
      if (flows.isEmpty() && flowTools.isEmpty() && jobs.isEmpty() && agents.isEmpty()) {
        throw new IllegalStateException(
            "The host has no flow and no agent; call flow(…) or agent(…) at least once");
      }
      TreeSet<String> names = new TreeSet<>();
      flows.forEach(flow -> names.add(flow.id()));
      flowTools.forEach(tool -> requireNew(names, tool.name()));
      jobs.forEach(job -> requireNew(names, job.name()));
      displays.forEach(display -> requireNew(names, display.name()));
      agents.forEach(agent -> requireNew(names, agent.name()));
    }

    private static void requireNew(Set<String> names, String name) {
      if (!names.add(name)) {
        throw new IllegalStateException(
            "Two tools are named " + name + "; nobody could tell them apart; rename one");
      }
    }

    private List<Flow<?>> all() {
      List<Flow<?>> all = new ArrayList<>(flows);
      flowTools.forEach(tool -> all.add(tool.flow()));
      jobs.forEach(job -> all.add(job.flow()));
      return all;
    }

    private void checkRetentions() {
      TreeSet<String> unknown = new TreeSet<>(retentions.keySet());
      all().forEach(flow -> unknown.remove(flow.id()));
      if (!unknown.isEmpty()) {
        throw new IllegalStateException(
            "There is a retention for "
                + String.join(", ", unknown)
                + ", and no such flow; name a flow of the host");
      }
    }

    private Timetable timetable() {
      return Timetable.of(schedules, flows.stream().map(Flow::id).toList(), clock.instant());
    }

    private void checkDisplays() {
      List<String> registered = displays.stream().map(DisplayTool::name).toList();
      for (Flow<?> flow : all()) {
        TreeSet<String> missing = new TreeSet<>(flow.displayTools());
        registered.forEach(missing::remove);
        if (!missing.isEmpty()) {
          throw new IllegalStateException(
              "Flow "
                  + flow.id()
                  + " shows widgets with "
                  + String.join(", ", missing)
                  + ", which is not registered; call display(…) for it");
        }
      }
    }
  }
}
