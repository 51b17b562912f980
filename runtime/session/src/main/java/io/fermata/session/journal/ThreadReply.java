package io.fermata.session.journal;

import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Outcome;
import io.fermata.session.admin.Threads;
import io.fermata.session.key.HostError;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a thread: its state, once the journal has what the call brought.
 *
 * @param seq the number of the journal's last entry
 * @param changed whether the call changed anything
 * @param failure why it changed nothing, if that is an error
 */
public record ThreadReply(
    ThreadState state,
    Threads.Standing standing,
    long seq,
    boolean changed,
    Outcome.@Nullable Failure failure)
    implements SessionReply {
  public static final Outcome.Failure UNKNOWN =
      new Outcome.Failure("unknown_thread", "There is no such thread", null, List.of(), null);

  /** The reply in place of a thread that cannot be reached, or is not the caller's. */
  public static ThreadReply refused(Outcome.Failure why) {
    boolean erased = why.code().equals(HostError.ERASED.wireName());
    return new ThreadReply(
        ThreadState.NONE, Threads.Standing.RESTING, 0, false, erased ? UNKNOWN : why);
  }
}
