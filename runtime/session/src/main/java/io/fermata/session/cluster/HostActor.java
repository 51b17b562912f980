package io.fermata.session.cluster;

import io.fermata.agent.message.MessageDelta;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.UnreadableEntry;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.apache.pekko.actor.typed.receptionist.ServiceKey;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Subscribe;

/**
 * Receives for a host what other hosts send: the replies to its calls of their sessions, and what
 * its subscribers follow there. Once a second it makes sure that followed sessions know their
 * followers.
 */
final class HostActor extends AbstractBehavior<ToHost> {
  private static final ServiceKey<ToHost> HOSTS = ServiceKey.create(ToHost.class, "fermata-host");

  private static final Duration LOOK = Duration.ofSeconds(1);

  private final Forwarder forwarder;
  private final Membership membership;
  private final ShardHost shards;
  private final Gateway gateway;
  private final SessionSubscriptions subscriptions;
  private final RemoteBars bars;
  private final ClusterBus bus;

  /** The actors of all hosts, this one included. */
  private Set<ActorRef<ToHost>> peers = Set.of();

  private HostActor(
      ActorContext<ToHost> context,
      Forwarder forwarder,
      Membership membership,
      ShardHost shards,
      Gateway gateway,
      SessionSubscriptions subscriptions,
      RemoteBars bars,
      ClusterBus bus) {
    super(context);
    this.forwarder = forwarder;
    this.membership = membership;
    this.shards = shards;
    this.gateway = gateway;
    this.subscriptions = subscriptions;
    this.bars = bars;
    this.bus = bus;
  }

  static Behavior<ToHost> create(
      Forwarder forwarder,
      Membership membership,
      ShardHost shards,
      Gateway gateway,
      SessionSubscriptions subscriptions,
      RemoteBars bars,
      ClusterBus bus) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  timers.startTimerWithFixedDelay(new ToHost.Tick(), LOOK);
                  timers.startTimerWithFixedDelay(new ToHost.Resend(), LOOK.dividedBy(4));
                  Cluster.get(context.getSystem())
                      .subscriptions()
                      .tell(
                          Subscribe.create(
                              context.messageAdapter(
                                  ClusterEvent.MemberRemoved.class,
                                  removed -> new ToHost.Gone(removed.member().address())),
                              ClusterEvent.MemberRemoved.class));
                  ActorRef<Receptionist.Command> receptionist = context.getSystem().receptionist();
                  receptionist.tell(Receptionist.register(HOSTS, context.getSelf()));
                  receptionist.tell(
                      Receptionist.subscribe(
                          HOSTS,
                          context.messageAdapter(
                              Receptionist.Listing.class,
                              listing -> new ToHost.Peers(listing.getAllServiceInstances(HOSTS)))));
                  return new HostActor(
                      context, forwarder, membership, shards, gateway, subscriptions, bars, bus);
                }));
  }

  @Override
  public Receive<ToHost> createReceive() {
    return newReceiveBuilder()
        .onMessage(ToHost.Accepted.class, m -> done(() -> forwarder.accepted(m.id(), m.host())))
        .onMessage(ToHost.Replied.class, this::replied)
        .onMessage(ToHost.Progressed.class, this::progressed)
        .onMessage(ToHost.Persisted.class, this::persisted)
        .onMessage(
            ToHost.Streamed.class,
            m ->
                done(
                    () ->
                        subscriptions.streamedElsewhere(
                            m.entityId(), new MessageDelta(m.messageId(), m.kind(), m.text()))))
        .onMessage(ToHost.Ended.class, this::ended)
        .onMessage(ToHost.Published.class, m -> done(() -> bus.receive(m.message())))
        .onMessage(ToHost.Bar.class, bar -> done(() -> bars.hold(bar)))
        .onMessage(ToHost.Confirmed.class, m -> done(() -> forwarder.confirmed(m.id(), m.host())))
        .onMessage(ToHost.Unbar.class, m -> done(() -> bars.lift(m)))
        .onMessage(ToHost.Opened.class, this::opened)
        .onMessage(ToHost.Leaving.class, m -> done(() -> membership.leaves(m.host())))
        .onMessage(ToHost.Peers.class, this::peers)
        .onMessage(
            ToHost.AskStore.class,
            ask ->
                done(
                    () ->
                        ask.replyTo()
                            .tell(new ToHost.StoreReached(membership.renewedFor().toMillis()))))
        .onMessage(
            ToHost.StoreReached.class,
            reached ->
                done(() -> membership.reachedElsewhere(Duration.ofMillis(reached.forMillis()))))
        .onMessage(
            ToHost.Tick.class,
            tick ->
                done(
                    () -> {
                      forwarder.repeat();
                      bars.liftForgotten();
                      shards.lookAfterShards();
                      askForStore();
                    }))
        .onMessage(
            ToHost.Resend.class,
            resend ->
                done(
                    () -> {
                      shards.confirmArrivals();
                      forwarder.followMoved();
                      forwarder.lookAfterCalls();
                    }))
        .onMessage(
            ToHost.Gone.class,
            gone ->
                done(
                    () -> {
                      membership.gone(gone.host().toString());
                      forwarder.lost(gone.host().toString());
                    }))
        .build();
  }

  private Behavior<ToHost> done(Runnable action) {
    action.run();
    return this;
  }

  private Behavior<ToHost> opened(ToHost.Opened opened) {
    forwarder.opened(opened.shard());
    if (!opened.host().equals(membership.address())) {
      shards.openedElsewhere(opened.shard());
    }
    return this;
  }

  private Behavior<ToHost> peers(ToHost.Peers all) {
    peers = all.all();
    forwarder.peers(peers);
    return this;
  }

  /** Whether the store is away for this host alone, the others know. */
  private void askForStore() {
    if (membership.isCutOff()) {
      peers.stream()
          .filter(host -> !host.equals(getContext().getSelf()))
          .forEach(host -> host.tell(new ToHost.AskStore(getContext().getSelf())));
    }
  }

  private Behavior<ToHost> replied(ToHost.Replied replied) {
    SessionReply reply = RemoteCall.readReply(replied.reply());
    if (RemoteCall.isMoved(reply)) {
      forwarder.moved(replied.id());
    } else {
      forwarder.replied(replied.id(), reply);
    }
    return this;
  }

  private Behavior<ToHost> progressed(ToHost.Progressed progress) {
    gateway.progress(
        progress.id(), new ToolProgress(progress.node(), progress.name(), progress.payload()));
    return this;
  }

  private Behavior<ToHost> ended(ToHost.Ended ended) {
    forwarder.heard(ended.entityId(), ended.notice());
    subscriptions.endedElsewhere(ended.entityId());
    return this;
  }

  private Behavior<ToHost> persisted(ToHost.Persisted persisted) {
    forwarder.heard(persisted.entityId(), persisted.notice());
    if (persisted.entry() == null) {
      unread(persisted);
      return this;
    }
    try {
      Entry<?> entry =
          (Entry<?>)
              new JournalSerializer()
                  .fromBinary(persisted.entry(), Objects.requireNonNull(persisted.manifest()));
      subscriptions.persistedElsewhere(persisted.entityId(), entry, persisted.last());
    } catch (UnreadableEntry e) {
      getContext().getLog().warn("An entry of another host could not be read", e);
      unread(persisted);
    }
    return this;
  }

  /** The entry is to be read from the store, unless it is erased there by now. */
  private void unread(ToHost.Persisted persisted) {
    if (persisted.last()) {
      subscriptions.endedElsewhere(persisted.entityId());
    } else {
      subscriptions.missed(persisted.entityId());
    }
  }
}
