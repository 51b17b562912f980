package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.cluster.ToHost.Notice;
import io.fermata.session.journal.Entry;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.TestProbe;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * How other hosts are notified of what the sessions of a host persist, although messages get lost.
 */
class RemoteFollowersTest {
  private static final String SESSION = "session";

  private final ActorTestKit kit = ActorTestKit.create();
  private final TestProbe<ToHost> host = kit.createTestProbe();
  private final AtomicLong nanos = new AtomicLong();
  private final SessionSubscriptions subscriptions = new SessionSubscriptions();
  private final RemoteFollowers followers = new RemoteFollowers(subscriptions, nanos::get);

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
  }

  /** A second later. */
  private void follow(@Nullable Notice heard) {
    nanos.addAndGet(1_000_000_000);
    followNow(heard);
  }

  private void followNow(@Nullable Notice heard) {
    followers.follow(new ToShard.Follow(List.of(new ToShard.Followed(SESSION, heard)), host.ref()));
  }

  private void persist(long seq, boolean last) {
    subscriptions.persisted(
        SESSION, Entry.of(seq, 7, Entry.Origin.HOST, List.of(new ThreadEvent.Released())), last);
  }

  private Notice entry() {
    ToHost.Persisted persisted = host.expectMessageClass(ToHost.Persisted.class);
    assertThat(persisted.entry()).isNotNull();
    return persisted.notice();
  }

  /** The host is to read what it missed. */
  private Notice missed() {
    ToHost.Persisted persisted = host.expectMessageClass(ToHost.Persisted.class);
    assertThat(persisted.entry()).isNull();
    return persisted.notice();
  }

  @Test
  void whoFollowsReadsOnceWhatWasPersistedBefore() {
    follow(null);
    Notice first = missed();
    follow(first);
    follow(first);
    host.expectNoMessage();
  }

  @Test
  void whoHeardEverythingIsNotNotifiedAgain() {
    follow(null);
    missed();
    persist(1, false);
    Notice heard = entry();
    follow(heard);
    follow(heard);
    host.expectNoMessage();
  }

  @Test
  void whoHasNotHeardOfAnEntryIsNotifiedAgain() {
    follow(null);
    Notice heard = missed();
    persist(1, false);
    entry();

    follow(heard);
    host.expectNoMessage(); // it may be on its way
    follow(heard);
    Notice again = missed();

    follow(again);
    follow(again);
    host.expectNoMessage();
  }

  @Test
  void whoHasHeardNothingAtAllIsNotifiedAgain() {
    follow(null);
    missed();
    follow(null);
    missed();
  }

  @Test
  void whoHasNotHeardOfTheEndIsNotifiedAgain() {
    follow(null);
    missed();
    persist(1, true);
    Notice heard = entry();
    subscriptions.ended(SESSION);
    Notice end = host.expectMessageClass(ToHost.Ended.class).notice();
    assertThat(end.number()).isEqualTo(heard.number() + 1);

    follow(heard);
    follow(heard);
    host.expectMessageClass(ToHost.Ended.class);
  }

  @Test
  void whoHasNotHeardOfADeletionIsNotifiedAgain() {
    follow(null);
    Notice heard = missed();
    persist(1, true);
    entry();

    follow(heard);
    follow(heard);
    host.expectMessageClass(ToHost.Ended.class);
  }

  @Test
  void aSessionThatContinuesHasNotEnded() {
    follow(null);
    missed();
    subscriptions.ended(SESSION);
    host.expectMessageClass(ToHost.Ended.class);
    persist(1, false);
    entry();

    follow(null);
    follow(null);
    missed();
  }

  @Test
  void whoFollowsTwiceAtOnceIsNotifiedOnce() {
    follow(null);
    followNow(null);
    missed();
    host.expectNoMessage();
  }

  @Test
  void whoHasNotFollowedForTenSecondsIsGone() {
    follow(null);
    missed();
    nanos.addAndGet(9_000_000_000L);
    followers.dropLost();
    persist(1, false);
    entry();
    nanos.addAndGet(2_000_000_000L);
    followers.dropLost();
    persist(2, false);
    host.expectNoMessage();
  }

  @Test
  void whatOtherHostsNotifyIsNotPassedOn() {
    follow(null);
    missed();
    subscriptions.persistedElsewhere(
        SESSION, Entry.of(1, 7, Entry.Origin.HOST, List.of(new ThreadEvent.Released())), false);
    subscriptions.streamedElsewhere(SESSION, new MessageDelta("m", "text", "a"));
    subscriptions.missed(SESSION);
    subscriptions.missed(all -> true);
    subscriptions.endedElsewhere(SESSION);
    subscriptions.endAll();
    host.expectNoMessage();
  }

  @Test
  void whoHeardOfAnotherHostReadsWhatItMissed() {
    follow(new Notice(1, 9));
    Notice first = missed();
    assertThat(first.follower()).isNotEqualTo(1);
    follow(first);
    host.expectNoMessage();
  }

  @Test
  void sessionsOfAShardThatClosedAreNotFollowedHere() {
    follow(null);
    missed();
    followers.closed(Shard.of(SESSION));
    persist(1, false);
    host.expectNoMessage();
    follow(null);
    missed();
  }
}
