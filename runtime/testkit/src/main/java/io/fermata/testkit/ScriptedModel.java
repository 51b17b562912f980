package io.fermata.testkit;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.exception.InternalServerException;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.LangChain4jException;
import dev.langchain4j.exception.NonRetriableException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.ModelProvider;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialThinkingContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ProviderException;
import io.fermata.agent.model.TokenCounts;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * A model that follows a script, at once or in a stream, without a network.
 *
 * <pre>{@code
 * ScriptedModel model = ScriptedModel.script()
 *     .call("lookup", Map.of("id", 1))
 *     .say("It is on its way.");
 *
 * ScriptedModel rules = ScriptedModel.script()
 *     .when(lastUserContains("refund")).call("refund", Map.of("order", 7))
 *     .when(lastIsResultOf("refund")).say("Your money is on its way.")
 *     .otherwise().say("How can I help?");
 * }</pre>
 *
 * <p>A turn is used once, and the position is lost with this object; rules decide from the request
 * alone and so survive a restart. Ids of tool calls are derived from the request, so that the same
 * request gets the same ids. Token counts are an estimate: four characters are a token. As some
 * providers do, it refuses a request that begins or ends with the model's own words.
 *
 * <p>It starts no threads. A stream without pace runs on the requesting thread, which then receives
 * everything before it can be interrupted.
 */
