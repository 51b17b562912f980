package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.StoredEntry;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.Serializer;
import org.apache.pekko.serialization.Serializers;
import scala.Option;

/** An object as the actor system's serializers wrote it. */
@SuppressWarnings("ArrayRecordComponent") // equal is what has the very bytes
public record Serialized(byte[] bytes, int serializer, String manifest) {

  public static Serialized of(Object object, Serialization serialization) {
    Serializer serializer = serialization.findSerializerFor(object);
    return new Serialized(
        serialization.serialize(object).get(),
        serializer.identifier(),
        Serializers.manifestFor(serializer, object));
  }

  /** Refuses what no store keeps: it would be missing when the object is read. */
  static void requireNothingElse(String persistenceId, String manifest, Option<Object> metadata) {
    if (!manifest.isEmpty()) {
      throw new IllegalArgumentException(
          "The manifest "
              + manifest
              + " of the event adapter of "
              + persistenceId
              + " is not stored; return an empty one, and let the serializer name the format");
    } else if (metadata.isDefined()) {
      throw new IllegalArgumentException(
          "The metadata ("
              + metadata.get().getClass().getName()
              + ") of "
              + persistenceId
              + " is not stored; make it part of the event");
    }
  }

  public Object read(Serialization serialization) {
    return serialization.deserialize(bytes, serializer, manifest).get();
  }

  /** A row's payload, serializer and manifest, from a column on. */
  public static Serialized get(ResultSet row, int column) throws SQLException {
    return new Serialized(row.getBytes(column), row.getInt(column + 1), row.getString(column + 2));
  }

  /** Sets payload, serializer and manifest, from a parameter on. */
  public static void set(PreparedStatement statement, int parameter, Serialized written)
      throws SQLException {
    statement.setBytes(parameter, written.bytes);
    statement.setInt(parameter + 1, written.serializer);
    statement.setString(parameter + 2, written.manifest);
  }

  public int size() {
    return bytes.length;
  }

  public StoredEntry stored(long seq) {
    return new StoredEntry(seq, serializer, manifest, bytes.clone());
  }
}
