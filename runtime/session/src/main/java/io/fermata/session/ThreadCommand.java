package io.fermata.session;

import io.fermata.agent.ThreadInput;
import io.fermata.agent.ThreadState;
import io.fermata.flow.Outcome;
import java.time.Duration;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** What the session actor of a thread is told by those outside. */
sealed interface ThreadCommand extends SessionCommand {

  /**
   * Something comes in.
   *
   * @param principal who it is from; null for the host itself
   * @param trace what it is part of
   */
  record Tell(
      @Nullable String principal, ThreadInput input, TraceContext trace, ActorRef<Reply> replyTo)
      implements ThreadCommand {}

  /**
   * Somebody asks how it stands.
   *
   * @param patience how long to wait until it rests, or asks; null to be answered at once
   */
  record Look(@Nullable String principal, @Nullable Duration patience, ActorRef<Reply> replyTo)
      implements ThreadCommand {}

  /** Whoever waits has waited long enough. */
  record Enough(Look look) implements ThreadCommand {}

  /** The directory is to follow. */
  record Enter() implements ThreadCommand {}

  /**
   * What the directory was found to have.
   *
   * @param seq the number of the record that it knows of; null if it does not know the thread
   */
  record Entered(@Nullable Long seq) implements ThreadCommand {}

  /** The directory could not be written. */
  record NotEntered() implements ThreadCommand {}

  /** What a deleted thread keeps could not be deleted; try again. */
  record Erase() implements ThreadCommand {}

  /**
   * How it stands, now that the journal has what came in.
   *
   * @param seq the number of the journal's last record
   * @param standing how the thread stands
   * @param news whether what came in changed anything
   * @param failure why it changed nothing, if that is wrong; null if it is not
   */
  record Reply(
      ThreadState state,
      Threads.Standing standing,
      long seq,
      boolean news,
      Outcome.@Nullable Failure failure) {}
}
