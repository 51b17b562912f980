package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.victools.jsonschema.generator.FieldScope;
import com.github.victools.jsonschema.generator.Option;
import com.github.victools.jsonschema.generator.OptionPreset;
import com.github.victools.jsonschema.generator.SchemaGenerator;
import com.github.victools.jsonschema.generator.SchemaGeneratorConfigBuilder;
import com.github.victools.jsonschema.generator.SchemaVersion;
import com.github.victools.jsonschema.module.jackson.JacksonModule;
import com.github.victools.jsonschema.module.jackson.JacksonOption;
import com.github.victools.jsonschema.module.jakarta.validation.JakartaValidationModule;
import com.github.victools.jsonschema.module.jakarta.validation.JakartaValidationOption;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaException;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;
import com.networknt.schema.dialect.Dialect;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.keyword.NonValidationKeyword;
import com.networknt.schema.keyword.UnknownKeywordFactory;
import com.networknt.schema.path.NodePath;
import com.networknt.schema.regex.JDKRegularExpressionFactory;
import com.networknt.schema.regex.RegularExpression;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import jakarta.validation.constraints.Digits;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Future;
import jakarta.validation.constraints.FutureOrPresent;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Null;
import jakarta.validation.constraints.Past;
import jakarta.validation.constraints.PastOrPresent;
import jakarta.validation.constraints.Pattern;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** How records are described as JSON Schema, and how values are checked against one. */
final class Schemas {
  /** A client chooses the names in maps, and every element of a long list repeats them. */
  private static final int LONGEST_PATH = 500;

  private static final Set<Class<?>> OPTIONALS =
      Set.of(Optional.class, OptionalInt.class, OptionalLong.class, OptionalDouble.class);

  /** Constraints that JSON Schema has no words for. */
  private static final Set<Class<?>> UNSAID =
      Set.of(
          Digits.class,
          Future.class,
          FutureOrPresent.class,
          Null.class,
          Past.class,
          PastOrPresent.class);

  private static final String NOT_BLANK = "\\S";

  /** What an {@code @Email} says besides its format, unless its author says more. */
  private static final String ANYTHING = ".*";

  private static final SchemaGenerator WRITTEN =
      generator(field -> false, Schemas::computed, Option.INLINE_ALL_SCHEMAS);
  private static final SchemaGenerator ARGUMENTS =
      generator(field -> !mayBeAbsent(field), Schemas::computed, Option.INLINE_ALL_SCHEMAS);
  private static final SchemaGenerator WHOLE =
      generator(field -> false, field -> false, Option.INLINE_ALL_SCHEMAS);
  private static final SchemaGenerator RECURSIVE = generator(field -> false, field -> false);

  /** Describing a record is the dearest part of compiling a flow, and many flows may share one. */
  private static final ClassValue<State> STATES =
      new ClassValue<>() {
        @Override
        protected State computeValue(Class<?> record) {
          return describeState(record);
        }
      };

  /**
   * How many computed fields were found, by all threads: while it stays the same, the state that is
   * described has none, and its whole is described with it.
   */
  private static final AtomicLong COMPUTED = new AtomicLong();

  /** An author marks a schema with keywords {@code x-…}, for others than those who check values. */
  private static final Dialect DIALECT =
      Dialect.builder(Dialects.getDraft202012())
          .unknownKeywordFactory(
              (keyword, context) ->
                  keyword.startsWith("x-")
                      ? new NonValidationKeyword(keyword)
                      : UnknownKeywordFactory.getInstance().getKeyword(keyword, context))
          .build();

  private static final SchemaRegistry REGISTRY =
      SchemaRegistry.withDefaultDialect(
          DIALECT,
          builder ->
              builder.schemaRegistryConfig(
                  SchemaRegistryConfig.builder()
                      .formatAssertionsEnabled(true)
                      .regularExpressionFactory(Schemas::expression)
                      .locale(Locale.ENGLISH)
                      .build()));

  private Schemas() {}

