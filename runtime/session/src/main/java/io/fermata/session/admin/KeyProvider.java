package io.fermata.session.admin;

import org.jspecify.annotations.Nullable;

/**
 * Provides a host's encryption keys. It is called on every read and write, by several threads at
 * once, and must return from memory.
 */
public interface KeyProvider {
  /** The id of the key that encrypts new data: letters, digits, {@code -} and {@code _}. */
  String current();

  /** The 32 bytes of a key; null if there is none of that id. */
  byte @Nullable [] key(String id);
}
