package io.fermata.persistence.spi;

import java.security.SecureRandom;

/** Generates the key that a store keeps for its host. */
public final class ServerKey {

  public static final int BYTES = 32;

  private ServerKey() {}

  public static byte[] random() {
    byte[] key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    return key;
  }
}
