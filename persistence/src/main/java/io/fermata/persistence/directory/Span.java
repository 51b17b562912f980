package io.fermata.persistence.directory;

import org.jspecify.annotations.Nullable;

/**
 * A time span, in milliseconds since 1970.
 *
 * @param from its first moment, null if it has none
 * @param before the first moment after it, null if there is none
 */
public record Span(@Nullable Long from, @Nullable Long before) {

  public static final Span ALWAYS = new Span(null, null);

  public boolean contains(long moment) {
    return (from == null || moment >= from) && (before == null || moment < before);
  }
}
