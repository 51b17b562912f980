package io.fermata.persistence;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
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

  static Serialized read(DataInput in) throws IOException {
    int serializer = in.readInt();
    String manifest = in.readUTF();
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return new Serialized(bytes, serializer, manifest);
  }

  void write(DataOutput out) throws IOException {
    out.writeInt(serializer);
    out.writeUTF(manifest);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  int size() {
    return bytes.length;
  }

  StoredRecord stored(long seq) {
    return new StoredRecord(seq, serializer, manifest, bytes.clone());
  }
}
