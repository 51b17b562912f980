package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.StoredEntry;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Objects;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.Serializer;
import org.apache.pekko.serialization.Serializers;
import org.jspecify.annotations.Nullable;

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

  public Object read(Serialization serialization) {
    return serialization.deserialize(bytes, serializer, manifest).get();
  }

  public static Serialized read(DataInput in) throws IOException {
    int serializer = in.readInt();
    String manifest = in.readUTF();
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return new Serialized(bytes, serializer, manifest);
  }

  public void write(DataOutput out) throws IOException {
    out.writeInt(serializer);
    out.writeUTF(manifest);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  /** A row's payload, serializer and manifest, from a column on. */
  public static Serialized get(ResultSet row, int column) throws SQLException {
    return Objects.requireNonNull(getIfThere(row, column));
  }

  public static @Nullable Serialized getIfThere(ResultSet row, int column) throws SQLException {
    byte[] bytes = row.getBytes(column);
    return bytes == null
        ? null
        : new Serialized(bytes, row.getInt(column + 1), row.getString(column + 2));
  }

  /** Sets payload, serializer and manifest, from a parameter on. */
  public static void set(PreparedStatement statement, int parameter, @Nullable Serialized written)
      throws SQLException {
    if (written == null) {
      statement.setNull(parameter, Types.VARBINARY);
      statement.setNull(parameter + 1, Types.INTEGER);
      statement.setNull(parameter + 2, Types.VARCHAR);
    } else {
      statement.setBytes(parameter, written.bytes);
      statement.setInt(parameter + 1, written.serializer);
      statement.setString(parameter + 2, written.manifest);
    }
  }

  public int size() {
    return bytes.length;
  }

  public StoredEntry stored(long seq) {
    return new StoredEntry(seq, serializer, manifest, bytes.clone());
  }
}
