package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agents;
import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.logging.PlatformLogging;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.Health;
import io.fermata.session.call.HostBus;
import io.fermata.session.call.LocalBus;
import io.fermata.session.call.Request;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolOutcome;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.cluster.HostCluster;
import io.fermata.session.host.HostTasks;
import io.fermata.session.host.Timetable;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.runs.StoreRuns;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A host: flows and agents, the store of their sessions, and the actors that run them.
 *
 * <pre>{@code
 * try (Fermata fermata =
 *     Fermata.host().store(Store.sqlite(Path.of("fermata.db"))).flow(quote).start()) {
 *   …
 * }
 * }</pre>
 *
 * <p>Sessions with unfinished work continue when a host starts, also after a crash.
 */
public final class Fermata implements ToolHost, AutoCloseable {
  static {
    PlatformLogging.installIfMissing();
  }

  private static final Logger LOG = LoggerFactory.getLogger(Fermata.class);
  private static final Duration DRAIN = Duration.ofSeconds(30);

  /** The minimum time for recorders to receive what is pending. */
  private static final long MIN_RECORDERS_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The timeout for callers that are handed back. */
  private static final Duration HAND_BACK = Duration.ofSeconds(2);

  private final HostParts host;
  private final Tasks tasks;
  private final List<DisplayTool> displays;
  private final Journals journals;
  private final HostBus bus = new LocalBus();

  Fermata(HostParts parts, Timetable timetable) {
    this.host = parts;
    this.journals = new Journals(parts);
    this.displays = List.copyOf(parts.config.displays);
    this.tasks = new HostTasks(parts.gateway, parts.catalog, parts.subscriptions);
    host.gauges.schedules(host.config.dormant ? 0 : timetable.size());
    host.telemetry.opened(host.gauges.all());
    try {
      host.start(timetable);
    } catch (RuntimeException | Error e) {
      crash();
      throw e;
    }
  }

  /** The threads of the host's agents. */
  public Threads threads() {
    return host.agentThreads;
  }

  /** The runs of the host's flows, including those of its tools. */
  public Runs runs() {
    return host.hosted;
  }

  /** The journals of the host: to read, export, import, record, copy, and decide again. */
  public Journals journals() {
    return journals;
  }

  /** The agents of the host. */
  public Agents agents() {
    return host.agents;
  }

  /** Starts the configuration of a host. */
  public static HostBuilder host() {
    return new HostBuilder();
  }

  /**
   * Opens a store to list its runs. No flow is needed, and nothing runs. The list is brought up to
   * date first. Encrypted data is read with the keys from the environment.
   *
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public static Runs.Opened openRuns(Store store) {
    return StoreRuns.open(store, Encryption.ofEnvironment());
  }

  /** Like {@link #openRuns(Store)}, with the given keys. */
  public static Runs.Opened openRuns(Store store, KeyProvider keys) {
    return StoreRuns.open(store, Encryption.reading(keys));
  }

  @Override
  public List<ToolContract> tools() {
    return host.tools;
  }

  @Override
  public List<DisplayTool> displays() {
    return displays;
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    return host.router.call(call, progress);
  }

  @Override
  public Tasks tasks() {
    return tasks;
  }

  @Override
  public Telemetry telemetry() {
    return host.telemetry;
  }

  @Override
  public void handBack() {
    host.router.handBack();
  }

  @Override
  public CompletionStage<Health> health() {
    boolean accepts = !host.closed.get() && !terminated();
    return host.upkeep.health(accepts, cluster().orElse(null), host.threads.replies());
  }

  @Override
  public Optional<ClusterHealth> cluster() {
    return Optional.ofNullable(host.cluster).map(HostCluster::health);
  }

  @Override
  public CompletionStage<String> lost() {
    return host.upkeep.lost();
  }

  private boolean terminated() {
    return host.system.getWhenTerminated().toCompletableFuture().isDone();
  }

