package io.fermata.flow.json;

import java.util.function.Function;

/** A value that is the same for every run, so that a picture can name it. */
public record Fixed<S extends Record, V>(V value) implements Function<S, V> {
  @Override
  public V apply(S state) {
    return value;
  }
}
