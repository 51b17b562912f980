package io.fermata.flow.schema;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import io.fermata.flow.json.BoundedNumbers;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the state of a flow may hold, read once from its record: the published schema, the check of
 * what a client sends, and the typed view for the author's code.
 */
public final class StateSchema<S extends Record> {
  static final int LONGEST_NAME = 80;
  private static final String WHOLE = "stateUpdates";
  private static final String INDEX = "[0-9]{1,4}";

  private final Class<S> type;
  private final Map<String, Field> fields = new LinkedHashMap<>();
  private final Map<String, Inner> mounts;
  private final List<String> defects = new ArrayList<>();
  private final Set<String> secrets;
  private final ObjectNode whole;
  private final ObjectNode updates;
  private final Schema check;
  private final StateViews<S> views;

  /** Null until the first signal comes, which few flows wait for. */
  private volatile @Nullable PayloadCheck payloads;

  public StateSchema(Class<S> type) {
    this(type, Map.of(), Set.of());
  }

  /**
   * @param secret the fields that are secret besides those that say so themselves
   */
  public StateSchema(Class<S> type, Map<String, Inner> mounts, Set<String> secret) {
    this.type = type;
    this.mounts = mounts;
    Schemas.State described = describe();
    ObjectNode state = described.written();
    this.whole = described.whole();
    this.secrets = new LinkedHashSet<>(SecretComponents.of(whole));
    collect(type, "", state, false, Set.of(type));
    secret.forEach(this::markSecret);
    this.updates = partial(type, "", state);
    this.updates.remove("$schema");
    mounts.forEach((node, inner) -> properties(updates).set(node, inner.updates()));
    this.check = Schemas.check(updates);
    this.views = new StateViews<>(type);
  }

  /** One place in the state that has a name: {@code email}, {@code driver}, {@code driver.name}. */
  public record Field(String path, ObjectNode schema, boolean computed, JavaType type) {
    /** Whether its parts are fields, too. */
    boolean nested() {
      return type.isRecordType();
    }

    private Field at(String whole) {
      return new Field(whole, schema, computed, type);
    }
  }

  /**
   * The state of a sub-flow, whose fields a client reaches through the node that mounts it.
   *
   * @param each there is one for every item of a list, by index
   */
  public record Inner(StateSchema<?> schema, boolean each) {
    private static final Predicate<String> IS_INDEX =
        java.util.regex.Pattern.compile(INDEX).asMatchPredicate();

    private ObjectNode updates() {
      if (!each) {
        return schema.updates();
      }
      ObjectNode items = Json.object().put("type", "object");
      items.putObject("patternProperties").set("^" + INDEX + "$", schema.updates());
      return items.put("additionalProperties", false);
    }

    @SuppressWarnings("ReferenceEquality") // the items of a list that is the same are, too
    private void requireReadable(JsonNode data, JsonNode readable) {
      if (!each) {
        requireOneReadable(data, readable);
      } else if (data != readable) {
        data.properties()
            .forEach(
                item ->
                    at(
                        item.getKey(),
                        () -> requireOneReadable(item.getValue(), readable.path(item.getKey()))));
      }
    }

    private void requireOneReadable(JsonNode data, JsonNode readable) {
      if (data instanceof ObjectNode state) {
        schema.requireReadable(state, readable);
      }
    }

    private void unread(JsonNode data, String prefix, Set<String> unread) {
      if (each) {
        data.properties()
            .forEach(item -> unreadOne(item.getValue(), prefix + item.getKey() + ".", unread));
      } else {
        unreadOne(data, prefix, unread);
      }
    }

    private void unreadOne(JsonNode data, String prefix, Set<String> unread) {
      if (data instanceof ObjectNode state) {
        schema.unread(state, prefix, unread);
      }
    }

    private boolean declares(List<String> rest) {
      return DeclaredParts.ended(rest)
          || (each
              ? DeclaredParts.belowItem(rest).anyMatch(schema::declares)
              : schema.declares(rest));
    }

    /** The rest of a path within it; null if it leads elsewhere. */
    private @Nullable String within(String rest) {
      if (!each || rest.isEmpty()) {
        return rest;
      }
      int dot = rest.indexOf('.');
      String index = dot < 0 ? rest : rest.substring(0, dot);
      return IS_INDEX.test(index) ? (dot < 0 ? "" : rest.substring(dot + 1)) : null;
    }
  }

