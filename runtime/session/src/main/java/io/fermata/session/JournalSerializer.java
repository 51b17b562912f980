package io.fermata.session;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import io.fermata.agent.ThreadState;
import java.io.IOException;
import java.io.NotSerializableException;
import java.util.Map;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * Writes journal records and snapshots as CBOR, packed, under names that never change, with a
 * version. A name or version that this release does not know is refused, never guessed at.
 */
public final class JournalSerializer extends SerializerWithStringManifest {
  private static final int IDENTIFIER = 1_178_946_637;

  /**
   * What is written, and what was written by earlier releases. Whoever changes the form of a record
   * gives it its next version here, and what was under the old one an upcaster.
   */
  static final JournalFormats FORMATS =
      new JournalFormats(
          Map.of(
              "step:1", JournalRecord.Step.class,
              "ended:1", JournalRecord.Ended.class,
              "sealed:1", Sealed.class,
              "schedule:1", ScheduleRecord.class,
              "session:1", SessionState.class,
              "turn:1", JournalRecord.Turn.class,
              "thread:1", ThreadState.class),
          Map.of());

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
    return FORMATS.name(object.getClass());
  }

  @Override
  public byte[] toBinary(Object object) {
    return Packing.packed(cbor(object));
  }

  /** A record, snapshot or part of one as it is before it is packed. */
  static byte[] cbor(Object object) {
    try {
      return MAPPER.writeValueAsBytes(object);
    } catch (IOException e) {
      throw new IllegalStateException("A journal record could not be written", e);
    }
  }

  /** The tree of a record, a snapshot or a part of one, which is not packed. */
  static JsonNode tree(byte[] cbor) throws IOException {
    return MAPPER.readTree(cbor);
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
    return FORMATS.read(bytes, manifest, MAPPER);
  }
}
