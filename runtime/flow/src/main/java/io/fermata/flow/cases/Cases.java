package io.fermata.flow.cases;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What each kind of event makes of a state. A kind without a case is found when the class that has
 * the table is initialised, not when the first such event comes.
 *
 * @param <E> the sealed interface of the events
 */
public final class Cases<S, E> {
  private final Map<Class<?>, BiFunction<S, E, S>> byKind;

  private Cases(Map<Class<?>, BiFunction<S, E, S>> byKind) {
    this.byKind = byKind;
  }

  public static <S, E> Listing<S, E> of(Class<E> events) {
    return new Listing<>(events);
  }

  /** The state after an event: another one, or the same if its kind changes it in place. */
  public S after(S state, E event) {
    return Objects.requireNonNull(byKind.get(event.getClass())).apply(state, event);
  }

  /** The cases, before it is known that no kind lacks one. */
  public static final class Listing<S, E> {
    private final Class<E> events;
    private final Map<Class<?>, BiFunction<S, E, S>> byKind = new HashMap<>();

    private Listing(Class<E> events) {
      this.events = events;
    }

    /** Events of a kind give another state. */
    @SuppressWarnings("unchecked") // it is looked up by the class of its events
    public <F extends E> Listing<S, E> gives(Class<F> kind, BiFunction<S, F, S> next) {
      if (byKind.put(kind, (BiFunction<S, E, S>) next) != null) {
        throw new IllegalStateException(kind.getSimpleName() + " has two cases");
      }
      return this;
    }

    /** Events of a kind change the state in place. */
    public <F extends E> Listing<S, E> does(Class<F> kind, BiConsumer<S, F> change) {
      return gives(
          kind,
          (state, event) -> {
            change.accept(state, event);
            return state;
          });
    }

    /** Events of a kind mean nothing for the state. */
    public Listing<S, E> ignores(Class<? extends E> kind) {
      return gives(kind, (state, event) -> state);
    }

    /**
     * The table.
     *
     * @throws IllegalStateException if a kind has no case
     */
    public Cases<S, E> whole() {
      String missing =
          kinds(events)
              .filter(kind -> !byKind.containsKey(kind))
              .map(Class::getSimpleName)
              .distinct()
              .sorted()
              .collect(Collectors.joining(", "));
      if (!missing.isEmpty()) {
        throw new IllegalStateException(events.getSimpleName() + " has no case for " + missing);
      }
      return new Cases<>(Map.copyOf(byKind));
    }

    private static Stream<Class<?>> kinds(Class<?> kind) {
      return kind.isSealed()
          ? Stream.of(kind.getPermittedSubclasses()).flatMap(Listing::kinds)
          : Stream.of(kind);
    }
  }
}
