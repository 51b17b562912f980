package io.fermata.agent.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.data.image.Image;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is kept of a reply for its provider. */
class ReasoningTest {
  private static AiMessage reply(String thinking, Map<String, Object> attributes) {
    return AiMessage.builder().text("Hi").thinking(thinking).attributes(attributes).build();
  }

  @Test
  void textsComeBackAsTheyWereAndWhatJsonDoesNotHaveIsLeftOut() {
    Map<String, Object> texts =
        Map.of("signature", "s1", "redacted", List.of("r1", "r2"), "of", Map.of("a", "b"));
    Map<String, Object> given =
        Map.of(
            "signature",
            "s1",
            "redacted",
            List.of("r1", "r2"),
            "of",
            Map.of("a", "b"),
            "images",
            List.of(Image.builder().base64Data("AAAA").build()),
            "number",
            1L,
            "half",
            "\uD83D");

    Reasoning kept = Reasoning.of("gpt", reply("Hm.", given));

    Reasoning read = Json.value(Json.tree(kept), Reasoning.class);
    assertThat(read).isEqualTo(kept);
    assertThat(read.in(AiMessage.builder().text("Hi")).build()).isEqualTo(reply("Hm.", texts));
  }

  @Test
  void aReplyWithNothingForItsProviderHasNoneAndSoHasOneWithTooMuch() {
    assertThat(Reasoning.of("gpt", AiMessage.from("Hi"))).isNull();
    assertThat(Reasoning.of("gpt", reply("", Map.of("count", 1)))).isNull();
    assertThat(Reasoning.of("gpt", reply("x".repeat(300_000), Map.of()))).isNull();
  }
}
