package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.flow.Outcome;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.jspecify.annotations.Nullable;

/**
 * Turns tool calls into commands to sessions, and what they say into replies. It knows every call
 * under way, so it can refuse more than the host can hold and answer for a session that is lost.
 */
final class Gateway extends AbstractBehavior<GatewayCommand> {
  /** How long after its deadline a call is answered for a session that stays silent. */
  private static final Duration GRACE = Duration.ofSeconds(10);

  /** How precisely deadlines are kept; one timer serves them all. */
  private static final Duration TICK = Duration.ofMillis(50);

  private static final class Pending {
    final CompletableFuture<ToolReply> reply;
    final String entityId;
    final Conversation conversation;
    long deadline;
    final Consumer<ToolProgress> progress;
    boolean told;

    Pending(
        CompletableFuture<ToolReply> reply,
        Consumer<ToolProgress> progress,
        String entityId,
        Conversation conversation,
        long deadline) {
      this.reply = reply;
      this.progress = progress;
      this.entityId = entityId;
      this.conversation = conversation;
      this.deadline = deadline;
    }
  }

  /** Calls of one session beyond those that it lets wait: repetitions, and calls for status. */
  private static final int MARGIN = 64;

  /** How many sessions are woken at once when a host takes up unfinished work. */
  private static final int WOKEN = 200;

  private static final Duration BETWEEN_WAKES = Duration.ofMillis(100);

  private final Settings settings;
  private final InstantSource clock;
  private final Handles handles;
  private final Executor replies;
  private final HostGauges gauges;
  private final Map<Long, Pending> pending = new HashMap<>();
  private final Map<String, Integer> pendingInSession = new HashMap<>();
  private final ActorRef<Sessions.Message> sessions;
  private long lastId;
  private @Nullable CompletableFuture<Void> draining;

  private Gateway(
      ActorContext<GatewayCommand> context,
      Settings settings,
      InstantSource clock,
      Handles handles,
      Executor replies,
      HostGauges gauges,
      Sessions.Birth birth) {
    super(context);
    this.replies = replies;
    this.gauges = gauges;
    this.settings = settings;
    this.clock = clock;
    this.handles = handles;
    this.sessions =
        context.spawn(
            Sessions.create(birth, settings, clock, gauges, context.getSelf()), "sessions");
  }