  /** The schema of a field within that of the whole; none for the items of a list. */
  public static Optional<ObjectNode> property(ObjectNode schema, String path) {
    JsonNode at = schema;
    for (String name : path.split("\\.", -1)) {
      at = at.path("properties").path(name);
    }
    return at instanceof ObjectNode field ? Optional.of(field) : Optional.empty();
  }

  private void markSecret(String path) {
    Field field = fields.get(path);
    if (field == null) {
      defects.add(unknown(path).getMessage() + "; it cannot be secret");
    } else {
      field.schema().put("writeOnly", true);
      secrets.add(path);
    }
  }

  /** The paths of its own secret fields; {@code *} for the elements of a list. */
  public Set<String> secrets() {
    return Collections.unmodifiableSet(secrets);
  }

  /** A field of the state itself. */
  public @Nullable Field ownField(String path) {
    return fields.get(path);
  }

  /** A field of the state, or of a sub-flow's. */
  public @Nullable Field field(String path) {
    Field own = fields.get(path);
    if (own != null) {
      return own;
    }
    int dot = path.indexOf('.');
    Inner inner = dot < 0 ? null : mounts.get(path.substring(0, dot));
    String rest = inner == null ? null : inner.within(path.substring(dot + 1));
    Field found = inner == null || rest == null ? null : inner.schema().field(rest);
    return found == null ? null : found.at(path);
  }

  /** Whether a path names a sub-flow's state and not a field. */
  private boolean group(String path) {
    int dot = path.indexOf('.');
    Inner inner = mounts.get(dot < 0 ? path : path.substring(0, dot));
    String rest = inner == null ? null : inner.within(dot < 0 ? "" : path.substring(dot + 1));
    return inner != null && rest != null && (rest.isEmpty() || inner.schema().group(rest));
  }

  /** The fields that a client may write. */
  private List<String> writable() {
    List<String> writable = new ArrayList<>();
    fields.values().stream().filter(f -> !f.computed()).map(Field::path).forEach(writable::add);
    mounts.forEach(
        (node, inner) ->
            inner
                .schema()
                .writable()
                .forEach(path -> writable.add(node + (inner.each() ? ".0." : ".") + path)));
    return writable;
  }

  private static ObjectNode properties(ObjectNode schema) {
    return schema.withObjectProperty("properties");
  }

  public Set<String> paths() {
    return Collections.unmodifiableSet(fields.keySet());
  }

  public List<String> defects() {
    return List.copyOf(defects);
  }

  /** The JSON Schema of {@code stateUpdates}: what a client may write, all of it optional. */
  public ObjectNode updates() {
    return updates.deepCopy();
  }

  /** The JSON Schema of the state itself, with its computed fields. */
  public ObjectNode whole() {
    return whole.deepCopy();
  }

  /** The JSON Schema of one field. The tree is shared: it must not be changed. */
  public ObjectNode fieldSchema(String path) {
    Field field = field(path);
    return field == null ? Json.object() : field.schema();
  }

  /** Refuses a path that the state does not have; below a map or a list everything goes. */
  public void requireWritable(String path) {
    if (!writable(path)) {
      throw unknown(path);
    }
  }

  /** Whether something can be written there; below a map or a list everything goes. */
  public boolean writable(String path) {
    for (String at = path; ; at = at.substring(0, at.lastIndexOf('.'))) {
      Field field = fields.get(at);
      if (field != null && (at.equals(path) || !field.nested())) {
        return true;
      }
      if (at.lastIndexOf('.') < 0) {
        return false;
      }
    }
  }

  /** Whether there may be a value, in its own fields or in those of a sub-flow. */
  public boolean knows(String path) {
    int dot = path.indexOf('.');
    Inner inner = mounts.get(dot < 0 ? path : path.substring(0, dot));
    String rest = inner == null ? null : inner.within(dot < 0 ? "" : path.substring(dot + 1));
    boolean inside =
        inner != null && rest != null && (rest.isEmpty() || inner.schema().knows(rest));
    return inside || writable(path);
  }

