package io.fermata.flow.json;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.TSFBuilder;
import com.fasterxml.jackson.core.TreeNode;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.SerializationConfig;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.cfg.MutableCoercionConfig;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.ValueInstantiationException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.databind.ser.BeanSerializerModifier;
import com.fasterxml.jackson.databind.ser.impl.UnknownSerializer;
import com.fasterxml.jackson.databind.ser.std.BeanSerializerBase;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.io.IOException;
import java.lang.reflect.Type;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How Fermata reads and writes JSON: exact decimals, ISO dates with the offset that they have,
 * absent instead of null, and no value taken for one of another type.
 */
public final class Json {
  public static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .addModule(new JavaTimeModule())
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .disable(DeserializationFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .withCoercionConfig(LogicalType.Textual, Json::textIsText)
          .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
          .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
          .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
          .build();

  private static final ObjectReader WHOLE =
      MAPPER
          .reader()
          .with(new BoundedNumbers())
          .with(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  /** A value without properties, such as a lambda, is a mistake, and not an empty object. */
  private static final ObjectWriter WRITER =
      MAPPER
          .copy()
          .registerModule(new SimpleModule("beans").setSerializerModifier(new NoEmptyBeans()))
          .registerModule(new SimpleModule("containers").setSerializerModifier(new Containers()))
          .writer()
          .with(SerializationFeature.FAIL_ON_EMPTY_BEANS)
          // Without quotes Infinity and NaN are no JSON, and are refused where they are read back.
          .without(JsonWriteFeature.WRITE_NAN_AS_STRINGS);

  private static final ObjectWriter TEXT = MAPPER.writer();
  private static final ObjectWriter SORTED =
      MAPPER.writer().with(JsonNodeFeature.WRITE_PROPERTIES_SORTED);

  private Json() {}

  /** Jackson writes a lambda as an empty object, even where it refuses other empty beans. */
  private static final class NoEmptyBeans extends BeanSerializerModifier {
    private static final long serialVersionUID = 1;

    @Override
    public JsonSerializer<?> modifySerializer(
        SerializationConfig config, BeanDescription bean, JsonSerializer<?> serializer) {
      return serializer instanceof BeanSerializerBase && !serializer.properties().hasNext()
          ? new UnknownSerializer(bean.getBeanClass())
          : serializer;
    }
  }

  private static void textIsText(MutableCoercionConfig config) {
    config
        .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
        .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
        .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail);
  }

  public static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  /**
   * A factory for what Fermata itself writes. It must be able to read all of that, and to write
   * whatever tree an author has made.
   */
  public static <F extends JsonFactory, B extends TSFBuilder<F, B>> F unlimited(
      TSFBuilder<F, B> factory) {
    return factory
        .streamReadConstraints(
            StreamReadConstraints.builder()
                .maxNestingDepth(Integer.MAX_VALUE)
                .maxNumberLength(Integer.MAX_VALUE)
                .maxNameLength(Integer.MAX_VALUE)
                .maxStringLength(Integer.MAX_VALUE)
                .build())
        .streamWriteConstraints(
            StreamWriteConstraints.builder().maxNestingDepth(Integer.MAX_VALUE).build())
        .build();
  }

  /**
   * The tree of any value an author may hand over: records, maps, enums, dates, trees. It is the
   * tree that reading its text would give, so a state read back from a journal equals the live one.
   * What lists, maps and optionals hold is written as it is alone, with what names their subtype.
   * Sets and maps that have no order of their own, such as {@link Set#of}, are written in that of
   * the texts of their elements and keys, so it is the same tree in every process. No text in it
   * has half of a surrogate pair, which a journal could not hold.
   *
   * @throws IllegalArgumentException if it cannot be written, such as a number that is infinite
   */
  public static JsonNode tree(@Nullable Object value) {
    JsonNode simple = simple(value);
    return simple == null ? read(value) : simple;
  }

  /** The same for a tree, or null. */
  public static @Nullable JsonNode copy(@Nullable JsonNode tree) {
    return tree == null ? null : tree(tree);
  }

  /** What most values are, and what has but one tree. */
  private static @Nullable JsonNode simple(@Nullable Object value) {
    if (value instanceof String text) {
      return TextNode.valueOf(Texts.sound(text));
    } else if (value instanceof TextNode text) {
      return sound(text);
    } else if (value instanceof Integer number) {
      return IntNode.valueOf(number);
    } else if (value instanceof Boolean truth) {
      return BooleanNode.valueOf(truth);
    } else if (value instanceof Long number) {
      return integer(number);
    } else if (value instanceof LongNode number) {
      return integer(number.longValue());
    }
    return value instanceof IntNode || value instanceof BooleanNode ? (JsonNode) value : null;
  }

  /** Read from a text, a number is an int if it fits. */
  private static JsonNode integer(long number) {
    return number == (int) number ? IntNode.valueOf((int) number) : LongNode.valueOf(number);
  }

  private static JsonNode read(@Nullable Object value) {
    try {
      String text = WRITER.writeValueAsString(value);
      return sound(MAPPER.readTree(text), text);
    } catch (JsonProcessingException e) {
      String type = value == null ? "null" : value.getClass().getSimpleName();
      throw new IllegalArgumentException(
          "A value of type "
              + type
              + " cannot be written as JSON; give a record, a map, a list, a text, a finite number or a date",
          e);
    }
  }

  /** The tree of a text; few texts are worth a look at each of their parts. */
  private static JsonNode sound(JsonNode tree, String text) {
    boolean escapes = text.contains("\\ud") || text.contains("\\uD");
    return escapes || Texts.hasHalf(text) ? sound(tree) : tree;
  }

  private static JsonNode sound(JsonNode tree) {
    if (tree.isTextual()) {
      String text = Texts.sound(tree.textValue());
      return text.equals(tree.textValue()) ? tree : TextNode.valueOf(text);
    } else if (tree.isArray()) {
      ArrayNode list = MAPPER.createArrayNode();
      tree.forEach(item -> list.add(sound(item)));
      return list;
    } else if (tree.isObject()) {
      ObjectNode object = object();
      tree.properties()
          .forEach(field -> object.set(Texts.sound(field.getKey()), sound(field.getValue())));
      return object;
    }
    return tree;
  }

  /**
   * A tree as a value of a type. Where that is a tree itself, it is a copy: whoever changes it
   * changes nothing else.
   *
   * @throws IllegalArgumentException if it is none, with the reason
   */
  public static <T> T value(JsonNode tree, Class<T> type) {
    try {
      return read(tree, type);
    } catch (JsonProcessingException e) {
      throw unreadable(e);
    }
  }

  /**
   * A tree as a value of any type, generic ones and primitives included.
   *
   * @throws IllegalArgumentException if it is none, with the reason
   */
  public static @Nullable Object value(JsonNode tree, Type type) {
    try {
      return read(tree, type);
    } catch (JsonProcessingException e) {
      throw unreadable(e);
    }
  }

  public static <T> T read(JsonNode tree, Class<T> type) throws JsonProcessingException {
    return MAPPER.treeToValue(own(tree, type), type);
  }

  public static @Nullable Object read(JsonNode tree, Type type) throws JsonProcessingException {
    JavaType java = MAPPER.constructType(type);
    return MAPPER.treeToValue(own(tree, java.getRawClass()), java);
  }

  /** Jackson hands out the very tree that it is given where that is of the wanted type. */
  private static JsonNode own(JsonNode tree, Class<?> type) {
    return TreeNode.class.isAssignableFrom(type) ? tree.deepCopy() : tree;
  }

  /** Says where and what was expected; what is there may be secret, so it is not named. */
  public static IllegalArgumentException unreadable(IOException e) {
    String path = path(e);
    return new IllegalArgumentException((path.isEmpty() ? "it" : path) + " is " + wrong(e), e);
  }

  private static String wrong(IOException e) {
    if (e instanceof ValueInstantiationException thrown && thrown.getCause() != null) {
      boolean empty = thrown.getCause() instanceof NullPointerException;
      return "refused by the constructor of %s: %s%s"
          .formatted(
              thrown.getType().getRawClass().getSimpleName(),
              thrown.getCause().getClass().getSimpleName(),
              empty ? "; every field starts empty, so it must take null" : "");
    }
    Class<?> type = e instanceof MismatchedInputException wrong ? wrong.getTargetType() : null;
    return "not " + (type == null ? "what is expected" : "of type " + type.getSimpleName());
  }

  /** The same of a tree that is a part of another. */
  public static IllegalArgumentException unreadableAt(String part, IllegalArgumentException e) {
    if (e.getCause() instanceof JsonMappingException mapping) {
      mapping.prependPath(mapping, part);
      return unreadable(mapping);
    }
    return e;
  }

  /** The path of what could not be read; empty if it is the whole. */
  public static String path(@Nullable Throwable unreadable) {
    return unreadable instanceof JsonMappingException mapping
        ? mapping.getPath().stream().map(Json::part).collect(Collectors.joining("."))
        : "";
  }

  private static String part(JsonMappingException.Reference part) {
    return part.getFieldName() == null ? "" + part.getIndex() : part.getFieldName();
  }

  /**
   * The tree of a text that is one JSON value and no more, with its decimals as they are written
   * and U+FFFD in place of halves of surrogate pairs.
   *
   * @throws IllegalArgumentException if it is no JSON, which says where, not what is there, or if
   *     it has a number that could not be written and read back
   */
  public static JsonNode parse(String text) {
    try {
      return sound(WHOLE.readTree(text), text);
    } catch (JsonProcessingException e) {
      JsonLocation at = e.getLocation();
      throw new IllegalArgumentException(
          "It is no JSON at line %s, column %s".formatted(at.getLineNr(), at.getColumnNr()), e);
    }
  }

  /** Whether two trees say the same; 1, 1.0 and 1.00 do. */
  public static boolean same(JsonNode a, JsonNode b) {
    return a.equals(Json::compare, b);
  }

  private static int compare(JsonNode a, JsonNode b) {
    if (a.isNumber() && b.isNumber()) {
      return a.decimalValue().compareTo(b.decimalValue());
    }
    return a.equals(b) ? 0 : 1;
  }

  /** A copy of a container with other children; anything else as it is. */
  public static JsonNode mapped(JsonNode tree, BiFunction<String, JsonNode, JsonNode> change) {
    if (tree instanceof ObjectNode object) {
      ObjectNode copy = object();
      object
          .properties()
          .forEach(e -> copy.set(e.getKey(), change.apply(e.getKey(), e.getValue())));
      return copy;
    } else if (tree instanceof ArrayNode array) {
      ArrayNode copy = MAPPER.getNodeFactory().arrayNode(array.size());
      for (int i = 0; i < array.size(); i++) {
        copy.add(change.apply(String.valueOf(i), array.get(i)));
      }
      return copy;
    }
    return tree;
  }

  /** The compact text of a tree. */
  public static String text(JsonNode tree) {
    return text(tree, TEXT);
  }

  /** The same text whatever the order of the properties. */
  public static String sortedText(JsonNode tree) {
    return text(tree, SORTED);
  }

  private static String text(JsonNode tree, ObjectWriter writer) {
    try {
      return writer.writeValueAsString(tree);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A JSON tree could not be written", e);
    }
  }
}
