package io.fermata.session.key;

import io.fermata.flow.json.Digests;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import javax.crypto.spec.SecretKeySpec;

/**
 * Mints session handles and recognises them without remembering any: 128 random bits, followed by
 * 128 bits of a signature with the store's key. A handle is valid as long as the key.
 */
public final class Handles {
  private static final int HALF = 16;
  private static final int LENGTH = 43;

  private final SecretKeySpec key;
  private final List<SecretKeySpec> accepted;
  private final SecureRandom random = new SecureRandom();

  public Handles(byte[] serverKey) {
    this(serverKey, List.of());
  }

  /**
   * @param others the keys of stores whose handles are recognised, too
   */
  public Handles(byte[] serverKey, List<byte[]> others) {
    this.key = Digests.key(serverKey);
    this.accepted = Stream.concat(Stream.of(key), others.stream().map(Digests::key)).toList();
  }

  /** Handles that are valid within this process, for hosts without a store. */
  public static Handles ofProcess() {
    byte[] key = new byte[2 * HALF];
    new SecureRandom().nextBytes(key);
    return new Handles(key);
  }

  /** A new handle that nobody can guess. */
  public String mint() {
    byte[] nonce = new byte[HALF];
    random.nextBytes(nonce);
    return signed(nonce, key);
  }

  /** The one handle that belongs to a name: the same for the same name, unguessable without it. */
  public String derive(String name) {
    byte[] nonce = Digests.signature(bytes("derived\n" + name), key);
    return signed(Arrays.copyOf(nonce, HALF), key);
  }

  /** Whether this server's store minted the handle, or one whose handles it accepts. */
  public boolean minted(String handle) {
    if (handle.length() != LENGTH) {
      return false;
    }
    try {
      byte[] nonce = Arrays.copyOf(Base64.getUrlDecoder().decode(handle), HALF);
      return accepted.stream()
          .anyMatch(by -> MessageDigest.isEqual(bytes(handle), bytes(signed(nonce, by))));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static String signed(byte[] nonce, SecretKeySpec by) {
    byte[] bytes = Arrays.copyOf(nonce, 2 * HALF);
    System.arraycopy(Digests.signature(nonce, by), 0, bytes, HALF, HALF);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
