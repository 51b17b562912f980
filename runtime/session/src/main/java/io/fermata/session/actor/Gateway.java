package io.fermata.session.actor;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Congestion;
import io.fermata.session.observe.HostGauges;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns calls of tools and of threads into commands to sessions, and their replies into results. It
 * tracks every call in flight, so it can refuse calls beyond the host's capacity and reply for a
 * session that is lost. It is no actor: a call is admitted on its caller's thread.
 */
public final class Gateway implements SessionCommand.ReplyTo, SessionRegion.Losses {
  private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);

  /** How long after its deadline a call gets an error if its session does not respond. */
  private static final Duration GRACE = Duration.ofSeconds(10);

  /** How precisely deadlines are kept; one timer serves them all. */
  private static final Duration TICK = Duration.ofMillis(50);

  /** How often a host says that it cannot keep up. */
  private static final Duration WARNS = Duration.ofMinutes(1);

  /** Calls of one session beyond its queue: repetitions, and calls for status. */
  private static final int MARGIN = 64;

  /** How many keys a fork tries to find one whose shard this host holds. */
  private static final int KEYS = 1_000;

  /** How a call reaches its session, and its replies the caller. */
  public interface Carrier {
    /** As they are, within the process. */
    Carrier DIRECT = (entityId, call) -> call;

    /** The call as its session gets it. */
    SessionCommand.Call carried(String entityId, SessionCommand.Call call);
  }

  /** A call in flight; its deadline is monotonic, so clock changes do not move it. */
  private static final class Pending {
    final String entityId;
    final CompletableFuture<SessionReply> reply = new CompletableFuture<>();
    final Consumer<ToolProgress> progress;

    /** Whether another host has sent it. */
    final boolean received;

    long sent;
    volatile boolean reached;

    /** Whether an actor of this host has it, and not another host. */
    volatile boolean delivered;

    volatile long deadline;
    volatile boolean stopsWaiting;

    Pending(String entityId, Consumer<ToolProgress> progress, long deadline) {
      this(entityId, progress, deadline, false);
    }

    Pending(String entityId, Consumer<ToolProgress> progress, long deadline, boolean received) {
      this.entityId = entityId;
      this.progress = progress;
      this.deadline = deadline;
      this.received = received;
    }
  }

  private final Settings settings;
  private final LongSupplier nanos;
  private final Handles handles;
  private final Executor replies;
  private final HostGauges gauges;
  private final Function<String, SecretFields> secrets;
  private final Map<Long, Pending> pending = new ConcurrentHashMap<>();

  /** The ids of the calls in flight of each session that has any, in their order. */
  private final Map<String, List<Long>> pendingInSession = new ConcurrentHashMap<>();

  private final AtomicLong lastId = new AtomicLong();
  private final AtomicBoolean asleep = new AtomicBoolean();
  private volatile @Nullable CompletableFuture<Void> draining;
  private volatile boolean moving;

  /** Why this host runs no sessions any more; null while it does. */
  private volatile @Nullable HostError ended;

  private boolean warned;
  private long warnedAt;
  private volatile @Nullable ActorRef<SessionRegion.Message> region;
  private final Placement placement;
  private final Carrier carrier;

  /** The calls that other hosts have sent, and the numbers they have here. */
  private final Map<Sent, Long> received = new ConcurrentHashMap<>();

  /** A call by the number that another host gave it. */
  private record Sent(SessionCommand.ReplyTo by, long id) {}

  public Gateway(
      Settings settings,
      LongSupplier nanos,
      Handles handles,
      Executor replies,
      HostGauges gauges,
      Function<String, SecretFields> secrets,
      Placement placement,
      Carrier carrier) {
    this.placement = placement;
    this.carrier = carrier;
    this.secrets = secrets;
    this.settings = settings;
    this.nanos = nanos;
    this.handles = handles;
    this.replies = replies;
    this.gauges = gauges;
    gauges.callsInFlight(this::calledHere);
  }

  /** Sends calls to the sessions of an actor system from now on. */
  public void start(ActorSystem<SessionRegion.Message> system) {
    region = system;
    system.scheduler().scheduleWithFixedDelay(TICK, TICK, this::tick, system.executionContext());
  }

  private void send(String entityId, SessionCommand command) {
    ActorRef<SessionRegion.Message> to = region;
    if (to != null && placement.isHere(entityId)) {
      to.tell(new SessionRegion.Envelope(entityId, command));
    } else if (to != null) {
      placement.forward(entityId, command);
    }
  }

  // --- calls of flows --------------------------------------------------------------------------

  /** A call of a flow's tool. */
  public CompletionStage<ToolReply> call(
      ToolCall call, ReplyMode mode, Consumer<ToolProgress> progress, TraceContext trace) {
    FlowCall.Parsed parsed = FlowCall.read(call, handles);
    HostError busy = beyondCapacity(null);
    if (parsed instanceof FlowCall.Invalid invalid) {
      return refused(null, busy == null ? invalid.refusal() : busy.failure());
    }
    FlowCall read = ((FlowCall.Valid) parsed).call();
    if (busy != null) {
      return refused(read, busy.failure());
    }
    if (isShed(read.request(), read.callId())) {
      return refused(read, HostError.OVERLOADED.failure());
    }
    SessionKey key = new SessionKey(call.principal(), call.tool(), read.session());
    String entityId = key.entityId();
    if (isCrowded(entityId)) {
      return refused(read, HostError.BUSY.failure());
    }
    return dispatch(
            new Pending(entityId, progress, deadline(settings.callDeadline())),
            origin(key),
            CallLog.id(read.callId(), read.request(), secrets.apply(call.tool())),
            read.fresh(),
            read.request(),
            mode,
            trace)
        .thenApply(
            reply -> toolReply((RunReply) reply, read.sessionInReplies() ? read.session() : null));
  }

  /**
   * Sends a signal as a call, so that it is journaled before its sender gets a reply.
   *
   * @param signalId names the signal among those of its run; null for none
   */
  public CompletionStage<ToolReply> signal(
      String entityId, Request.Signal signal, @Nullable String signalId) {
    Request.OfRun request = Request.OfRun.signal(signal);
    String callId = signalId == null ? null : CallLog.nameOf("signal", signal.runId(), signalId);
    return toRun(entityId, Entry.Origin.SIGNAL, callId, false, request, ReplyMode.WAITS);
  }

  /** Sends a command to one run. The reply leaves as soon as it is journaled. */
  public CompletionStage<ToolReply> command(TaskRun run, Request.OfRun request) {
    Entry.Origin origin = Entry.Origin.caller(run.principal());
    return toRun(run.entityId(), origin, null, false, request, ReplyMode.LEAVES);
  }

  /**
   * Sends an operator's command to one run. It is no call of the run's owner, who still gets the
   * outcome.
   *
   * @param by the operator; null if the command changes nothing
   * @param callId names the command, so that a repeated one has no effect; null for none
   */
  public CompletionStage<ToolReply> operate(
      String entityId, @Nullable String by, @Nullable String callId, Request.OfRun request) {
    Entry.Origin origin = by == null ? Entry.Origin.HOST : Entry.Origin.caller(by);
    return toRun(entityId, origin, callId, false, request, ReplyMode.WAITS);
  }

  /**
   * The key of a new session that begins with a whole journal, which hosts of a cluster do not send
   * each other: one of this host, or any if it runs none.
   *
   * @param random another key each time
   */
  public <K> K keyOfFork(Supplier<K> random, Function<K, String> entityId) {
    K key = random.get();
    for (int tried = 1; tried < KEYS && !placement.isHere(entityId.apply(key)); tried++) {
      key = random.get();
    }
    return key;
  }

  /**
   * Begins a fork in a new session, whose owner is that of its source.
   *
   * @param by who forks
   */
  public CompletionStage<ToolReply> fork(SessionKey key, String by, Request.OfRun request) {
    Entry.Owner owner = new Entry.Owner(key.principal(), key.session());
    Entry.Origin origin = Entry.Origin.startingFor(owner, by);
    return toRun(key.entityId(), origin, null, true, request, ReplyMode.WAITS);
  }

  private CompletionStage<ToolReply> toRun(
      String entityId,
      Entry.Origin origin,
      @Nullable String callId,
      boolean fresh,
      Request.OfRun request,
      ReplyMode mode) {
    HostError refusal = beyondCapacity(entityId);
    if (refusal != null || isShed(request, callId)) {
      return later(ToolReply.refused(refusal == null ? HostError.OVERLOADED : refusal));
    }
    return dispatch(
            new Pending(entityId, progress -> {}, deadline(settings.callDeadline())),
            origin,
            CallLog.id(callId, request, secrets.apply(SessionKey.flowOf(entityId))),
            fresh,
            request,
            mode,
            TraceContext.NONE)
        .thenApply(reply -> toolReply((RunReply) reply, null));
  }

  private static Entry.Origin origin(SessionKey key) {
    return Entry.Origin.starting(key.principal(), key.session());
  }

  /**
   * A refusal, with the session that the client does not know otherwise; a new one has not begun.
   */
  private CompletionStage<ToolReply> refused(@Nullable FlowCall read, Outcome.Failure failure) {
    ObjectNode body = OutcomeJson.body(failure);
    if (read != null && read.sessionInReplies() && !read.fresh()) {
      body.put("sessionId", read.session());
    }
    return later(new ToolReply(body, Json.object()));
  }

  private <T> CompletionStage<T> later(T value) {
    return CompletableFuture.supplyAsync(() -> value, replies);
  }

  /** A copy: the session and its flow keep the parts of the reply. */
  private static ToolReply toolReply(RunReply reply, @Nullable String session) {
    ObjectNode structured = ((ObjectNode) reply.body()).deepCopy();
    if (session != null) {
      structured.put("sessionId", session);
    }
    ObjectNode meta = Json.object();
    if (!reply.run().isEmpty()) {
      meta.set("fermata/run", reply.run().deepCopy());
    }
    return new ToolReply(structured, meta, reply.task());
  }

  // --- calls of threads ------------------------------------------------------------------------

  /**
   * A call of a thread. Calls between threads and from the host belong to work in flight, and are
   * never refused.
   *
   * @param fresh whether the key was generated for this call, so that it has no journal
   * @param timeout how long the caller waits
   */
  public CompletionStage<ThreadReply> call(
      ThreadKey key,
      Entry.Origin origin,
      @Nullable String callId,
      boolean fresh,
      Request request,
      Duration timeout,
      TraceContext trace) {
    String entityId = key.entityId();
    if (isFromOutside(origin) && (isFull() || isShed(request, null))) {
      return later(ThreadReply.refused(HostError.OVERLOADED.failure()));
    }
    Pending waiting = new Pending(entityId, progress -> {}, deadline(timeout));
    ReplyMode mode = request.immediate() ? ReplyMode.LEAVES : ReplyMode.WAITS;
    return dispatch(waiting, origin, callId, fresh, request, mode, trace)
        .thenApply(reply -> (ThreadReply) reply);
  }

  // --- calls that other hosts received ---------------------------------------------------------

  /**
   * Drives a call that another host received, as if it had been received here.
   *
   * @param timeout how long its caller still waits
   * @param admitted whether it is never refused: it may have been carried out by another host, or
   *     is one of this host's own
   */
  public void receive(
      String entityId, SessionCommand.Call call, Duration timeout, boolean admitted) {
    if (!admitted
        && isFromOutside(call.origin())
        && (isFull() || isShed(call.request(), call.callId()))) {
      call.reply(SessionReply.failure(entityId, HostError.OVERLOADED.failure()));
      return;
    }
    Pending waiting =
        new Pending(
            entityId,
            progress -> call.replyTo().progress(call.id(), progress),
            deadline(timeout),
            true);
    SessionCommand.Call here = call.as(lastId.incrementAndGet(), this);
    Sent sent = new Sent(call.replyTo(), call.id());
    received.put(sent, here.id());
    dispatch(waiting, here)
        .thenAccept(
            reply -> {
              received.remove(sent);
              call.reply(reply);
            });
  }

  /** Whether a call that another host sends again is here already. */
  public boolean hasReceived(SessionCommand.ReplyTo by, long id) {
    return received.containsKey(new Sent(by, id));
  }

  /** The caller of a call that another host received stops waiting. */
  public void stopWaiting(SessionCommand.ReplyTo by, long id) {
    Long here = received.get(new Sent(by, id));
    Pending call = here == null ? null : pending.get(here);
    if (here != null && call != null) {
      call.stopsWaiting = true;
      send(call.entityId, new SessionCommand.DeadlinePassed(here));
    }
  }

  /** How long the caller of a call still waits; null if it has its reply. */
  public @Nullable Duration left(long id) {
    Pending call = pending.get(id);
    return call == null ? null : Duration.ofNanos(Math.max(0, call.deadline - nanos.getAsLong()));
  }

  // --- calls in flight -------------------------------------------------------------------------

  private @Nullable HostError beyondCapacity(@Nullable String entityId) {
    if (draining != null) {
      return HostError.SHUTTING_DOWN;
    } else if (isFull()) {
      return HostError.OVERLOADED;
    }
    return entityId != null && isCrowded(entityId) ? HostError.BUSY : null;
  }

  /** The calls in flight without those that other hosts have sent, which count them. */
  private int calledHere() {
    return (int) pending.values().stream().filter(call -> !call.received).count();
  }

  private boolean isFull() {
    return pending.size() >= settings.callsInFlight();
  }

  private static boolean isFromOutside(Entry.Origin origin) {
    return origin.principal() != null;
  }

  /**
   * A host that cannot keep up continues what has begun, and refuses what is new. A call with an id
   * may be repeated to fetch the reply of one that has begun, as threads do with their tools.
   */
  private boolean isShed(Request request, @Nullable String callId) {
    return callId == null && request.begins() && gauges.congestion().isCongested();
  }

  private boolean isCrowded(String entityId) {
    return pendingIn(entityId).size() - MARGIN >= settings.waitingCalls();
  }

  private List<Long> pendingIn(String entityId) {
    return pendingInSession.getOrDefault(entityId, List.of());
  }

  private long deadline(Duration timeout) {
    return nanos.getAsLong() + timeout.toNanos();
  }

  private CompletionStage<SessionReply> dispatch(
      Pending waiting,
      Entry.Origin origin,
      @Nullable String callId,
      boolean fresh,
      Request request,
      ReplyMode mode,
      TraceContext trace) {
    long id = lastId.incrementAndGet();
    return dispatch(
        waiting, new SessionCommand.Call(id, origin, callId, fresh, request, mode, trace, this));
  }

  /** Whether this host has the flow or the agent of a session before other hosts have it. */
  public boolean awaitsOthers(String entityId) {
    return placement.awaitsOthers(entityId);
  }

  private CompletionStage<SessionReply> dispatch(Pending waiting, SessionCommand.Call command) {
    waiting.sent = gauges.congestion().now();
    pendingInSession.merge(waiting.entityId, List.of(command.id()), Gateway::joined);
    pending.put(command.id(), waiting);
    // Read once the call is known: what ends the host replies to it, or this does.
    HostError refusal = ended;
    if (refusal == null && placement.awaitsOthers(waiting.entityId)) {
      refusal = HostError.ROLLING_OUT;
    }
    if (refusal != null) {
      reply(command.id(), SessionReply.failure(waiting.entityId, refusal.failure()));
    } else {
      send(waiting.entityId, carrier.carried(waiting.entityId, command));
    }
    return waiting.reply;
  }

  private static List<Long> joined(List<Long> ids, List<Long> more) {
    return Stream.concat(ids.stream(), more.stream()).toList();
  }

  private static @Nullable List<Long> without(List<Long> ids, long id) {
    return ids.size() == 1 ? null : ids.stream().filter(each -> each != id).toList();
  }

  @Override
  public void reached(long id) {
    Pending call = pending.get(id);
    if (call != null && !call.reached) {
      call.reached = true;
      gauges.congestion().reached(call.sent);
    }
  }

  @Override
  public void progress(long id, ToolProgress progress) {
    Pending call = pending.get(id);
    if (call == null) {
      return;
    }
    try {
      call.progress.accept(progress);
    } catch (RuntimeException e) {
      // A caller's mistake must not stop the session, or what receives from other hosts.
      LOG.warn(
          "Progress of {} could not be passed to its caller", call.entityId, LoggedFailure.of(e));
    }
  }

  @Override
  public void reply(long id, SessionReply reply) {
    Pending call = pending.remove(id);
    if (call != null) {
      pendingInSession.computeIfPresent(call.entityId, (entity, ids) -> without(ids, id));
      // The caller's callbacks must not block the session.
      replies.execute(() -> call.reply.complete(reply));
      finishDraining();
    }
  }

  @Override
  public void delivered(long id) {
    Pending call = pending.get(id);
    if (call != null) {
      call.delivered = true;
    }
  }

  @Override
  public void lost(String entityId, Outcome.Failure why) {
    for (Long id : pendingIn(entityId)) {
      Pending call = pending.get(id);
      if (call != null && call.delivered) {
        reply(id, SessionReply.failure(entityId, why));
      }
    }
  }

  private void replyFor(Predicate<Pending> which, Outcome.Failure why) {
    List<Long> silent = new ArrayList<>();
    pending.forEach(
        (id, call) -> {
          if (which.test(call)) {
            silent.add(id);
          }
        });
    for (Long id : silent) {
      Pending call = pending.get(id);
      if (call != null) {
        reply(id, SessionReply.failure(call.entityId, why));
      }
    }
  }

  private void tick() {
    long now = nanos.getAsLong();
    lookAtWaits();
    stopWaiting(now);
    replyFor(
        call -> call.deadline + GRACE.toNanos() - now < 0, HostError.STORE_UNAVAILABLE.failure());
  }

  private void lookAtWaits() {
    Congestion congestion = gauges.congestion();
    congestion.look();
    long now = congestion.now();
    if (congestion.isCongested() && (!warned || now - warnedAt > WARNS.toNanos())) {
      warned = true;
      warnedAt = now;
      LOG.warn(
          "Calls wait longer than {} s for this host; new runs and threads are refused until it"
              + " keeps up",
          congestion.longest().toSeconds());
    }
  }

  private void stopWaiting(long now) {
    pending.forEach(
        (id, call) -> {
          if (call.deadline - now < 0 && !call.stopsWaiting) {
            call.stopsWaiting = true;
            send(call.entityId, new SessionCommand.DeadlinePassed(id));
          }
        });
  }

  // --- the end ---------------------------------------------------------------------------------

  /** Replies to all waiting callers now: the work continues, and its outcome is fetched later. */
  public void handBack() {
    long now = nanos.getAsLong();
    pending.values().forEach(call -> call.deadline = Math.min(call.deadline, now - 1));
    stopWaiting(now);
  }

  /** Refuses new calls; completes when the last is replied to and every session sleeps. */
  public CompletableFuture<Void> drain() {
    return drain(false);
  }

  /**
   * Refuses new calls of this host; completes when the last of them is replied to. Those of other
   * hosts keep coming until the sessions have moved there, so they are not waited for.
   */
  public CompletableFuture<Void> drainToMove() {
    return drain(true);
  }

  private CompletableFuture<Void> drain(boolean moves) {
    CompletableFuture<Void> drained = new CompletableFuture<>();
    moving = moves;
    draining = drained;
    finishDraining();
    return drained;
  }

  private void finishDraining() {
    CompletableFuture<Void> drained = draining;
    ActorRef<SessionRegion.Message> to = region;
    if (drained != null && moving) {
      if (pending.values().stream().allMatch(call -> call.received)) {
        drained.complete(null);
      }
      return;
    }
    if (drained != null && to != null && pending.isEmpty() && asleep.compareAndSet(false, true)) {
      to.tell(new SessionRegion.SleepAll(drained));
    }
  }

  /** The sessions have stopped: replies to the remaining calls, and to all that come later. */
  public void end(HostError why) {
    ended = why;
    replyFor(call -> true, why.failure());
  }
}
