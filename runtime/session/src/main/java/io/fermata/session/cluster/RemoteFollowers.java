package io.fermata.session.cluster;

import io.fermata.agent.engine.Outside;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiPredicate;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/**
 * The hosts that follow sessions of this one. Each repeats that it follows, and says what it heard
 * last; a notification that was lost on the way is made good then.
 */
final class RemoteFollowers {
  /** A follower that sent nothing for this long is gone. */
  private static final long FOLLOWS_NANOS = Duration.ofSeconds(10).toNanos();

  /** A larger entry is read from the store instead. */
  private static final int LARGEST_ENTRY = 64 * 1024;

  private record Key(String entityId, ActorRef<ToHost> host) {}

  private final SessionSubscriptions subscriptions;
  private final Map<Key, Follower> followers = new HashMap<>();

  RemoteFollowers(SessionSubscriptions subscriptions) {
    this.subscriptions = subscriptions;
  }

  private static final class Follower implements SessionSubscriptions.Subscriber {
    private final String entityId;
    private final ActorRef<ToHost> host;
    private final long id = ThreadLocalRandom.current().nextLong();
    private volatile long heardAt = System.nanoTime();
    private long sent;
    private long sentBefore;
    private boolean ended;

    Follower(Key key) {
      this.entityId = key.entityId();
      this.host = key.host();
    }

    boolean isGone() {
      return System.nanoTime() - heardAt > FOLLOWS_NANOS;
    }

    /** Sends again what the host did not hear, although it was sent before it followed last. */
    synchronized void follows(ToHost.@Nullable Notice heard) {
      heardAt = System.nanoTime();
      boolean heardAll = heard != null && heard.follower() == id && heard.number() >= sentBefore;
      if (!heardAll && ended) {
        ended(null);
      } else if (!heardAll) {
        missed();
      }
      sentBefore = sent;
    }

    @Override
    public void persisted(Entry<?> entry, boolean last) {
      byte[] written = JournalSerializer.cbor(entry);
      boolean small = written.length <= LARGEST_ENTRY;
      send(small ? JournalSerializer.name(entry) : null, small ? written : null, last);
    }

    @Override
    public void missed() {
      send(null, null, false);
    }

    private synchronized void send(
        @Nullable String manifest, byte @Nullable [] entry, boolean last) {
      host.tell(new ToHost.Persisted(entityId, next(), manifest, entry, last));
    }

    @Override
    public synchronized void ended(@Nullable Throwable why) {
      ended = true;
      host.tell(new ToHost.Ended(entityId, next()));
    }

    private ToHost.Notice next() {
      sent++;
      return new ToHost.Notice(id, sent);
    }

    @Override
    public void streamed(Outside.Delta delta) {
      host.tell(new ToHost.Streamed(entityId, delta.messageId(), delta.kind(), delta.text()));
    }

    @Override
    public boolean isRemote() {
      return true;
    }
  }

  synchronized void follow(ToShard.Follow follow) {
    follow.sessions().forEach(session -> follow(session, follow.by()));
  }

  private void follow(ToShard.Followed session, ActorRef<ToHost> by) {
    Key key = new Key(session.entityId(), by);
    Follower follower = followers.get(key);
    if (follower == null) {
      follower = new Follower(key);
      followers.put(key, follower);
      subscriptions.add(key.entityId(), follower);
    }
    follower.follows(session.heard());
  }

  synchronized void dropLost() {
    remove((key, follower) -> follower.isGone());
  }

  /** The sessions of the shard have no followers here any more. */
  synchronized void closed(int shard) {
    remove((key, follower) -> Shard.of(key.entityId()) == shard);
  }

  private void remove(BiPredicate<Key, Follower> condition) {
    followers
        .entrySet()
        .removeIf(
            each -> {
              boolean removed = condition.test(each.getKey(), each.getValue());
              if (removed) {
                subscriptions.remove(each.getKey().entityId(), each.getValue());
              }
              return removed;
            });
  }
}
