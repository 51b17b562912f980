package io.fermata.persistence.spi;

/** One serialized journal record of a store. The reader knows how to deserialize it. */
public final class StoredEntry {

  private final long seq;
  private final int serializerId;
  private final String manifest;
  private final byte[] payload;

  public StoredEntry(long seq, int serializerId, String manifest, byte[] payload) {
    this.seq = seq;
    this.serializerId = serializerId;
    this.manifest = manifest;
    this.payload = payload;
  }

  /** Its sequence number in the journal, starting with 1. */
  public long seq() {
    return seq;
  }

  /** The serializer that wrote the payload. */
  public int serializerId() {
    return serializerId;
  }

  /** The manifest that the serializer gave the payload. */
  public String manifest() {
    return manifest;
  }

  /** The bytes that were read, not a copy. */
  public byte[] payload() {
    return payload;
  }

  @Override
  public String toString() {
    return "record " + seq + ", " + manifest + ", " + payload.length + " bytes";
  }
}
