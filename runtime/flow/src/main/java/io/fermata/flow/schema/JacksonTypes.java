package io.fermata.flow.schema;

import com.fasterxml.classmate.ResolvedType;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonBooleanFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonFormatVisitorWrapper;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonIntegerFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonNumberFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonStringFormatVisitor;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.victools.jsonschema.generator.CustomDefinition;
import com.github.victools.jsonschema.generator.CustomDefinition.AttributeInclusion;
import com.github.victools.jsonschema.generator.CustomDefinition.DefinitionType;
import com.github.victools.jsonschema.generator.SchemaGenerationContext;
import com.github.victools.jsonschema.generator.TypeContext;
import io.fermata.flow.json.Json;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.YearMonth;
import java.time.ZonedDateTime;
import java.util.Calendar;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Describes the types of the JDK and of Jackson as Jackson reads and writes them, where the
 * generator would describe them by the fields of their classes.
 */
final class JacksonTypes {
  /** Marks a type in a schema; no keyword has a space. A generator that throws cannot be reused. */
  private static final String UNKNOWN = "unknown type";

  private static final String DAY = "(0[1-9]|[12]\\d|3[01])";
  private static final String MONTH = "(0[1-9]|1[0-2])";
  private static final String TIME = "([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,9})?)?";

  /** Times for which JSON Schema has no format: its time and date-time require an offset. */
  private enum Time {
    OF_DAY(LocalTime.class, TIME, "a time such as 19:30"),
    OF_DATE(
        LocalDateTime.class,
        "\\d{4}-" + MONTH + "-" + DAY + "T" + TIME,
        "a date and time such as 2026-05-01T19:30"),
    MONTH_OF_YEAR(YearMonth.class, "\\d{4}-" + MONTH, "a month such as 2026-05"),
    DAY_OF_YEAR(MonthDay.class, "--" + MONTH + "-" + DAY, "a day of the year such as --12-24");

    final Class<?> type;
    final String pattern;
    final String words;

    Time(Class<?> type, String pattern, String words) {
      this.type = type;
      this.pattern = "^" + pattern + "$";
      this.words = words;
    }
  }

  private static final Map<Class<?>, ObjectNode> FIXED = new HashMap<>();

  static {
    FIXED.put(Object.class, Json.object());
    FIXED.put(JsonNode.class, Json.object());
    FIXED.put(ObjectNode.class, of("object"));
    FIXED.put(ArrayNode.class, of("array"));
    FIXED.put(Iterable.class, of("array"));
    FIXED.put(Map.Entry.class, of("object"));
    FIXED.put(byte[].class, of("string").put("contentEncoding", "base64"));
    FIXED.put(ByteBuffer.class, of("string").put("contentEncoding", "base64"));
    for (Time time : Time.values()) {
      FIXED.put(time.type, of("string").put("pattern", time.pattern));
    }
  }

  /** Types for which the generator writes a format. */
  private static final Set<Class<?>> FORMATTED =
      Set.of(
          LocalDate.class,
          Instant.class,
          OffsetDateTime.class,
          ZonedDateTime.class,
          OffsetTime.class,
          Date.class,
          Calendar.class,
          Duration.class,
          Period.class,
          UUID.class);

  /** Also formatted; by name, as this module may not refer to packages that do I/O. */
  private static final String URI = "java.net.URI";

  private JacksonTypes() {}

  /** What a text of a pattern of its own is, in words; null for other patterns. */
  static @Nullable String words(String pattern) {
    return Stream.of(Time.values())
        .filter(time -> time.pattern.equals(pattern))
        .map(time -> time.words)
        .findFirst()
        .orElse(null);
  }

  static @Nullable CustomDefinition describe(
      @Nullable ResolvedType type, SchemaGenerationContext context) {
    ObjectNode schema = type == null ? null : described(type, context.getTypeContext());
    return schema == null
        ? null
        : new CustomDefinition(schema, DefinitionType.INLINE, AttributeInclusion.NO);
  }

  private static @Nullable ObjectNode described(ResolvedType type, TypeContext types) {
    Class<?> raw = type.getErasedType();
    ObjectNode fixed = FIXED.get(raw);
    if (fixed != null) {
      return fixed.deepCopy();
    } else if (!isPlainOfJdk(type, types)) {
      return null;
    }
    String scalar = scalar(Json.MAPPER.constructType(raw));
    return scalar == null ? Json.object().put(UNKNOWN, raw.getSimpleName()) : of(scalar);
  }

  /**
   * Refuses types of which no JSON is known: nothing that a client sends could be of them.
   *
   * @throws IllegalArgumentException if a schema has some, with all of them
   */
  static void requireKnown(ObjectNode schema) {
    Set<String> unknown = new TreeSet<>(schema.findValuesAsText(UNKNOWN));
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "the JSON of a %s is not known; make it a record, a list, a text or a JsonNode"
              .formatted(String.join(" and a ", unknown)));
    }
  }

  /** Lets types of which no JSON is known be anything. */
  static void allowUnknown(ObjectNode schema) {
    schema.findParents(UNKNOWN).forEach(part -> ((ObjectNode) part).remove(UNKNOWN));
  }

  private static boolean isPlainOfJdk(ResolvedType type, TypeContext types) {
    Class<?> raw = type.getErasedType();
    return raw.getClassLoader() == null
        && !FORMATTED.contains(raw)
        && !raw.getName().equals(URI)
        && !types.isContainerType(type)
        && !Map.class.isAssignableFrom(raw)
        && raw != Optional.class;
  }

  private static ObjectNode of(String type) {
    return Json.object().put("type", type);
  }

  /** What Jackson writes for a type, if that is no list and no object. */
  private static @Nullable String scalar(JavaType type) {
    try {
      Seen seen = new Seen();
      Json.MAPPER.acceptJsonFormatVisitor(type, seen);
      return seen.scalar;
    } catch (JsonMappingException e) {
      return null;
    }
  }

  private static final class Seen extends JsonFormatVisitorWrapper.Base {
    private @Nullable String scalar;

    @Override
    public @Nullable JsonStringFormatVisitor expectStringFormat(JavaType type) {
      scalar = "string";
      return null;
    }

    @Override
    public @Nullable JsonIntegerFormatVisitor expectIntegerFormat(JavaType type) {
      scalar = "integer";
      return null;
    }

    @Override
    public @Nullable JsonNumberFormatVisitor expectNumberFormat(JavaType type) {
      scalar = "number";
      return null;
    }

    @Override
    public @Nullable JsonBooleanFormatVisitor expectBooleanFormat(JavaType type) {
      scalar = "boolean";
      return null;
    }
  }
}
