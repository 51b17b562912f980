package io.fermata.flow.event;

import org.jspecify.annotations.Nullable;

/** Something that a program wants done outside, or a moment that it waits for. */
public interface Effect {

  /** What distinguishes it from every other effect that the program ever wants. */
  String key();

  /** If present nothing is performed: at this moment the program gets an input that it has come. */
  @Nullable Long due();

  /** How it is carried out. */
  Policy policy();

  /** Whether it is only a moment to be waited for. */
  default boolean timer() {
    return due() != null;
  }
}
