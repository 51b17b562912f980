package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Retry;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A tool written in Java.
 *
 * <pre>{@code
 * record Lookup(@Describe("The order's number") String order) {}
 *
 * Tool lookup = Tool.of("lookup_order", "Finds an order.", Lookup.class,
 *     (flow, args) -> orders.find(args.order()));
 * }</pre>
 *
 * <p>Arguments that do not fit the schema never reach the handler; the model gets the violations. A
 * call that was interrupted by a crash is repeated with the same {@link FlowState#idempotencyKey},
 * unless the tool may run only {@link #once}.
 *
 * @param policy how a call is carried out
 * @param approval the question for a call's arguments; null for no approval
 */
public record Tool(
    String name,
    String description,
    ArgumentSchema arguments,
    ToolHandler<ObjectNode> handler,
    Policy policy,
    @Nullable Function<ObjectNode, @Nullable String> approval)
    implements Offered {
  public static final Pattern NAME = Pattern.compile("[a-zA-Z0-9_-]{1,64}");

  public Tool {
    named(name, "tool");
    Objects.requireNonNull(description, "description");
    Objects.requireNonNull(arguments, "schema");
    handler = Awaited.of(Objects.requireNonNull(handler, "handler"));
    Given.required("The tool " + name, Objects.requireNonNull(policy, "policy"));
  }

  static String named(@Nullable String name, String what) {
    if (name == null || !NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "The %s's name \"%s\" is not 1 to 64 of letters, digits, _ and -".formatted(what, name));
    }
    return name;
  }

  static void requireWords(String question, String tool) {
    if (Objects.requireNonNull(question, "question").isBlank()) {
      throw new IllegalArgumentException(
          "The approval of %s asks nothing; give it a question, or leave it out".formatted(tool));
    }
  }

  /** A tool whose arguments are a record. */
  public static <A extends Record> Tool of(
      String name, String description, Class<A> arguments, ToolHandler<A> handler) {
    Objects.requireNonNull(handler, "handler");
    return new Tool(
        name,
        description,
        ArgumentSchema.of(arguments),
        (flow, args) -> handler.run(flow, Json.value(args, arguments)),
        Policy.DEFAULT,
        null);
  }

  /** A tool whose arguments are described by a JSON Schema of type object. */
  public static Tool of(
      String name, String description, ObjectNode schema, ToolHandler<ObjectNode> handler) {
    return new Tool(name, description, ArgumentSchema.of(schema), handler, Policy.DEFAULT, null);
  }

  /** A tool without arguments. */
  public static Tool of(String name, String description, ToolHandler<ObjectNode> handler) {
    return of(name, description, ArgumentSchema.nothing(), handler);
  }

  public static Tool of(
      String name, String description, ArgumentSchema schema, ToolHandler<ObjectNode> handler) {
    return new Tool(name, description, schema, handler, Policy.DEFAULT, null);
  }

  /** How long one attempt may take; one minute by default. */
  public Tool timeout(Duration limit) {
    return with(policy.timeout(limit));
  }

  /** Retries after a failure, with doubling delays that survive a restart. */
  public Tool retry(int attempts, Duration firstWait) {
    return with(policy.retry(Retry.of(attempts, firstWait)));
  }

  /**
   * The call must not happen twice and the other side has no idempotency key. When its outcome is
   * unknown after a crash or a timeout, it is not repeated: the model gets an error that states
   * this. A call that failed is retried as {@link #retry} says.
   */
  public Tool once() {
    return with(policy.asOnce());
  }

  /** A person must approve every call before it is made. */
  public Tool approval(String question) {
    requireWords(question, name);
    return approval((JsonNode args) -> question);
  }

  /**
   * A person must approve a call before it is made.
   *
   * @param question the question for a call's arguments; null if the call needs no approval
   */
  public Tool approval(Function<JsonNode, @Nullable String> question) {
    Objects.requireNonNull(question, "question");
    return new Tool(name, description, arguments, handler, policy, question::apply);
  }

  @Override
  public Tool withDescription(String text) {
    return new Tool(name, text, arguments, handler, policy, approval);
  }

  /** A copy whose handler is wrapped, for tests that count or replace what it does. */
  public Tool wrapped(UnaryOperator<ToolHandler<ObjectNode>> wrapper) {
    return new Tool(name, description, arguments, wrapper.apply(handler), policy, approval);
  }

  private Tool with(Policy value) {
    return new Tool(name, description, arguments, handler, value, approval);
  }

  /** A handler whose stage is waited for, as what it returned is not the result before. */
  private record Awaited(ToolHandler<ObjectNode> handler) implements ToolHandler<ObjectNode> {
    static Awaited of(ToolHandler<ObjectNode> handler) {
      return handler instanceof Awaited awaited ? awaited : new Awaited(handler);
    }

    @Override
    public @Nullable Object run(FlowState flow, ObjectNode args) throws Exception {
      Object result = handler.run(flow, args);
      return result instanceof CompletionStage<?> stage ? AuthorFailures.await(stage) : result;
    }
  }
}