  /**
   * Sends a signal to a run. An early signal is kept until the run waits for it.
   *
   * @param runId the run id, as {@link io.fermata.flow.action.Run#id} returns it
   * @param payload the payload, serializable as JSON; or null
   * @param signalId names the signal among those of the run, so that a repeated one has no effect;
   *     or null
   * @return the reply of the run, as for a call of its tool
   */
  public CompletionStage<ToolReply> signal(
      String flow,
      String runId,
      String signal,
      @Nullable Object payload,
      @Nullable String signalId) {
    host.router.requireFlow(flow);
    Objects.requireNonNull(runId, "runId");
    Objects.requireNonNull(signal, "signal");
    if (host.closed.get()) {
      return CompletableFuture.completedFuture(ToolReply.refused(HostError.SHUTTING_DOWN));
    }
    JsonNode tree = payload == null ? null : Json.tree(payload);
    return host.gateway.signal(
        SessionKey.entityOf(flow, runId), new Request.Signal(runId, signal, tree), signalId);
  }

  /**
   * Calls a flow as a tool. Repeating the same use returns its outcome.
   *
   * @param arguments the arguments, validated against the tool's input schema
   */
  public CompletionStage<ToolOutcome> use(ToolUse use, ObjectNode arguments) {
    return use(use, arguments, progress -> {});
  }

  /** As {@link #use(ToolUse, ObjectNode)}, with the progress of its nodes. */
  public CompletionStage<ToolOutcome> use(
      ToolUse use, ObjectNode arguments, Consumer<ToolProgress> progress) {
    return host.toolUses.start(use, arguments, progress);
  }

  /**
   * Answers the open question of a tool's run.
   *
   * @param answerId makes the answer idempotent
   */
  public CompletionStage<ToolOutcome> answer(ToolUse use, String answerId, ObjectNode answers) {
    return host.toolUses.answer(use, answerId, answers);
  }

  /**
   * The current outcome of a use: its open question, or its result, even if it was returned before.
   */
  public CompletionStage<ToolOutcome> again(ToolUse use) {
    return host.toolUses.again(use);
  }

  /**
   * Resolves the step at which a use is {@link ToolOutcome.Undecided}, and continues.
   *
   * @param resolution retry the step, or treat it as done
   */
  public CompletionStage<ToolOutcome> resolve(ToolUse use, Input.Resolution resolution) {
    return host.toolUses.resolve(use, resolution);
  }

  /** Cancels the run of a use and compensates its effects. */
  public CompletionStage<ToolOutcome> withdraw(ToolUse use) {
    return host.toolUses.withdraw(use);
  }

  /**
   * Starts a new run from any entry of another one, be that running, waiting or ended. The fork is
   * a run like any other, in a session of its own; it belongs to the owner of its source, and the
   * first entry of its journal says where it comes from. Its source is not affected.
   *
   * <pre>{@code
   * Fork fork = host.fork("quote", runId, 4, ForkOptions.sandbox().answer("city", "Paris"))
   *     .toCompletableFuture().join();
   * }</pre>
   *
   * <p>What its source did up to then is neither repeated nor undone. What its source was doing at
   * that entry is begun again. Times to answer run from now on.
   *
   * <p>The reply is what its owner gets, secrets included; that of {@link Runs#fork} has none.
   *
   * @param entry the number of an entry in the source's journal, as {@link
   *     StoredJournal#readWithSecrets} and the {@code seq} of replies have it
   * @return completes when the fork pauses or ends; fails with a {@link
   *     io.fermata.flow.replay.ForkException} if the run or the entry is unknown, the run had ended
   *     by then, an answer does not fit, or the fork cannot be carried over to a version of its
   *     flow; with an {@link IllegalStateException} if the host is closed
   */
  public CompletionStage<Fork> fork(String flow, String runId, long entry, ForkOptions options) {
    return host.whileOpen(
        () -> host.hosted.forks().fork(flow, runId, entry, options, UnaryOperator.identity()));
  }

  /**
   * As {@link #fork(String, String, long, ForkOptions)}, of a run of another store, of which this
   * host has no more than its journal: one that was exported there, or recorded as a test. The
   * store that it comes from is not needed, and nothing is imported.
   *
   * <pre>{@code
   * RunJournal exported = ExportedJournal.read(Path.of("quote.jsonl")).run();
   * host.fork(exported, 4, "ann", ForkOptions.sandbox().answer("city", "Paris"));
   * }</pre>
   *
   * @param entry the number of an entry of the journal
   * @param principal the owner of the fork, who need not be that of its source; erasing the owner
   *     erases the fork
   * @throws IllegalArgumentException if no principal is named
   * @return fails with a {@link io.fermata.flow.replay.ForkException} as well if parts of the
   *     journal are {@linkplain RunJournal#redacted redacted}
   */
  public CompletionStage<Fork> fork(
      RunJournal journal, long entry, String principal, ForkOptions options) {
    if (principal.isBlank()) {
      throw new IllegalArgumentException("A fork has an owner; name the principal");
    }
    return host.whileOpen(
        () ->
            host.hosted.forks().fork(journal, entry, principal, options, UnaryOperator.identity()));
  }

