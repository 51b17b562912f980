package io.fermata.session.journal;

import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.KeyProvider;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Encrypts bytes with AES-256-GCM so that they open in the journal they were written for and in no
 * other.
 *
 * <p>The form is a promise: a byte 1, the length of the key's id and the id, 12 random bytes, and
 * what the cipher makes of it with its tag of 16 bytes. Authenticated with it are all bytes before
 * the random ones, and the journal's persistence id.
 */
public final class EntryCipher {
  private static final byte FORM = 1;
  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;

  private final SecureRandom random = new SecureRandom();
  private final @Nullable KeyProvider keys;

  public EntryCipher(@Nullable KeyProvider keys) {
    this.keys = keys;
  }

  /**
   * Checks that there is a key to encrypt with.
   *
   * @throws IllegalStateException if there is none, or it is none
   */
  public static KeyProvider checked(KeyProvider keys) {
    String current = keys.current();
    byte[] key = keys.key(current);
    if (!DataKeys.ID.matcher(current).matches() || key == null || key.length != DataKeys.BYTES) {
      throw new IllegalStateException(
          "The key provider names "
              + current
              + " as the key that encrypts, and has no 32 bytes of that id; an id has up to 32"
              + " letters, digits, - and _");
    }
    return keys;
  }

  public byte[] seal(byte[] plain, String persistenceId) {
    String id = keys == null ? "" : keys.current();
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

  /**
   * Decrypts what was encrypted for a journal.
   *
   * @throws EncryptionException if its key is missing, or it is not what was written in this
   *     journal
   */
  public byte[] open(byte[] sealed, String persistenceId) {
    int name = sealed.length < 2 ? 0 : sealed[1];
    int head = 2 + name;
    if (name < 1 || sealed[0] != FORM || sealed.length < head + NONCE + TAG_BITS / Byte.SIZE) {
      throw EncryptionException.unknownForm();
    }
    String id = new String(sealed, 2, name, StandardCharsets.US_ASCII);
    byte[] prefix = Arrays.copyOf(sealed, head);
    byte[] nonce = Arrays.copyOfRange(sealed, head, head + NONCE);
    try {
      return cipher(Cipher.DECRYPT_MODE, id, prefix, nonce, persistenceId)
          .doFinal(sealed, head + NONCE, sealed.length - head - NONCE);
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
