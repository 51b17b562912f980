package io.fermata.mcp.feature;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which URIs match a template, and the values of its variables. */
class McpTemplateTest {
  private static McpTemplate template(String uriTemplate) {
    return McpTemplate.of(uriTemplate, "T", "text/plain", call -> McpBody.text("", "", ""));
  }

  private static @Nullable String matched(String uriTemplate, String uri) {
    var values = template(uriTemplate).matched(uri);
    return values == null
        ? null
        : String.join(" ", values.findValuesAsText("a"))
            + "|"
            + values.path("b").asText()
            + "|"
            + values.path("c").asText();
  }

  @ParameterizedTest
  @CsvSource({
    "t://{a}, t://x, x||",
    "t://{a}, t://, ",
    "t://{a}, t://x/y, ",
    "t://{a}, t://x%2Fy, ",
    "t://{a}, t://.., ..||",
    "t://{a}, u://x, ",
    "t://{+a}, t://x%2Fy/z, x/y/z||",
    "t://{+a}/{b}, t://x/y/z, x/y|z|",
    "t://{a}/{+b}.{c}, t://x/y.y/z.q, x|y.y/z|q",
    "t://{a}-{b}/end, t://x-y-z/end, x|y-z|",
    "t://{a}/end, t:///end, ",
    "t://{a}end, t://end, ",
    "t://{a}/{b}, t://x/, ",
    "t://{a}ab{b}, t://xaby, x|y|",
    "t://{a}ab{b}ba, t://xaba, ",
    "t://{+a}x{+b}x{c}, t://1x2x3, 1|2|3"
  })
  void anAddressIsSplitAtWhatIsBetweenTheVariables(
      String uriTemplate, String uri, @Nullable String values) {
    assertThat(matched(uriTemplate, uri)).isEqualTo(values);
  }

  @Test
  void twoVariablesMustNotTouch() {
    assertThatThrownBy(() -> template("t://{a}{b}")).hasMessageContaining("t://{a}{b}");
  }
}
