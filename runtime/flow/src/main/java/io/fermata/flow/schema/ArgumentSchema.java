package io.fermata.flow.schema;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.exc.ValueInstantiationException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import io.fermata.flow.json.BoundedNumbers;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the arguments of a tool have to be: the JSON Schema that a model is shown, and the check of
 * what it sends.
 *
 * <pre>{@code
 * record Search(@Describe("What to look for") String query, @Nullable @Max(50) Integer limit) {}
 *
 * ArgumentSchema.of(Search.class).check(arguments);
 * }</pre>
 */
public final class ArgumentSchema {
  private static final String WHOLE = "arguments";
  private static final String TOO_LONG = "has a number that is too long";

  private final ObjectNode json;
  private final Schema check;
  private final @Nullable Reader reader;

  /** Reads arguments that fit the schema as the Java types they are meant for. */
  @FunctionalInterface
  private interface Reader {
    void read(JsonNode given) throws JsonProcessingException;
  }

  /**
   * One argument of several.
   *
   * @param required whether it has to be there; if not, one that is null counts as absent
   * @param description what it means, in the words a model reads; null to say nothing
   */
  public record Argument(String name, Type type, boolean required, @Nullable String description) {}

  /** Whether an argument says that it may be null, by any annotation of that name. */
  public static boolean isNullable(AnnotatedElement declared, AnnotatedElement type) {
    return Stream.of(declared, type)
        .flatMap(each -> Stream.of(each.getAnnotations()))
        .anyMatch(each -> each.annotationType().getSimpleName().equals("Nullable"));
  }

  private ArgumentSchema(ObjectNode json, Schema check, @Nullable Reader reader) {
    this.json = json;
    this.check = check;
    this.reader = reader;
  }

  /**
   * Arguments that are read as a record. Each has to be there, unless it is {@code @Nullable} or an
   * {@code Optional}; an argument that is null counts as absent.
   *
   * @throws IllegalArgumentException if the record cannot be described as JSON Schema
   */
  public static ArgumentSchema of(Class<? extends Record> type) {
    Objects.requireNonNull(type, "The record of the arguments is null");
    ObjectNode json = Schemas.ofArguments(type);
    json.remove("$schema");
    return new ArgumentSchema(
        json, Schemas.check(json), given -> Json.MAPPER.treeToValue(given, type));
  }

  /**
   * Arguments that are read one by one.
   *
   * @throws IllegalArgumentException if one of them cannot be described as JSON Schema
   */
  public static ArgumentSchema of(List<Argument> arguments) {
    ObjectNode json = Json.object().put("type", "object");
    ObjectNode properties = json.putObject("properties");
    List<String> required = new ArrayList<>();
    for (Argument argument : arguments) {
      ObjectNode described = Schemas.ofArguments(argument.type());
      described.remove("$schema");
      if (argument.description() != null) {
        described.put("description", argument.description());
      }
      properties.set(argument.name(), described);
      if (argument.required()) {
        required.add(argument.name());
      }
    }
    if (!required.isEmpty()) {
      required.forEach(json.putArray("required")::add);
    }
    json.put("additionalProperties", false);
    return new ArgumentSchema(
        json, Schemas.check(json), given -> readEach(given, List.copyOf(arguments)));
  }

  private static void readEach(JsonNode given, List<Argument> arguments)
      throws JsonProcessingException {
    for (Argument argument : arguments) {
      JsonNode value = given.get(argument.name());
      if (value != null) {
        try {
          Json.read(value, argument.type());
        } catch (JsonProcessingException e) {
          throw JsonMappingException.wrapWithPath(e, argument, argument.name());
        }
      }
    }
  }

  /**
   * Arguments as a JSON Schema describes them.
   *
   * @throws IllegalArgumentException if it is no schema, or does not describe an object
   */
  public static ArgumentSchema of(ObjectNode jsonSchema) {
    Objects.requireNonNull(jsonSchema, "The schema of the arguments is null");
    if (!"object".equals(jsonSchema.path("type").textValue())) {
      throw new IllegalArgumentException("A schema of arguments must have the type object");
    }
    ObjectNode json = jsonSchema.deepCopy();
    return new ArgumentSchema(json, Schemas.checkOfForeign(json), null);
  }

  /**
   * Arguments that a model is shown as a JSON Schema describes them, and that are any object here:
   * the tool checks them, in its own words.
   *
   * @throws IllegalArgumentException if the schema does not describe an object
   */
  public static ArgumentSchema unchecked(ObjectNode jsonSchema) {
    return new ArgumentSchema(
        of(jsonSchema).json, Schemas.check(Json.object().put("type", "object")), null);
  }

  /** No arguments. */
  public static ArgumentSchema nothing() {
    ObjectNode json = Json.object().put("type", "object").put("additionalProperties", false);
    json.putObject("properties");
    return new ArgumentSchema(json, Schemas.check(json), null);
  }

  /**
   * Why an argument is described as what the field that it goes to does not accept; null if it is
   * not. Types, listed values, elements of lists and parts of objects are compared.
   */
  public static @Nullable String contradiction(JsonNode argument, JsonNode field) {
    Set<String> given = types(argument);
    Set<String> accepted = types(field);
    if (accepted.contains("number")) {
      accepted.add("integer");
    }
    if (!given.isEmpty() && !accepted.isEmpty() && !accepted.containsAll(given)) {
      return "it may be of type "
          + String.join(" or ", given)
          + ", the field is of type "
          + String.join(" or ", types(field));
    }
    String unlisted = unlisted(argument, field);
    if (unlisted != null) {
      return unlisted;
    }
    String items =
        argument.has("items") && field.has("items")
            ? contradiction(argument.path("items"), field.path("items"))
            : null;
    if (items != null) {
      return "its elements: " + items;
    }
    for (Map.Entry<String, JsonNode> part : argument.path("properties").properties()) {
      JsonNode other = field.path("properties").path(part.getKey());
      String within = other.isMissingNode() ? null : contradiction(part.getValue(), other);
      if (within != null) {
        return part.getKey() + ": " + within;
      }
    }
    return null;
  }

