package io.fermata.session.cluster;

import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.SessionScope;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;

/** The sessions of this host that other hosts erase. */
final class RemoteBars {
  /** A bar that its host does not repeat any more ends, as that host is lost. */
  private static final long FORGOTTEN_NANOS = Duration.ofSeconds(15).toNanos();

  private record Key(ActorRef<ToHost> by, long id) {}

  private record Held(SessionScope scope, CompletableFuture<Void> stopped, long receivedNanos) {}

  private record Lifted(CompletableFuture<Void> done, long receivedNanos) {}

  private final ActorRef<SessionRegion.Message> region;
  private final HostCluster.ShardUpkeep upkeep;
  private final String address;
  private final Map<Key, Held> held = new HashMap<>();

  /** What was lifted, as it may be repeated. */
  private final Map<Key, Lifted> lifted = new HashMap<>();

  RemoteBars(
      ActorRef<SessionRegion.Message> region, HostCluster.ShardUpkeep upkeep, String address) {
    this.region = region;
    this.upkeep = upkeep;
    this.address = address;
  }

  /** Stops the sessions and notifies the other host, each time that it asks. */
  @SuppressWarnings("FutureReturnValueIgnored") // a host without a notification asks again
  void hold(ToHost.Bar bar) {
    Key key = new Key(bar.replyTo(), bar.id());
    Held known = held.get(key);
    CompletableFuture<Void> stopped = known == null ? stop(bar.scope()) : known.stopped();
    held.put(key, new Held(bar.scope(), stopped, System.nanoTime()));
    stopped.thenRun(() -> bar.replyTo().tell(new ToHost.Confirmed(bar.id(), address)));
  }

  private CompletableFuture<Void> stop(SessionScope scope) {
    return stop(scope, region, upkeep);
  }

  /** Stops sessions of this host, and lets nothing reach them until the scope is unbarred. */
  static CompletableFuture<Void> stop(
      SessionScope scope, ActorRef<SessionRegion.Message> region, HostCluster.ShardUpkeep upkeep) {
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    region.tell(new SessionRegion.Bar(scope, stopped));
    return stopped.thenCompose(done -> upkeep.stopped(scope));
  }

  /**
   * Calls that come after the notification reach the sessions. A host that joined after the others
   * had stopped them may have woken one that was then erased.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // a host without a notification asks again
  void lift(ToHost.Unbar unbar) {
    Key key = new Key(unbar.replyTo(), unbar.id());
    Lifted before = lifted.get(key);
    CompletableFuture<Void> done = before == null ? liftOnce(unbar) : before.done();
    lifted.put(key, new Lifted(done, System.nanoTime()));
    done.thenRun(() -> unbar.replyTo().tell(new ToHost.Confirmed(unbar.id(), address)));
  }

  private CompletableFuture<Void> liftOnce(ToHost.Unbar unbar) {
    Held known = held.remove(new Key(unbar.replyTo(), unbar.bar()));
    return known == null ? stop(unbar.scope()).thenCompose(stopped -> unbar(unbar)) : unbar(unbar);
  }

  private CompletableFuture<Void> unbar(ToHost.Unbar unbar) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    region.tell(new SessionRegion.Unbar(unbar.scope(), unbar.resume(), done));
    return done;
  }

  void liftForgotten() {
    long before = System.nanoTime() - FORGOTTEN_NANOS;
    lifted.values().removeIf(each -> each.receivedNanos() - before < 0);
    held.values()
        .removeIf(
            each -> {
              boolean forgotten = each.receivedNanos() - before < 0;
              if (forgotten) {
                region.tell(new SessionRegion.Unbar(each.scope(), true, new CompletableFuture<>()));
              }
              return forgotten;
            });
  }
}