  /**
   * The schema of a state.
   *
   * @param written without its computed fields
   * @param whole with them. Only they may contain themselves; the schema then refers to parts of
   *     its own
   */
  record State(ObjectNode written, ObjectNode whole) {}

  static State ofState(Class<?> record) {
    State known = STATES.get(record);
    return new State(known.written.deepCopy(), known.whole.deepCopy());
  }

  private static State describeState(Class<?> record) {
    long before = COMPUTED.get();
    ObjectNode written = describe(WRITTEN, record, JacksonTypes::requireKnown);
    boolean computes = COMPUTED.get() > before;
    return new State(written, computes ? describeWhole(record) : written);
  }

  private static ObjectNode describeWhole(Class<?> record) {
    try {
      return describe(WHOLE, record, JacksonTypes::allowUnknown);
    } catch (IllegalArgumentException e) {
      return describe(RECURSIVE, record, JacksonTypes::allowUnknown);
    }
  }

  /**
   * Refuses a type that Jackson may not read, because its module keeps its package closed.
   *
   * @throws IllegalArgumentException if it does, with what to declare
   */
  static void requireReadable(Class<?> type) {
    Module reader = ObjectMapper.class.getModule();
    Module module = type.getModule();
    String of = type.getPackageName();
    boolean visible = Modifier.isPublic(type.getModifiers()) && module.isExported(of, reader);
    if (!visible && !module.isOpen(of, reader)) {
      throw new IllegalArgumentException(
          type.getSimpleName()
              + " cannot be read, as its module "
              + module.getName()
              + " does not open its package; declare in module-info.java: opens "
              + of
              + " to com.fasterxml.jackson.databind");
    }
  }

  /** All of it is required, but what is nullable. */
  static ObjectNode ofArguments(Type type) {
    return describe(ARGUMENTS, type, JacksonTypes::requireKnown);
  }

  private static ObjectNode describe(
      SchemaGenerator generator, Type type, Consumer<ObjectNode> unknown) {
    if (type instanceof Class<?> read) {
      requireReadable(read);
    }
    try {
      ObjectNode schema = generator.generateSchema(type);
      unknown.accept(schema);
      return schema;
    } catch (IllegalArgumentException e) {
      String reason = String.valueOf(e.getMessage());
      throw new IllegalArgumentException(
          (type instanceof Class<?> named ? named.getSimpleName() : type.getTypeName())
              + (reason.contains("circular")
                  ? " contains itself, which its schema cannot express; make the inner part a JsonNode"
                  : " cannot be described as JSON Schema: " + reason),
          e);
    }
  }

  /** A text so long that Java cannot match it within the stack does not match. */
  private static RegularExpression expression(String regex) {
    RegularExpression java = JDKRegularExpressionFactory.getInstance().getRegularExpression(regex);
    return text -> {
      try {
        return java.matches(text);
      } catch (StackOverflowError e) {
        return false;
      }
    };
  }

  static Schema check(ObjectNode schema) {
    return REGISTRY.getSchema(schema);
  }

  /**
   * The check of a schema that comes from elsewhere. Nothing is fetched for it.
   *
   * @throws IllegalArgumentException if it is no schema
   */
  static Schema checkOfForeign(ObjectNode schema) {
    try {
      String dialect =
          schema.path("$schema").asText(SpecificationVersion.DRAFT_2020_12.getDialectId());
      List<Error> errors = REGISTRY.getSchema(SchemaLocation.of(dialect)).validate(schema);
      if (!errors.isEmpty()) {
        throw new IllegalArgumentException(
            Violation.listed(
                "It is not a JSON Schema", errors.stream().map(Schemas::violation).toList()));
      }
      Schema check = check(schema);
      check.initializeValidators();
      return check;
    } catch (SchemaException e) {
      throw new IllegalArgumentException("It is not a JSON Schema: " + e.getMessage(), e);
    }
  }

