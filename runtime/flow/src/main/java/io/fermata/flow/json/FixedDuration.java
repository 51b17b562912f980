package io.fermata.flow.json;

import java.time.Duration;
import java.util.function.Function;

/** A time that is the same for every run, so that a picture can name it. */
public record FixedDuration<S extends Record>(Duration time) implements Function<S, Duration> {
  @Override
  public Duration apply(S state) {
    return time;
  }
}
