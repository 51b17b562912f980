package io.fermata.session;

import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.session.admin.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Streams of threads whose sessions move between the hosts of a cluster. */
@Tag("long")
class ClusterStreamsTest extends ClusterOfHosts {
  private static final int THREADS = 8;
  private static final int ROUNDS = 4;

  private final Agent agent =
      Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));

  private Fermata open() {
    return host(builder -> builder.agent(agent));
  }

  /** A client that follows a thread, and resumes its stream at another host where one ends. */
  private static final class Follower implements Threads.Listener {
    private final String thread;
    private final List<Position> seen = new CopyOnWriteArrayList<>();
    private volatile boolean over;
    private volatile CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
    private Threads.@Nullable Feed feed;

    Follower(String thread) {
      this.thread = thread;
    }

    void follow(Fermata host) {
      ended = new CompletableFuture<>();
      Position last = last();
      feed = now(host.threads().follow("ann", thread, last.entry(), last.event(), this));
      feed().request(Integer.MAX_VALUE);
    }

    Threads.Feed feed() {
      return Objects.requireNonNull(feed, "follow(…) comes first");
    }

    Position last() {
      return seen.isEmpty() ? new Position(0, -1) : seen.get(seen.size() - 1);
    }

    void resumeIfEnded(Fermata next) {
      if (ended.isDone()) {
        follow(next);
      }
    }

    void stop() {
      over = true;
      feed().close();
    }

    @Override
    public void happened(long offset, int index, long at, ThreadEvent event) {
      if (!over) {
        seen.add(new Position(offset, index));
      }
    }

    @Override
    public void streamed(MessageDelta delta) {}

    @Override
    public void ended(@Nullable Throwable why) {
      ended.complete(null);
    }
  }

  private record Position(long entry, int event) implements Comparable<Position> {
    private static final Comparator<Position> ORDER =
        Comparator.comparingLong(Position::entry).thenComparingInt(Position::event);

    @Override
    public int compareTo(Position other) {
      return ORDER.compare(this, other);
    }
  }

  private void post(List<Follower> followers, String key) throws InterruptedException {
    for (String thread : followers.stream().map(each -> each.thread).distinct().toList()) {
      post(thread, key);
    }
  }

  /** A client posts until it gets a reply, under the same key. */
  private void post(String thread, String key) throws InterruptedException {
    Threads.NewMessage message = new Threads.NewMessage(Message.user(key), List.of(), key);
    eventually(
        () -> {
          try {
            now(any().threads().post("ann", thread, message));
            return true;
          } catch (CompletionException e) {
            return false;
          }
        });
  }

  @Test
  void theyContinueWithoutAGapOrARepetitionWhileHostsCloseAndOthersStart()
      throws InterruptedException {
    IntStream.range(0, 3).forEach(i -> open());
    List<Follower> followers = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      String thread =
          now(any()
                  .threads()
                  .create(
                      new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of())))
              .threadId();
      for (Fermata host : hosts) {
        Follower follower = new Follower(thread);
        follower.follow(host);
        followers.add(follower);
      }
    }
    for (int round = 0; round < ROUNDS; round++) {
      post(followers, "before " + round);
      Fermata leaving = hosts.remove(0);
      CompletableFuture<Void> left =
          CompletableFuture.runAsync(() -> leaving.close(Duration.ofSeconds(5)));
      post(followers, "during " + round);
      left.orTimeout(60, TimeUnit.SECONDS).join();
      Fermata next = open();
      followers.forEach(follower -> follower.resumeIfEnded(next));
    }

    post(followers, "after all");

    for (Follower follower : followers) {
      // No further subscription may remind a host of what it missed.
      eventually(
          () -> {
            Threads.View view = now(any().threads().get("ann", follower.thread));
            return view.status() == Threads.Status.RESTING
                && view.offset() == follower.last().entry();
          });
    }
    for (Follower follower : followers) {
      Follower whole = new Follower(follower.thread);
      whole.follow(any());
      now(whole.feed().deliveredUpTo(follower.last().entry()));
      assertThat(whole.seen).hasSizeGreaterThan(2 * ROUNDS).isSorted().doesNotHaveDuplicates();
      assertThat(follower.seen).isEqualTo(whole.seen);
      whole.stop();
      follower.stop();
    }
  }
}
