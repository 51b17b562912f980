package io.fermata.session;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import java.io.IOException;
import java.io.NotSerializableException;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * Writes journal records and snapshots as CBOR under names that never change, with a version. A
 * name or version that this release does not know is refused, never guessed at.
 */
public final class JournalSerializer extends SerializerWithStringManifest {
  private static final int IDENTIFIER = 1_178_946_637;
  private static final String STEP = "step:1";
  private static final String ENDED = "ended:1";
  private static final String SCHEDULE = "schedule:1";
  private static final String SNAPSHOT = "session:1";

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
    if (object instanceof JournalRecord.Step) {
      return STEP;
    } else if (object instanceof JournalRecord.Ended) {
      return ENDED;
    } else if (object instanceof ScheduleRecord) {
      return SCHEDULE;
    } else if (object instanceof SessionState) {
      return SNAPSHOT;
    }
    throw new IllegalArgumentException("Not a record of a journal: " + object.getClass());
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
    return switch (manifest) {
      case STEP -> JournalRecord.Step.class;
      case ENDED -> JournalRecord.Ended.class;
      case SCHEDULE -> ScheduleRecord.class;
      case SNAPSHOT -> SessionState.class;
      default ->
          throw new NotSerializableException(
              "The journal holds a record "
                  + manifest
                  + ", which this release does not know; run the release that wrote it, or a newer"
                  + " one");
    };
  }
}
