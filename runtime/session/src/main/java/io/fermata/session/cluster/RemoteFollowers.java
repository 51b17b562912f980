package io.fermata.session.cluster;

import io.fermata.agent.message.MessageDelta;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiPredicate;
import java.util.function.LongSupplier;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/**
 * The hosts that follow sessions of this one. Each repeats that it follows, and says what it heard
 * last; a notification that was lost on the way is made good then.
 */
final class RemoteFollowers {
  /** A follower that sent nothing for this long is gone. */
  private static final long FOLLOWS_NANOS = Duration.ofSeconds(10).toNanos();

  /** What is sent is judged as lost after this time at the earliest. */
  private static final long ARRIVES_NANOS = Duration.ofMillis(500).toNanos();

  /** A larger entry is read from the store instead. */
  private static final int LARGEST_ENTRY = 64 * 1024;

  private record Key(String entityId, ActorRef<ToHost> host) {}

  private final SessionSubscriptions subscriptions;
  private final LongSupplier nanos;
  private final Map<Key, Follower> followers = new HashMap<>();

  RemoteFollowers(SessionSubscriptions subscriptions, LongSupplier nanos) {
    this.subscriptions = subscriptions;
    this.nanos = nanos;
  }

  private static final class Follower implements SessionSubscriptions.Subscriber {
    private final String entityId;
    private final ActorRef<ToHost> host;
    private final long id = ThreadLocalRandom.current().nextLong();
    private volatile long heardAt;
    private long sent;
    private long sentBefore;
    private boolean ended;

    Follower(Key key, long now) {
      this.entityId = key.entityId();
      this.host = key.host();
      this.heardAt = now;
    }

    boolean isGone(long now) {
      return now - heardAt > FOLLOWS_NANOS;
    }

    /** What was persisted before is read from the store. */
    synchronized void begin() {
      missed();
      sentBefore = sent;
    }

    /** Sends again what the host did not hear, although it was sent before it followed last. */
    synchronized void follows(ToHost.@Nullable Notice heard, long now) {
      if (now - heardAt < ARRIVES_NANOS) {
        return;
      }
      heardAt = now;
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
      ended = last;
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
    public void streamed(MessageDelta delta) {
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
    Follower known = followers.get(key);
    if (known != null) {
      known.follows(session.heard(), nanos.getAsLong());
      return;
    }
    Follower follower = new Follower(key, nanos.getAsLong());
    followers.put(key, follower);
    subscriptions.add(key.entityId(), follower);
    follower.begin();
  }

  synchronized void dropLost() {
    long now = nanos.getAsLong();
    remove((key, follower) -> follower.isGone(now));
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
