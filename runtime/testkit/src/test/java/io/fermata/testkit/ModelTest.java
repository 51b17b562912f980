package io.fermata.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiTokenUsage;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelError;
import io.fermata.agent.model.ModelException;
import io.fermata.agent.model.ModelHttp;
import io.fermata.agent.model.ModelListener;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.TokenCounts;
import io.fermata.agent.model.Usage;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A real client of a provider behind {@link io.fermata.agent.Model}. */
@Timeout(60)
@Tag("slow")
class ModelTest {
  private static final Duration SHORT = Duration.ofMillis(10);
  private static final Duration BLINK = Duration.ofMillis(150);

  private final OpenAiStub stub = OpenAiStub.start();
  private final OpenAiStub other = OpenAiStub.start();

  @AfterEach
  void close() {
    stub.close();
    other.close();
  }

  /** The two ways to call a client. */
  enum Way {
    WHOLE,
    STREAMED;

    Model model(String name, OpenAiStub stub) {
      Model model = this == WHOLE ? Model.of(name, whole(stub)) : Model.of(name, streamed(stub));
      return model.backoff(SHORT);
    }
  }

  private static ChatModel whole(OpenAiStub stub) {
    return OpenAiChatModel.builder()
        .httpClientBuilder(ModelHttp.builder())
        .baseUrl(stub.baseUrl())
        .apiKey("sk-test-0123456789")
        .modelName("test")
        .returnThinking(true)
        .maxRetries(0)
        .build();
  }

  private static StreamingChatModel streamed(OpenAiStub stub) {
    return streamed(stub, Duration.ofMinutes(1));
  }

  private static StreamingChatModel streamed(OpenAiStub stub, Duration timeout) {
    return OpenAiStreamingChatModel.builder()
        .httpClientBuilder(ModelHttp.builder())
        .baseUrl(stub.baseUrl())
        .apiKey("sk-test-0123456789")
        .modelName("test")
        .returnThinking(true)
        .timeout(timeout)
        .build();
  }

  private static ChatRequest request() {
    return ChatRequest.builder()
        .messages(UserMessage.from("Where is my order?"))
        .toolSpecifications(ToolSpecification.builder().name("lookup").build())
        .build();
  }

  /** Records what it receives. */
  private static class RecordingListener implements ModelListener {
    final List<String> received = Collections.synchronizedList(new ArrayList<>());

    @Override
    public void text(String delta) {
      received.add(delta);
    }

    @Override
    public void thinking(String delta) {
      received.add("(" + delta + ")");
    }

    @Override
    public void attempt(ModelAttempt failed) {
      received.add("!" + failed.model() + failed.number() + " " + failed.code().wireName());
    }
  }

  private static List<String> codes(List<ModelAttempt> attempts) {
    return attempts.stream()
        .map(attempt -> attempt.model() + attempt.number() + " " + attempt.code().wireName())
        .toList();
  }

  private static void eventually(Supplier<Boolean> holds) throws InterruptedException {
    for (int i = 0; i < 1_000 && !holds.get(); i++) {
      Thread.sleep(10);
    }
    assertThat(holds.get()).isTrue();
  }

  // --- replies --------------------------------------------------------------------------------

  @ParameterizedTest
  @EnumSource
  void aTextComesWithItsFinishAndItsModel(Way way) throws InterruptedException {
    stub.say("It is on its way.");

    ModelReply reply = way.model("gpt", stub).call(request());

    assertThat(reply.message().text()).isEqualTo("It is on its way.");
    assertThat(reply.finish()).isEqualTo("stop");
    assertThat(reply.model()).isEqualTo("gpt");
    assertThat(reply.attempts()).isEmpty();
    assertThat(stub.request().at("/tools/0/function/name").asText()).isEqualTo("lookup");
  }

