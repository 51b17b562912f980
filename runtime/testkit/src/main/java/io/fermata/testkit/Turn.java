package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Options;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a scripted model does with one request: what it says, which tools it calls, how fast, and
 * whether it fails. Immutable; each option returns a copy.
 */
public final class Turn {
  /** How the turn ends. */
  enum End {
    COMPLETE,
    /** It stops sending and never ends. */
    STALL,
    /** The connection breaks. */
    CUT
  }

  /**
   * @param arguments a JSON text, or what a model mistakes for one
   * @param id null to derive one from the request
   */
  record Call(@Nullable String id, String tool, String arguments) {}

  /** A refusal as providers send it. */
  record Refusal(int status, String message, @Nullable Duration retryAfter) {}

  /** The reported numbers of tokens. */
  record Tokens(int input, int cached, int output) {}

  private final Terms terms;

  private static final class Terms extends Options {
    private @Nullable String text;
    private @Nullable String thinking;
    private List<Call> calls = List.of();
    private Duration delay = Duration.ZERO;
    private Duration pace = Duration.ZERO;
    private int chunk = 4;
    private End end = End.COMPLETE;
    private @Nullable Refusal refusal;
    private @Nullable Tokens tokens;
  }

  private Turn(Terms terms) {
    this.terms = terms;
  }

  private Turn with(Consumer<Terms> change) {
    return new Turn(terms.with(Terms.class, change));
  }

  // --- turns ------------------------------------------------------------------------------------

  /** Says a text. */
  public static Turn say(String text) {
    return silence().with(terms -> terms.text = text);
  }

  /** Calls a tool; the arguments are anything that is an object in JSON. */
  public static Turn call(String tool, Object arguments) {
    return silence().andCall(tool, arguments);
  }

  /** Says nothing and calls nothing. */
  public static Turn silence() {
    return new Turn(new Terms());
  }

  /** Never answers. */
  public static Turn stall() {
    return silence().thenStall();
  }

  /** Fails as a provider does that answers with this status. */
  public static Turn refuse(int status, String message) {
    return silence().with(terms -> terms.refusal = new Refusal(status, message, null));
  }

  /** Fails with 429 and a time after which to retry. */
  public static Turn rateLimited(Duration retryAfter) {
    Refusal refusal = new Refusal(429, "Too many requests", retryAfter);
    return silence().with(terms -> terms.refusal = refusal);
  }

  /** Fails with 429. */
  public static Turn rateLimited() {
    return refuse(429, "Too many requests");
  }

  /** Fails with 503. */
  public static Turn unavailable() {
    return refuse(503, "The model is overloaded");
  }

  /** Fails with 401. */
  public static Turn unauthorized() {
    return refuse(401, "Incorrect API key provided");
  }

  /** Says and calls what a message does. */
  public static Turn of(AiMessage message) {
    return silence()
        .with(
            terms -> {
              terms.text = message.text();
              terms.thinking = message.thinking();
              terms.calls =
                  message.toolExecutionRequests().stream()
                      .map(call -> new Call(call.id(), call.name(), call.arguments()))
                      .toList();
            });
  }

  // --- options ----------------------------------------------------------------------------------

  /** Calls this tool too, after the others. */
  public Turn andCall(String tool, Object arguments) {
    JsonNode tree = Json.tree(arguments);
    if (!tree.isObject()) {
      throw new IllegalArgumentException(
          "The arguments of " + tool + " are " + tree + "; give a map or a record");
    }
    Call call = new Call(null, tool, Json.text(tree));
    return with(terms -> terms.calls = Options.plus(terms.calls, List.of(call)));
  }

  /** Thinks this before it speaks. */
  public Turn thinking(String thoughts) {
    return with(terms -> terms.thinking = thoughts);
  }

  /** Waits this long before the first piece. */
  public Turn after(Duration delay) {
    ProbeClock.requireTime("The delay", delay);
    return with(terms -> terms.delay = delay);
  }

  /** Streams pieces of this many characters; four by default. */
  public Turn inPiecesOf(int characters) {
    if (characters < 1) {
      throw new IllegalArgumentException(
          "A piece of %s characters streams nothing; give at least 1".formatted(characters));
    }
    return with(terms -> terms.chunk = characters);
  }

  /** Streams a piece at this interval; all at once by default. */
  public Turn every(Duration pace) {
    ProbeClock.requireTime("The pace", pace);
    return with(terms -> terms.pace = pace);
  }

  /**
   * Stops sending after the last piece without an end; a reply that is not streamed then never
   * arrives.
   */
  public Turn thenStall() {
    return with(terms -> terms.end = End.STALL);
  }

  /** Breaks the connection after the last piece. */
  public Turn thenCut() {
    return with(terms -> terms.end = End.CUT);
  }

  /** Reports these numbers of tokens; by default they are estimated from the texts. */
  public Turn tokens(int input, int cachedInput, int output) {
    return with(terms -> terms.tokens = new Tokens(input, cachedInput, output));
  }

  // --- for the player ---------------------------------------------------------------------------

  @Nullable String text() {
    return terms.text;
  }

  @Nullable String thinking() {
    return terms.thinking;
  }

  List<Call> calls() {
    return terms.calls;
  }

  Duration delay() {
    return terms.delay;
  }

  Duration pace() {
    return terms.pace;
  }

  End end() {
    return terms.end;
  }

  @Nullable Refusal refusal() {
    return terms.refusal;
  }

  /** The given numbers of tokens, else an estimate: four characters are a token. */
  Tokens tokens(long inputCharacters) {
    if (terms.tokens != null) {
      return terms.tokens;
    }
    long output = length(terms.text) + length(terms.thinking);
    for (Call call : terms.calls) {
      output += call.tool().length() + call.arguments().length();
    }
    return new Tokens(estimate(inputCharacters), 0, estimate(output));
  }

  private static int estimate(long characters) {
    return Math.toIntExact((characters + 3) / 4);
  }

  private static long length(@Nullable String text) {
    return text == null ? 0 : text.length();
  }

  /** A text in the pieces that are streamed. */
  List<String> pieces(@Nullable String whole) {
    List<String> pieces = new ArrayList<>();
    for (int at = 0; whole != null && at < whole.length(); at += terms.chunk) {
      pieces.add(whole.substring(at, Math.min(whole.length(), at + terms.chunk)));
    }
    return pieces;
  }
}
