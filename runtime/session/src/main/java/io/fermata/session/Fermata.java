package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agents;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Imported;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.Health;
import io.fermata.session.call.Request;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolOutcome;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.host.Archive;
import io.fermata.session.host.HostTasks;
import io.fermata.session.host.Timetable;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalReader;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.runs.OpenedRuns;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
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

  private final HostParts host;
  private final Tasks tasks;
  private final List<DisplayTool> displays;
  private final AtomicLong readings = new AtomicLong();

  Fermata(HostParts parts, Timetable timetable) {
    this.host = parts;
    this.displays = List.copyOf(parts.config.displays);
    this.tasks =
        new HostTasks(parts.router::call, parts.gateway, parts.catalog, parts.subscriptions);
    host.ledger.start();
    host.telemetry.opened(host.gauges);
    if (!host.config.dormant) {
      host.upkeep.start();
      timetable.start(host.system, this::call, host.config.clock);
    }
  }

  /** The threads of the host's agents. */
  public Threads threads() {
    return host.agentThreads;
  }

  /** The runs of the host's flows, those of its tools, too. */
  public Runs runs() {
    return host.runs;
  }

  /** The agents of the host. */
  public Agents agents() {
    return host.agents;
  }

  /** Begins a host. */
  public static HostBuilder host() {
    return new HostBuilder();
  }

  /**
   * Opens a store to look at its runs; no flow is needed, and nothing runs. What the list has not
   * followed yet is entered first. What is encrypted there is read with the keys that the
   * environment names.
   *
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public static Runs.Opened openRuns(Store store) {
    return OpenedRuns.open(store, Encryption.ofEnvironment());
  }

  /** Like {@link #openRuns(Store)}, with the keys that read what is encrypted there. */
  public static Runs.Opened openRuns(Store store, KeyProvider keys) {
    return OpenedRuns.open(store, Encryption.reading(keys));
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
    return host.upkeep.health(accepts, host.threads.replies());
  }

  private boolean terminated() {
    return host.system.getWhenTerminated().toCompletableFuture().isDone();
  }

  /**
   * Tells a run of something that happened outside and that it may wait for. A signal that comes
   * early is kept until the run waits for it.
   *
   * @param runId the run's name, as {@link io.fermata.flow.action.Run#id} tells it to an action
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
    host.router.requireFlow(flow);
    if (host.closed.get()) {
      return CompletableFuture.completedFuture(ToolReply.refused(HostError.SHUTTING_DOWN));
    }
    JsonNode tree = payload == null ? null : Json.tree(payload);
    return host.gateway.signal(
        SessionKey.entityOf(flow, runId), new Request.Signal(runId, signal, tree), signalId);
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
    return host.toolUses.start(use, arguments, progress);
  }

  /**
   * Brings the answer to what a tool's run asked back to it.
   *
   * @param answerId the same for every repetition of this answer
   */
  public CompletionStage<ToolOutcome> answer(ToolUse use, String answerId, ObjectNode answers) {
    return host.toolUses.answer(use, answerId, answers);
  }

  /**
   * What a use has come to by now: its open question again, or what it ended with, whether or not
   * that was told before.
   */
  public CompletionStage<ToolOutcome> again(ToolUse use) {
    return host.toolUses.again(use);
  }

  /**
   * Decides about the step at which a use is {@link ToolOutcome.Undecided}, and goes on.
   *
   * @param resolution try it again, or take it as done
   */
  public CompletionStage<ToolOutcome> resolve(ToolUse use, Input.Resolution resolution) {
    return host.toolUses.resolve(use, resolution);
  }

  /** Ends the run of a use whose caller is cancelled; what it did is undone. */
  public CompletionStage<ToolOutcome> withdraw(ToolUse use) {
    return host.toolUses.withdraw(use);
  }

  /**
   * Tells recorders what the journal says of a run, from its beginning to now, in the words in
   * which those who watch it live are told, and without its secrets. The run is not disturbed.
   *
   * @param runId the run's name, as {@link io.fermata.flow.action.Run#id} tells it to an action,
   *     and every event that a recorder hears
   * @return completes when all is told; with an {@link IllegalArgumentException} if nothing is
   *     known of the run, as of one that ended longer ago than its {@link Retention}; with an
   *     {@link IllegalStateException} if the host is closed, or if a recorder threw, which the
   *     others were told of
   */
  public CompletionStage<Void> replay(String flow, String runId, Recorder... recorders) {
    return replay(
        flow, runId, Arrays.stream(recorders).map(host.audience::withoutSecrets).toList());
  }

  /** As {@link #replay}, with all that the run keeps secret. */
  public CompletionStage<Void> replayWithSecrets(String flow, String runId, Recorder... recorders) {
    return replay(flow, runId, Arrays.stream(recorders).map(AttachedRecorder::everywhere).toList());
  }

  private CompletionStage<Void> replay(String flow, String runId, List<AttachedRecorder> attached) {
    host.router.requireFlow(flow);
    String entityId = SessionKey.entityOf(flow, runId);
    if (host.closed.get()) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("The host is closed and reads no journals"));
    }
    CompletableFuture<JournalReader.Journal> read = new CompletableFuture<>();
    String name = "reading-" + readings.incrementAndGet();
    host.system.tell(
        new SessionRegion.Spawn(name, JournalReader.create(entityId, host.seals, read)));
    return read.thenAcceptAsync(
        journal -> {
          long failures =
              journal
                  .tell(entityId, runId, host.catalog, attached)
                  .orElseThrow(() -> new IllegalArgumentException(unknown(flow, runId)));
          if (failures > 0) {
            throw new IllegalStateException(
                "Recorders threw %d times while they were told of the run %s; what they threw is told to the others (onError)"
                    .formatted(failures, runId));
          }
        },
        host.threads.replies());
  }

  /**
   * What would become of this host's runs if a release with other flows took its store over.
   *
   * @param flows all that the release registers, each in all its versions, tools of agents included
   */
  public CompletionStage<Rollout> check(Flow<?>... flows) {
    return CompletableFuture.supplyAsync(
        () ->
            Rollout.check(
                host.store, host.seals, host.settings.limits(), host.config.clock.instant(), flows),
        host.threads.handlers());
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
    if (host.closed.get()) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("The host is closed and erases nothing"));
    }
    SessionScope scope = SessionScope.of(what, host.handles);
    return scope == null
        ? CompletableFuture.completedFuture(Erased.of(Deleted.NOTHING, 0))
        : host.eraser.erase(scope);
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
    return host.archives.write(Archive.Header.ofRun(flow, runId), false, to);
  }

  /** As {@link #export}, with all that the run keeps secret, readable for everybody. */
  public CompletionStage<Long> exportWithSecrets(String flow, String runId, OutputStream to) {
    requireOpen();
    return host.archives.write(Archive.Header.ofRun(flow, runId), true, to);
  }

  /** As {@link #export}, the journal of a thread; without the runs and threads that it began. */
  public CompletionStage<Long> exportThread(String threadId, OutputStream to) {
    requireOpen();
    ThreadKey key = ThreadKey.of(threadId);
    return key == null
        ? CompletableFuture.failedFuture(
            new IllegalArgumentException("There is no thread " + threadId))
        : host.archives.write(Archive.Header.ofThread(key), false, to);
  }

  /**
   * Takes a journal that was exported from another store, and lets the run or thread go on where it
   * was: its timers and its unfinished work, too. Everything is checked before anything is written.
   *
   * <p>Names stay what they were: runs, threads and the sessions that clients named themselves are
   * found as before. A session handle that the other store minted is recognised only where {@link
   * HostBuilder#acceptHandlesOf} says so.
   *
   * @return completes with an {@link ArchiveException} if it is not complete, not consistent, not
   *     of a format and a flow that this host knows, or if the store has the run or thread already
   */
  public CompletionStage<Imported> importJournal(InputStream from) {
    requireOpen();
    return host.archives.read(from, host.catalog::has, host.config.clock.millis());
  }

  /** Copies the store into a new file while it is in use; see {@link OpenStore#backup}. */
  public CompletionStage<Void> backup(Path file) {
    requireOpen();
    return host.store.backup(file).thenAccept(done -> {});
  }

  private void requireOpen() {
    if (host.closed.get()) {
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

  @Override
  public Handles handles() {
    return host.handles;
  }

  /** The actor system, for those who watch it, or move its time in a test. */
  public ActorSystem<?> system() {
    return host.system;
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
    if (!host.closed.compareAndSet(false, true)) {
      return;
    }
    host.subscriptions.endAll();
    CompletableFuture<Void> drained = host.gateway.drain();
    boolean quiet = await(drained, patience, "the work in progress");
    if (!quiet) {
      handBack();
      quiet = await(drained, LAST_WORDS, "the work that was handed back");
    }
    boolean nothingLeft = quiet;
    stop(() -> host.ledger.close(nothingLeft));
    host.audience.close(DRAIN.toMillis());
  }

  /** Stops as a lost process would, without waiting for anything. */
  public void crash() {
    host.closed.set(true);
    stop(host.ledger::stop);
    host.audience.abandon();
  }

  private void stop(Runnable lastOfLedger) {
    host.system.terminate();
    await(host.system.getWhenTerminated().toCompletableFuture(), DRAIN, "the sessions");
    host.lostEffects.close();
    host.gateway.stop();
    host.telemetry.closed(host.gauges);
    lastOfLedger.run();
    host.threads.stop();
    host.store.close();
  }

  /** How many sessions are in memory. */
  public CompletionStage<Integer> awake() {
    return AskPattern.ask(
        host.system, SessionRegion.CountAwake::new, Duration.ofSeconds(3), host.system.scheduler());
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
}
