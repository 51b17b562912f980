package io.fermata.agent.state;

import io.fermata.flow.event.Effect;
import io.fermata.flow.event.Policy;
import org.jspecify.annotations.Nullable;

/**
 * An effect that a thread needs, or a timer that it waits for.
 *
 * @param id the id of its subject: a call, a step, a message, an effect, a report
 * @param due if present, this is a timer: at this time the program expects a {@link
 *     ThreadInput.EffectDue}
 */
public record ThreadEffect(Kind kind, String id, int attempt, @Nullable Long due, Policy policy)
    implements Effect {

  /** What an effect is for. */
  public enum Kind {
    /** The hooks for a new thread. */
    GREET,
    /** The hooks for a message from outside. */
    RECEIVE,
    /** A model's next message. */
    STEP,
    /** Code that takes the turn. */
    HANDLE,
    /** A call of a tool. */
    CALL,
    /** Looks again at the flow of a call that waits, in case a notice was lost. */
    LOOK,
    /** The hooks for a call whose result came from elsewhere. */
    STORE,
    /** Scheduled work. */
    DEFERRED,
    /** A summary of the older messages. */
    COMPACT,
    /** Reports the result to the parent. */
    REPORT,
    /** Withdraws work elsewhere after a stop. */
    WITHDRAW,
    /** Deletes the thread, as nobody has said anything for too long. */
    EXPIRE,
    /** Deletes the data of the thread. */
    ERASE
  }

  /** Whether it is a timer that no caller waits for, so that the thread can be passivated. */
  public boolean backgroundTimer() {
    return timer()
        && switch (kind) {
          case LOOK, DEFERRED, REPORT, WITHDRAW, EXPIRE -> true;
          default -> false;
        };
  }

  /** The key of a delivery. */
  public static String delivery(Kind kind, String id) {
    return kind + "/" + id;
  }

  /** Its key as a delivery. */
  public String delivery() {
    return delivery(kind, id);
  }

  @Override
  public String key() {
    return kind + "/" + id + "/" + attempt + (timer() ? "/due" : "");
  }
}
