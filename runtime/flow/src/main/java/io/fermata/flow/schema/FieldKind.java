package io.fermata.flow.schema;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/** What sort of value a field holds, as far as comparing it goes. */
public enum FieldKind {
  TRUTH("true or false"),
  NUMBER("a number"),
  TEXT("a text"),
  CHOICE("one of a few values"),
  DATE("a date"),
  TIME("a time"),
  DATE_TIME("a date with a time"),
  MOMENT("a moment"),
  DURATION("a duration"),
  TREE("no single value"),
  ANY("of any type");

  private static final Map<Class<?>, FieldKind> TIMES =
      Map.of(
          LocalDate.class, DATE,
          LocalTime.class, TIME,
          LocalDateTime.class, DATE_TIME,
          Instant.class, MOMENT,
          OffsetDateTime.class, MOMENT,
          ZonedDateTime.class, MOMENT,
          Duration.class, DURATION);

  private static final Set<Class<?>> WHOLE =
      Set.of(Byte.class, Short.class, Integer.class, Long.class, BigInteger.class);

  private final String words;

  FieldKind(String words) {
    this.words = words;
  }

  public static FieldKind of(JavaType type) {
    Class<?> raw = type.getRawClass();
    if (TIMES.containsKey(raw)) {
      return TIMES.get(raw);
    } else if (raw == Boolean.class) {
      return TRUTH;
    } else if (Number.class.isAssignableFrom(raw)) {
      return NUMBER;
    } else if (type.isEnumType()) {
      return CHOICE;
    } else if (raw == String.class || raw == Character.class || raw == UUID.class) {
      return TEXT;
    }
    return type.isContainerType() || type.isRecordType() ? TREE : ANY;
  }

  /** What a field of a type holds, in words. */
  public static String words(JavaType type) {
    FieldKind kind = of(type);
    if (kind == CHOICE) {
      return "one of " + constants(type).stream().map(Json::text).collect(Collectors.joining(", "));
    }
    String whole =
        kind == NUMBER && WHOLE.contains(type.getRawClass()) ? "a whole number" : kind.words;
    return whole + " (" + type.getRawClass().getSimpleName() + ")";
  }

  /** Whether it is certainly one value, and neither a list, nor a map, nor a record. */
  public boolean single() {
    return this != TREE && this != ANY;
  }

  /** Whether values of this kind have an order. */
  public boolean ordered() {
    return time() || this == NUMBER || this == TEXT || this == ANY;
  }

  /** Whether a value of the one kind can ever equal one of the other. */
  public static boolean comparable(JavaType left, JavaType right) {
    FieldKind one = of(left);
    FieldKind other = of(right);
    if (one == CHOICE && other == CHOICE) {
      return left.getRawClass() == right.getRawClass();
    }
    Set<FieldKind> both = Set.copyOf(List.of(one, other));
    return one == other || both.contains(ANY) || both.equals(Set.of(TEXT, CHOICE));
  }

  /** Whether a field of this type can ever hold the value. */
  public static boolean holds(JavaType type, JsonNode value) {
    return switch (of(type)) {
      case TRUTH -> value.isBoolean();
      case NUMBER -> value.isNumber() && readable(type, whole(type, value));
      case TEXT -> value.isTextual() && readable(type, value);
      case CHOICE -> constants(type).contains(value);
      case DATE, TIME, DATE_TIME, MOMENT, DURATION -> of(type).order(value, value).isPresent();
      case TREE, ANY -> readable(type, value);
    };
  }

  /** Whether a field of this type can be said to come before or after the value. */
  public static boolean orders(JavaType type, JsonNode value) {
    FieldKind kind = of(type);
    return switch (kind) {
      case NUMBER -> value.isNumber();
      case TEXT -> value.isTextual();
      default -> kind.ordered() && kind.order(value, value).isPresent();
    };
  }

  private static boolean readable(JavaType type, JsonNode value) {
    try {
      Json.MAPPER.treeToValue(value, type);
      return true;
    } catch (JsonProcessingException | IllegalArgumentException e) {
      return false;
    }
  }

  /** An integer written as 5.0, which Java does not read as one. */
  private static JsonNode whole(JavaType type, JsonNode value) {
    BigDecimal number = value.decimalValue();
    return WHOLE.contains(type.getRawClass()) && number.stripTrailingZeros().scale() <= 0
        ? Json.tree(number.toBigInteger())
        : value;
  }

  private static List<JsonNode> constants(JavaType type) {
    return Arrays.stream(type.getRawClass().getEnumConstants()).map(Json::tree).toList();
  }

  public boolean same(JsonNode a, JsonNode b) {
    OptionalInt order = time() ? order(a, b) : OptionalInt.empty();
    return order.isPresent() ? order.getAsInt() == 0 : Json.same(a, b);
  }

  /** Which of two values comes first; empty if they have no order. */
  public OptionalInt order(JsonNode a, JsonNode b) {
    if (a.isNumber() && b.isNumber()) {
      return time()
          ? OptionalInt.empty()
          : OptionalInt.of(a.decimalValue().compareTo(b.decimalValue()));
    }
    if (!a.isTextual() || !b.isTextual()) {
      return OptionalInt.empty();
    }
    try {
      return OptionalInt.of(order(a.textValue(), b.textValue()));
    } catch (DateTimeException e) {
      return OptionalInt.empty();
    }
  }

  private int order(String a, String b) {
    return switch (this) {
      case DATE -> LocalDate.parse(a).compareTo(LocalDate.parse(b));
      case TIME -> LocalTime.parse(a).compareTo(LocalTime.parse(b));
      case DATE_TIME -> LocalDateTime.parse(a).compareTo(LocalDateTime.parse(b));
      case MOMENT -> moment(a).compareTo(moment(b));
      case DURATION -> Duration.parse(a).compareTo(Duration.parse(b));
      default -> a.compareTo(b);
    };
  }

  private static Instant moment(String text) {
    return ZonedDateTime.parse(text).toInstant();
  }

  private boolean time() {
    return TIMES.containsValue(this);
  }
}
