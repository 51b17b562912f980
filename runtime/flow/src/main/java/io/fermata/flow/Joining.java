package io.fermata.flow;

import org.jspecify.annotations.Nullable;

/**
 * When branches become one again.
 *
 * @param needed how many have to arrive; 0 for all of them
 * @param failure what the failure of a branch means for the others
 * @param into the field that failures are listed in, where they are collected
 */
record Joining(int needed, OnFailure failure, @Nullable String into) {

  /** What the failure of a branch means. */
  enum OnFailure {
    /** Only the branch stands still, until its step is tried again. */
    HALT,
    /** The others stop where they are, until the failed step is tried again. */
    FAIL_FAST,
    /** The branch is given up, and the join is told. */
    COLLECT
  }

  static final Joining ALL = new Joining(0, OnFailure.HALT, null);

  Joining needed(int branches) {
    return new Joining(branches, failure, into);
  }

  Joining failFast() {
    return new Joining(needed, OnFailure.FAIL_FAST, null);
  }

  Joining collect(String field) {
    return new Joining(needed, OnFailure.COLLECT, field);
  }

  /** How many of so many branches have to arrive. */
  int neededOf(int branches) {
    return needed == 0 ? branches : Math.min(needed, branches);
  }
}
