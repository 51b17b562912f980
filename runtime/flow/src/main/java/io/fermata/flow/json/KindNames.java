package io.fermata.flow.json;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.fasterxml.jackson.databind.DatabindContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.jsontype.impl.TypeIdResolverBase;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The names in JSON of the kinds of a sealed type: that of its class in snake case, unless a {@link
 * JsonTypeName} gives it another. So who renames a class of a journal changes the journal's format.
 */
public final class KindNames extends TypeIdResolverBase {
  /** It is on the path of every entry of a journal. */
  private static final ClassValue<String> NAMES =
      new ClassValue<>() {
        @Override
        protected String computeValue(Class<?> kind) {
          JsonTypeName own = kind.getAnnotation(JsonTypeName.class);
          return own == null
              ? SnakeCaseStrategy.INSTANCE.translate(kind.getSimpleName())
              : own.value();
        }
      };

  private Map<String, Class<?>> kinds = Map.of();

  /**
   * The kinds of a sealed type, by their names.
   *
   * @throws IllegalStateException if two have the same name
   */
  public static Map<String, Class<?>> of(Class<?> type) {
    return kinds(type).distinct().collect(Collectors.toMap(NAMES::get, kind -> kind));
  }

  private static Stream<Class<?>> kinds(Class<?> type) {
    return type.isSealed()
        ? Stream.of(type.getPermittedSubclasses()).flatMap(KindNames::kinds)
        : Stream.of(type);
  }

  @Override
  public void init(JavaType base) {
    kinds = of(base.getRawClass());
  }

  @Override
  public String idFromValue(Object value) {
    return NAMES.get(value.getClass());
  }

  @Override
  public String idFromValueAndType(@Nullable Object value, Class<?> type) {
    return NAMES.get(value == null ? type : value.getClass());
  }

  @Override
  public @Nullable JavaType typeFromId(DatabindContext context, String id) {
    Class<?> kind = kinds.get(id);
    return kind == null ? null : context.constructType(kind);
  }

  @Override
  public JsonTypeInfo.Id getMechanism() {
    return JsonTypeInfo.Id.CUSTOM;
  }
}
