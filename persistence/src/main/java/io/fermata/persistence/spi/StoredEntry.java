package io.fermata.persistence.spi;

/**
 * One serialized journal record of a store. The reader knows how to deserialize it.
 *
 * @param seq its sequence number in the journal, starting with 1
 * @param serializerId the serializer that wrote the payload
 * @param manifest what the serializer called the payload
 * @param payload the bytes that were read, not a copy
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record StoredEntry(long seq, int serializerId, String manifest, byte[] payload) {

  @Override
  public String toString() {
    return "record " + seq + ", " + manifest + ", " + payload.length + " bytes";
  }
}
