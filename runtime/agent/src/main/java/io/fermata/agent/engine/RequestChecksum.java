package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.image.Image;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ToolChoice;
import io.fermata.agent.Offered;
import io.fermata.agent.state.RequestDigest;
import io.fermata.flow.json.Json;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A checksum of parts of a request. It is made of what a provider is sent, and not of the classes
 * that hold it, so it is the same on every host and with every release of a library.
 */
final class RequestChecksum {
  private final CRC32C sum = new CRC32C();

  private RequestChecksum() {}

  static int of(String text) {
    return new RequestChecksum().add(text).value();
  }

  static RequestDigest.Part ofMessages(List<ChatMessage> messages) {
    RequestChecksum sum = new RequestChecksum();
    messages.forEach(sum::add);
    return new RequestDigest.Part(messages.size(), sum.value());
  }

  /** The same in whatever order they, and the names in their schemas, are. */
  static RequestDigest.Part ofTools(List<Offered> tools, ToolChoice choice) {
    RequestChecksum sum = new RequestChecksum().add(choice.name());
    tools.stream()
        .sorted(Comparator.comparing(Offered::name))
        .forEach(
            tool -> sum.add(tool.name()).add(tool.description()).add("", tool.arguments().json()));
    return new RequestDigest.Part(tools.size(), sum.value());
  }

  private int value() {
    return (int) sum.getValue();
  }

  /** With its length, so that no two texts are as good as their sum. */
  private RequestChecksum add(@Nullable String text) {
    byte[] bytes = text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8);
    sum.update(ByteBuffer.allocate(Integer.BYTES).putInt(text == null ? -1 : bytes.length).flip());
    sum.update(bytes);
    return this;
  }

  private void add(ChatMessage message) {
    add(message.type().name());
    if (message instanceof SystemMessage system) {
      add(system.text());
    } else if (message instanceof UserMessage user) {
      add(user.name());
      user.contents().forEach(this::add);
    } else if (message instanceof AiMessage said) {
      add(said.text());
      for (ToolExecutionRequest call : said.toolExecutionRequests()) {
        add(call.id()).add(call.name()).add(call.arguments());
      }
    } else if (message instanceof ToolExecutionResultMessage result) {
      add(result.id()).add(result.toolName());
      result.contents().forEach(this::add);
    }
  }

  private void add(Content content) {
    add(content.type().name());
    if (content instanceof TextContent text) {
      add(text.text());
    } else if (content instanceof ImageContent picture) {
      Image image = picture.image();
      add(image.mimeType())
          .add(image.base64Data())
          .add(image.url() == null ? null : "" + image.url());
    }
  }

  private void add(String name, JsonNode schema) {
    if (schema.isObject()) {
      schema.properties().stream()
          .sorted(Map.Entry.comparingByKey())
          .forEach(
              each -> {
                add(each.getKey());
                add(each.getKey(), each.getValue());
              });
    } else if (schema.isArray()) {
      schema
          .valueStream()
          .sorted(
              name.equals("required")
                  ? Comparator.comparing(JsonNode::asText)
                  : Comparator.comparing(each -> 0))
          .forEach(each -> add("", each));
    } else {
      add(schema instanceof TextNode text ? text.textValue() : Json.text(schema));
    }
  }
}