  private static @Nullable String unlisted(JsonNode argument, JsonNode field) {
    List<JsonNode> accepted = listed(field);
    for (JsonNode value : listed(argument)) {
      if (!accepted.isEmpty() && accepted.stream().noneMatch(other -> Json.same(other, value))) {
        return "it may be " + value + ", the field is one of " + accepted;
      }
    }
    return null;
  }

  private static List<JsonNode> listed(JsonNode schema) {
    List<JsonNode> values = new ArrayList<>();
    schema.path("enum").forEach(values::add);
    if (schema.has("const")) {
      values.add(schema.path("const"));
    }
    values.removeIf(JsonNode::isNull);
    return values;
  }

  private static Set<String> types(JsonNode schema) {
    Set<String> types = new TreeSet<>();
    JsonNode type = schema.path("type");
    if (type.isTextual()) {
      types.add(type.textValue());
    }
    type.forEach(each -> types.add(each.asText()));
    types.remove("null");
    return types;
  }

  /** The JSON Schema, 2020-12. */
  public ObjectNode json() {
    return json.deepCopy();
  }

  /**
   * What is wrong with what a call was given, by the path of the argument: the first violations,
   * and how many more there are.
   */
  public List<Violation> check(JsonNode arguments) {
    return check(arguments, reader != null);
  }

  /** What is wrong with a result: it is sent as it is, so null does not count as absent. */
  public List<Violation> checkResult(JsonNode result) {
    return check(result, false);
  }

  private List<Violation> check(JsonNode arguments, boolean nullIsAbsent) {
    if (!(arguments instanceof ObjectNode sent)) {
      return List.of(new Violation(WHOLE, "must be an object"));
    }
    JsonNode given = nullIsAbsent ? withoutNulls(json, sent) : sent;
    List<Error> errors;
    try {
      errors = check.validate(WholeNumbers.everywhere(given));
    } catch (BoundedNumbers.TooLong e) {
      return List.of(new Violation(WHOLE, TOO_LONG));
    } catch (StackOverflowError e) { // the library checks some formats by recursion
      return List.of(new Violation(WHOLE, "has a text that is too long to be checked"));
    }
    if (errors.isEmpty()) {
      return unreadable(WholeNumbers.wanted(json, given));
    }
    FirstViolations violations = new FirstViolations();
    errors.forEach(error -> violations.add(() -> named(error)));
    return violations.listed(WHOLE);
  }

  /**
   * Arguments that fit as they are meant, which is what was checked: an integer that is written as
   * 5.0, which JSON Schema takes for one and Java does not, is 5, and where a Java type reads them,
   * null that counts as absent is absent.
   */
  public ObjectNode meant(ObjectNode arguments) {
    return meantWithNulls(reader == null ? arguments : (ObjectNode) withoutNulls(json, arguments));
  }

  /** As {@link #meant}, but nulls are kept, for callers to which null differs from absent. */
  public ObjectNode meantWithNulls(ObjectNode arguments) {
    return (ObjectNode) WholeNumbers.wanted(json, arguments);
  }

  /** Null is a value of its own where the schema lets everything be. */
  private static JsonNode withoutNulls(JsonNode schema, JsonNode value) {
    JsonNode rest =
        Json.mapped(value, (name, part) -> withoutNulls(SchemaParts.of(schema, value, name), part));
    if (rest.isObject()) {
      rest.properties()
          .removeIf(
              member -> member.getValue().isNull() && !SchemaParts.open(schema, member.getKey()));
    }
    return rest;
  }

  private Violation named(Error error) {
    Violation found = Schemas.violation(error, json);
    String property = error.getProperty();
    String keyword = error.getKeyword();
    if (property != null && "required".equals(keyword)) {
      return new Violation(at(found.field(), property), "is required");
    } else if (property != null && "additionalProperties".equals(keyword)) {
      boolean bare = !found.field().isEmpty() || property.length() > StateSchema.LONGEST_NAME;
      return new Violation(
          at(found.field(), Texts.shortened(property, StateSchema.LONGEST_NAME)),
          bare ? "is not known here" : "is not known here; " + known(property));
    }
    return found.field().isEmpty() ? new Violation(WHOLE, found.message()) : found;
  }

  private static String at(String place, String property) {
    return place.isEmpty() ? property : place + "." + property;
  }

  private String known(String property) {
    List<String> known = new ArrayList<>();
    json.path("properties").fieldNames().forEachRemaining(known::add);
    return Nearest.next(property, known, "there are ");
  }

  /** What fits the schema and is still refused by the Java type: a range, or its constructor. */
  private List<Violation> unreadable(JsonNode given) {
    try {
      if (reader != null) {
        reader.read(given);
      }
      return List.of();
    } catch (JsonMappingException e) {
      String reason =
          e instanceof ValueInstantiationException && e.getCause() != null
              ? e.getCause().getMessage()
              : null;
      return List.of(
          new Violation(path(e), reason == null ? "cannot be read as what is expected" : reason));
    } catch (JsonProcessingException e) {
      return List.of(new Violation(WHOLE, "cannot be read as what is expected"));
    }
  }

  private static String path(JsonMappingException unreadable) {
    String path = Json.path(unreadable);
    return path.isEmpty() ? WHOLE : path;
  }
}
