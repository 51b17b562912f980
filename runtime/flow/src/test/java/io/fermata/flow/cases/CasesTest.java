package io.fermata.flow.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CasesTest {
  private sealed interface Weather {}

  private sealed interface Wet extends Weather {}

  private record Sun(int degrees) implements Weather {}

  private record Rain(int litres) implements Wet {}

  private record Snow() implements Wet {}

  @Test
  void eachKindHasItsOwnCase() {
    Cases<String, Weather> cases =
        Cases.<String, Weather>of(Weather.class)
            .gives(Sun.class, (day, sun) -> day + " has " + sun.degrees() + " degrees")
            .gives(Rain.class, (day, rain) -> day + " has " + rain.litres() + " litres")
            .ignores(Snow.class)
            .whole();

    assertThat(cases.after("monday", new Sun(20))).isEqualTo("monday has 20 degrees");
    assertThat(cases.after("tuesday", new Rain(3))).isEqualTo("tuesday has 3 litres");
    assertThat(cases.after("sunday", new Snow())).isEqualTo("sunday");
  }

  @Test
  void aCaseMayChangeTheStateInPlace() {
    List<String> packed = new ArrayList<>();
    Cases<List<String>, Weather> cases =
        Cases.<List<String>, Weather>of(Weather.class)
            .does(Rain.class, (bag, rain) -> bag.add("umbrella"))
            .ignores(Sun.class)
            .ignores(Snow.class)
            .whole();

    assertThat(cases.after(packed, new Rain(3))).isSameAs(packed).containsExactly("umbrella");
  }

  @Test
  void aMissingKindIsNamedEvenWithinAnotherSealedInterface() {
    Cases.Listing<String, Weather> cases =
        Cases.<String, Weather>of(Weather.class).ignores(Sun.class).ignores(Snow.class);

    assertThatThrownBy(cases::whole)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("Weather has no case for Rain");
  }

  @Test
  void allMissingKindsAreNamed() {
    Cases.Listing<String, Weather> cases =
        Cases.<String, Weather>of(Weather.class).ignores(Rain.class);

    assertThatThrownBy(cases::whole).hasMessage("Weather has no case for Snow, Sun");
  }

  @Test
  void aKindHasOneCase() {
    Cases.Listing<String, Weather> cases =
        Cases.<String, Weather>of(Weather.class).ignores(Sun.class);

    assertThatThrownBy(() -> cases.ignores(Sun.class))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("Sun has two cases");
  }
}