  static Behavior<GatewayCommand> create(
      Settings settings,
      InstantSource clock,
      Handles handles,
      Executor replies,
      HostGauges gauges,
      Sessions.Birth birth) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  timers.startTimerWithFixedDelay(new GatewayCommand.Tick(), TICK);
                  return new Gateway(context, settings, clock, handles, replies, gauges, birth);
                }));
  }

  @Override
  public Receive<GatewayCommand> createReceive() {
    return newReceiveBuilder()
        .onMessage(GatewayCommand.Incoming.class, this::incoming)
        .onMessage(GatewayCommand.Signalled.class, this::signalled)
        .onMessage(GatewayCommand.ToRun.class, this::toRun)
        .onMessage(
            GatewayCommand.ToThread.class,
            told -> {
              sessions.tell(new Sessions.Envelope(told.entityId(), told.command()));
              return this;
            })
        .onMessage(
            GatewayCommand.Bar.class,
            bar -> {
              sessions.tell(new Sessions.Bar(bar.scope(), bar.stopped()));
              return this;
            })
        .onMessage(
            GatewayCommand.Unbar.class,
            unbar -> {
              sessions.tell(new Sessions.Unbar(unbar.scope(), unbar.takeUp()));
              return this;
            })
        .onMessage(RunCommand.SessionReply.class, this::replied)
        .onMessage(RunCommand.SessionProgress.class, this::progressed)
        .onMessage(GatewayCommand.SessionLost.class, this::lost)
        .onMessage(GatewayCommand.Tick.class, tick -> overdue())
        .onMessage(GatewayCommand.Wake.class, this::wake)
        .onMessage(
            GatewayCommand.Helper.class,
            helper -> {
              getContext().spawn(helper.behavior(), helper.name());
              return this;
            })
        .onMessage(
            GatewayCommand.CountAwake.class,
            count -> {
              sessions.tell(new Sessions.CountAwake(count.replyTo()));
              return this;
            })
        .onMessage(
            GatewayCommand.StoreBack.class,
            back -> {
              sessions.tell(new Sessions.StoreBack());
              return this;
            })
        .onMessage(GatewayCommand.HandBack.class, this::handBack)
        .onMessage(GatewayCommand.Drain.class, this::drain)
        .onSignal(PostStop.class, stop -> stopped())
        .build();
  }

  private Behavior<GatewayCommand> incoming(GatewayCommand.Incoming incoming) {
    if (draining != null) {
      refuse(incoming, HostError.SHUTTING_DOWN.failure());
      return this;
    } else if (pending.size() >= settings.callsInFlight()) {
      refuse(incoming, HostError.OVERLOADED.failure());
      return this;
    }
    Arguments.Reading reading = Arguments.read(incoming.call());
    if (reading instanceof Arguments.Ill ill) {
      refuse(incoming, ill.failure());
    } else {
      admit(incoming, ((Arguments.Well) reading).arguments());
    }
    return this;
  }

  private void admit(GatewayCommand.Incoming incoming, Arguments arguments) {
    ToolCall call = incoming.call();
    Conversation.Finding finding = Conversation.of(call, arguments, handles);
    if (finding instanceof Conversation.None none) {
      refuse(incoming, none.failure());
      return;
    }
    Conversation conversation = ((Conversation.Found) finding).conversation();
    SessionKey key = new SessionKey(call.principal(), call.tool(), conversation.session());
    String entityId = key.entityId();
    if (crowded(entityId)) {
      refuse(incoming, HostError.BUSY.failure());
      return;
    }
    Pending waiting =
        new Pending(incoming.reply(), incoming.progress(), entityId, conversation, deadline());
    pass(
        waiting,
        command(
            ++lastId, key, conversation.fresh(), arguments, incoming.manner(), incoming.trace()));
  }

  private boolean crowded(String entityId) {
    return pendingInSession.getOrDefault(entityId, 0) >= settings.waitingCalls() + MARGIN;
  }

  private long deadline() {
    return clock.millis() + settings.callDeadline().toMillis();
  }

  private void pass(Pending waiting, RunCommand.Call command) {
    pending.put(command.id(), waiting);
    pendingInSession.merge(waiting.entityId, 1, Integer::sum);
    gauges.callsInFlight(pending.size());
    sessions.tell(new Sessions.Envelope(waiting.entityId, command));
  }

  private RunCommand.Call command(
      long id,
      SessionKey key,
      boolean fresh,
      Arguments arguments,
      Manner manner,
      TraceContext trace) {
    return new RunCommand.Call(
        id,
        key,
        fresh,
        arguments.action(),
        arguments.intent(),
        arguments.updates(),
        arguments.callId(),
        arguments.expectedSeq(),
        arguments.resolution(),
        null,
        null,
        arguments.asked(),
        manner,
        trace,
        getContext().getSelf().narrow());
  }

  /** A signal goes the way of a call, so that it is journaled before its sender is told. */
  private Behavior<GatewayCommand> signalled(GatewayCommand.Signalled signalled) {
    return passToRun(
        signalled.entityId(),
        signalled.reply(),
        new RunCommand.Call(
            ++lastId,
            null,
            false,
            Action.SIGNAL,
            "",
            Json.object(),
            signalled.callId(),
            null,
            null,
            signalled.signal(),
            null,
            null,
            Manner.WAITS,
            TraceContext.NONE,
            getContext().getSelf().narrow()));
  }

  private Behavior<GatewayCommand> toRun(GatewayCommand.ToRun told) {
    return passToRun(
        told.entityId(),
        told.reply(),
        new RunCommand.Call(
            ++lastId,
            null,
            false,
            told.action(),
            "",
            told.updates(),
            null,
            null,
            null,
            null,
            told.runId(),
            told.asked(),
            Manner.LEAVES,
            TraceContext.NONE,
            getContext().getSelf().narrow()));
  }

  /** Passes on what is for a run, and not part of a conversation. */
  private Behavior<GatewayCommand> passToRun(
      String entityId, CompletableFuture<ToolReply> reply, RunCommand.Call call) {
    HostError refusal = null;
    if (draining != null) {
      refusal = HostError.SHUTTING_DOWN;
    } else if (pending.size() >= settings.callsInFlight()) {
      refusal = HostError.OVERLOADED;
    } else if (crowded(entityId)) {
      refusal = HostError.BUSY;
    }
    if (refusal != null) {
      ToolReply refused = HostTasks.reply(refusal);
      replies.execute(() -> reply.complete(refused));
    } else {
      Conversation nobody = new Conversation("", false, false);
      pass(new Pending(reply, progress -> {}, entityId, nobody, deadline()), call);
    }
    return this;
  }

  private Behavior<GatewayCommand> progressed(RunCommand.SessionProgress progressed) {
    Pending call = pending.get(progressed.id());
    if (call != null) {
      call.progress.accept(progressed.progress());
    }
    return this;
  }

  private Behavior<GatewayCommand> replied(RunCommand.SessionReply replied) {
    complete(replied.id(), replied.reply());
    finishDraining();
    return this;
  }

  private void complete(long id, JournalRecord.Reply reply) {
    Pending call = pending.remove(id);
    if (call != null) {
      gauges.callsInFlight(pending.size());
      pendingInSession.computeIfPresent(call.entityId, (entity, n) -> n == 1 ? null : n - 1);
      // Whatever the caller does with its reply must not hold up the gateway.
      replies.execute(() -> call.reply.complete(toolReply(call, reply)));
    }
  }

  private static ToolReply toolReply(Pending call, JournalRecord.Reply reply) {
    ObjectNode structured = Json.object();
    structured.setAll((ObjectNode) reply.body());
    if (call.conversation.told()) {
      structured.put("sessionId", call.conversation.session());
    }
    ObjectNode meta = Json.object();
    boolean task = reply.run().has(Replies.TASK);
    if (!reply.run().isEmpty()) {
      meta.set("fermata/run", task ? Replies.withoutTask(reply.run()) : reply.run());
    }
    return new ToolReply(structured, meta, task);
  }

  private void refuse(GatewayCommand.Incoming incoming, Outcome.Failure failure) {
    ObjectNode body = Wire.body(failure);
    JsonNode handle = incoming.call().arguments().path("sessionId");
    if (handle.isTextual() && handles.minted(handle.textValue())) {
      body.set("sessionId", handle);
    }
    replies.execute(() -> incoming.reply().complete(new ToolReply(body, Json.object())));
  }

  private Behavior<GatewayCommand> lost(GatewayCommand.SessionLost lost) {
    answerFor(
        (id, call) -> id <= lost.lastCall() && call.entityId.equals(lost.entityId()), lost.why());
    return this;
  }

  private Behavior<GatewayCommand> overdue() {
    long now = clock.millis();
    stopWaiting(now);
    answerFor((id, call) -> call.deadline + GRACE.toMillis() < now, HostError.STORE_UNAVAILABLE);
    return this;
  }

  private void stopWaiting(long now) {
    pending.forEach(
        (id, call) -> {
          if (call.deadline < now && !call.told) {
            call.told = true;
            sessions.tell(new Sessions.Envelope(call.entityId, new RunCommand.DeadlinePassed(id)));
          }
        });
  }

  private Behavior<GatewayCommand> handBack(GatewayCommand.HandBack handBack) {
    long now = clock.millis();
    pending.values().forEach(call -> call.deadline = Math.min(call.deadline, now - 1));
    stopWaiting(now);
    return this;
  }

  private void answerFor(BiPredicate<Long, Pending> which, HostError why) {
    List<Long> silent = new ArrayList<>();
    pending.forEach(
        (id, call) -> {
          if (which.test(id, call)) {
            silent.add(id);
          }
        });
    silent.forEach(
        id -> complete(id, new JournalRecord.Reply(Wire.body(why.failure()), Json.object())));
    finishDraining();
  }

  private Behavior<GatewayCommand> stopped() {
    answerFor((id, call) -> true, HostError.SHUTTING_DOWN);
    return this;
  }

  private Behavior<GatewayCommand> wake(GatewayCommand.Wake wake) {
    if (draining != null) {
      // Whoever is woken now would never be told to sleep; the next start wakes it.
      return this;
    }
    List<String> all = wake.entityIds();
    int now = Math.min(WOKEN, all.size());
    all.subList(0, now)
        .forEach(id -> sessions.tell(new Sessions.Envelope(id, new ShellCommand.Wake())));
    if (now < all.size()) {
      GatewayCommand rest = new GatewayCommand.Wake(all.subList(now, all.size()));
      getContext().scheduleOnce(BETWEEN_WAKES, getContext().getSelf(), rest);
    }
    return this;
  }

  private Behavior<GatewayCommand> drain(GatewayCommand.Drain drain) {
    draining = drain.drained();
    finishDraining();
    return this;
  }

  private void finishDraining() {
    if (draining != null && pending.isEmpty()) {
      sessions.tell(new Sessions.SleepAll(draining));
    }
  }
}
