package io.fermata.session.journal;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.type.TypeFactory;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import com.fasterxml.jackson.dataformat.cbor.CBORGenerator;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * Serializes entries and snapshots as CBOR, under stable names with a version. An unknown name or
 * version is refused.
 */
public final class JournalSerializer extends SerializerWithStringManifest {
  private static final int IDENTIFIER = 1_178_946_637;

  private static final String RUN = "run:1";
  private static final String THREAD = "thread:1";
  private static final String RUN_STATE = "run-state:1";
  private static final String THREAD_STATE = "thread-state:1";
  static final String ENCRYPTED = "encrypted:1";
  private static final String SCHEDULE = "schedule:1";

  static final ObjectMapper MAPPER =
      CBORMapper.builder(Json.unlimited(CBORFactory.builder()))
          // Half of a surrogate pair that nobody noticed must not keep a session from its journal.
          .enable(CBORGenerator.Feature.LENIENT_UTF_ENCODING)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          // A set is read in the order in which it was written, so that it is written so again.
          .addModule(new SimpleModule().addAbstractTypeMapping(Set.class, LinkedHashSet.class))
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
          .build();

  /**
   * The current and earlier formats. A change of a format needs the next version here, and an
   * upcaster from the old one.
   */
  static final JournalFormats FORMATS =
      new JournalFormats(
          MAPPER,
          Map.of(
              RUN, of(Entry.class, Event.class),
              THREAD, of(Entry.class, ThreadEvent.class),
              RUN_STATE, of(SessionState.class, RunState.class),
              THREAD_STATE, of(SessionState.class, ThreadState.class),
              ENCRYPTED, TypeFactory.defaultInstance().constructType(EncryptedEntry.class),
              SCHEDULE, TypeFactory.defaultInstance().constructType(ScheduleEntry.class)),
          Map.of());

  private static JavaType of(Class<?> container, Class<?> content) {
    return TypeFactory.defaultInstance().constructParametricType(container, content);
  }

  /** The names of what is written. */
  public static Set<String> formats() {
    return FORMATS.names();
  }

  /** A mapper of its own for messages that consist of the same parts. */
  public static ObjectMapper mapper() {
    return MAPPER.copy();
  }

  @Override
  public int identifier() {
    return IDENTIFIER;
  }

  @Override
  public String manifest(Object object) {
    return name(object);
  }

  /** The format of an entry or a snapshot. */
  public static String name(Object object) {
    if (object instanceof Entry<?> entry) {
      boolean thread = !entry.events().isEmpty() && entry.events().get(0) instanceof ThreadEvent;
      return thread ? THREAD : RUN;
    } else if (object instanceof SessionState<?> state) {
      return state.program() instanceof ThreadState ? THREAD_STATE : RUN_STATE;
    } else if (object instanceof EncryptedEntry) {
      return ENCRYPTED;
    } else if (object instanceof ScheduleEntry) {
      return SCHEDULE;
    }
    throw new IllegalArgumentException("Not a type of the journal: " + object.getClass());
  }

  @Override
  public byte[] toBinary(Object object) {
    return cbor(object);
  }

  /** The CBOR of an entry, a snapshot or a part of one. */
  public static byte[] cbor(Object object) {
    try {
      return object instanceof JsonNode
          ? MAPPER.writeValueAsBytes(object)
          : FORMATS.write(object, name(object));
    } catch (IOException e) {
      throw new IllegalStateException("An entry could not be serialized", e);
    }
  }

  /** Parses the CBOR of an entry, a snapshot or a part of one. */
  public static JsonNode tree(byte[] cbor) throws IOException {
    return MAPPER.readTree(cbor);
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) {
    return FORMATS.read(bytes, manifest);
  }
}
