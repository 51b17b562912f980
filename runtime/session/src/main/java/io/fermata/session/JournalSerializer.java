package io.fermata.session;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import io.fermata.agent.ThreadState;
import java.io.IOException;
import java.io.NotSerializableException;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * Writes journal records and snapshots as CBOR under names that never change, with a version. A
 * name or version that this release does not know is refused, never guessed at.
 */
public final class JournalSerializer extends SerializerWithStringManifest {
  private static final int IDENTIFIER = 1_178_946_637;

  /** Every name there is, and what it is read as. */
  private static final Map<String, Class<?>> TYPES =
      Map.of(
          "step:1", JournalRecord.Step.class,
          "ended:1", JournalRecord.Ended.class,
          "sealed:1", Sealed.class,
          "schedule:1", ScheduleRecord.class,
          "session:1", SessionState.class,
          "turn:1", JournalRecord.Turn.class,
          "thread:1", ThreadState.class);

  private static final Map<Class<?>, String> NAMES =
      TYPES.entrySet().stream()
          .collect(Collectors.toUnmodifiableMap(Map.Entry::getValue, Map.Entry::getKey));

  static final ObjectMapper MAPPER =
      CBORMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
          .build();

  @Override
  public int identifier() {
    return IDENTIFIER;
  }

  @Override
  public String manifest(Object object) {
    String name = NAMES.get(object.getClass());
    if (name == null) {
      throw new IllegalArgumentException("Not a record of a journal: " + object.getClass());
    }
    return name;
  }

  @Override
  public byte[] toBinary(Object object) {
    try {
      return MAPPER.writeValueAsBytes(object);
    } catch (IOException e) {
      throw new IllegalStateException("A journal record could not be written", e);
    }
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
    Class<?> type = type(manifest);
    try {
      return MAPPER.readValue(bytes, type);
    } catch (IOException e) {
      throw new IllegalStateException(
          "A journal record " + manifest + " could not be read: " + e.getMessage(), e);
    }
  }

  private static Class<?> type(String manifest) throws NotSerializableException {
    Class<?> type = TYPES.get(manifest);
    if (type == null) {
      throw new NotSerializableException(
          "The journal holds a record "
              + manifest
              + ", which this release does not know; run the release that wrote it, or a newer"
              + " one");
    }
    return type;
  }
}
