package io.fermata.session.thread;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.Entry;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ThreadFeedTest {
  private static final ThreadEvent DELETED = new ThreadEvent.Deleted(7);

  private final List<String> received = new ArrayList<>();
  private @Nullable Error failure;
  private boolean takesMore = true;
  private final List<Asked> reads = new ArrayList<>();
  private final SessionSubscriptions subscriptions = new SessionSubscriptions();
  private final ThreadFeed feed =
      new ThreadFeed(
          "thread",
          1,
          -1,
          new Threads.Listener() {
            @Override
            public void happened(long seq, int index, long at, ThreadEvent event) {
              if (failure != null) {
                throw failure;
              }
              received.add(seq + "." + index + " " + event.getClass().getSimpleName());
            }

            @Override
            public boolean takesMore() {
              return takesMore;
            }

            @Override
            public void streamed(MessageDelta delta) {
              received.add(delta.text());
            }

            @Override
            public void ended(@Nullable Throwable why) {
              received.add("ended");
            }
          },
          (from, max, received) -> reads.add(new Asked(from, max, received)),
          subscriptions,
          Runnable::run);

  /** A read that the journal is to answer. */
  private record Asked(long from, int max, ThreadFeed.Received received) {
    void answer(boolean large, List<Entry<ThreadEvent>> entries) {
      received.records(new ThreadFeed.Read(entries, large), null);
    }
  }

  ThreadFeedTest() {
    subscriptions.add("thread", feed);
  }

  private static Entry<ThreadEvent> deleted(long seq) {
    return Entry.of(seq, 7, Entry.Origin.HOST, List.of(DELETED));
  }

  private static Entry<ThreadEvent> entry(long seq) {
    return Entry.of(seq, 7, Entry.Origin.HOST, List.of(new ThreadEvent.Released()));
  }

  /** The journal answers the read that is under way. */
  private void answer(List<Long> seqs) {
    reads.remove(0).answer(false, seqs.stream().map(ThreadFeedTest::entry).toList());
  }

  @Test
  void whoMayHaveMissedEntriesReadsOnceMore() {
    feed.request(16);
    answer(List.of(1L));
    assertThat(reads).isEmpty();

    feed.missed();
    assertThat(reads).hasSize(1);
    answer(List.of(1L));

    assertThat(reads).isEmpty();
    assertThat(received).containsExactly("1.0 Released");
  }

  @Test
  void whoMayHaveMissedEntriesWhileItReadsReadsOnceMore() {
    feed.request(16);
    feed.missed();
    answer(List.of(1L));
    answer(List.of(1L, 2L));

    assertThat(received).containsExactly("1.0 Released", "2.0 Released");
    assertThat(reads).isEmpty();
  }

  @Test
  void whoReadsWhileAnEntryIsPersistedReadsOnceMore() {
    feed.request(16);
    answer(List.of(1L));
    feed.missed();
    subscriptions.persisted("thread", entry(2), false);
    answer(List.of(1L));
    answer(List.of(2L));

    assertThat(received).containsExactly("1.0 Released", "2.0 Released");
    assertThat(reads).isEmpty();
    assertThat(subscriptions.followed()).containsExactly("thread");
  }

  @Test
  void whoTakesNoMoreGetsTheNextEventWhenItRequestsAgain() {
    takesMore = false;
    feed.request(16);
    answer(List.of(1L, 2L, 3L));
    assertThat(received).containsExactly("1.0 Released");

    feed.request(1);
    assertThat(received).containsExactly("1.0 Released", "2.0 Released");
  }

  @Test
  void largeEntriesThatAreNotRequestedYetStayInTheJournal() {
    feed.request(1);
    reads.remove(0).answer(true, List.of(entry(1), entry(2)));
    assertThat(received).containsExactly("1.0 Released");
    assertThat(reads).isEmpty();

    feed.request(1);
    Asked again = reads.remove(0);
    assertThat(again.from()).isEqualTo(2);
    assertThat(again.max()).isEqualTo(2);
    again.answer(false, List.of(entry(2)));
    assertThat(received).containsExactly("1.0 Released", "2.0 Released");
    assertThat(feed.deliveredUpTo(2)).isCompleted();
  }

  @Test
  void anEntryThatWasDeliveredInPartContinuesWhereItStopped() {
    Entry<ThreadEvent> two =
        Entry.of(
            1,
            7,
            Entry.Origin.HOST,
            List.of(new ThreadEvent.Released(), new ThreadEvent.Unscheduled("w")));
    feed.request(1);
    reads.remove(0).answer(true, List.of(two));

    feed.request(5);
    Asked again = reads.remove(0);
    assertThat(again.from()).isEqualTo(1);
    again.answer(true, List.of(two));

    assertThat(received).containsExactly("1.0 Released", "1.1 Unscheduled");
    assertThat(reads.remove(0).from()).isEqualTo(2);
  }

  @Test
  void whatIsPersistedWhileNothingIsRequestedIsReadLater() {
    feed.request(1);
    answer(List.of(1L));
    subscriptions.persisted("thread", entry(2), false);
    assertThat(received).containsExactly("1.0 Released");

    feed.request(1);
    answer(List.of(2L));
    assertThat(received).containsExactly("1.0 Released", "2.0 Released");
  }

  @Test
  void whoMayHaveMissedTheEndIsNotified() {
    feed.request(16);
    answer(List.of(1L));
    feed.missed();
    answer(List.of());

    assertThat(received).containsExactly("1.0 Released", "ended");
    assertThat(subscriptions.followed()).isEmpty();
  }

  @Test
  void whoBeginsWhenTheThreadIsErasedIsNotified() {
    feed.request(16);
    answer(List.of());

    assertThat(received).containsExactly("ended");
  }

  @Test
  void aListenerThatThrowsIsNotifiedOfTheEnd() {
    feed.request(16);
    failure = new AssertionError("of the listener");
    answer(List.of(1L, 2L));

    assertThat(received).containsExactly("ended");
    assertThat(subscriptions.followed()).isEmpty();
    assertThat(feed.deliveredUpTo(2)).isCompleted();
  }

  @Test
  void whoReadsAndFindsErasedWhatWasPersistedIsNotified() {
    feed.request(16);
    answer(List.of(1L));
    subscriptions.persisted("thread", entry(3), false);
    answer(List.of());

    assertThat(received).containsExactly("1.0 Released", "ended");
    assertThat(reads).isEmpty();
    assertThat(subscriptions.followed()).isEmpty();
  }

  @Test
  void whoIsStillReadingWhenAThreadIsDeletedIsNotified() {
    feed.request(16);
    subscriptions.persisted("thread", deleted(3), true);
    assertThat(received).containsExactly("3.0 Deleted", "ended");

    reads.forEach(read -> read.answer(false, List.of()));
    assertThat(received).hasSize(2);
    assertThat(subscriptions.followed()).isEmpty();
  }

  @Test
  void whoHasReadOfADeletionIsNotNotifiedAgain() {
    feed.request(1);
    reads.forEach(read -> read.answer(false, List.of(deleted(1))));
    subscriptions.persisted("thread", deleted(1), true);
    assertThat(received).containsExactly("1.0 Deleted", "ended");
  }

  @Test
  void whoHasNotAskedForMoreWhenAThreadIsDeletedIsNotified() {
    subscriptions.persisted("thread", deleted(3), true);
    assertThat(received).containsExactly("3.0 Deleted", "ended");
  }

  @Test
  void whoIsSlowGetsWhatWasReadBeforeTheDeletion() {
    takesMore = false;
    feed.request(16);
    answer(List.of(1L, 2L, 3L));
    subscriptions.persisted("thread", deleted(4), true);
    assertThat(received)
        .containsExactly("1.0 Released", "2.0 Released", "3.0 Released", "4.0 Deleted", "ended");
  }

  @Test
  void whoKnowsAllBeforeIsNotifiedOfADeletionOnce() {
    feed.request(16);
    answer(List.of(1L));
    subscriptions.persisted("thread", deleted(2), true);
    subscriptions.persisted("thread", deleted(2), true);
    assertThat(received).containsExactly("1.0 Released", "2.0 Deleted", "ended");
  }
}
