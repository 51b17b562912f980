package io.fermata.session.admin;

import io.fermata.flow.event.Outcome;
import io.fermata.session.key.HostError;

/** Something encrypted cannot be read: its key is missing, or it is not what was written there. */
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
        "What is stored is encrypted with the key " + key + ", which this host does not have");
  }

  public static EncryptionException broken(String key) {
    return new EncryptionException(
        HostError.SEAL_BROKEN,
        "What is stored does not open with the key "
            + key
            + ": it was changed, belongs to another journal, or the key is another one of that id");
  }

  public static EncryptionException unknownForm() {
    return new EncryptionException(
        HostError.SEAL_BROKEN, "What is stored is encrypted in a form that is not known here");
  }

  /** The stable name of what is wrong. */
  public String code() {
    return error.wireName();
  }

  public Outcome.Failure failure() {
    return error.failure(String.valueOf(getMessage()));
  }
}