  /**
   * Erases journals, snapshots, directory entries and pending notifications of recorders. Awake
   * sessions stop first and their effects are cancelled; meanwhile calls get the error {@code
   * erased}. Erasing what does not exist does nothing. The parent of an erased thread gets a
   * report, as of a deletion, unless the host is dormant.
   *
   * @return the counts; completes when a second query finds nothing left, and an embedded store has
   *     overwritten the data, or a dormant host rewritten its file; if only a part is erased, the
   *     failure says how much
   */
  public CompletionStage<Erased> erase(Erasure what) {
    return host.whileOpen(() -> host.erase(what));
  }

  @Override
  public Handles handles() {
    return host.handles;
  }

  @Override
  public HostBus bus() {
    return host.cluster == null ? bus : host.cluster.bus();
  }

  /** The actor system, for monitoring, or to control time in a test. */
  public ActorSystem<?> system() {
    return host.system;
  }

  /** As {@link #close(Duration)}, with 30 seconds. */
  @Override
  public void close() {
    close(DRAIN);
  }

  /**
   * Refuses new calls, waits for those in flight, closes the store, and delivers pending
   * notifications to recorders. Who closes a host that is closing returns when it has closed.
   *
   * @param timeout how long to wait; then callers are {@linkplain #handBack handed back}, and
   *     running work is cancelled and resumed by the next host. Recorders get what is left of it,
   *     but at least a second. Of several callers the most impatient one decides
   */
  public void close(Duration timeout) {
    Duration longest = Limits.timeout(timeout);
    host.closing.close(longest, HAND_BACK.plus(DRAIN), () -> closeFirst(longest));
  }

  private void closeFirst(Duration timeout) {
    host.closed.set(true);
    long end = System.nanoTime() + timeout.toNanos();
    host.subscriptions.endAll();
    // Other hosts send calls to the sessions here until these have moved.
    boolean moves = host.cluster != null && host.cluster.hasOthers();
    CompletableFuture<Void> drained = moves ? host.gateway.drainToMove() : host.gateway.drain();
    boolean quiet =
        await(host.closing.orHurried(drained), timeout, "the work in progress") && drained.isDone();
    if (!quiet) {
      handBack();
      quiet = await(drained, HAND_BACK, "the work that was handed back");
    }
    boolean nothingLeft = quiet;
    if (host.cluster != null) {
      host.cluster.leave();
    }
    try {
      stop(() -> host.directory.close(nothingLeft));
    } finally {
      long left = Math.max(MIN_RECORDERS_NANOS, end - System.nanoTime());
      host.recorders.close(TimeUnit.NANOSECONDS.toMillis(left));
    }
  }

  /** Stops without waiting, as a crash would. */
  public void crash() {
    host.closed.set(true);
    host.closing.stop(
        () -> {
          if (host.cluster != null) {
            host.cluster.stop();
          }
          stop(host.directory::stop);
          host.recorders.abandon();
        });
  }

  private void stop(Runnable closeDirectory) {
    host.system.terminate();
    await(host.system.getWhenTerminated().toCompletableFuture(), DRAIN, "the sessions");
    host.lostSessions.close();
    host.gateway.end(HostError.SHUTTING_DOWN);
    host.telemetry.closed(host.gauges.all());
    closeDirectory.run();
    host.threads.stop();
    host.store.close();
  }

  /** How many sessions are in memory. */
  public int awake() {
    return host.gauges.awake();
  }

  private static boolean await(CompletableFuture<?> end, Duration timeout, String what) {
    try {
      end.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      LOG.warn("Closing: stopped waiting after {} for {}", timeout, what);
    } catch (ExecutionException e) {
      LOG.warn("Closing: {} failed", what, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return false;
  }
}
