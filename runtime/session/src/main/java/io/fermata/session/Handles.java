package io.fermata.session;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Mints session handles and recognises them without remembering any: 128 random bits, followed by
 * 128 bits of a signature with the store's key. A handle outlives the process as the key does.
 */
public final class Handles {
  private static final int HALF = 16;
  private static final int LENGTH = 43;

  private final SecretKeySpec key;
  private final SecureRandom random = new SecureRandom();

  Handles(byte[] serverKey) {
    this.key = new SecretKeySpec(serverKey, "HmacSHA256");
  }

  /** A new handle that nobody can guess. */
  public String mint() {
    byte[] nonce = new byte[HALF];
    random.nextBytes(nonce);
    return sealed(nonce);
  }

  /** The one handle that belongs to a name: the same for the same name, unguessable without it. */
  public String derive(String name) {
    byte[] nonce = signature(bytes("derived\n" + name));
    return sealed(Arrays.copyOf(nonce, HALF));
  }

  /** Whether this server's store minted the handle. */
  public boolean minted(String handle) {
    if (handle.length() != LENGTH) {
      return false;
    }
    try {
      byte[] nonce = Arrays.copyOf(Base64.getUrlDecoder().decode(handle), HALF);
      return MessageDigest.isEqual(bytes(handle), bytes(sealed(nonce)));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private String sealed(byte[] nonce) {
    byte[] bytes = Arrays.copyOf(nonce, 2 * HALF);
    System.arraycopy(signature(nonce), 0, bytes, HALF, HALF);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private byte[] signature(byte[] of) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(key);
      return mac.doFinal(of);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every JDK has HmacSHA256", e);
    }
  }
}
