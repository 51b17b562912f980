package io.fermata.flow.json;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.StateMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The size of a state is that of its text, however it was counted. */
class SizesTest {
  private static Stream<JsonNode> trees() {
    List<Object> nulls = new ArrayList<>();
    nulls.add(null);
    return Stream.of(
            "",
            "plain",
            "é€𝄞",
            "a \"quoted\" \\ line\n\t\u0001\u007f",
            -12,
            Long.MAX_VALUE,
            new BigDecimal("1.50"),
            new BigDecimal("1E+3"),
            true,
            nulls,
            List.of(),
            List.of("x", List.of(1, Map.of())),
            Map.of("kéy\"", Map.of("a", 1, "b", List.of(false))))
        .map(Json::tree);
  }

  private static int bytes(JsonNode tree) {
    try {
      return Json.MAPPER.writeValueAsBytes(tree).length;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @MethodSource("trees")
  void theSizeOfATreeIsThatOfItsText(JsonNode tree) {
    assertThat(Sizes.of(tree)).isEqualTo(bytes(tree));
  }

  @ParameterizedTest
  @MethodSource("trees")
  void theGrowthIsTheDifferenceWhateverCameBefore(JsonNode after) {
    trees()
        .forEach(
            before ->
                assertThat(Sizes.growth(before, after))
                    .as("%s after %s", after, before)
                    .isEqualTo(bytes(after) - bytes(before)));
  }

  @Test
  void whatWasReadBackKnowsItsSize() throws Exception {
    StateMemory memory =
        StateMemory.EMPTY.set("a", Json.tree("x"), 1).set("b", Json.tree(List.of(1)), 2);
    String text = Json.MAPPER.writeValueAsString(memory);
    assertThat(text).doesNotContain("bytes");
    assertThat(Json.MAPPER.readValue(text, StateMemory.class).bytes())
        .isEqualTo(memory.bytes())
        .isEqualTo(bytes(memory.data()));
  }
}
