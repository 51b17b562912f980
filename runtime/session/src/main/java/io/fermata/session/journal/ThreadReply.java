package io.fermata.session.journal;

import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Outcome;
import io.fermata.session.admin.Threads;
import io.fermata.session.key.HostError;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a thread: its state, once the changes of the call are journaled.
 *
 * @param held what waits for a release that has what this host lacks
 * @param seq the number of the journal's last entry
 * @param changed whether the call changed anything
 * @param failure the error, if there is one
 */
public record ThreadReply(
    ThreadState state,
    Threads.Status status,
    List<HeldWork> held,
    long seq,
    boolean changed,
    Outcome.@Nullable Failure failure)
    implements SessionReply {
  public static final Outcome.Failure UNKNOWN = HostError.UNKNOWN_THREAD.failure();

  /** Without what only the thread itself reads of its state. */
  public ThreadReply outline() {
    return new ThreadReply(state.outline(), status, held, seq, changed, failure);
  }

  /** The reply if a thread is unavailable or not the caller's. */
  public static ThreadReply refused(Outcome.Failure why) {
    boolean erased = why.code().equals(HostError.ERASED.wireName());
    return new ThreadReply(
        ThreadState.NONE, Threads.Status.RESTING, List.of(), 0, false, erased ? UNKNOWN : why);
  }
}
