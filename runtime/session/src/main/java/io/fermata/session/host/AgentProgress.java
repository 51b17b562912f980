package io.fermata.session.host;

import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolProgress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Relays what agents do that the caller may use, to the client of a call, until the call ends.
 *
 * <p>An attempt of a model may break off, and streamed pieces may be lost. What a client has got
 * cannot be taken back: an event {@code void} says that it does not count, and the text begins
 * again.
 */
final class AgentProgress implements Threads.Listener {
  /** How long a reply waits for the delivery of its progress. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  private final String agent;
  private final Predicate<String> mayReach;
  private final Consumer<ToolProgress> progress;

  /** The steps that have begun since, by the message that each is to become. */
  private final Map<String, Streamed> steps = new HashMap<>();

  private Threads.@Nullable Feed feed;
  private boolean silent;
  private boolean over;

  /** The text of a message that the client has. */
  private static final class Streamed {
    private final String messageId;
    private final StringBuilder text = new StringBuilder();
    private int beginnings = 1;

    Streamed(String messageId) {
      this.messageId = messageId;
    }

    String node() {
      return beginnings == 1 ? messageId : messageId + "/" + beginnings;
    }
  }

  /**
   * @param agent the one whose tool is called
   * @param acting the one that acts before the first event, which may be another one already
   */
  AgentProgress(
      String agent, String acting, Predicate<String> mayReach, Consumer<ToolProgress> progress) {
    this.agent = agent;
    this.mayReach = mayReach;
    this.progress = progress;
    this.silent = !mayReach.test(acting);
  }

  /** Requests everything: text that is streamed while an event is not requested yet is lost. */
  synchronized AgentProgress of(Threads.Feed itsFeed) {
    feed = itsFeed;
    itsFeed.request(Integer.MAX_VALUE);
    return this;
  }

  @Override
  public synchronized void happened(long offset, int index, long at, ThreadEvent event) {
    if (over) {
      return;
    }
    if (event instanceof ThreadEvent.HandedOver to) {
      silent = !mayReach.test(to.agent());
    }
    if (!silent) {
      send(event);
    }
  }

  private void send(ThreadEvent event) {
    if (event instanceof ThreadEvent.Emitted emitted) {
      progress.accept(new ToolProgress(agent, emitted.type(), Json.tree(emitted.data())));
    } else if (event instanceof ThreadEvent.StepBegan began) {
      // One that was interrupted begins again.
      revoke(steps.computeIfAbsent(began.messageId(), Streamed::new));
    } else if (event instanceof ThreadEvent.StepEnded ended) {
      sendRest(ended.message());
      for (RequestedCall call : ended.calls()) {
        progress.accept(new ToolProgress(agent, "calls", Json.tree(call.name())));
      }
    } else if (event instanceof ThreadEvent.Stopped) {
      steps.values().forEach(this::revoke);
      steps.clear();
    }
  }

  /** Text of a step whose beginning it has not seen is sent when it is a message. */
  @Override
  public synchronized void streamed(MessageDelta delta) {
    Streamed step = steps.get(delta.messageId());
    if (over || silent || step == null) {
      return;
    }
    if (delta.kind().equals("void")) {
      revoke(step);
    } else if (delta.kind().equals("text")) {
      send(step, delta.text());
    }
  }

  private void revoke(Streamed step) {
    if (!step.text.isEmpty()) {
      progress.accept(new ToolProgress(step.node(), "void", NullNode.getInstance()));
      step.text.setLength(0);
      step.beginnings++;
    }
  }

  private void send(Streamed step, String piece) {
    if (!piece.isEmpty()) {
      step.text.append(piece);
      progress.accept(ToolProgress.text(step.node(), piece));
    }
  }

  /** Sends the part of a message that was not streamed. */
  private void sendRest(Message said) {
    Streamed known = steps.remove(said.id());
    Streamed step = known == null ? new Streamed(said.id()) : known;
    String all = said.content() == null ? "" : said.content();
    if (!all.startsWith(step.text.toString())) {
      revoke(step);
    }
    send(step, all.substring(step.text.length()));
  }

  /** Completes when all progress up to an entry is delivered, or after a timeout. */
  CompletionStage<@Nullable Void> upTo(long offset) {
    Threads.Feed followed;
    synchronized (this) {
      followed = feed;
    }
    return followed == null
        ? CompletableFuture.completedFuture(null)
        : followed
            .deliveredUpTo(offset)
            .toCompletableFuture()
            .completeOnTimeout(null, GRACE.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public void ended(@Nullable Throwable why) {
    // The reply of the call reports the end.
  }

  synchronized void end() {
    over = true;
    if (feed != null) {
      feed.close();
    }
  }
}
