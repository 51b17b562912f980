package io.fermata.flow.json;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Digests and signatures with SHA-256. */
public final class Digests {
  private static final String MAC = "HmacSHA256";

  private Digests() {}

  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }

  public static byte[] sha256(String text) {
    return sha256().digest(text.getBytes(StandardCharsets.UTF_8));
  }

  /** A key that signs. */
  public static SecretKeySpec key(byte[] key) {
    return new SecretKeySpec(key, MAC);
  }

  /** The HMAC-SHA-256 of the bytes. */
  public static byte[] signature(byte[] of, SecretKeySpec key) {
    try {
      Mac mac = Mac.getInstance(MAC);
      mac.init(key);
      return mac.doFinal(of);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every JDK has HMAC-SHA-256", e);
    }
  }
}
