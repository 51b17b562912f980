package io.fermata.flow.event;

import io.fermata.flow.json.Texts;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a validator says of an answer.
 *
 * <pre>{@code
 * static Verdict check(String email) {
 *   return email.contains("@")
 *       ? Verdict.accept(email.trim().toLowerCase(Locale.ROOT))
 *       : Verdict.reject("That does not look like an email.");
 * }
 * }</pre>
 */
public sealed interface Verdict {
  /** The answer stands as it was given. */
  static Accepted accept() {
    return new Accepted(null, Map.of());
  }

  /** The answer stands, written as {@code normalised}. */
  static Accepted accept(Object normalised) {
    return new Accepted(normalised, Map.of());
  }

  /** The question stays open and the client gets the reason. */
  static Rejected reject(String message) {
    return new Rejected(message);
  }

  /**
   * The answer stands.
   *
   * @param normalised what to store instead, or null to store what was given
   * @param sets further fields that follow from the answer
   */
  record Accepted(@Nullable Object normalised, Map<String, Object> sets) implements Verdict {
    public Accepted {
      sets = Collections.unmodifiableMap(new LinkedHashMap<>(sets));
    }

    /** Also sets another field of the state, computed ones included. */
    public Accepted set(String field, Object value) {
      Map<String, Object> more = new LinkedHashMap<>(sets);
      more.put(field, value);
      return new Accepted(normalised, more);
    }
  }

  /** The question stays open. */
  record Rejected(String message) implements Verdict {
    public Rejected {
      message = Texts.sound(Objects.requireNonNull(message, "message"));
    }
  }
}
