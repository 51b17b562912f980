package io.fermata.persistence;

import java.security.SecureRandom;

/** Makes the key that a store keeps for its host. */
final class ServerKey {

  static final int BYTES = 32;

  private ServerKey() {}

  static byte[] random() {
    byte[] key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    return key;
  }
}
