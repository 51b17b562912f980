package io.fermata.session.journal;

import io.fermata.flow.json.Digests;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.KeyProvider;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Set;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Encrypts bytes with AES-256-GCM, bound to the journal that they are written to.
 *
 * <p>The format is stable: a byte 1, the length of the key's id and the id, a nonce of 12 bytes,
 * and the ciphertext with its tag of 16 bytes. The bytes before the nonce and the journal's
 * persistence id are authenticated as well.
 */
public final class EntryCipher {
  private static final byte FORM = 1;
  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;

  /** From the key that encrypts comes another one, which signs. */
  private static final byte[] EXPORT = "fermata export".getBytes(StandardCharsets.US_ASCII);

  private final SecureRandom random = new SecureRandom();
  private final @Nullable KeyProvider keys;

  public EntryCipher(@Nullable KeyProvider keys) {
    this.keys = keys;
  }

  /**
   * Validates the current key.
   *
   * @throws IllegalStateException if it is missing or invalid
   */
  public static KeyProvider checked(KeyProvider keys) {
    String current = keys.current();
    byte[] key = keys.key(current);
    if (!DataKeys.ID.matcher(current).matches() || key == null || key.length != DataKeys.BYTES) {
      throw new IllegalStateException(
          "The key provider names "
              + current
              + " as the current key, but returns no key of 32 bytes for it; check the"
              + " provider, and that the id consists of up to 32 letters, digits, - and _");
    }
    return keys;
  }

  /** The ids of all keys; null if they cannot be listed. */
  @Nullable Set<String> ids() {
    return keys == null ? Set.of() : keys.ids();
  }

  /** The id of the key that encrypts and signs; null if there is none. */
  public @Nullable String current() {
    return keys == null ? null : keys.current();
  }

  /** The code that authenticates an export under a key; null if that key is missing. */
  public byte @Nullable [] mac(String id, byte[] data) {
    byte[] key = keys == null ? null : keys.key(id);
    if (key == null) {
      return null;
    }
    byte[] signing = Digests.signature(EXPORT, Digests.key(key));
    return Digests.signature(data, Digests.key(signing));
  }

  public byte[] encrypt(byte[] plain, String persistenceId) {
    String id = keys == null ? "" : keys.current();
    if (!DataKeys.ID.matcher(id).matches()) {
      throw EncryptionException.keyMissing(id);
    }
    byte[] name = id.getBytes(StandardCharsets.US_ASCII);
    ByteBuffer head = ByteBuffer.allocate(2 + name.length).put(FORM).put((byte) name.length);
    byte[] prefix = head.put(name).array();
    byte[] nonce = new byte[NONCE];
    random.nextBytes(nonce);
    try {
      byte[] secret = cipher(Cipher.ENCRYPT_MODE, id, prefix, nonce, persistenceId).doFinal(plain);
      return ByteBuffer.allocate(prefix.length + NONCE + secret.length)
          .put(prefix)
          .put(nonce)
          .put(secret)
          .array();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every JDK has AES-GCM", e);
    }
  }

  /** Whether the key of encrypted bytes is there; true if they do not name one. */
  boolean hasKeyOf(byte[] encrypted) {
    int name = encrypted.length < 2 ? 0 : encrypted[1];
    if (name < 1 || encrypted.length < 2 + name) {
      return true;
    }
    return keys != null
        && keys.key(new String(encrypted, 2, name, StandardCharsets.US_ASCII)) != null;
  }

  /**
   * Decrypts bytes of a journal.
   *
   * @throws EncryptionException if the key is missing, or the bytes were not written to this
   *     journal
   */
  public byte[] decrypt(byte[] encrypted, String persistenceId) {
    int name = encrypted.length < 2 ? 0 : encrypted[1];
    int head = 2 + name;
    if (name < 1
        || encrypted[0] != FORM
        || encrypted.length < head + NONCE + TAG_BITS / Byte.SIZE) {
      throw EncryptionException.unknownForm();
    }
    String id = new String(encrypted, 2, name, StandardCharsets.US_ASCII);
    byte[] prefix = Arrays.copyOf(encrypted, head);
    byte[] nonce = Arrays.copyOfRange(encrypted, head, head + NONCE);
    try {
      return cipher(Cipher.DECRYPT_MODE, id, prefix, nonce, persistenceId)
          .doFinal(encrypted, head + NONCE, encrypted.length - head - NONCE);
    } catch (AEADBadTagException e) {
      throw EncryptionException.broken(id);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every JDK has AES-GCM", e);
    }
  }

  private Cipher cipher(int mode, String id, byte[] prefix, byte[] nonce, String persistenceId)
      throws GeneralSecurityException {
    byte[] key = keys == null ? null : keys.key(id);
    if (key == null) {
      throw EncryptionException.keyMissing(id);
    }
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, new SecretKeySpec(key, "AES"), new GCMParameterSpec(TAG_BITS, nonce));
    cipher.updateAAD(prefix);
    cipher.updateAAD(persistenceId.getBytes(StandardCharsets.UTF_8));
    return cipher;
  }
}