  /**
   * Whether a path leads to what is declared, in its own fields or in those of a sub-flow.
   *
   * @param path its parts: {@code *} is one part, and {@code **} any number
   */
  public boolean declares(List<String> path) {
    return DeclaredParts.have(whole, path)
        || mounts.entrySet().stream()
            .anyMatch(
                mount ->
                    DeclaredParts.below(mount.getKey(), path).anyMatch(mount.getValue()::declares));
  }

  /** The paths in a state that are none of its own; {@code *} for the elements of a list. */
  public Set<String> unknown(ObjectNode data) {
    Set<String> unknown = new LinkedHashSet<>();
    unknown("", data, unknown);
    unread(data, "", unknown);
    return unknown;
  }

  /** The fields say nothing of what the elements of lists and maps may have. */
  private void unread(ObjectNode data, String prefix, Set<String> unread) {
    ObjectNode own = Json.object();
    own.setAll(data);
    own.remove(mounts.keySet());
    UnreadProperties.of(type, own).forEach(path -> unread.add(prefix + path));
    mounts.forEach((node, inner) -> inner.unread(data.path(node), prefix + node + ".", unread));
  }

  private void unknown(String prefix, ObjectNode data, Set<String> unknown) {
    data.properties()
        .forEach(
            entry -> {
              String path = prefix + entry.getKey();
              Field field = field(path);
              boolean parts = field == null ? group(path) : field.nested();
              if (parts && entry.getValue() instanceof ObjectNode object) {
                unknown(path + ".", object, unknown);
              } else if (field == null && !parts) {
                unknown.add(path);
              }
            });
  }

  /** The refusal of a path that the state does not have. */
  public IllegalArgumentException unknown(String path) {
    return new IllegalArgumentException(
        "There is no field " + path + Nearest.suggestion(path, paths()));
  }

  /**
   * The type of what a path names, below maps and trees too, where every name may be; null if
   * nothing can be there.
   */
  public @Nullable JavaType typeAt(String path) {
    Field known = fields.get(path);
    if (known != null) {
      return known.type();
    }
    JavaType at = Json.MAPPER.constructType(type);
    for (String name : path.split("\\.", -1)) {
      at = at == null ? null : partOf(at, name);
    }
    return at;
  }

  private static @Nullable JavaType partOf(JavaType whole, String name) {
    if (whole.isMapLikeType()) {
      return whole.getContentType();
    } else if (whole.isRecordType()) {
      return Arrays.stream(whole.getRawClass().getRecordComponents())
          .filter(component -> name(component).equals(name))
          .findFirst()
          .map(component -> Json.MAPPER.constructType(component.getGenericType()))
          .orElse(null);
    }
    return FieldKind.of(whole) == FieldKind.ANY ? whole : null;
  }

  /** The state as the author's record. Fields without a value are null. */
  public S view(ObjectNode data) {
    return views.of(data);
  }

  /**
   * Refuses a state that cannot be read as the record of its flow, or of a sub-flow, where it
   * differs from another.
   */
  @SuppressWarnings("ReferenceEquality") // trees are never changed: the same object says the same
  public void requireReadable(ObjectNode data, JsonNode readable) {
    if (data != readable) {
      views.requireReadable(data, readable);
      mounts.forEach(
          (node, inner) ->
              at(node, () -> inner.requireReadable(data.path(node), readable.path(node))));
    }
  }

  private static void at(String part, Runnable reading) {
    try {
      reading.run();
    } catch (IllegalArgumentException e) {
      throw Json.unreadableAt(part, e);
    }
  }

  /** The value of a field as its Java type. */
  public @Nullable Object value(String path, JsonNode value) {
    Field field = field(path);
    try {
      return Json.read(value, field == null ? JsonNode.class : field.type());
    } catch (JsonProcessingException e) {
      throw Json.unreadable(e);
    }
  }

