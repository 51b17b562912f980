package io.fermata.testkit;

import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
import static io.fermata.testkit.ScriptedModel.lastUserContains;
import static io.fermata.testkit.ScriptedModel.systemContains;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelListener;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Usage;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A model that follows a script. */
@Timeout(60)
@Tag("slow")
class ScriptedModelTest {
  private static final ModelListener SOMEBODY = new ModelListener() {};

  private static ChatRequest said(ChatMessage... messages) {
    return ChatRequest.builder().messages(messages).build();
  }

  private static ChatRequest user(String text) {
    return said(UserMessage.from(text));
  }

  private static ModelReply ask(ScriptedModel model, boolean streamed, ChatRequest request)
      throws InterruptedException {
    return model
        .model("scripted")
        .backoff(Duration.ofMillis(1))
        .call(request, streamed ? SOMEBODY : ModelListener.NONE);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cachedTokensCostWhatTheModelSays(boolean streamed) throws InterruptedException {
    Model model =
        ScriptedModel.script()
            .turn(Turn.say("Hello").tokens(1_000_000, 400_000, 200_000))
            .model("scripted")
            .price("2.50", "10.00", "1.25");

    assertThat(model.call(user("a"), streamed ? SOMEBODY : ModelListener.NONE).usage())
        .isEqualTo(new Usage(1_000_000, 400_000, 200_000, new BigDecimal("4.00")));
  }

  @Test
  void aRequestThatBeginsOrEndsWithItsOwnWordsIsRefused() {
    ScriptedModel model = ScriptedModel.script().otherwise().say("Hello");
    AiMessage own = AiMessage.from("Hello");
    List<ChatRequest> refused =
        List.of(
            said(own, UserMessage.from("a")),
            said(SystemMessage.from("You help."), own, UserMessage.from("a")),
            said(UserMessage.from("a"), own),
            said(SystemMessage.from("You help.")));

    for (ChatRequest request : refused) {
      assertThatThrownBy(() -> model.chat(request)).isInstanceOf(InvalidRequestException.class);
    }
    assertThat(model.chat(said(UserMessage.from("a"), own, UserMessage.from("b"))).aiMessage())
        .isEqualTo(own);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void turnsAreTakenInTheirOrder(boolean streamed) throws InterruptedException {
    ScriptedModel model =
        ScriptedModel.script()
            .say("Hello")
            .call("lookup", Map.of("id", 1))
            .turn(Turn.say("Both").andCall("lookup", Map.of()).andCall("refund", Map.of()));

    assertThat(ask(model, streamed, user("a")).message().text()).isEqualTo("Hello");
    assertThat(ask(model, streamed, user("b")).message().toolExecutionRequests())
        .extracting(ToolExecutionRequest::arguments)
        .containsExactly("{\"id\":1}");
    AiMessage both = ask(model, streamed, user("c")).message();
    assertThat(both.text()).isEqualTo("Both");
    assertThat(both.toolExecutionRequests())
        .extracting(ToolExecutionRequest::name)
        .containsExactly("lookup", "refund");
    assertThat(model.requests())
        .extracting(request -> request.messages().get(0))
        .containsExactly(UserMessage.from("a"), UserMessage.from("b"), UserMessage.from("c"));
    assertThat(model.left()).isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRequestTooManyIsNamed(boolean streamed) {
    ScriptedModel model = ScriptedModel.script();

    assertThatThrownBy(() -> ask(model, streamed, user("Is anybody there?")))
        .hasMessageContaining("no turn left and no rule for request 1")
        .hasMessageContaining("Is anybody there?");
    assertThat(model.asked()).isEqualTo(1);
  }

  private static ScriptedModel desk() {
    return ScriptedModel.script()
        .when(systemContains("in French"))
        .say("Bonjour")
        .when(lastUserContains("refund"))
        .call("refund", Map.of("order", 7))
        .when(lastIsResultOf("refund"))
        .say("Your money is on its way.")
        .otherwise()
        .say("How can I help?");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void rulesDecideFromTheRequestAloneSoThatARestartChangesNothing(boolean streamed)
      throws InterruptedException {
    ChatRequest refund = user("I want a Refund!");

    AiMessage call = ask(desk(), streamed, refund).message();
    AiMessage again = ask(desk(), streamed, refund).message();
    ToolExecutionRequest tool = call.toolExecutionRequests().get(0);
    ChatRequest done =
        said(refund.messages().get(0), call, ToolExecutionResultMessage.from(tool, "done"))
            .toBuilder()
            .toolSpecifications(ToolSpecification.builder().name(tool.name()).build())
            .build();

    assertThat(again).isEqualTo(call);
    assertThat(ask(desk(), streamed, done).message().text()).isEqualTo("Your money is on its way.");
    assertThat(ask(desk(), streamed, user("hi")).message().text()).isEqualTo("How can I help?");
    assertThat(
            ask(
                    desk(),
                    streamed,
                    said(SystemMessage.from("Speak in french"), UserMessage.from("?")))
                .message()
                .text())
        .isEqualTo("Bonjour");
  }

  @Test
  void differentRequestsGetDifferentCallIds() throws InterruptedException {
    ModelReply one = ask(desk(), false, user("refund one"));
    ModelReply two = ask(desk(), false, user("refund two"));

    assertThat(one.message().toolExecutionRequests().get(0).id())
        .isNotEqualTo(two.message().toolExecutionRequests().get(0).id());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void itFailsAsOftenAsItIsScripted(boolean streamed) throws InterruptedException {
    ScriptedModel model =
        ScriptedModel.script()
            .turn(Turn.rateLimited())
            .turn(Turn.say("Hal").thenCut())
            .say("Hello");

    ModelReply reply =
        model
            .model("scripted")
            .attempts(3)
            .backoff(Duration.ofMillis(1))
            .call(user("hi"), streamed ? SOMEBODY : ModelListener.NONE);

    assertThat(reply.message().text()).isEqualTo("Hello");
    assertThat(reply.attempts())
        .extracting(attempt -> attempt.code().wireName())
        .containsExactly("rate_limited", "unavailable");
  }

  @Test
  void theTextOfABrokenAttemptIsVoid() throws InterruptedException {
    List<String> received = new ArrayList<>();
    ScriptedModel model = ScriptedModel.script().turn(Turn.say("Hell").thenCut()).say("Hello");

    model
        .model("scripted")
        .backoff(Duration.ofMillis(1))
        .call(
            user("hi"),
            new ModelListener() {
              @Override
              public void text(String delta) {
                received.add(delta);
              }

              @Override
              public void attempt(ModelAttempt failed) {
                received.clear();
              }
            });

    assertThat(received).containsExactly("Hell", "o");
  }

  @Test
  void itFailsAsClientsOfProvidersDo() {
    ScriptedModel model = ScriptedModel.script().turn(Turn.rateLimited());

    assertThatThrownBy(() -> model.chat(user("hi"))).isInstanceOf(RateLimitException.class);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void itStallsUntilTheTimeout(boolean streamed) throws InterruptedException {
    Duration timeout = Duration.ofMillis(50);
    Model fallback = ScriptedModel.script().say("Hello").model("fallback");
    Model model =
        ScriptedModel.script()
            .turn(Turn.stall())
            .model("scripted")
            .firstChunk(timeout)
            .timeout(timeout)
            .fallback(fallback);

    ModelReply reply = model.call(user("hi"), streamed ? SOMEBODY : ModelListener.NONE);

    assertThat(reply.model()).isEqualTo("fallback");
    assertThat(reply.attempts())
        .extracting(attempt -> attempt.code().wireName())
        .containsExactly(streamed ? "stalled" : "timeout");
  }

  @Test
  void itStreamsAtItsPaceInPiecesOfItsSize() throws InterruptedException {
    ScriptedModel model =
        ScriptedModel.script()
            .turn(
                Turn.say("Hello")
                    .inPiecesOf(2)
                    .every(Duration.ofMillis(1))
                    .after(Duration.ofMillis(1)));
    List<String> received = new ArrayList<>();

    ModelReply reply =
        model
            .model("scripted")
            .call(
                user("hi"),
                new ModelListener() {
                  @Override
                  public void text(String delta) {
                    received.add(delta);
                  }
                });

    assertThat(received).containsExactly("He", "ll", "o");
    assertThat(reply.message().text()).isEqualTo("Hello");
  }

  @Test
  void aFunctionAnswersWithMessagesAsTheyAre() throws InterruptedException {
    AiMessage call =
        AiMessage.from(
            ToolExecutionRequest.builder().id("mine").name("lookup").arguments("{\"a\": ").build());
    ScriptedModel model = ScriptedModel.answering(request -> call);

    assertThat(ask(model, true, user("hi")).message().toolExecutionRequests())
        .isEqualTo(call.toolExecutionRequests());
  }

  @Test
  void tokensAreAnEstimateThatIsAlwaysTheSame() throws InterruptedException {
    ScriptedModel model = ScriptedModel.script().turn(2, Turn.say("four"));

    ModelReply one = ask(model, false, user("12345678"));
    ModelReply two = ask(model, true, user("12345678"));

    assertThat(one.usage().inputTokens()).isEqualTo(2);
    assertThat(one.usage().outputTokens()).isEqualTo(1);
    assertThat(two.usage()).isEqualTo(one.usage());
  }

  @Test
  void manyMayAskAtOnceAndEachTurnIsTakenOnce() {
    ScriptedModel model = ScriptedModel.script().remember(10);
    IntStream.range(0, 400).forEach(i -> model.say("turn " + i));

    List<String> texts =
        IntStream.range(0, 400)
            .mapToObj(
                i -> CompletableFuture.supplyAsync(() -> model.chat(user("hi")).aiMessage().text()))
            .toList()
            .stream()
            .map(CompletableFuture::join)
            .toList();

    assertThat(texts).doesNotHaveDuplicates().hasSize(400);
    assertThat(model.requests()).hasSize(10);
    assertThat(model.asked()).isEqualTo(400);
  }
}
