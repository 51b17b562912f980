package io.fermata.session.admin;

import org.jspecify.annotations.Nullable;

/**
 * Where the keys come from that a host encrypts with. It is asked whenever something is written or
 * read, by several threads at once, and must answer from memory.
 */
public interface KeyProvider {
  /** The id of the key that encrypts from now on: letters, digits, {@code -} and {@code _}. */
  String current();

  /** The 32 bytes of a key; null if there is none of that id. */
  byte @Nullable [] key(String id);
}