  /**
   * Checks what a client sent and flattens it to one entry per field. Unfilled values are kept as
   * null nodes; nothing is returned for fields that were not mentioned.
   */
  public Checked check(ObjectNode sent, Limits limits) {
    if (sent.isEmpty()) {
      return new Checked(Map.of(), List.of());
    }
    if (deeperThan(sent, limits.depth())) {
      return Checked.refused(
          new Violation(WHOLE, "is nested deeper than " + limits.depth() + " levels"));
    }
    Map<String, JsonNode> flat = new LinkedHashMap<>();
    FirstViolations violations = new FirstViolations();
    flatten("", sent, flat, new HashSet<>(), violations);
    for (Error error : schemaErrors(flat)) {
      violations.add(() -> Schemas.violation(error, check.getSchemaNode()));
    }
    if (!violations.full()) {
      unreadable(flat, violations.listed(WHOLE)).forEach(each -> violations.add(() -> each));
    }
    return new Checked(flat, violations.listed(WHOLE));
  }

  /** Why what comes from outside for a field, a computed one too, cannot be its value. */
  public List<Violation> checkPayload(String path, JsonNode payload) {
    PayloadCheck known = payloads;
    if (known == null) {
      known = new PayloadCheck(whole, secrets);
      payloads = known;
    }
    try {
      List<Violation> violations = known.of(path, payload);
      return violations.isEmpty() && !readable(path, payload)
          ? List.of(unreadable(path))
          : violations;
    } catch (BoundedNumbers.TooLong e) {
      return List.of(unreadable(path));
    }
  }

  /** What a check found: the values by field, and the first reasons to refuse them. */
  public record Checked(Map<String, JsonNode> values, List<Violation> violations) {
    static Checked refused(Violation violation) {
      return new Checked(Map.of(), List.of(violation));
    }
  }

  /**
   * @param wholes gets what contains a field that was given
   */
  private void flatten(
      String prefix,
      ObjectNode sent,
      Map<String, JsonNode> flat,
      Set<String> wholes,
      FirstViolations violations) {
    sent.properties()
        .forEach(
            entry -> {
              String path = prefix + entry.getKey();
              Field field = field(path);
              if (field == null && group(path)) {
                group(path, entry.getValue(), flat, wholes, violations);
              } else if (field == null) {
                violations.add(() -> unknownViolation(path));
              } else if (field.computed()) {
                violations.add(
                    () -> new Violation(path, "is computed by the flow and cannot be set"));
              } else if (field.nested() && entry.getValue() instanceof ObjectNode object) {
                flatten(path + ".", object, flat, wholes, violations);
              } else {
                put(field, entry.getValue(), flat, wholes, violations);
              }
            });
  }

  private void group(
      String path,
      JsonNode value,
      Map<String, JsonNode> flat,
      Set<String> wholes,
      FirstViolations violations) {
    if (value instanceof ObjectNode object) {
      flatten(path + ".", object, flat, wholes, violations);
    } else {
      violations.add(() -> new Violation(path, "must be an object"));
    }
  }

  private static void put(
      Field field,
      JsonNode value,
      Map<String, JsonNode> flat,
      Set<String> wholes,
      FirstViolations violations) {
    String path = field.path();
    JsonNode given = Json.MAPPER.nullNode();
    try {
      given = Paths.filled(value) ? WholeNumbers.wanted(field.schema(), Json.tree(value)) : given;
    } catch (IllegalArgumentException e) {
      violations.add(() -> new Violation(path, "has a number or a name that is too long"));
    }
    JsonNode earlier = flat.put(path, given);
    if (overlaps(path, flat, wholes) || (earlier != null && !Json.same(earlier, given))) {
      violations.add(() -> new Violation(path, "is given twice with different values"));
    }
  }

  /** Whether a field contains another that was given, or lies within one. */
  private static boolean overlaps(String path, Map<String, JsonNode> flat, Set<String> wholes) {
    List<String> around = Paths.around(path);
    wholes.addAll(around);
    return wholes.contains(path) || around.stream().anyMatch(flat::containsKey);
  }

  private Violation unknownViolation(String path) {
    if (path.length() > LONGEST_NAME) {
      return new Violation(Texts.shortened(path, LONGEST_NAME), "is not a field of this flow");
    }
    return new Violation(
        Texts.shortened(path, LONGEST_NAME),
        "is not a field of this flow; " + Nearest.next(path, writable(), "its fields are "));
  }

  private List<Error> schemaErrors(Map<String, JsonNode> flat) {
    ObjectNode nested = Json.object();
    for (Map.Entry<String, JsonNode> entry : flat.entrySet()) {
      if (!entry.getValue().isNull()) {
        Paths.put(nested, entry.getKey(), entry.getValue());
      }
    }
    return check.validate(nested);
  }

