package io.fermata.flow.json;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Values whose class has subtypes that JSON names, as the elements of what holds them. */
final class TypedElements {
  private static final ClassValue<Boolean> TYPED =
      new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
          try {
            JavaType java = Json.MAPPER.constructType(type);
            return Json.MAPPER.getSerializerProviderInstance().findTypeSerializer(java) != null;
          } catch (JsonMappingException e) {
            return false;
          }
        }
      };

  private TypedElements() {}

  /** The same elements, those that are typed as trees. */
  static Collection<?> written(Collection<?> elements) {
    return elements.stream().anyMatch(TypedElements::typed)
        ? elements.stream().map(each -> written((Object) each)).toList()
        : elements;
  }

  /** The same entries, with those values as trees that are typed. */
  static Map<?, ?> written(Map<?, ?> map) {
    for (Object each : map.values()) {
      if (typed(each)) {
        Map<@Nullable Object, @Nullable Object> written = new LinkedHashMap<>();
        map.forEach((key, element) -> written.put(key, written(element)));
        return written;
      }
    }
    return map;
  }

  static @Nullable Object written(@Nullable Object element) {
    return typed(element) ? Json.tree(element) : element;
  }

  private static boolean typed(@Nullable Object element) {
    return element != null && TYPED.get(element.getClass());
  }
}
