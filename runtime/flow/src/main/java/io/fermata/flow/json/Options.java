package io.fermata.flow.json;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The options of an immutable object, each a field with its default. The object holds them in a
 * final field; an option is set in a copy, for another object. A list or a map among them is
 * replaced, never changed: copies share it.
 */
public abstract class Options implements Cloneable {
  /** A changed copy. */
  public final <T extends Options> T with(Class<T> type, Consumer<T> change) {
    try {
      T copy = type.cast(clone());
      change.accept(copy);
      return copy;
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** A list with these, too. */
  public static <E> List<E> plus(List<E> list, Collection<? extends E> more) {
    return Stream.<E>concat(list.stream(), more.stream()).toList();
  }

  /** A map with this entry, too. */
  public static <V> Map<String, V> plus(Map<String, V> map, String key, V value) {
    Map<String, V> all = new HashMap<>(map);
    all.put(key, value);
    return Collections.unmodifiableMap(all);
  }
}
