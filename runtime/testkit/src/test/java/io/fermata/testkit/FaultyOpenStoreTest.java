package io.fermata.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FaultyOpenStoreTest {

  /** A default method that was not overridden would go round the faults. */
  @Test
  void decidesAboutEveryMethodOfWhatItStandsFor() {
    List<Class<?>> faulty =
        Stream.concat(
                Stream.of(FaultyOpenStore.class),
                Arrays.stream(FaultyOpenStore.class.getDeclaredClasses()))
            .toList();
    assertThat(faulty).extracting(Class::getSimpleName).contains("Journals", "Listing");

    for (Class<?> each : faulty) {
      Set<String> own = signatures(List.of(each.getDeclaredMethods()));
      for (Class<?> standsFor : each.getInterfaces()) {
        assertThat(own).as(each.getSimpleName()).containsAll(signatures(instance(standsFor)));
      }
    }
  }

  private static List<Method> instance(Class<?> type) {
    return Arrays.stream(type.getMethods())
        .filter(method -> !Modifier.isStatic(method.getModifiers()))
        .toList();
  }

  private static Set<String> signatures(Collection<Method> methods) {
    Set<String> signatures = new HashSet<>();
    methods.forEach(
        method -> signatures.add(method.getName() + Arrays.toString(method.getParameterTypes())));
    return signatures;
  }
}
