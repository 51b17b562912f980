package io.fermata.agent.model;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.model.ModelProvider;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A model and how it is called: attempts, timeouts, price and fallbacks. It is immutable; each
 * option returns a copy.
 *
 * <pre>{@code
 * Model.of("gpt", OpenAiStreamingChatModel.builder()…build())
 *     .price("2.50", "10.00", "1.25")
 *     .fallback(Model.of("claude", AnthropicStreamingChatModel.builder()…build()))
 * }</pre>
 *
 * <p>Disable retries in clients of langchain4j with {@code maxRetries(0)}.
 */
public final class Model {
  private static final ChatRequestParameters NO_PARAMETERS =
      ChatRequestParameters.builder().build();

  /** How long one step of a thread may take, with all attempts and fallbacks. */
  public static final Duration LONGEST = Duration.ofHours(6);

  private final String name;
  private final @Nullable ChatModel chat;
  private final @Nullable StreamingChatModel streaming;
  private final Terms terms;

  /** The options; written only before the model that holds them is there. */
  private static final class Terms implements Cloneable {
    private @Nullable Price price;
    private int attempts = 2;
    private Duration firstWait = Duration.ofSeconds(1);
    private Duration longestWait = Duration.ofMinutes(1);
    private Duration firstChunk = Duration.ofMinutes(2);
    private Duration betweenChunks = Duration.ofSeconds(45);
    private Duration timeout = Duration.ofMinutes(5);
    private List<Model> fallbacks = List.of();
    private ChatRequestParameters parameters = NO_PARAMETERS;
    private OptionalInt contextTokens = OptionalInt.empty();
    private Function<TokenUsage, @Nullable TokenCounts> tokens = usage -> null;

