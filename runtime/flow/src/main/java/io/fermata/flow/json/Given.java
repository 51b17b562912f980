package io.fermata.flow.json;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Finds what an author gave as null where a value is needed. */
public final class Given {
  private static final String OURS = "io.fermata.";

  private final String what;
  private final List<String> nulls = new ArrayList<>();

  private Given(String what) {
    this.what = what;
  }

  /** Arguments as a list, in which they may be null. */
  @SafeVarargs
  @SuppressWarnings({"varargs", "NullAway"}) // null is what is looked for later
  public static <T> List<T> listed(T... given) {
    return given == null
        ? Collections.singletonList(null)
        : Collections.unmodifiableList(Arrays.asList(given.clone()));
  }

  /**
   * Refuses a record or {@link Options} in which something is null.
   *
   * @param what begins the refusal: "The prompt support"
   */
  public static void required(String what, Object given) {
    List<String> nulls = nulls(what, given);
    if (!nulls.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", nulls));
    }
  }

  /**
   * What is null in a record of this project or in its {@link Options}, at any depth and also in
   * lists and maps, and not marked as {@link Nullable}.
   *
   * @param what begins the sentences: "Node pay"; empty if they begin with the name of the part
   */
  public static List<String> nulls(String what, @Nullable Object given) {
    Given found = new Given(what);
    found.value("", given);
    return found.nulls;
  }

  private void value(String path, @Nullable Object value) {
    if (value == null) {
      String named = what.isEmpty() || path.isEmpty() ? what + path : what + ": " + path;
      nulls.add(named + " is null; give it a value");
    } else if (value instanceof Options || ours(value)) {
      Stream.of(value.getClass().getDeclaredFields())
          .filter(field -> !Modifier.isStatic(field.getModifiers()))
          .forEach(field -> field(path, field, value));
    } else if (value instanceof Map<?, ?> map) {
      map.forEach(
          (name, part) -> {
            value(within(path, "name"), name);
            value(within(path, "" + name), part);
          });
    } else if (value instanceof Collection<?> parts) {
      int index = 0;
      for (Object part : parts) {
        value(within(path, "" + index), part);
        index++;
      }
    }
  }

  /** A record of an author is the author's. */
  private static boolean ours(Object value) {
    return value instanceof Record && value.getClass().getName().startsWith(OURS);
  }

  private void field(String path, Field field, Object whole) {
    Object value = read(field, whole);
    if (value != null || !field.getAnnotatedType().isAnnotationPresent(Nullable.class)) {
      value(within(path, field.getName()), value);
    }
  }

  private static @Nullable Object read(Field field, Object whole) {
    try {
      field.setAccessible(true);
      return field.get(whole);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A part that has the name of the whole is not named twice. */
  private static String within(String path, String name) {
    return path.isEmpty()
        ? name
        : path.equals(name) || path.endsWith("." + name) ? path : path + "." + name;
  }
}