  @ParameterizedTest
  @EnumSource
  void toolCallsComeInTheirOrderWithWholeArguments(Way way) throws InterruptedException {
    stub.turn(
        Turn.say("Let me look.")
            .andCall("lookup", Map.of("id", 1, "note", "a longer text in pieces"))
            .andCall("refund", Map.of())
            .andCall("lookup", Map.of("id", 2)));

    ModelReply reply = way.model("gpt", stub).call(request());

    List<ToolExecutionRequest> calls = reply.message().toolExecutionRequests();
    assertThat(calls)
        .extracting(ToolExecutionRequest::name)
        .containsExactly("lookup", "refund", "lookup");
    assertThat(calls.get(0).arguments()).contains("\"a longer text in pieces\"");
    assertThat(calls.get(2).arguments()).isEqualTo("{\"id\":2}");
    assertThat(calls).extracting(ToolExecutionRequest::id).doesNotHaveDuplicates();
    assertThat(reply.message().text()).isEqualTo("Let me look.");
    assertThat(reply.finish()).isEqualTo("tool_execution");
  }

  @Test
  void aStreamArrivesPieceByPieceThoughtsFirst() throws InterruptedException {
    stub.turn(Turn.say("Hello, Ann").thinking("hmm").inPiecesOf(3));
    RecordingListener listener = new RecordingListener();

    Way.STREAMED.model("gpt", stub).call(request(), listener);

    assertThat(listener.received).containsExactly("(hmm)", "Hel", "lo,", " An", "n");
  }

  @Test
  void aModelThatDoesNotStreamSendsItsTextInOnePiece() throws InterruptedException {
    stub.turn(Turn.say("Hello, Ann").thinking("hmm"));
    RecordingListener listener = new RecordingListener();

    Way.WHOLE.model("gpt", stub).call(request(), listener);

    assertThat(listener.received).containsExactly("(hmm)", "Hello, Ann");
  }

  @Test
  void aModelThatCanDoBothStreamsOnlyWhenSomebodyListens() throws InterruptedException {
    stub.say("one").say("two");
    Model model = Model.of("gpt", whole(stub), streamed(stub));

    model.call(request());
    boolean unheard = stub.request().path("stream").asBoolean();
    model.call(request(), new RecordingListener());

    assertThat(unheard).isFalse();
    assertThat(stub.request().path("stream").asBoolean()).isTrue();
  }