  /** What fits the schema and still has no place in the Java type: an integer beyond its range. */
  private List<Violation> unreadable(Map<String, JsonNode> flat, List<Violation> found) {
    List<Violation> unreadable = new ArrayList<>();
    flat.forEach(
        (path, value) -> {
          boolean wrong = found.stream().anyMatch(v -> Paths.related(v.field(), path));
          if (!wrong && !value.isNull() && !readable(path, value)) {
            unreadable.add(unreadable(path));
          }
        });
    return unreadable;
  }

  private static Violation unreadable(String path) {
    return new Violation(path, "cannot be read as what the flow expects");
  }

  private boolean readable(String path, JsonNode value) {
    try {
      Object read = value(path, value);
      // What Java reads as infinite cannot be written.
      return !beyondFloats(value) || !Json.tree(read).isMissingNode();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Whether a number may be infinite as a float or a double. */
  private static boolean beyondFloats(JsonNode value) {
    for (JsonNode part : value) {
      if (beyondFloats(part)) {
        return true;
      }
    }
    return value.isNumber() && Math.abs(value.doubleValue()) > Float.MAX_VALUE;
  }

  static boolean deeperThan(JsonNode node, int levels) {
    if (!node.isContainerNode()) {
      return false;
    }
    if (levels == 0) {
      return true;
    }
    for (JsonNode child : node) {
      if (deeperThan(child, levels - 1)) {
        return true;
      }
    }
    return false;
  }

  // --- reading the record ---------------------------------------------------------------------

  private Schemas.State describe() {
    try {
      return Schemas.ofState(type);
    } catch (IllegalArgumentException e) {
      defects.add("State " + e.getMessage());
      return new Schemas.State(Json.object(), Json.object());
    }
  }

  private void requireReadable(Class<?> nested) {
    try {
      Schemas.requireReadable(nested);
    } catch (IllegalArgumentException e) {
      defects.add("State " + e.getMessage());
    }
  }

  private void collect(
      Class<?> record,
      String prefix,
      ObjectNode schema,
      boolean computed,
      Set<Class<?>> enclosing) {
    for (RecordComponent component : record.getRecordComponents()) {
      String name = name(component);
      String path = prefix + name;
      Class<?> componentType = component.getType();
      JavaType javaType = Json.MAPPER.constructType(component.getGenericType());
      if (name.contains(".")) {
        defects.add("Field " + path + ": a name must not contain a dot");
      }
      if (componentType.isPrimitive()) {
        defects.add(
            "Field %s is a primitive %s and could never be unanswered; use its wrapper type"
                .formatted(path, componentType));
      }
      boolean isComputed = computed || component.isAnnotationPresent(Computed.class);
      JsonNode property = schema.path("properties").path(name);
      ObjectNode fieldSchema = property instanceof ObjectNode object ? object : Json.object();
      Field field = new Field(path, fieldSchema, isComputed, javaType);
      fields.put(path, field);
      Set<Class<?>> inner = new HashSet<>(enclosing);
      if (field.nested() && inner.add(componentType)) {
        if (!componentType.getPackage().equals(record.getPackage())) {
          requireReadable(componentType);
        }
        collect(componentType, path + ".", fieldSchema, isComputed, inner);
      }
    }
  }

  private ObjectNode partial(Class<?> record, String prefix, ObjectNode schema) {
    ObjectNode result = schema.deepCopy();
    result.remove("required");
    ObjectNode properties = result.putObject("properties");
    for (RecordComponent component : record.getRecordComponents()) {
      Field field = fields.get(prefix + name(component));
      if (field != null && !field.computed()) {
        ObjectNode whole = field.schema();
        boolean open = field.nested() && whole.has("properties");
        properties.set(
            name(component),
            open ? partial(field.type().getRawClass(), field.path() + ".", whole) : whole);
      }
    }
    result.put("additionalProperties", false);
    return result;
  }

  static String name(RecordComponent component) {
    // Not every annotation of a component stays on it: this one goes to its field and accessor.
    JsonProperty renamed = component.getAccessor().getAnnotation(JsonProperty.class);
    return renamed == null || renamed.value().isEmpty() ? component.getName() : renamed.value();
  }
}
