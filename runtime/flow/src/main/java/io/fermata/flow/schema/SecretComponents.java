package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JavaType;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.lang.reflect.RecordComponent;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/** The components of a state that carry {@link Secret}, also within lists and maps. */
final class SecretComponents {
  private final Set<String> paths = new LinkedHashSet<>();

  private SecretComponents() {}

  /** Their paths; {@code *} for the elements of a list and the values of a map. */
  static Set<String> of(Class<? extends Record> state) {
    SecretComponents found = new SecretComponents();
    found.in(Json.MAPPER.constructType(state), "", Set.of());
    return found.paths;
  }

  private void in(JavaType type, String prefix, Set<Class<?>> enclosing) {
    if (type.isContainerType()) {
      in(type.getContentType(), prefix + Paths.ANY + ".", enclosing);
      return;
    }
    Set<Class<?>> all = new HashSet<>(enclosing);
    if (!type.isRecordType() || !all.add(type.getRawClass())) {
      return;
    }
    for (RecordComponent component : type.getRawClass().getRecordComponents()) {
      String path = prefix + StateSchema.name(component);
      if (component.isAnnotationPresent(Secret.class)) {
        paths.add(path);
      } else {
        in(Json.MAPPER.constructType(component.getGenericType()), path + ".", all);
      }
    }
  }
}