public final class ScriptedModel extends Script<ScriptedModel, ChatRequest>
    implements ChatModel, StreamingChatModel {
  private ScriptedModel() {}

  /** A model with an empty script. */
  public static ScriptedModel script() {
    return new ScriptedModel();
  }

  /** A model that answers by a function of the request, for instance under load. */
  public static ScriptedModel answering(Function<ChatRequest, AiMessage> answer) {
    return script().otherwise().answer(request -> Turn.of(answer.apply(request)));
  }

  /**
   * This model as a {@link Model} that costs nothing, streams to a subscriber, and counts the
   * cached tokens of its turns.
   */
  public Model model(String name) {
    return Model.of(name, this, this)
        .price("0", "0", "0")
        .tokens(
            usage ->
                usage instanceof Reported reported
                    ? TokenCounts.within(reported, reported.cached)
                    : null);
  }

  /** Token counts with what langchain4j has no common name for. */
  private static final class Reported extends TokenUsage {
    private final int cached;

    Reported(Turn.Tokens tokens) {
      super(tokens.input(), tokens.output());
      this.cached = tokens.cached();
    }
  }

  @Override
  ScriptedModel self() {
    return this;
  }

  // --- conditions of rules ----------------------------------------------------------------------

  /** The request ends with a message of the user that contains this, in any case. */
  public static Predicate<ChatRequest> lastUserContains(String text) {
    return request -> last(request) instanceof UserMessage user && contains(text(user), text);
  }

  /** The request ends with the result of this tool. */
  public static Predicate<ChatRequest> lastIsResultOf(String tool) {
    return request ->
        last(request) instanceof ToolExecutionResultMessage result
            && tool.equals(result.toolName());
  }

  /** The system's instructions contain this, in any case. */
  public static Predicate<ChatRequest> systemContains(String text) {
    return request ->
        request.messages().stream()
            .anyMatch(message -> message instanceof SystemMessage && contains(text(message), text));
  }

  /** The message that a request ends with. */
  public static ChatMessage last(ChatRequest request) {
    return request.messages().get(request.messages().size() - 1);
  }

  /** The text of a message; of a model's one also its calls. */
  public static String text(ChatMessage message) {
    if (message instanceof UserMessage user) {
      return user.contents().stream()
          .filter(TextContent.class::isInstance)
          .map(content -> ((TextContent) content).text())
          .collect(Collectors.joining("\n"));
    } else if (message instanceof SystemMessage system) {
      return system.text();
    } else if (message instanceof ToolExecutionResultMessage result) {
      return result.text();
    } else if (message instanceof AiMessage ai) {
      return (ai.text() == null ? "" : ai.text()) + ai.toolExecutionRequests();
    }
    return message.toString();
  }

  // --- both interfaces --------------------------------------------------------------------------

  @Override
  public ChatRequestParameters defaultRequestParameters() {
    return DefaultChatRequestParameters.EMPTY;
  }

  @Override
  public List<ChatModelListener> listeners() {
    return List.of();
  }

  @Override
  public ModelProvider provider() {
    return ModelProvider.OTHER;
  }

  @Override
  public Set<Capability> supportedCapabilities() {
    return Set.of();
  }

  @Override
  public ChatResponse doChat(ChatRequest request) {
    Turn turn = turnFor(request);
    pause(turn.delay());
    Turn.Refusal refusal = turn.refusal();
    if (refusal != null) {
      throw exception(refusal);
    }
    return switch (turn.end()) {
      case COMPLETE -> response(turn, request);
      case CUT -> throw cut();
      case STALL -> {
        pause(Duration.ofDays(1));
        throw cut();
      }
    };
  }

  @Override
  public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
    Turn turn = turnFor(request);
    Playing.later(turn.delay(), new Playing(turn, response(turn, request), handler));
  }

  private Turn turnFor(ChatRequest request) {
    requireEnds(request);
    return next(request)
        .orElseThrow(
            () ->
                new NonRetriableException(
                    exhausted(last(request).type() + " " + text(last(request)))));
  }

  /** Refuses what some providers refuse: a request that begins or ends with their own words. */
  private static void requireEnds(ChatRequest request) {
    List<ChatMessage> talk =
        request.messages().stream().filter(message -> !(message instanceof SystemMessage)).toList();
    if (talk.isEmpty()
        || talk.get(0) instanceof AiMessage
        || talk.get(talk.size() - 1) instanceof AiMessage) {
      throw new InvalidRequestException(
          new ProviderException(
              400, "A request begins and ends with a message of the user or a result", null));
    }
  }

  private static void pause(Duration time) {
    if (time.isZero()) {
      return;
    }
    try {
      Thread.sleep(time.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LangChain4jException(e);
    }
  }

  /** The exception that langchain4j's clients throw. */
  private static RuntimeException exception(Turn.Refusal refusal) {
    ProviderException provider =
        new ProviderException(refusal.status(), refusal.message(), refusal.retryAfter());
    return switch (refusal.status()) {
      case 401, 403 -> new AuthenticationException(provider);
      case 429 -> new RateLimitException(provider);
      default ->
          refusal.status() >= 500
              ? new InternalServerException(provider)
              : new InvalidRequestException(provider);
    };
  }

  private static RuntimeException cut() {
    return new LangChain4jException(new IOException("The connection was cut"));
  }

  private static ChatResponse response(Turn turn, ChatRequest request) {
    long characters = 0;
    for (ChatMessage message : request.messages()) {
      characters += text(message).length();
    }
    List<ToolExecutionRequest> calls = new ArrayList<>();
    for (Turn.Call call : turn.calls()) {
      calls.add(
          ToolExecutionRequest.builder()
              .id(callId(call, request.messages(), calls.size()))
              .name(call.tool())
              .arguments(call.arguments())
              .build());
    }
    return ChatResponse.builder()
        .aiMessage(
            AiMessage.builder()
                .text(turn.text())
                .thinking(turn.thinking())
                .toolExecutionRequests(calls)
                .build())
        .tokenUsage(new Reported(turn.tokens(characters)))
        .finishReason(calls.isEmpty() ? FinishReason.STOP : FinishReason.TOOL_EXECUTION)
        .build();
  }

  /** One stream: sends a piece each time it runs, at the pace of its turn. */
  private static final class Playing implements Runnable, StreamingHandle {
    private final Turn turn;
    private final ChatResponse response;
    private final StreamingChatResponseHandler handler;
    private final Deque<Runnable> pieces = new ArrayDeque<>();
    private volatile boolean cancelled;

    Playing(Turn turn, ChatResponse response, StreamingChatResponseHandler handler) {
      this.turn = turn;
      this.response = response;
      this.handler = handler;
      turn.pieces(turn.thinking()).forEach(piece -> pieces.add(() -> think(piece)));
      turn.pieces(turn.text()).forEach(piece -> pieces.add(() -> speak(piece)));
      List<ToolExecutionRequest> calls = response.aiMessage().toolExecutionRequests();
      for (int i = 0; i < calls.size(); i++) {
        CompleteToolCall call = new CompleteToolCall(i, calls.get(i));
        pieces.add(() -> handler.onCompleteToolCall(call));
      }
    }

    static void later(Duration wait, Playing playing) {
      if (wait.isZero()) {
        playing.run();
      } else {
        CompletableFuture.delayedExecutor(wait.toNanos(), TimeUnit.NANOSECONDS).execute(playing);
      }
    }

    @Override
    public void run() {
      Turn.Refusal refusal = turn.refusal();
      if (refusal != null) {
        handler.onError(exception(refusal));
        return;
      }
      for (Runnable piece = pieces.poll(); piece != null; piece = pieces.poll()) {
        if (cancelled) {
          return;
        }
        piece.run();
        if (!turn.pace().isZero()) {
          later(turn.pace(), this);
          return;
        }
      }
      end();
    }

    private void end() {
      switch (turn.end()) {
        case COMPLETE -> handler.onCompleteResponse(response);
        case CUT -> handler.onError(cut());
        case STALL -> {}
      }
    }

    private void think(String piece) {
      handler.onPartialThinking(new PartialThinking(piece), new PartialThinkingContext(this));
    }

    private void speak(String piece) {
      handler.onPartialResponse(new PartialResponse(piece), new PartialResponseContext(this));
    }

    @Override
    public void cancel() {
      cancelled = true;
    }

    @Override
    public boolean isCancelled() {
      return cancelled;
    }
  }
}
