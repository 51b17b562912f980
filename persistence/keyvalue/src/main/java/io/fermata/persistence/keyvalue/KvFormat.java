package io.fermata.persistence.keyvalue;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.dataformat.cbor.CBORGenerator;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.spi.DamagedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.CRC32C;

/**
 * The binary format of journals and the index in a key-value store: a head with the version, CBOR,
 * in which a record is an array of its components, and a CRC-32C of what is before it.
 */
final class KvFormat {

  private static final int MAGIC = 0x464b56;
  private static final int VERSION = 1;
  private static final ObjectMapper CBOR = mapper();

  @JsonFormat(shape = JsonFormat.Shape.ARRAY)
  private interface Row {}

  /** A value names its journal, so that it is no value of another. */
  private record Stored(String persistenceId, KvDocument document) {}

  private KvFormat() {}

  private static ObjectMapper mapper() {
    CBORMapper.Builder cbor =
        CBORMapper.builder()
            .addMixIn(Record.class, Row.class)
            // As for journals: half of a surrogate pair must not keep a session from being stored.
            .enable(CBORGenerator.Feature.LENIENT_UTF_ENCODING)
            .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
            .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
            .enable(
                DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
                DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .defaultSetterInfo(JsonSetter.Value.construct(Nulls.FAIL, Nulls.FAIL));
    for (Class<?> nullable :
        List.of(SerializedSnapshot.class, DirectoryEntry.class, Integer.class)) {
      cbor.withConfigOverride(
          nullable, config -> config.setSetterInfo(JsonSetter.Value.forValueNulls(Nulls.SET)));
    }
    return cbor.build();
  }

  static byte[] journal(String persistenceId, KvDocument document) {
    return bytes(new Stored(persistenceId, document));
  }

  static KvDocument journal(String persistenceId, byte[] bytes) {
    String what = "the journal " + persistenceId;
    Stored stored = read(bytes, what, new TypeReference<>() {});
    if (!stored.persistenceId().equals(persistenceId)) {
      throw new DamagedException("The value of " + what, "it is that of another journal");
    }
    return stored.document();
  }

  static byte[] marks(Map<String, KvMark> marks) {
    return bytes(marks);
  }

  static Map<String, KvMark> marks(String key, byte[] bytes) {
    return read(bytes, "the index " + key, new TypeReference<>() {});
  }

  private static byte[] bytes(Object content) {
    try {
      byte[] cbor = CBOR.writeValueAsBytes(content);
      ByteBuffer bytes = ByteBuffer.allocate(cbor.length + 2 * Integer.BYTES);
      bytes.putInt(MAGIC << 8 | VERSION).put(cbor);
      return bytes.putInt(checksum(bytes.array(), bytes.position())).array();
    } catch (JsonProcessingException unwritable) {
      throw new IllegalArgumentException(unwritable.getMessage(), unwritable);
    }
  }

  private static int checksum(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }

  private static <T> T read(byte[] bytes, String what, TypeReference<T> type) {
    if (bytes.length < Integer.BYTES) {
      throw new DamagedException("The value of " + what, "it ends too early");
    }
    int head = ByteBuffer.wrap(bytes).getInt();
    if (head >>> 8 != MAGIC) {
      throw new UnreadableValue(
          "The value of "
              + what
              + " was not written by Fermata; use a separate store, or a separate"
              + " database in it, for Fermata");
    }
    if ((head & 0xff) != VERSION) {
      throw new UnreadableValue(
          "The value of "
              + what
              + " has format "
              + (head & 0xff)
              + ", this release reads "
              + VERSION
              + "; use the release that wrote it or a newer one");
    }
    int end = bytes.length - Integer.BYTES;
    if (ByteBuffer.wrap(bytes).getInt(end) != checksum(bytes, end)) {
      throw new DamagedException("The value of " + what, "it was altered");
    }
    try {
      return Objects.requireNonNull(
          CBOR.readerFor(type).<T>readValue(bytes, Integer.BYTES, end - Integer.BYTES));
    } catch (IOException | RuntimeException unreadable) {
      throw new DamagedException("The value of " + what, "it cannot be read", unreadable);
    }
  }
}
