package io.fermata.session.actor;

import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.HostError;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/**
 * The replies of one session that leave once they are confirmed. A session that stops would lose
 * them.
 */
final class UnconfirmedReplies {

  /** How long a reply waits for the store to say whether this host still runs the session. */
  private static final Duration CONFIRMS = Duration.ofSeconds(5);

  private final String entityId;
  private final Placement placement;
  private final ActorRef<SessionCommand> session;
  private int waiting;

  UnconfirmedReplies(String entityId, Placement placement, ActorRef<SessionCommand> session) {
    this.entityId = entityId;
    this.placement = placement;
    this.session = session;
  }

  boolean none() {
    return waiting == 0;
  }

  /**
   * Whether this host still runs the session, before a reply leaves that no append vouches for. In
   * a cluster another host may have taken the session while this process was paused.
   *
   * @return null if there is no doubt; else completes with the reply that is to leave instead,
   *     which is null if there is none
   */
  @Nullable CompletionStage<@Nullable SessionReply> doubt() {
    CompletionStage<Boolean> here = placement.confirm(entityId);
    return here == null
        ? null
        : here.toCompletableFuture()
            .copy()
            .orTimeout(CONFIRMS.toMillis(), TimeUnit.MILLISECONDS)
            .handle(
                (held, thrown) ->
                    thrown != null
                        ? SessionReply.failure(entityId, HostError.STORE_UNAVAILABLE.failure())
                        : held ? null : SessionReply.failure(entityId, HostError.MOVED.failure()));
  }

  /** Completes when both have, with the reply that is to leave instead, if there is one. */
  static @Nullable CompletionStage<?> both(
      @Nullable CompletionStage<@Nullable SessionReply> doubt, @Nullable CompletionStage<?> ready) {
    if (doubt == null || ready == null) {
      return doubt == null ? ready : doubt;
    }
    return ready
        .<@Nullable Object>handle((instead, thrown) -> instead)
        .thenCombine(doubt, (instead, moved) -> moved == null ? instead : moved);
  }

  /**
   * Sends a reply at once, or when it is ready.
   *
   * @param ready completes with null, or with a reply that is to leave instead; null if the reply
   *     may leave at once
   */
  void send(@Nullable CompletionStage<?> ready, SessionReply reply, Consumer<SessionReply> sender) {
    if (ready == null) {
      sender.accept(reply);
      return;
    }
    waiting++;
    ready.whenComplete(
        (instead, thrown) -> {
          sender.accept(instead instanceof SessionReply other ? other : reply);
          session.tell(new SessionCommand.Replied());
        });
  }

  /** A reply has left that was not confirmed at once: {@link SessionCommand.Replied}. */
  void left() {
    waiting--;
  }
}