  /** An error of a check, with the path of what is wrong. */
  static Violation violation(Error error) {
    StringBuilder path = new StringBuilder();
    for (int i = 0;
        i < error.getInstanceLocation().getNameCount() && path.length() <= LONGEST_PATH;
        i++) {
      path.append(i == 0 ? "" : ".").append(error.getInstanceLocation().getElement(i));
    }
    String message = error.getMessage();
    int colon = message.indexOf(": ");
    boolean located = message.startsWith("/") && colon > 0;
    return new Violation(
        Texts.shortened(path.toString(), LONGEST_PATH),
        located ? message.substring(colon + 2) : message);
  }

  /** The same in plain words, and in those of the schema where it has some. */
  static Violation violation(Error error, JsonNode schema) {
    Violation plain = violation(error);
    String form = "pattern".equals(error.getKeyword()) ? form(owner(error, schema)) : null;
    String words = form == null ? Wording.of(error, schema) : form;
    return words == null ? plain : new Violation(plain.field(), words);
  }

  /** The part of the schema that has the keyword. */
  private static JsonNode owner(Error error, JsonNode schema) {
    NodePath way = error.getEvaluationPath();
    JsonNode owner = schema;
    for (int i = 0; i < way.getNameCount() - 1; i++) {
      Object step = way.getElement(i);
      owner = step instanceof Integer index ? owner.path(index) : owner.path(step.toString());
    }
    return owner;
  }

  private static @Nullable String form(JsonNode owner) {
    String pattern = owner.path("pattern").asText();
    if (pattern.equals(NOT_BLANK)) {
      return "must not be blank";
    }
    String time = JacksonTypes.words(pattern);
    String example = owner.path("examples").path(0).asText();
    String description = owner.path("description").asText();
    if (time != null) {
      return "must be " + time;
    } else if (!example.isEmpty()) {
      return "must have a form like " + example;
    }
    return description.isEmpty() ? null : "does not have the form that is wanted: " + description;
  }

  private static SchemaGenerator generator(
      Predicate<FieldScope> required, Predicate<FieldScope> ignored, Option... options) {
    SchemaGeneratorConfigBuilder config =
        new SchemaGeneratorConfigBuilder(
            Json.MAPPER, SchemaVersion.DRAFT_2020_12, OptionPreset.PLAIN_JSON);
    config.forTypesInGeneral().withCustomDefinitionProvider(JacksonTypes::describe);
    config
        .forFields()
        .withRequiredCheck(required)
        .withIgnoreCheck(ignored)
        .withWriteOnlyCheck(field -> annotation(field, Secret.class) != null)
        .withStringPatternResolver(Schemas::pattern)
        .withInstanceAttributeOverride((unusedSchema, field, unusedContext) -> requireSaid(field))
        .withDescriptionResolver(
            field -> {
              Describe describe = annotation(field, Describe.class);
              return describe == null ? null : describe.value();
            });
    config
        .with(new JacksonModule(JacksonOption.RESPECT_JSONPROPERTY_ORDER))
        .with(
            new JakartaValidationModule(
                JakartaValidationOption.INCLUDE_PATTERN_EXPRESSIONS,
                JakartaValidationOption.NOT_NULLABLE_FIELD_IS_REQUIRED))
        .with(
            Option.STANDARD_FORMATS,
            Option.MAP_VALUES_AS_ADDITIONAL_PROPERTIES,
            Option.FORBIDDEN_ADDITIONAL_PROPERTIES_BY_DEFAULT);
    for (Option option : options) {
      config.with(option);
    }
    config
        .forTypesInGeneral()
        .withPropertySorter((unusedLeft, unusedRight) -> 0)
        .withTypeAttributeOverride(
            (schema, type, unusedContext) -> asRead(schema, type.getType().getErasedType()));
    return new SchemaGenerator(config.build());
  }

  private static boolean mayBeAbsent(FieldScope field) {
    Field declared = field.getRawMember();
    return OPTIONALS.contains(field.getType().getErasedType())
        || ArgumentSchema.isNullable(declared, declared.getAnnotatedType());
  }

