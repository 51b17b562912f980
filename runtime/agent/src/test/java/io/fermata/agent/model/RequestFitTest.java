package io.fermata.agent.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is left of a request that does not fit into the context of its model. */
class RequestFitTest {
  private static final SystemMessage RULES = SystemMessage.from("Be kind.");

  private static List<ChatMessage> fit(int tokens, ChatMessage... messages) {
    return fit(tokens, List.of(messages));
  }

  private static List<ChatMessage> fit(int tokens, List<ChatMessage> messages) {
    return RequestFit.of(ChatRequest.builder().messages(messages).build(), tokens).messages();
  }

  private static ToolExecutionRequest call(String id, String arguments) {
    return ToolExecutionRequest.builder().id(id).name("look").arguments(arguments).build();
  }

  private static ToolExecutionResultMessage result(String id, String text) {
    return ToolExecutionResultMessage.from(id, "look", text);
  }

  private static String text(ChatMessage message) {
    return ((UserMessage) message).singleText();
  }

  @Test
  void aRequestThatFitsStaysAsItIs() {
    List<ChatMessage> messages = List.of(RULES, UserMessage.from("Hi"));
    assertThat(fit(100, messages)).isEqualTo(messages);
  }

  @Test
  void theOldestMessagesAreLeftOutAndTheRequestSaysSo() {
    List<ChatMessage> messages = new ArrayList<>(List.of(RULES));
    IntStream.range(0, 100)
        .forEach(i -> messages.add(UserMessage.from("number " + i + " " + "x".repeat(90))));

    List<ChatMessage> fitted = fit(500, messages);

    assertThat(fitted.get(0)).isEqualTo(RULES);
    assertThat(text(fitted.get(1)))
        .contains("%d messages of this conversation".formatted(102 - fitted.size()));
    int kept = fitted.size() - 2;
    assertThat(kept).isBetween(5, 20);
    assertThat(fitted.subList(fitted.size() - 5, fitted.size()))
        .isEqualTo(messages.subList(96, 101));
    assertThat(TokenEstimate.of(fitted)).isLessThanOrEqualTo(500);
  }

  @Test
  void aCallStaysWithItsResultAndTheQuestionThatTheyAnswerStays() {
    List<ChatMessage> messages = new ArrayList<>();
    messages.add(UserMessage.from("Which order?"));
    for (int i = 0; i < 20; i++) {
      messages.add(AiMessage.from(call("c" + i, "{}")));
      messages.add(result("c" + i, "x".repeat(400)));
    }

    List<ChatMessage> fitted = fit(500, messages);

    assertThat(text(fitted.get(1))).isEqualTo("Which order?");
    assertThat(fitted.get(2)).isInstanceOf(AiMessage.class);
    assertThat(fitted.subList(2, fitted.size())).hasSizeGreaterThan(2).hasSizeLessThan(12);
    for (int i = 2; i < fitted.size(); i += 2) {
      assertThat(((AiMessage) fitted.get(i)).toolExecutionRequests().get(0).id())
          .isEqualTo(((ToolExecutionResultMessage) fitted.get(i + 1)).id());
    }
    assertThat(TokenEstimate.of(fitted)).isLessThanOrEqualTo(500);
  }

  @Test
  void aLongTextIsShortenedAndThePicturesAndTheShortOnesBesideItStay() {
    ImageContent picture = ImageContent.from("AAAA", "image/png");
    List<ChatMessage> fitted =
        fit(
            1_000,
            UserMessage.from("Look at it."),
            UserMessage.from(TextContent.from("😀".repeat(50_000)), picture),
            AiMessage.from(call("c1", "{\"text\":\"" + "x".repeat(50_000) + "\"}")),
            result("c1", "y".repeat(50_000)));

    assertThat(fitted).hasSize(4);
    assertThat(text(fitted.get(0))).isEqualTo("Look at it.");
    UserMessage long1 = (UserMessage) fitted.get(1);
    assertThat(((TextContent) long1.contents().get(0)).text())
        .startsWith("😀😀")
        .endsWith("… (shortened, 100000 characters in all)");
    assertThat(long1.contents().get(1)).isEqualTo(picture);
    String arguments = ((AiMessage) fitted.get(2)).toolExecutionRequests().get(0).arguments();
    assertThat(Json.parse(arguments).path("shortened").textValue()).startsWith("{\"text\":\"xxx");
    assertThat(((ToolExecutionResultMessage) fitted.get(3)).text())
        .startsWith("yyy")
        .endsWith("… (shortened, 50000 characters in all)");
    assertThat(TokenEstimate.of(fitted)).isLessThanOrEqualTo(1_000);
  }

  @Test
  void whateverARequestHasItFitsAndItsLatestMessageIsThere() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<ChatMessage> messages = new ArrayList<>();
      int size = 1 + random.nextInt(12);
      for (int i = 0; i < size; i++) {
        String text = "x".repeat(1 << random.nextInt(16));
        if (random.nextInt(3) == 0) {
          List<ToolExecutionRequest> calls = new ArrayList<>();
          for (int c = 0; c <= random.nextInt(3); c++) {
            calls.add(call(i + "." + c, "{}"));
          }
          messages.add(AiMessage.from(calls));
          calls.forEach(call -> messages.add(result(call.id(), text)));
        } else {
          messages.add(random.nextBoolean() ? UserMessage.from(text) : AiMessage.from(text));
        }
      }

      List<ChatMessage> fitted = fit(512, messages);

      assertThat(TokenEstimate.of(fitted)).as("seed %d", seed).isLessThanOrEqualTo(512);
      ChatMessage latest = messages.get(messages.size() - 1);
      int place = fitted.size() - (latest instanceof AiMessage ? 2 : 1);
      assertThat(fitted.get(place)).as("seed %d", seed).hasSameClassAs(latest);
    }
  }
}
