package io.fermata.session.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a page is made of, and what a display tool takes. */
class WidgetPageTest {
  record Plans(Integer price, @Nullable String segment) {}

  private static final DisplayTool PLANS =
      DisplayTool.of("plans", "Plans", "Shows plans.", "<p>Plans").data(Plans.class);

  @Test
  void whatLiesBesideAPageIsPutIntoIt() {
    assertThat(WidgetPage.resource(WidgetPageTest.class, "page.html").html())
        .isEqualTo(
            """
            <!doctype html>
            <title>Page</title>
            <style>
            p { color: red; }
            </style>
            <script>
            const price = '$1';
            </script>
            <script src="https://cdn.example.com/other.js"></script>
            """);
  }

  @Test
  void whatIsNotThereIsNamed() {
    assertThatThrownBy(() -> WidgetPage.resource(WidgetPageTest.class, "gone.html"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("gone.html")
        .hasMessageContaining("WidgetPageTest");
    assertThatThrownBy(() -> WidgetPage.resource(WidgetPageTest.class, "torn.html"))
        .hasMessageContaining("nowhere.js");
  }

  @Test
  void aPageReachesNothingUntilItSaysSo() {
    assertThat(WidgetPage.of("<p>").reach()).isEqualTo(WidgetPage.Reach.NONE);
    WidgetPage.Reach reach =
        WidgetPage.of("<p>")
            .connects("https://api.example.com", "wss://api.example.com:8443")
            .connects("https://api.example.com")
            .loads("https://*.example.com")
            .reach();
    assertThat(reach.connects())
        .containsExactly("https://api.example.com", "wss://api.example.com:8443");
    assertThat(reach.loads()).containsExactly("https://*.example.com");
    assertThat(reach.frames()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "api.example.com",
        "https://api.example.com/path",
        "https://a.example.com; script-src *",
        "'unsafe-eval'",
        "*",
        "data:",
        ""
      })
  void whatIsNoOriginGetsIntoNoPolicy(String origin) {
    assertThatThrownBy(() -> WidgetPage.of("<p>").connects(origin))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("\"" + origin + "\"")
        .hasMessageContaining("https://api.example.com");
  }

  @Test
  @SuppressWarnings("NullAway") // null is refused
  void aDisplayToolThatNoClientCanCallIsRefused() {
    for (String name : new String[] {"", "two words", "a".repeat(65)}) {
      assertThatThrownBy(() -> DisplayTool.of(name, "Plans", "Shows plans.", "<p>"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "The display tool's name \"%s\" is not 1 to 64 of letters, digits, _ - . and /"
                  .formatted(name));
    }
    assertThatThrownBy(() -> DisplayTool.of("plans", null, "Shows plans.", "<p>"))
        .hasMessage("title");
    assertThatThrownBy(() -> DisplayTool.of("plans", "Plans", "Shows plans.", (String) null))
        .hasMessage("html");
  }

  @Test
  void aDisplayToolTakesItsDataAndTheSessionToAnswerIn() {
    assertThat(PLANS.inputSchema().path("properties").fieldNames())
        .toIterable()
        .containsExactly("price", "segment", "sessionId");
    assertThat(PLANS.check(Json.object().put("price", 30).put("sessionId", "s"))).isEmpty();
    assertThat(PLANS.check(Json.object().put("price", "dear").put("seats", 1)))
        .extracting(Violation::field)
        .containsExactlyInAnyOrder("price", "seats");
    assertThat(PLANS.data().json().path("properties").has("sessionId")).isFalse();
  }

  @Test
  void aSessionThatTheAuthorDescribesIsLeftAsItIs() {
    String schema = "{\"type\":\"object\",\"properties\":{\"sessionId\":{\"type\":\"integer\"}}}";
    DisplayTool own = PLANS.data((ObjectNode) Json.parse(schema));
    assertThat(own.inputSchema().at("/properties/sessionId/type").asText()).isEqualTo("integer");
    assertThat(own.check(Json.object().put("sessionId", "s"))).hasSize(1);
    assertThat(own.check(Json.object().put("sessionId", 1))).isEqualTo(List.of());
  }
}
