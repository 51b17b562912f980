package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.session.call.ToolReply;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a person reads before deciding about a call that a model chose. */
class ApprovalPauseTest {
  private static String shown(String argument, Object value) {
    ObjectNode structured = Json.object().put("threadId", "t");
    ObjectNode open = structured.putArray("questions").addObject();
    open.put("approval", true).put("call", "c").put("tool", "pay");
    ObjectNode question = open.putObject("question").put("question", "Pay it?");
    question.putObject("arguments").set(argument, Json.tree(value));
    ToolReply reply = new ToolReply(structured, Json.object());
    McpAsk form = Objects.requireNonNull(ApprovalPause.of(reply).form(reply, false));
    String message = form.params().path("message").asText();
    assertThat(message).startsWith("Pay it?\npay\n");
    return message.substring("Pay it?\npay\n".length());
  }

  @Test
  void anOrdinaryArgumentIsShownPlainly() {
    assertThat(shown("amount_2-eur", 5)).isEqualTo("amount_2-eur: 5");
    assertThat(shown("größe", "☕")).isEqualTo("größe: \"☕\"");
  }

  @Test
  void aNameAddsNoLineAndNoOtherArgument() {
    assertThat(shown("note\namount: 5\nto: \"bob\"", 1))
        .isEqualTo("\"note\\namount: 5\\nto: \\\"bob\\\"\": 1");
    assertThat(shown("amount: 5, to", 1)).isEqualTo("\"amount: 5, to\": 1");
    assertThat(shown("", 1)).isEqualTo("\"\": 1");
  }

  @Test
  void whatChangesHowALineIsDisplayedIsEscaped() {
    assertThat(shown("a\u202eb\u2028c", "x\u0085\u2066y\u200bz"))
        .isEqualTo("\"a\\u202eb\\u2028c\": \"x\\u0085\\u2066y\\u200bz\"");
  }

  @Test
  void aLongArgumentIsNotCutInsideACharacter() {
    assertThat(shown("note", "x".repeat(498) + "😀".repeat(2)))
        .isEqualTo("note: \"" + "x".repeat(498) + "… (5 characters more)");
    assertThat(shown("x".repeat(499) + "😀", 1))
        .isEqualTo("\"" + "x".repeat(499) + "… (2 characters more)\": 1");
  }
}
