package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JavaType;
import io.fermata.flow.json.KindNames;
import io.fermata.session.Golden;
import java.io.IOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The form of every record and event is written down beside the golden files of that form. */
class JournalShapesTest {
  private final Map<String, String> shapes = new TreeMap<>();

  @Test
  void aChangedFormNeedsAGoldenFileOfItsOwn() throws IOException {
    new TreeMap<>(JournalSerializer.FORMATS.written())
        .forEach((name, type) -> shapes.put("= " + name, described(type)));
    String now =
        shapes.entrySet().stream()
            .map(shape -> shape.getKey() + " " + shape.getValue())
            .collect(Collectors.joining("\n"));

    if (Golden.writes()) {
      Golden.write("journal-shapes.txt", now);
    }
    assertThat(now)
        .as(
            "the form of a record, an event or a snapshot has changed: give the record its next"
                + " version and the old one an upcaster (CONTRIBUTING, \"An event\"), add golden"
                + " files of the new form, and write journal-shapes.txt")
        .isEqualTo(Golden.read("journal-shapes.txt"));
  }

  /** The name of a type; what it consists of is noted where it is the first time that it is met. */
  private String described(Type type) {
    if (type instanceof ParameterizedType of) {
      String parts =
          Arrays.stream(of.getActualTypeArguments())
              .map(this::described)
              .collect(Collectors.joining(", "));
      return described(of.getRawType()) + "<" + parts + ">";
    }
    if (type instanceof JavaType java) {
      List<JavaType> parts = java.getBindings().getTypeParameters();
      return described((Type) java.getRawClass())
          + (parts.isEmpty()
              ? ""
              : parts.stream().map(this::described).collect(Collectors.joining(", ", "<", ">")));
    } else if (type instanceof TypeVariable<?> variable) {
      return variable.getName();
    }
    Class<?> kind = (Class<?>) type;
    String name = kind.getName().replaceFirst("^.*\\.", "").replace('$', '.');
    if (kind.getName().startsWith("io.fermata.") && !shapes.containsKey(name)) {
      shapes.put(name, "");
      shapes.put(name, parts(kind));
    }
    return name;
  }

  private String parts(Class<?> kind) {
    if (kind.isEnum()) {
      return Arrays.toString(kind.getEnumConstants());
    } else if (Stream.of(kind.getMethods()).anyMatch(m -> m.isAnnotationPresent(JsonValue.class))) {
      return "as text";
    } else if (kind.isSealed()) {
      return kinds(kind);
    } else if (kind.isRecord()) {
      return Stream.of(kind.getRecordComponents())
          .filter(part -> !part.getAccessor().isAnnotationPresent(JsonIgnore.class))
          .map(this::part)
          .collect(Collectors.joining(", ", "(", ")"));
    }
    return "";
  }

  private String part(RecordComponent part) {
    boolean optional =
        Stream.of(part.getAnnotatedType().getAnnotations())
            .anyMatch(a -> a.annotationType().getSimpleName().equals("Nullable"));
    return part.getName() + (optional ? "?: " : ": ") + described(part.getGenericType());
  }

  private String kinds(Class<?> kind) {
    if (!kind.isAnnotationPresent(JsonTypeInfo.class)) {
      return Stream.of(kind.getPermittedSubclasses())
          .map(this::described)
          .sorted()
          .collect(Collectors.joining(" | "));
    }
    return KindNames.of(kind).entrySet().stream()
        .map(each -> each.getKey() + " = " + described(each.getValue()))
        .sorted()
        .collect(Collectors.joining(" | "));
  }
}
