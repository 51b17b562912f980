package io.fermata.flow;

import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Notes every call of a recorder's hooks, whichever they are. */
public final class Calls {
  private static final Set<String> NO_HOOKS = Set.of("id", "onRecord", "onEvent", "onDropped");

  /** A hook and what it was given. */
  public record Call(String hook, Observation event) {
    @Override
    public String toString() {
      return hook + " " + event.moment().step();
    }
  }

  public final List<Call> calls = new ArrayList<>();

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
      case "onEvent" -> ((Observation) arguments[0]).to(proxy);
      case "onRecord", "onDropped" -> {}
      default -> calls.add(new Call(method.getName(), (Observation) arguments[0]));
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

  /** What a hook was told, in order. */
  public <E extends Observation> List<E> told(Class<E> kind) {
    return calls.stream().map(Call::event).filter(kind::isInstance).map(kind::cast).toList();
  }

  public List<String> lines() {
    return calls.stream().map(Call::toString).toList();
  }
}
