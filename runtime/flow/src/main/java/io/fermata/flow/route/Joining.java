package io.fermata.flow.route;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * When branches become one again.
 *
 * @param needed how many have to arrive; 0 for all of them
 * @param failure what the failure of a branch means for the others
 * @param into the field that failures are listed in, where they are collected
 */
public record Joining(int needed, OnFailure failure, @Nullable String into) {

  /** What the failure of a branch means. */
  public enum OnFailure {
    /** Only the branch halts, until its step is retried. */
    HALT,
    /** The others stop where they are, until the failed step is retried. */
    FAIL_FAST,
    /** The branch is dropped, and the join knows. */
    COLLECT
  }

  public static final Joining ALL = new Joining(0, OnFailure.HALT, null);

  /**
   * When so many have arrived.
   *
   * @throws IllegalArgumentException if it is none
   */
  public Joining needed(int branches) {
    if (branches < 1) {
      throw new IllegalArgumentException(
          "A quorum of %s waits for no branch; give at least 1, or leave it out to wait for all"
              .formatted(branches));
    }
    return new Joining(branches, failure, into);
  }

  public Joining failFast() {
    return new Joining(needed, OnFailure.FAIL_FAST, null);
  }

  public Joining collect(String field) {
    return new Joining(needed, OnFailure.COLLECT, Objects.requireNonNull(field, "field"));
  }

  /** How many of so many branches have to arrive. */
  public int neededOf(int branches) {
    return needed == 0 ? branches : Math.min(needed, branches);
  }
}
