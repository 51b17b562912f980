package io.fermata.flow.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers that are read. */
class BoundedNumbersTest {
  @ParameterizedTest
  @ValueSource(
      strings = {"1e999", "-1e999", "1.5e999", "1e-999", "-12e-999", "0e999", "0e-999", "1.50e997"})
  void whatIsReadCanBeWrittenAndReadBack(String number) {
    JsonNode read = Json.parse("[" + number + "]");

    assertThat(Json.same(Json.tree(read), read)).isTrue();
    assertThat(Json.parse(Json.text(read))).isEqualTo(Json.tree(read));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1e1000",
        "-1e1000",
        "1e-1000",
        "15e999",
        "5e12345",
        "5e-12345",
        "1e999999999",
        "1e-999999999"
      })
  void whatCouldNotBeReadBackIsRefused(String number) {
    assertThatThrownBy(() -> Json.parse("{\"a\":" + number + "}"))
        .isInstanceOf(BoundedNumbers.TooLong.class)
        .hasMessage("A number has more than 1,000 digits without its exponent");
  }
}
