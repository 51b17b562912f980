package io.fermata.bench.load;

import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.Effect;
import org.apache.pekko.persistence.typed.javadsl.EffectBuilder;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;

/** A minimal persistent session: it persists an entry per command and replies. */
final class BareSession extends EventSourcedBehavior<BareSession.Call, BareSession.Entry, Integer> {

  /** What is persisted. */
  static final class Entry {
    private final byte[] payload;

    Entry(byte[] payload) {
      this.payload = payload;
    }

    byte[] payload() {
      return payload;
    }
  }

  /**
   * A call that persists entries one after the other and then replies.
   *
   * @param last whether the session ends with it
   */
  record Call(String id, int entries, boolean last, CompletableFuture<Integer> reply) {}

  private final ActorContext<Call> context;
  private final Entry entry;

  private BareSession(ActorContext<Call> context, String id, Entry entry) {
    super(PersistenceId.ofUniqueId(id));
    this.context = context;
    this.entry = entry;
  }

  /** Starts each session at its first call, and forwards calls to the sessions. */
  static Behavior<Call> region(Entry entry) {
    return Behaviors.setup(
        region ->
            Behaviors.receiveMessage(
                call -> {
                  region
                      .getChild(call.id())
                      .map(child -> child.<Call>unsafeUpcast())
                      .orElseGet(() -> region.spawn(of(call.id(), entry), call.id()))
                      .tell(call);
                  return Behaviors.same();
                }));
  }

  private static Behavior<Call> of(String id, Entry entry) {
    return Behaviors.setup(context -> new BareSession(context, id, entry));
  }

  @Override
  public Integer emptyState() {
    return 0;
  }

  @Override
  public CommandHandler<Call, Entry, Integer> commandHandler() {
    return newCommandHandlerBuilder().forAnyState().onAnyCommand(this::persist);
  }

  private Effect<Entry, Integer> persist(Integer count, Call call) {
    EffectBuilder<Entry, Integer> persisted =
        Effect().persist(entry).thenRun((Integer now) -> persisted(now, call));
    return call.last() && call.entries() == 1 ? persisted.thenStop() : persisted;
  }

  private void persisted(int count, Call call) {
    if (call.entries() > 1) {
      context.getSelf().tell(new Call(call.id(), call.entries() - 1, call.last(), call.reply()));
      return;
    }
    call.reply().complete(count);
  }

  @Override
  public EventHandler<Integer, Entry> eventHandler() {
    return (count, persisted) -> count + 1;
  }
}
