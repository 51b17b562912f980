package io.fermata.session.admin;

import io.fermata.flow.event.Outcome;
import io.fermata.session.key.HostError;

/** Encrypted data cannot be read: its key is missing, or the data was changed. */
public final class EncryptionException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final HostError error;

  private EncryptionException(HostError error, String message) {
    super(message);
    this.error = error;
  }

  public static EncryptionException keyMissing(String key) {
    return new EncryptionException(
        HostError.KEY_MISSING,
        "The stored data is encrypted with the key "
            + key
            + ", which this host does not"
            + " have; configure that key");
  }

  public static EncryptionException broken(String key) {
    return new EncryptionException(
        HostError.DECRYPTION_FAILED,
        "The stored data cannot be decrypted with the key "
            + key
            + ": it was changed, it belongs to another journal, or the key of that id was"
            + " replaced");
  }

  public static EncryptionException unknownForm() {
    return new EncryptionException(
        HostError.DECRYPTION_FAILED, "The stored data is encrypted in an unknown format");
  }

  /** Whether it could be read, had the host its key. */
  public boolean keyMissing() {
    return error == HostError.KEY_MISSING;
  }

  /** The stable error code. */
  public String code() {
    return error.wireName();
  }

  public Outcome.Failure failure() {
    return error.failure(String.valueOf(getMessage()));
  }
}