  private static boolean computed(FieldScope field) {
    boolean computed = annotation(field, Computed.class) != null;
    if (computed) {
      COMPUTED.incrementAndGet();
    }
    return computed;
  }

  /** Enums by what is written for their constants, and unions by their members alone. */
  private static void asRead(ObjectNode schema, Class<?> type) {
    if (type.isEnum()) {
      List<JsonNode> all = Stream.of(type.getEnumConstants()).map(Json::tree).toList();
      schema.remove("const");
      schema.putArray("enum").addAll(all);
      if (!all.stream().allMatch(JsonNode::isTextual)) {
        schema.remove("type");
      }
    } else if ((schema.has("anyOf") || schema.has("allOf")) && !schema.has("properties")) {
      schema.remove("additionalProperties");
    }
  }

  /** Refuses a constraint that the schema would leave out, and so nobody would check. */
  private static void requireSaid(FieldScope field) {
    if (annotation(field, Computed.class) != null) {
      return; // nobody but the flow writes it
    }
    Field declared = field.getRawMember();
    Stream.concat(Stream.of(declared.getAnnotations()), ofElements(declared.getAnnotatedType()))
        .map(Annotation::annotationType)
        .forEach(
            type -> {
              Class<?> repeated = type.getDeclaringClass();
              if (UNSAID.contains(type)) {
                throw unsaid(field, type, "which JSON Schema cannot express");
              } else if (repeated != null
                  && repeated.getPackage().equals(Pattern.class.getPackage())) {
                throw unsaid(field, repeated, "more than once");
              }
            });
  }

  private static Stream<Annotation> ofElements(AnnotatedType type) {
    return type instanceof AnnotatedParameterizedType container
        ? Stream.of(container.getAnnotatedActualTypeArguments())
            .flatMap(each -> Stream.concat(Stream.of(each.getAnnotations()), ofElements(each)))
        : Stream.of();
  }

  private static IllegalArgumentException unsaid(FieldScope field, Class<?> type, String why) {
    return new IllegalArgumentException(
        "%s has @%s, %s; remove it, and check the value in your code, such as with validate(…)"
            .formatted(field.getDeclaredName(), type.getSimpleName(), why));
  }

  /** Bean Validation matches the whole text, JSON Schema any part of it. */
  private static @Nullable String pattern(FieldScope field) {
    Pattern pattern = constraint(field, Pattern.class);
    Email email = constraint(field, Email.class);
    boolean notBlank = constraint(field, NotBlank.class) != null;
    if (pattern != null) {
      return whole(field, Pattern.class, pattern.regexp(), pattern.flags(), notBlank);
    } else if (email != null && !email.regexp().equals(ANYTHING)) {
      return whole(field, Email.class, email.regexp(), email.flags(), notBlank);
    }
    return notBlank ? NOT_BLANK : null;
  }

  private static String whole(
      FieldScope field, Class<?> type, String regexp, Pattern.Flag[] flags, boolean notBlank) {
    if (flags.length > 0) {
      throw unsaid(field, type, "with flags, which JSON Schema cannot express");
    }
    try {
      java.util.regex.Pattern.compile(regexp);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "the @%s of %s is no regular expression: %s"
              .formatted(type.getSimpleName(), field.getDeclaredName(), e.getDescription()),
          e);
    }
    return (notBlank ? "^(?=[\\s\\S]*\\S)(?:" : "^(?:") + regexp + ")$";
  }

  /** Of an element of a list too, or of a value of a map. */
  private static <A extends Annotation> @Nullable A constraint(FieldScope field, Class<A> type) {
    A ofElement = field.getContainerItemAnnotationConsideringFieldAndGetterIfSupported(type);
    return ofElement == null ? annotation(field, type) : ofElement;
  }

  private static <A extends Annotation> @Nullable A annotation(FieldScope field, Class<A> type) {
    return field.getAnnotationConsideringFieldAndGetterIfSupported(type);
  }
}
