package io.fermata.agent;

import io.fermata.flow.Effect;
import io.fermata.flow.Policy;
import org.jspecify.annotations.Nullable;

/**
 * Something that a thread wants done, or a moment that it waits for.
 *
 * @param id what it is about: a call, a step, a message, an effect, a report
 * @param due if present nothing is performed: at this moment an {@link ThreadInput.EffectDue} is
 *     wanted
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
    /** The hooks for a call that came back from elsewhere. */
    STORE,
    /** Work that was put off. */
    DEFERRED,
    /** A summary of the older messages. */
    COMPACT,
    /** Tells the parent what the thread came to. */
    REPORT,
    /** Takes back what calls elsewhere are at, after a stop. */
    WITHDRAW,
    /** Deletes what the thread keeps. */
    ERASE
  }

  /** Whether it is a moment that nobody waits for: a thread can sleep until then. */
  public boolean patient() {
    return timer() && (kind == Kind.DEFERRED || kind == Kind.REPORT || kind == Kind.WITHDRAW);
  }

  /** The name of something that somebody is to be told. */
  static String telling(Kind kind, String id) {
    return kind + "/" + id;
  }

  @Override
  public String key() {
    return kind + "/" + id + "/" + attempt + (timer() ? "/due" : "");
  }
}