  @ParameterizedTest
  @EnumSource
  void anEmptyReplyIsAReply(Way way) throws InterruptedException {
    stub.turn(Turn.silence());

    ModelReply reply = way.model("gpt", stub).call(request());

    assertThat(reply.message().text()).isNullOrEmpty();
    assertThat(reply.message().hasToolExecutionRequests()).isFalse();
    assertThat(stub.asked()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void tokensAreCountedAndCostWhatTheModelSays(Way way) throws InterruptedException {
    stub.turn(Turn.say("Hello").tokens(1_000_000, 400_000, 200_000));
    Model model =
        way.model("gpt", stub)
            .price("2.50", "10.00", "1.25")
            .tokens(
                usage ->
                    usage instanceof OpenAiTokenUsage tokens && tokens.inputTokensDetails() != null
                        ? TokenCounts.within(tokens, tokens.inputTokensDetails().cachedTokens())
                        : null);

    Usage usage = model.call(request()).usage();

    assertThat(usage).isEqualTo(new Usage(1_000_000, 400_000, 200_000, new BigDecimal("4.00")));
    assertThat(usage.plus(usage).cost()).isEqualByComparingTo("8");
  }

  @Test
  void parametersHoldForEveryRequestThatDoesNotSayOtherwise() throws InterruptedException {
    stub.say("one").say("two");
    Model model =
        Way.WHOLE
            .model("gpt", stub)
            .parameters(ChatRequestParameters.builder().temperature(0.5).build());

    model.call(request());
    double unsaid = stub.request().path("temperature").asDouble();
    model.call(request().toBuilder().temperature(0.1).build());

    assertThat(unsaid).isEqualTo(0.5);
    assertThat(stub.request().path("temperature").asDouble()).isEqualTo(0.1);
  }

  // --- failures -------------------------------------------------------------------------------

  @ParameterizedTest
  @EnumSource
  void aModelThatIsOverloadedIsAskedAgain(Way way) throws InterruptedException {
    stub.turn(Turn.unavailable()).say("Hello");
    RecordingListener listener = new RecordingListener();

    ModelReply reply = way.model("gpt", stub).call(request(), listener);

    assertThat(reply.message().text()).isEqualTo("Hello");
    assertThat(codes(reply.attempts())).containsExactly("gpt1 unavailable");
    assertThat(listener.received.get(0)).isEqualTo("!gpt1 unavailable");
  }

  @ParameterizedTest
  @EnumSource
  void aProviderThatSaysWhenToComeAgainIsWaitedFor(Way way) throws InterruptedException {
    stub.turn(Turn.rateLimited(Duration.ofSeconds(1))).say("Hello");
    long begin = System.nanoTime();

    ModelReply reply = way.model("gpt", stub).call(request());

    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .isGreaterThanOrEqualTo(Duration.ofSeconds(1));
    assertThat(codes(reply.attempts())).containsExactly("gpt1 rate_limited");
  }

  @ParameterizedTest
  @EnumSource
  void aProviderThatWantsTooLongAWaitIsLeftForTheFallbackAtOnce(Way way)
      throws InterruptedException {
    stub.turn(Turn.rateLimited(Duration.ofHours(1)));
    other.say("Hello");
    Model model = way.model("gpt", stub).attempts(5).fallback(way.model("claude", other));

    ModelReply reply = model.call(request());

    assertThat(codes(reply.attempts())).containsExactly("gpt1 rate_limited");
    assertThat(reply.model()).isEqualTo("claude");
  }

  @ParameterizedTest
  @EnumSource
  void fallbacksAreAskedInOrderEachAsOftenAsItsOwnTermsSay(Way way) throws InterruptedException {
    stub.turn(2, Turn.unavailable());
    other.turn(3, Turn.rateLimited()).say("At last");
    Model model =
        way.model("first", stub)
            .fallback(way.model("second", other).attempts(3), way.model("third", other));

    ModelReply reply = model.call(request());

    assertThat(codes(reply.attempts()))
        .containsExactly(
            "first1 unavailable",
            "first2 unavailable",
            "second1 rate_limited",
            "second2 rate_limited",
            "second3 rate_limited");
    assertThat(reply.model()).isEqualTo("third");
  }

  @ParameterizedTest
  @EnumSource
  void aCallThatNoModelAnswersNamesEveryAttempt(Way way) {
    stub.turn(Turn.unavailable()).turn(Turn.rateLimited());
    other.turn(Turn.unauthorized());
    Model model = way.model("first", stub).fallback(way.model("second", other));

    ModelException thrown = catchThrowableOfType(ModelException.class, () -> model.call(request()));

    assertThat(codes(thrown.attempts()))
        .containsExactly("first1 unavailable", "first2 rate_limited", "second1 unauthorized");
    assertThat(thrown.code()).isEqualTo(ModelError.UNAUTHORIZED);
    assertThat(thrown)
        .hasMessageContaining("first, attempt 1: unavailable: The model is overloaded")
        .hasMessageContaining("second, attempt 1: unauthorized");
  }

  @ParameterizedTest
  @EnumSource
  void wrongCredentialsAreNotRetriedAndNotRevealed(Way way) {
    stub.turn(Turn.refuse(401, "Incorrect API key provided: sk-test-0123456789"));

    ModelException thrown =
        catchThrowableOfType(
            ModelException.class, () -> way.model("gpt", stub).attempts(3).call(request()));

    assertThat(codes(thrown.attempts())).containsExactly("gpt1 unauthorized");
    assertThat(thrown).hasMessageContaining("check the key").hasMessageNotContaining("sk-test");
  }

  @ParameterizedTest
  @EnumSource
  void aKeyThatAProviderQuotesIsNotRevealed(Way way) {
    stub.turn(Turn.refuse(500, "Upstream said no to Authorization: Bearer sk-test-0123456789"));

    assertThatThrownBy(() -> way.model("gpt", stub).attempts(1).call(request()))
        .hasMessageContaining("Upstream said no")
        .hasMessageNotContaining("sk-test")
        .hasMessageNotContaining("0123456789");
  }

  @ParameterizedTest
  @EnumSource
  void aRequestThatIsNotTakenFallsThroughToTheFallback(Way way) throws InterruptedException {
    stub.turn(Turn.refuse(400, "Too many tokens"));
    other.say("I can take it");

    ModelReply reply = way.model("gpt", stub).fallback(way.model("long", other)).call(request());

    assertThat(codes(reply.attempts())).containsExactly("gpt1 invalid_request");
    assertThat(reply.attempts().get(0).message()).isEqualTo("Too many tokens");
    assertThat(reply.model()).isEqualTo("long");
  }

  /** A model of whose reply a filter of its provider lets through the beginning. */
  private static Model filtered(Way way) {
    ChatResponse filtered =
        ChatResponse.builder()
            .aiMessage(AiMessage.from("How to"))
            .finishReason(FinishReason.CONTENT_FILTER)
            .tokenUsage(new TokenUsage(1_000, 200))
            .build();
    ChatModel whole =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return filtered;
          }
        };
    StreamingChatModel streamed =
        new StreamingChatModel() {
          @Override
          public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
            handler.onCompleteResponse(filtered);
          }
        };
    return way == Way.WHOLE ? Model.of("gpt", whole) : Model.of("gpt", streamed);
  }

  @ParameterizedTest
  @EnumSource
  void aReplyThatAFilterWithheldIsLeftForTheFallbackAtOnce(Way way) throws InterruptedException {
    other.say("I may say it");
    RecordingListener listener = new RecordingListener();
    Model model = filtered(way);

    ModelReply reply = model.fallback(way.model("claude", other)).call(request(), listener);
    ModelException refused =
        catchThrowableOfType(ModelException.class, () -> model.call(request()));

    assertThat(codes(reply.attempts())).containsExactly("gpt1 refused");
    assertThat(String.join("", listener.received)).isEqualTo("!gpt1 refusedI may say it");
    assertThat(reply.model()).isEqualTo("claude");
    assertThat(refused.code()).isEqualTo(ModelError.REFUSED);
  }

  @ParameterizedTest
  @EnumSource
  void aReplyThatAFilterWithheldIsPaidForBesideThatOfTheFallback(Way way)
      throws InterruptedException {
    other.say("I may say it").say("I may say it");
    Model claude = way.model("claude", other);
    Usage alone = claude.call(request()).usage();

    Usage both = filtered(way).price("10", "100", "1").fallback(claude).call(request()).usage();

    assertThat(both.minus(alone)).isEqualTo(new Usage(1_000, 0, 200, new BigDecimal("0.03")));
  }

  /** The JDK may drop what it has read but not handed out when a connection breaks. */
  @Test
  void aStreamThatBreaksOffIsAskedForAgain() throws InterruptedException {
    stub.turn(Turn.say("Hell").thenCut()).say("Hello");
    RecordingListener listener = new RecordingListener();

    ModelReply reply = Way.STREAMED.model("gpt", stub).call(request(), listener);

    assertThat(reply.message().text()).isEqualTo("Hello");
    assertThat(listener.received).endsWith("!gpt1 unavailable", "Hell", "o");
  }

  @Test
  void aStreamThatClosesWithoutAFinishIsNotTakenForAReply() {
    StreamingChatModel truncating =
        new StreamingChatModel() {
          @Override
          public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
            handler.onPartialResponse("The answer is no");
            handler.onCompleteResponse(
                ChatResponse.builder().aiMessage(AiMessage.from("The answer is no")).build());
          }
        };

    assertThatThrownBy(() -> Model.of("gpt", truncating).backoff(SHORT).call(request()))
        .isInstanceOf(ModelException.class)
        .hasMessageContaining("ended early");
  }

  @Test
  void aWholeReplyWhoseConnectionBreaksIsAskedForAgain() throws InterruptedException {
    stub.turn(Turn.say("Hell").thenCut()).say("Hello");

    ModelReply reply = Way.WHOLE.model("gpt", stub).call(request());

    assertThat(reply.message().text()).isEqualTo("Hello");
    assertThat(codes(reply.attempts())).containsExactly("gpt1 unavailable");
  }

  @Test
  void aClientThatReturnsNothingAtAllHasFailed() {
    ChatModel nothing =
        new ChatModel() {
          @Override
          public @Nullable ChatResponse doChat(ChatRequest request) {
            return null;
          }
        };

    ModelException thrown =
        catchThrowableOfType(
            ModelException.class, () -> Model.of("gpt", nothing).backoff(SHORT).call(request()));

    assertThat(codes(thrown.attempts())).containsExactly("gpt1 empty", "gpt2 empty");
  }

  // --- timeouts -------------------------------------------------------------------------------

  @Test
  void aStreamThatFallsSilentIsLeftForTheFallbackWithoutAskingAgain() throws InterruptedException {
    stub.turn(Turn.say("Hell").thenStall());
    other.say("Hello");
    RecordingListener listener = new RecordingListener();
    Model model =
        Way.STREAMED
            .model("gpt", stub)
            .betweenChunks(BLINK)
            .fallback(Way.STREAMED.model("claude", other));

    ModelReply reply = model.call(request(), listener);

    assertThat(codes(reply.attempts())).containsExactly("gpt1 stalled");
    assertThat(listener.received).containsExactly("Hell", "!gpt1 stalled", "Hell", "o");
    assertThat(stub.asked()).isEqualTo(1);
    eventually(() -> stub.busy() == 0);
  }

  @Test
  void aStreamThatNeverBeginsIsLeftAndItsConnectionEnded() throws InterruptedException {
    stub.turn(Turn.stall());
    other.say("Hello");
    Model model =
        Way.STREAMED
            .model("gpt", stub)
            .firstChunk(BLINK)
            .fallback(Way.STREAMED.model("claude", other));

    ModelReply reply = model.call(request());

    assertThat(codes(reply.attempts())).containsExactly("gpt1 stalled");
    eventually(() -> stub.busy() == 0);
  }

  @Test
  void aStreamThatContinuesIsNeverCutOffHoweverLongItTakes() throws InterruptedException {
    stub.turn(Turn.say("slow but steady").inPiecesOf(1).every(Duration.ofMillis(250)));
    Duration silence = Duration.ofSeconds(3);
    long begin = System.nanoTime();

    ModelReply reply =
        Way.STREAMED.model("gpt", stub).firstChunk(silence).betweenChunks(silence).call(request());

    assertThat(reply.attempts()).isEmpty();
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(silence);
  }

  @Test
  void theTimeoutOfAClientBoundsHowLongAStreamTakesToStartAndNoMore() throws InterruptedException {
    stub.turn(Turn.say("slow but steady").inPiecesOf(1).every(BLINK)).turn(Turn.stall());
    Model model = Model.of("gpt", streamed(stub, Duration.ofSeconds(1)));

    ModelReply slow = model.call(request());
    ModelException silent = catchThrowableOfType(ModelException.class, () -> model.call(request()));

    assertThat(slow.message().text()).isEqualTo("slow but steady");
    assertThat(slow.attempts()).isEmpty();
    assertThat(codes(silent.attempts())).containsExactly("gpt1 timeout");
    assertThat(silent).hasMessageContaining("did not start within PT1S");
    eventually(() -> stub.busy() == 0);
  }

  @Test
  void aReplyInOnePieceThatTakesTooLongIsLeftForTheFallback() throws InterruptedException {
    stub.turn(Turn.stall());
    other.say("Hello");
    Model model =
        Way.WHOLE.model("gpt", stub).timeout(BLINK).fallback(Way.WHOLE.model("claude", other));

    ModelReply reply = model.call(request());

    assertThat(codes(reply.attempts())).containsExactly("gpt1 timeout");
    assertThat(reply.message().text()).isEqualTo("Hello");
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
    eventually(() -> stub.busy() == 0);
  }

  @Test
  void aTimeoutThatWasNotNeededInterruptsNothingLater() throws InterruptedException {
    stub.say("Hello").say("Hello");
    Duration timeout = Duration.ofSeconds(2);
    Way.WHOLE.model("gpt", stub).call(request());

    Way.WHOLE.model("gpt", stub).timeout(timeout).call(request());
    // The timers of the JDK fire in order.
    new CompletableFuture<@Nullable Void>()
        .completeOnTimeout(null, timeout.toMillis(), TimeUnit.MILLISECONDS)
        .join();

    assertThat(Thread.currentThread().isInterrupted()).isFalse();
  }

  // --- interrupts -----------------------------------------------------------------------------

  /** Calls on a thread that is interrupted once the provider is busy. */
  private @Nullable Throwable interrupted(Model model, CountDownLatch moment)
      throws InterruptedException {
    CompletableFuture<@Nullable Throwable> end = new CompletableFuture<>();
    Thread asking =
        new Thread(
            () -> {
              try {
                model.call(
                    request(),
                    new ModelListener() {
                      @Override
                      public void text(String delta) {
                        moment.countDown();
                      }
                    });
                end.complete(null);
              } catch (Throwable e) {
                end.complete(e);
              }
            });
    asking.start();
    assertThat(moment.await(60, TimeUnit.SECONDS)).isTrue();
    eventually(() -> stub.busy() == 1);
    asking.interrupt();
    return end.orTimeout(60, TimeUnit.SECONDS).join();
  }

  @ParameterizedTest
  @EnumSource
  void anInterruptEndsTheRequestBeforeAnythingWasSaid(Way way) throws InterruptedException {
    stub.turn(Turn.stall());

    assertThat(interrupted(way.model("gpt", stub), new CountDownLatch(0)))
        .isInstanceOf(InterruptedException.class);
    eventually(() -> stub.busy() == 0);
    assertThat(stub.asked()).isEqualTo(1);
  }

  @Test
  void anInterruptEndsTheStreamAndItsConnection() throws InterruptedException {
    stub.turn(Turn.say("Hell").thenStall());

    assertThat(interrupted(Way.STREAMED.model("gpt", stub), new CountDownLatch(1)))
        .isInstanceOf(InterruptedException.class);
    eventually(() -> stub.busy() == 0);
    assertThat(stub.asked()).isEqualTo(1);
  }

  @Test
  void anInterruptEndsTheWaitForTheNextAttempt() throws InterruptedException {
    stub.turn(Turn.unavailable());
    Model model = Way.WHOLE.model("gpt", stub).backoff(Duration.ofMinutes(1));
    CountDownLatch failed = new CountDownLatch(1);
    CompletableFuture<Throwable> end = new CompletableFuture<>();
    Thread asking =
        new Thread(
            () -> {
              try {
                model.call(
                    request(),
                    new ModelListener() {
                      @Override
                      public void attempt(ModelAttempt attempt) {
                        failed.countDown();
                      }
                    });
              } catch (Throwable e) {
                end.complete(e);
              }
            });
    asking.start();
    assertThat(failed.await(60, TimeUnit.SECONDS)).isTrue();
    asking.interrupt();

    assertThat(end.orTimeout(60, TimeUnit.SECONDS).join()).isInstanceOf(InterruptedException.class);
  }

  @Test
  void aListenerThatThrowsEndsTheCallAndTheStream() throws InterruptedException {
    stub.turn(Turn.say("Hello").thenStall());

    assertThatThrownBy(
            () ->
                Way.STREAMED
                    .model("gpt", stub)
                    .call(
                        request(),
                        new ModelListener() {
                          @Override
                          public void text(String delta) {
                            throw new IllegalStateException("received enough");
                          }
                        }))
        .hasMessage("received enough");
    eventually(() -> stub.busy() == 0);
    assertThat(stub.asked()).isEqualTo(1);
  }

  // --- langchain4j's own HTTP client ------------------------------------------------------------

  @Test
  void aClientWithItsOwnHttpClientIsEndedOnceItsStreamHasBegun() throws InterruptedException {
    stub.turn(Turn.say("Hell").thenStall());
    other.say("Hello");
    StreamingChatModel plain =
        OpenAiStreamingChatModel.builder()
            .baseUrl(stub.baseUrl())
            .apiKey("any")
            .modelName("test")
            .build();

    ModelReply reply =
        Model.of("gpt", plain)
            .betweenChunks(BLINK)
            .fallback(Way.STREAMED.model("claude", other))
            .call(request());

    assertThat(codes(reply.attempts())).containsExactly("gpt1 stalled");
    eventually(() -> stub.busy() == 0);
  }

  // --- terms ----------------------------------------------------------------------------------

  @Test
  void theFirstWaitIsTakenAsItIsAlsoIfItIsLongerThanTheLongestByDefault()
      throws InterruptedException {
    stub.turn(Turn.unavailable()).turn(Turn.say("Hello"));
    Duration wait = Duration.ofMillis(300);
    Model model = Model.of("gpt", whole(stub)).backoff(SHORT, SHORT).backoff(wait);
    long began = System.nanoTime();

    model.call(request());

    assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(wait);
  }

  @Test
  void termsThatMakeNoSenseAreRefusedByName() {
    Model model = Model.of("gpt", whole(stub));

    assertThatThrownBy(() -> model.attempts(0)).hasMessageContaining("gpt cannot be asked 0 times");
    assertThatThrownBy(() -> model.timeout(Duration.ZERO)).hasMessageContaining("gpt: timeout");
    assertThatThrownBy(() -> model.timeout(Duration.ofHours(7)))
        .hasMessageContainingAll("gpt: timeout is PT7H", "at most PT6H");
    Duration three = Duration.ofMinutes(3);
    assertThatThrownBy(() -> model.backoff(three, Duration.ofMinutes(2)))
        .hasMessageContaining("gpt waits PT3M first and PT2M at most");
    assertThatThrownBy(() -> model.backoff(three).backoff(Duration.ofHours(7)))
        .hasMessageContaining("gpt: backoff is PT7H");
    assertThatThrownBy(() -> Turn.say("Hello").inPiecesOf(0))
        .hasMessageContaining("A piece of 0 characters");
    assertThatThrownBy(() -> model.price("-1", "1", "1")).hasMessageContaining("is negative");
  }

  @Test
  void anOptionGivesAnotherModelAndLeavesTheFirst() throws InterruptedException {
    stub.turn(4, Turn.unavailable());
    Model twice = Way.WHOLE.model("gpt", stub);
    Model once = twice.attempts(1);

    ModelException first = catchThrowableOfType(ModelException.class, () -> twice.call(request()));
    ModelException second = catchThrowableOfType(ModelException.class, () -> once.call(request()));

    assertThat(first.attempts()).hasSize(2);
    assertThat(second.attempts()).hasSize(1);
  }

  @Test
  void ofAProviderThatReportsNoTokensTheyAreEstimated() throws InterruptedException {
    ChatModel silent =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return ChatResponse.builder()
                .aiMessage(AiMessage.from("Hello"))
                .tokenUsage(new TokenUsage())
                .build();
          }
        };

    ModelReply reply = Model.of("gpt", silent).price("1", "1", "1").call(request());

    assertThat(reply.usage().inputTokens()).as("Where is my order?, lookup").isEqualTo(6);
    assertThat(reply.usage().outputTokens()).as("Hello").isEqualTo(2);
    assertThat(reply.usage().cost()).isPositive();
    assertThat(reply.finish()).isEqualTo("other");
  }
}
