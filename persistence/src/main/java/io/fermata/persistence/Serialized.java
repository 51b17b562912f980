package io.fermata.persistence;

import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.Serializer;
import org.apache.pekko.serialization.Serializers;

/** An object as the actor system's serializers wrote it. */
final class Serialized {

  private final byte[] bytes;
  private final int serializer;
  private final String manifest;

  Serialized(byte[] bytes, int serializer, String manifest) {
    this.bytes = bytes;
    this.serializer = serializer;
    this.manifest = manifest;
  }

  static Serialized of(Object object, Serialization serialization) {
    Serializer serializer = serialization.findSerializerFor(object);
    return new Serialized(
        serialization.serialize(object).get(),
        serializer.identifier(),
        Serializers.manifestFor(serializer, object));
  }

  Object read(Serialization serialization) {
    return serialization.deserialize(bytes, serializer, manifest).get();
  }

  StoredRecord stored(long seq) {
    return new StoredRecord(seq, serializer, manifest, bytes.clone());
  }
}
