package io.fermata.flow.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.fasterxml.jackson.databind.annotation.JsonTypeIdResolver;
import com.fasterxml.jackson.databind.exc.InvalidTypeIdException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The kinds of a sealed type are called in JSON as their classes are. */
class KindNamesTest {
  @JsonTypeInfo(use = JsonTypeInfo.Id.CUSTOM, property = "kind")
  @JsonTypeIdResolver(KindNames.class)
  sealed interface Shape permits Round, Shape.Circle {
    record Circle(int radius) implements Shape, Round {}
  }

  sealed interface Round extends Shape permits Shape.Circle, OvalDish, Plate {}

  record OvalDish(int length) implements Round {}

  @JsonTypeName("disc")
  record Plate(int size) implements Round {}

  sealed interface Twice permits OneName, Twice.Inner {
    record Inner() implements Twice {}
  }

  @JsonTypeName("inner")
  record OneName() implements Twice {}

  @Test
  void theNameOfAKindIsThatOfItsClassUnlessItHasAnother() throws Exception {
    assertThat(KindNames.of(Shape.class))
        .containsExactlyInAnyOrderEntriesOf(
            Map.of("circle", Shape.Circle.class, "oval_dish", OvalDish.class, "disc", Plate.class));
    assertThat(Json.MAPPER.writeValueAsString(new OvalDish(3)))
        .isEqualTo("{\"kind\":\"oval_dish\",\"length\":3}");
    assertThat(Json.MAPPER.valueToTree(new Plate(3)).toString())
        .isEqualTo("{\"kind\":\"disc\",\"size\":3}");
  }

  @Test
  void aKindIsReadAsTheWholeAsAPartOfItAndAsItself() throws Exception {
    String text = "{\"kind\":\"oval_dish\",\"length\":3}";
    for (Class<?> type : new Class<?>[] {Shape.class, Round.class, OvalDish.class}) {
      assertThat((Object) Json.MAPPER.readValue(text, type)).isEqualTo(new OvalDish(3));
    }
  }

  @Test
  void anUnknownNameIsRefused() {
    assertThatThrownBy(() -> Json.MAPPER.readValue("{\"kind\":\"square\"}", Shape.class))
        .isInstanceOf(InvalidTypeIdException.class);
  }

  @Test
  void noTwoKindsHaveOneName() {
    assertThatThrownBy(() -> KindNames.of(Twice.class))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("inner");
  }
}
