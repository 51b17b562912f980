package io.fermata.testkit.eval;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The person on the other side of a conversation. It decides from the conversation alone, so that
 * one user can be in many conversations at once; {@link ScriptedUser} is one that follows rules.
 */
@FunctionalInterface
public interface EvalUser {
  /**
   * What the user says next.
   *
   * @param soFar the conversation so far; empty before the first message
   * @return null if the user has nothing more to say
   */
  @Nullable String next(EvalRun soFar);

  /** Says these, one after another, regardless of the replies. */
  static EvalUser saying(String... messages) {
    List<String> all = List.of(messages);
    return soFar -> {
      int said = soFar.asked().size();
      return said < all.size() ? all.get(said) : null;
    };
  }
}
