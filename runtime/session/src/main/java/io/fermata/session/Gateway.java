package io.fermata.session;

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
import java.util.function.Predicate;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
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
    final long deadline;
    boolean told;

    Pending(
        CompletableFuture<ToolReply> reply,
        String entityId,
        Conversation conversation,
        long deadline) {
      this.reply = reply;
      this.entityId = entityId;
      this.conversation = conversation;
      this.deadline = deadline;
    }
  }

  private final Settings settings;
  private final InstantSource clock;
  private final Handles handles;
  private final Map<Long, Pending> pending = new HashMap<>();
  private final ActorRef<Sessions.Message> sessions;
  private long lastId;
  private @Nullable CompletableFuture<Void> draining;

  private Gateway(
      ActorContext<GatewayCommand> context,
      Settings settings,
      InstantSource clock,
      Handles handles,
      Sessions.Birth birth) {
    super(context);
    this.settings = settings;
    this.clock = clock;
    this.handles = handles;
    this.sessions =
        context.spawn(Sessions.create(birth, settings, clock, context.getSelf()), "sessions");
  }

  static Behavior<GatewayCommand> create(
      Settings settings, InstantSource clock, Handles handles, Sessions.Birth birth) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  timers.startTimerWithFixedDelay(new GatewayCommand.Tick(), TICK);
                  return new Gateway(context, settings, clock, handles, birth);
                }));
  }

  @Override
  public Receive<GatewayCommand> createReceive() {
    return newReceiveBuilder()
        .onMessage(GatewayCommand.Incoming.class, this::incoming)
        .onMessage(SessionCommand.SessionReply.class, this::replied)
        .onMessage(GatewayCommand.SessionLost.class, this::lost)
        .onMessage(GatewayCommand.Tick.class, tick -> overdue())
        .onMessage(GatewayCommand.Wake.class, this::wake)
        .onMessage(
            GatewayCommand.CountAwake.class,
            count -> {
              sessions.tell(new Sessions.CountAwake(count.replyTo()));
              return this;
            })
        .onMessage(GatewayCommand.Drain.class, this::drain)
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
    long id = ++lastId;
    long deadline = clock.millis() + settings.callDeadline().toMillis();
    String entityId = key.entityId();
    pending.put(id, new Pending(incoming.reply(), entityId, conversation, deadline));
    sessions.tell(new Sessions.Envelope(entityId, command(id, key, arguments)));
  }

  private SessionCommand.Call command(long id, SessionKey key, Arguments arguments) {
    return new SessionCommand.Call(
        id,
        key,
        arguments.action(),
        arguments.intent(),
        arguments.updates(),
        arguments.callId(),
        arguments.expectedSeq(),
        arguments.resolution(),
        getContext().getSelf().narrow());
  }

  private Behavior<GatewayCommand> replied(SessionCommand.SessionReply replied) {
    Pending call = pending.remove(replied.id());
    if (call != null) {
      complete(call, replied.reply());
    }
    finishDraining();
    return this;
  }

  private static void complete(Pending call, JournalRecord.Reply reply) {
    ObjectNode structured = Json.object();
    structured.setAll((ObjectNode) reply.body());
    if (call.conversation.told()) {
      structured.put("sessionId", call.conversation.session());
    }
    ObjectNode meta = Json.object();
    meta.set("fermata/run", reply.run());
    call.reply.complete(new ToolReply(structured, meta));
  }

  private static void refuse(GatewayCommand.Incoming incoming, Outcome.Failure failure) {
    incoming.reply().complete(new ToolReply(Wire.body(failure), Json.object()));
  }

  private Behavior<GatewayCommand> lost(GatewayCommand.SessionLost lost) {
    answerFor(p -> p.entityId.equals(lost.entityId()));
    return this;
  }

  private Behavior<GatewayCommand> overdue() {
    long now = clock.millis();
    pending.forEach(
        (id, call) -> {
          if (call.deadline < now && !call.told) {
            call.told = true;
            sessions.tell(
                new Sessions.Envelope(call.entityId, new SessionCommand.DeadlinePassed(id)));
          }
        });
    answerFor(p -> p.deadline + GRACE.toMillis() < now);
    return this;
  }

  private void answerFor(Predicate<Pending> which) {
    List<Long> silent = new ArrayList<>();
    pending.forEach(
        (id, call) -> {
          if (which.test(call)) {
            silent.add(id);
          }
        });
    for (Long id : silent) {
      Pending call = pending.remove(id);
      if (call != null) {
        JournalRecord.Reply reply =
            new JournalRecord.Reply(
                Wire.body(HostError.STORE_UNAVAILABLE.failure()), Json.object());
        complete(call, reply);
      }
    }
    finishDraining();
  }

  private Behavior<GatewayCommand> wake(GatewayCommand.Wake wake) {
    wake.entityIds()
        .forEach(id -> sessions.tell(new Sessions.Envelope(id, new SessionCommand.Wake())));
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