    private Terms copy() {
      try {
        return (Terms) clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private Model(
      String name, @Nullable ChatModel chat, @Nullable StreamingChatModel streaming, Terms terms) {
    this.name = Objects.requireNonNull(name, "name");
    this.chat = chat;
    this.streaming = streaming;
    this.terms = terms;
  }

  /** A model that replies in one piece. */
  public static Model of(String name, ChatModel chat) {
    return new Model(name, Objects.requireNonNull(chat, "chat"), null, new Terms());
  }

  /** A model that streams its reply. */
  public static Model of(String name, StreamingChatModel streaming) {
    return new Model(name, null, Objects.requireNonNull(streaming, "streaming"), new Terms());
  }

  /** A model that can do both; it streams if there is a listener. */
  public static Model of(String name, ChatModel chat, StreamingChatModel streaming) {
    Objects.requireNonNull(chat, "chat");
    Objects.requireNonNull(streaming, "streaming");
    return new Model(name, chat, streaming, new Terms());
  }

  // --- options --------------------------------------------------------------------------------

  /**
   * What a million tokens cost, in US dollars: {@code price("2.50", "10.00", "1.25")}. A budget
   * that is a cost needs it, for a free model, too.
   */
  public Model price(String input, String output, String cachedInput) {
    return price(
        Dollars.read(priceOf("input"), input),
        Dollars.read(priceOf("output"), output),
        Dollars.read(priceOf("cachedInput"), cachedInput));
  }

  public Model price(BigDecimal input, BigDecimal output, BigDecimal cachedInput) {
    Price price =
        new Price(
            Dollars.checked(priceOf("input"), input),
            Dollars.checked(priceOf("output"), output),
            Dollars.checked(priceOf("cachedInput"), cachedInput));
    return with(terms -> terms.price = price);
  }

  private String priceOf(String what) {
    return "Model " + name + ": the price of " + what;
  }

  /**
   * Reads what a provider reports of its cache: some count cached tokens within the input, some
   * beside it. Without it, or where it returns null, nothing counts but the input, the output and
   * the total that every provider reports.
   */
  public Model tokens(Function<TokenUsage, @Nullable TokenCounts> reader) {
    Objects.requireNonNull(reader, "reader");
    return with(terms -> terms.tokens = reader);
  }

  /** The number of attempts before a fallback; two by default. */
  public Model attempts(int attempts) {
    if (attempts < 1) {
      throw new IllegalArgumentException(
          "Model " + name + " cannot be asked " + attempts + " times; give at least 1");
    }
    return with(terms -> terms.attempts = attempts);
  }

  /**
   * The wait before the second attempt, which doubles from then on; one second by default. The
   * longest one, a minute by default, is no shorter.
   */
  public Model backoff(Duration first) {
    requireInRange("backoff", first);
    return backoff(first, first.compareTo(terms.longestWait) > 0 ? first : terms.longestWait);
  }

  /**
   * The wait before the second attempt, and the longest one. If a provider requests a longer delay,
   * that is used, up to the longest wait; beyond it, the fallback is called at once.
   */
  public Model backoff(Duration first, Duration longest) {
    requireInRange("backoff", first);
    requireInRange("longest backoff", longest);
    if (longest.compareTo(first) < 0) {
      throw new IllegalArgumentException(
          "Model %s waits %s first and %s at most; give times of which the second is no shorter"
              .formatted(name, first, longest));
    }
    return with(
        terms -> {
          terms.firstWait = first;
          terms.longestWait = longest;
        });
  }

  /** The models to call when this one fails, in this order, each with its own options. */
  public Model fallback(Model... fallbacks) {
    Objects.requireNonNull(fallbacks, "fallbacks");
    Stream.of(fallbacks).forEach(each -> Objects.requireNonNull(each, "fallbacks"));
    return with(terms -> terms.fallbacks = List.of(fallbacks));
  }

  /** How long a stream may take to start; two minutes by default. */
  public Model firstChunk(Duration timeout) {
    requireInRange("firstChunk", timeout);
    return with(terms -> terms.firstChunk = timeout);
  }

  /**
   * How long a stream may be silent once it has started; 45 seconds by default. A reply that keeps
   * streaming never times out.
   */
  public Model betweenChunks(Duration timeout) {
    requireInRange("betweenChunks", timeout);
    return with(terms -> terms.betweenChunks = timeout);
  }

  /** How long a reply in one piece may take; five minutes by default. */
  public Model timeout(Duration timeout) {
    requireInRange("timeout", timeout);
    return with(terms -> terms.timeout = timeout);
  }

  /** Default parameters of requests. */
  public Model parameters(ChatRequestParameters parameters) {
    Objects.requireNonNull(parameters, "parameters");
    return with(terms -> terms.parameters = parameters);
  }

  /**
   * The maximum number of tokens of a request, at an estimate of one for four bytes of text. What
   * does not fit is left out or shortened, the oldest first, which the request says. Without it
   * nothing bounds a request.
   */
  public Model contextTokens(int tokens) {
    if (tokens < 1) {
      throw new IllegalArgumentException(
          "Model " + name + ": contextTokens is " + tokens + "; give a positive number");
    }
    return with(terms -> terms.contextTokens = OptionalInt.of(tokens));
  }

  private Model with(Consumer<Terms> change) {
    Terms changed = terms.copy();
    change.accept(changed);
    return new Model(name, chat, streaming, changed);
  }

  private void requireInRange(String option, Duration given) {
    Objects.requireNonNull(given, option);
    if (given.isNegative() || given.isZero() || given.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "Model %s: %s is %s; give a time longer than zero and at most %s"
              .formatted(name, option, given, LONGEST));
    }
  }

  public String name() {
    return name;
  }

  /** The names of the models without a price: of this one and its fallbacks. */
  public List<String> unpriced() {
    List<String> names = new ArrayList<>();
    if (terms.price == null) {
      names.add(name);
    }
    terms.fallbacks.forEach(fallback -> names.addAll(fallback.unpriced()));
    return names;
  }

  /** The maximum number of tokens of a request, if set. */
  public OptionalInt contextTokens() {
    return terms.contextTokens;
  }

  // --- calling ---------------------------------------------------------------------------------

  /** Calls the model without a listener. */
  public ModelReply call(ChatRequest request) throws InterruptedException {
    return call(request, ModelListener.NONE);
  }

  /**
   * Calls the model, and blocks until there is a reply. An interrupt ends the stream or the
   * request. A request that begins or ends with words of the model gets a short message of the user
   * there, as some providers refuse it otherwise.
   *
   * @throws ModelException if neither this model nor a fallback replied
   */
  public ModelReply call(ChatRequest request, ModelListener listener) throws InterruptedException {
    Attempts failed = new Attempts();
    ModelReply reply = ask(request, listener, failed);
    if (reply == null) {
      throw new ModelException(name, failed.all, failed.last);
    }
    return reply;
  }

  /** The attempts of one call that failed. */
  private static final class Attempts {
    private final List<ModelAttempt> all = new ArrayList<>();
    private Usage usage = Usage.ZERO;
    private @Nullable Unanswered last;

    void add(ModelAttempt lost, Unanswered unanswered) {
      all.add(lost);
      usage = usage.plus(unanswered.usage());
      last = unanswered;
    }
  }

  private @Nullable ModelReply ask(ChatRequest request, ModelListener listener, Attempts failed)
      throws InterruptedException {
    ChatRequest given =
        Reasoning.sentTo(name, request).toBuilder()
            .parameters(terms.parameters.overrideWith(request.parameters()))
            .build();
    ChatRequest taken = provider() == ModelProvider.MISTRAL_AI ? CallIds.ofMistral(given) : given;
    ChatRequest mine =
        terms.contextTokens.isEmpty()
            ? RequestEnds.of(taken)
            : RequestFit.of(taken, terms.contextTokens.getAsInt());
    boolean again = true;
    for (int number = 1; again && number <= terms.attempts; number++) {
      try {
        return reply(mine, attempt(mine, listener), failed);
      } catch (Unanswered unanswered) {
        Failure failure = unanswered.failure();
        ModelAttempt lost = new ModelAttempt(name, number, failure.code(), failure.message());
        failed.add(lost, unanswered);
        listener.attempt(lost);
        again = failure.again() && failure.retryAfter().compareTo(terms.longestWait) <= 0;
        if (again && number < terms.attempts) {
          Thread.sleep(wait(number, failure).toMillis());
        }
      }
    }
    for (Model fallback : terms.fallbacks) {
      ModelReply reply = fallback.ask(request, listener, failed);
      if (reply != null) {
        return reply;
      }
    }
    return null;
  }

  private @Nullable ModelProvider provider() {
    return chat != null ? chat.provider() : streaming != null ? streaming.provider() : null;
  }

  private Duration wait(int number, Failure failure) {
    Duration wait = terms.firstWait;
    for (int i = 1; i < number && wait.compareTo(terms.longestWait) < 0; i++) {
      wait = wait.multipliedBy(2);
    }
    Duration bounded = wait.compareTo(terms.longestWait) < 0 ? wait : terms.longestWait;
    return failure.retryAfter().compareTo(bounded) > 0 ? failure.retryAfter() : bounded;
  }

  private ChatResponse attempt(ChatRequest request, ModelListener listener)
      throws InterruptedException, Unanswered {
    ChatModel whole = chat;
    StreamingChatModel pieces = streaming;
    if (pieces != null && (whole == null || listener != ModelListener.NONE)) {
      return streamed(pieces, request, listener);
    } else if (whole != null) {
      ChatResponse response = inOnePiece(whole, request);
      notify(listener, response.aiMessage());
      return response;
    }
    throw new IllegalStateException("Model " + name + " has no client");
  }

  private ChatResponse streamed(
      StreamingChatModel client, ChatRequest request, ModelListener listener)
      throws InterruptedException, Unanswered {
    try (StreamedReply reply = new StreamedReply()) {
      try {
        reply.ask(client, request);
      } catch (RuntimeException e) {
        throw failed(e);
      }
      ChatResponse response =
          given(request, reply.await(listener, terms.firstChunk, terms.betweenChunks));
      if (response.finishReason() == null && response.tokenUsage() == null) {
        throw new Unanswered(Failure.broken(ModelError.UNAVAILABLE, "The stream ended early"));
      }
      return response;
    }
  }

  /**
   * The calling thread is blocked in the client, so only an interrupt ends the call; a timer of the
   * JDK triggers it.
   */
  private ChatResponse inOnePiece(ChatModel client, ChatRequest request)
      throws InterruptedException, Unanswered {
    Thread asking = Thread.currentThread();
    CompletableFuture<Boolean> late = new CompletableFuture<>();
    CompletableFuture<Void> interrupted =
        late.thenAccept(
            is -> {
              if (is) {
                asking.interrupt();
              }
            });
    late.completeOnTimeout(true, terms.timeout.toNanos(), TimeUnit.NANOSECONDS);
    @Nullable ChatResponse response = null;
    @Nullable RuntimeException thrown = null;
    boolean inTime;
    try {
      response = client.chat(request);
    } catch (RuntimeException e) {
      thrown = e;
    } finally {
      inTime = late.complete(false);
      if (!inTime) {
        interrupted.join();
        Thread.interrupted();
      }
    }
    if (thrown != null) {
      throw inTime
          ? failed(thrown)
          : new Unanswered(Failure.late(ModelError.TIMEOUT, "No reply within " + terms.timeout));
    }
    return given(request, response);
  }

  private ChatResponse given(ChatRequest request, @Nullable ChatResponse response)
      throws Unanswered {
    if (response == null) {
      throw new Unanswered(Failure.broken(ModelError.EMPTY, "The client returned nothing"));
    } else if (response.finishReason() == FinishReason.CONTENT_FILTER) {
      throw Unanswered.withheld(usage(request, response));
    }
    return response;
  }

  /** Clients wrap an interrupt in various exceptions. */
  private static Unanswered failed(RuntimeException thrown) throws InterruptedException {
    if (Thread.interrupted()
        || Failure.causes(thrown).stream().anyMatch(InterruptedException.class::isInstance)) {
      throw new InterruptedException("The thread that called the model was interrupted");
    }
    return Unanswered.of(thrown);
  }

  private static void notify(ModelListener listener, AiMessage message) {
    String thinking = message.thinking();
    if (thinking != null && !thinking.isEmpty()) {
      listener.thinking(thinking);
    }
    String text = message.text();
    if (text != null && !text.isEmpty()) {
      listener.text(text);
    }
  }

  private ModelReply reply(ChatRequest request, ChatResponse response, Attempts failed) {
    FinishReason finish = response.finishReason();
    return new ModelReply(
        response.aiMessage(),
        name,
        (finish == null ? FinishReason.OTHER : finish).name().toLowerCase(Locale.ROOT),
        usage(request, response).plus(failed.usage),
        failed.all);
  }

  private static Optional<TokenUsage> reported(ChatResponse response) {
    return Optional.ofNullable(response.tokenUsage())
        .filter(tokens -> tokens.inputTokenCount() != null || tokens.outputTokenCount() != null);
  }

  private Usage usage(ChatRequest request, ChatResponse response) {
    TokenUsage tokens =
        reported(response).orElseGet(() -> TokenEstimate.of(request, response.aiMessage()));
    TokenCounts read = terms.tokens.apply(tokens);
    Price price = terms.price == null ? Price.FREE : terms.price;
    return price.usage(read == null ? TokenCounts.within(tokens, 0) : read);
  }
}
