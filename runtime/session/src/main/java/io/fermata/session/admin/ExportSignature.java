package io.fermata.session.admin;

/** What is known of the signature of an export. */
public enum ExportSignature {
  /** A host with the same key signed it, and nobody changed it since. */
  VERIFIED("its signature is verified"),
  /** It is signed with a key that this host does not have. */
  NOT_VERIFIED("its signature is not verified, as its key is missing here"),
  /** The host that wrote it had no key: anybody could have written it. */
  UNSIGNED("it is not signed");

  private final String text;

  ExportSignature(String text) {
    this.text = text;
  }

  /** For a person. */
  public String text() {
    return text;
  }
}
