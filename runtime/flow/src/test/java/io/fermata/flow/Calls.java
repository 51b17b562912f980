package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.Fact;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Notes every call of a recorder's hooks, whichever they are. */
public final class Calls {
  private static final Set<String> NO_HOOKS = Set.of("id", "onEntry", "onEvent", "onDropped");

  /** A hook and what it received. */
  public record Call(String hook, Observation event) {
    @Override
    public String toString() {
      return hook + " " + event.moment().step();
    }
  }

  public final List<Call> calls = new ArrayList<>();

  private @Nullable Observation telling;

  public final Recorder recorder =
      (Recorder)
          Proxy.newProxyInstance(
              Recorder.class.getClassLoader(),
              new Class<?>[] {Recorder.class},
              (proxy, method, arguments) -> called((Recorder) proxy, method, arguments));

  private @Nullable Object called(Recorder proxy, Method method, Object[] arguments) {
    switch (method.getName()) {
      case "id", "toString" -> {
        return "calls";
      }
      case "hashCode" -> {
        return System.identityHashCode(proxy);
      }
      case "equals" -> {
        return proxy == arguments[0];
      }
      case "onEvent" -> {
        telling = (Observation) arguments[0];
        telling.to(proxy);
      }
      case "onEntry", "onDropped" -> {}
      default -> {
        Observation event = Objects.requireNonNull(telling);
        assertThat(arguments[0]).isSameAs(event.moment());
        calls.add(new Call(method.getName(), event));
      }
    }
    return null;
  }

  /** The names of all hooks for events. */
  public static Set<String> hooks() {
    Set<String> hooks = new TreeSet<>();
    Arrays.stream(Recorder.class.getDeclaredMethods())
        .map(Method::getName)
        .filter(name -> !NO_HOOKS.contains(name))
        .forEach(hooks::add);
    return hooks;
  }

  /** A fact as it was observed, with its moment. */
  public record Observed<F>(Occurrence moment, F fact) {}

  /** What was observed of a kind, in order, with the moments. */
  public <F extends Fact> List<Observed<F>> moments(Class<F> kind) {
    return calls.stream()
        .map(Call::event)
        .filter(event -> kind.isInstance(event.fact()))
        .map(event -> new Observed<>(event.moment(), kind.cast(event.fact())))
        .toList();
  }

  /** What was observed of a kind, in order. */
  public <F extends Fact> List<F> observed(Class<F> kind) {
    return moments(kind).stream().map(Observed::fact).toList();
  }

  public List<String> lines() {
    return calls.stream().map(Call::toString).toList();
  }
}
