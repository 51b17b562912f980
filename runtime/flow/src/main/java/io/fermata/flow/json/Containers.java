package io.fermata.flow.json;

import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializationConfig;
import com.fasterxml.jackson.databind.ser.BeanSerializerModifier;
import com.fasterxml.jackson.databind.ser.std.StdDelegatingSerializer;
import com.fasterxml.jackson.databind.type.CollectionType;
import com.fasterxml.jackson.databind.type.MapType;
import com.fasterxml.jackson.databind.util.StdConverter;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.Spliterator;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Writes sets and maps that have no order of their own in that of their texts: {@link Set#of} and
 * {@link Map#of} are iterated in another one in each process. What a container of an erased type
 * holds is written as it is alone: Jackson would leave out which of its subtypes it is.
 */
final class Containers extends BeanSerializerModifier {
  private static final long serialVersionUID = 1;

  @Override
  public JsonSerializer<?> modifySerializer(
      SerializationConfig config, BeanDescription bean, JsonSerializer<?> serializer) {
    JavaType type = bean.getType();
    return type.hasRawClass(Optional.class) && erased(type)
        ? with(type, serializer, value -> ((Optional<?>) value).map(TypedElements::written))
        : serializer;
  }

  @Override
  public JsonSerializer<?> modifyCollectionSerializer(
      SerializationConfig config,
      CollectionType type,
      BeanDescription bean,
      JsonSerializer<?> serializer) {
    if (type.isTypeOrSubTypeOf(Set.class)) {
      return with(type, serializer, value -> elements(type, ordered((Set<?>) value)));
    }
    return erased(type)
        ? with(type, serializer, value -> elements(type, (Collection<?>) value))
        : serializer;
  }

  @Override
  public JsonSerializer<?> modifyMapSerializer(
      SerializationConfig config,
      MapType type,
      BeanDescription bean,
      JsonSerializer<?> serializer) {
    return with(
        type,
        serializer,
        value -> {
          Map<?, ?> ordered = ordered((Map<?, ?>) value);
          return erased(type) ? TypedElements.written(ordered) : ordered;
        });
  }

  private static Collection<?> elements(JavaType type, Collection<?> elements) {
    return erased(type) ? TypedElements.written(elements) : elements;
  }

  private static boolean erased(JavaType type) {
    return type.getContentType().isJavaLangObject();
  }

  private static JsonSerializer<?> with(
      JavaType type, JsonSerializer<?> serializer, UnaryOperator<Object> ordered) {
    StdConverter<Object, Object> converter =
        new StdConverter<>() {
          @Override
          public Object convert(Object value) {
            return ordered.apply(value);
          }
        };
    return new StdDelegatingSerializer(converter, type, serializer);
  }

  private static Set<?> ordered(Set<?> set) {
    if (set instanceof EnumSet || hasOrder(set)) {
      return set;
    }
    Set<@Nullable Object> ordered = new LinkedHashSet<>();
    set.stream().sorted(Comparator.comparing(Containers::text)).forEach(ordered::add);
    return ordered;
  }

  private static Map<?, ?> ordered(Map<?, ?> map) {
    if (map instanceof EnumMap || hasOrder(map.entrySet())) {
      return map;
    }
    Map<@Nullable Object, @Nullable Object> ordered = new LinkedHashMap<>();
    map.entrySet().stream()
        .sorted(Comparator.comparing(entry -> String.valueOf(entry.getKey())))
        .forEach(entry -> ordered.put(entry.getKey(), entry.getValue()));
    return ordered;
  }

  private static boolean hasOrder(Collection<?> elements) {
    return elements.size() < 2 || elements.spliterator().hasCharacteristics(Spliterator.ORDERED);
  }

  private static String text(@Nullable Object element) {
    return element instanceof String text ? text : Json.sortedText(Json.tree(element));
  }
}
