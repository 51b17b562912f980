package io.fermata.session.admin;

import java.util.Set;
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

  /**
   * The ids of all keys, for the hosts of a cluster to compare; null if they cannot be listed, and
   * then hosts do not notice that one lacks a key of the others.
   */
  default @Nullable Set<String> ids() {
    return null;
  }
}
