package io.fermata.agent.model;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.langchain4j.exception.ContentFilteredException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A reply, or an event of one, with what the clients of langchain4j do not read of it. */
record ReplyPart(String data, JsonNode json) {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  static ReplyPart of(String data) {
    try {
      return new ReplyPart(data, MAPPER.readTree(data));
    } catch (JsonProcessingException e) {
      return new ReplyPart(data, MissingNode.getInstance());
    }
  }

  /** The failure that it reports; null for none. */
  @Nullable RuntimeException failure() {
    JsonNode error = json.path("error");
    if (error.isObject()) {
      return new ProviderException(status(error), data, null);
    }
    return refused() ? new ContentFilteredException("The model refused to reply") : null;
  }

  /** Anthropic's models refuse at the end of a reply, and Gemini's filters before it begins. */
  private boolean refused() {
    return Stream.of(json, json.path("delta"))
            .anyMatch(part -> part.path("stop_reason").asText().equals("refusal"))
        || json.path("promptFeedback").hasNonNull("blockReason");
  }

  /** The status of an HTTP response that would report the same. */
  private static int status(JsonNode error) {
    int code = error.path("code").asInt();
    if (code >= 400 && code < 600) {
      return code;
    }
    String kind = error.path("type").asText() + " " + error.path("code").asText();
    if (kind.contains("rate_limit")) {
      return 429;
    } else if (kind.contains("authentication") || kind.contains("permission")) {
      return 401;
    }
    return kind.contains("invalid_request") ? 400 : 500;
  }

  /** Whether it is an event of the APIs of OpenAI or Gemini, of which one must be the last. */
  boolean choices() {
    return json.path("choices").isArray() || json.path("candidates").isArray();
  }

  /** Whether it says that the reply is whole. */
  boolean last() {
    return data.strip().equals("[DONE]")
        || finishes("choices", "finish_reason")
        || finishes("candidates", "finishReason");
  }

  private boolean finishes(String choices, String reason) {
    return json.path(choices).valueStream().anyMatch(choice -> choice.hasNonNull(reason));
  }
}
