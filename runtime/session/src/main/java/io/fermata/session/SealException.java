package io.fermata.session;

import io.fermata.flow.Outcome;

/** Something encrypted cannot be read: its key is missing, or it is not what was written there. */
public final class SealException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final HostError error;

  private SealException(HostError error, String message) {
    super(message);
    this.error = error;
  }

  static SealException keyMissing(String key) {
    return new SealException(
        HostError.KEY_MISSING,
        "What is stored is encrypted with the key " + key + ", which this host does not have");
  }

  static SealException broken(String key) {
    return new SealException(
        HostError.SEAL_BROKEN,
        "What is stored does not open with the key "
            + key
            + ": it was changed, belongs to another journal, or the key is another one of that id");
  }

  static SealException unknownForm() {
    return new SealException(
        HostError.SEAL_BROKEN, "What is stored is encrypted in a form that is not known here");
  }

  /** The stable name of what is wrong. */
  public String code() {
    return error.wireName();
  }

  Outcome.Failure failure() {
    return error.failure(String.valueOf(getMessage()));
  }
}
