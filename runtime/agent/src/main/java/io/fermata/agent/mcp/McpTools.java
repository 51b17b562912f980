package io.fermata.agent.mcp;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.OutcomeUnknownException;
import io.fermata.agent.Tool;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Options;
import io.fermata.flow.json.Texts;
import io.modelcontextprotocol.client.transport.McpHttpClientTransportAuthorizationException;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpTransportSessionNotFoundException;
import java.net.ConnectException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tools of an MCP server, for prompts to offer.
 *
 * <pre>{@code
 * McpTools crm = McpTools.http("crm", "https://crm.example.org/mcp")
 *     .bearer(tokens::current).prefix("crm_").only("find_customer", "add_note");
 *
 * Prompt support = Prompt.of("support", model).tools(crm.tools());
 * }</pre>
 *
 * <p>{@link #tools} lists the tools of the server. If the server is restarted later, the next call
 * reconnects. A call that is interrupted is cancelled.
 *
 * <p>Every call carries {@link FlowState#idempotencyKey} as {@code _meta["fermata/callId"]}. A tool
 * that its server does not declare read-only or idempotent runs only {@link Tool#once}, unless
 * {@link #idempotent} declares that the server deduplicates by that key.
 *
 * <p>Requests of the server are not supported: sampling, roots and elicitation are not declared.
 */
public final class McpTools implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(McpTools.class);
  private static final String CALL_ID = "fermata/callId";
  private static final int INVALID_PARAMS = -32602;
  private static final int UNKNOWN_METHOD = -32601;
  private static final int MAX_CHALLENGE = 300;

  private final Terms terms;
  private @Nullable Connection connection;
  private boolean closed;

  private McpTools(Terms terms) {
    Given.required("The MCP server " + terms.name, terms);
    this.terms = terms;
  }

  /**
   * A server over streamable HTTP.
   *
   * @param name its name in messages
   */
  public static McpTools http(String name, String url) {
    return new McpTools(new Terms(name, Server.Http.at(Objects.requireNonNull(url, "url"))));
  }

  /**
   * A server as a child process, which is started on first use and restarted when it has ended.
   *
   * @param name its name in messages
   */
  public static McpTools stdio(String name, String... command) {
    if (command.length == 0) {
      throw new IllegalArgumentException(
          "The MCP server %s has no command; name the program and its arguments".formatted(name));
    }
    return new McpTools(new Terms(name, new Server.Command(Given.listed(command), Map.of())));
  }

  // --- options ---------------------------------------------------------------------------------

  /** Sends a header with each request. */
  public McpTools header(String header, String value) {
    Objects.requireNonNull(value, "value");
    return header(header, () -> value);
  }

  /** Sends a bearer token with each request. */
  public McpTools bearer(String token) {
    Objects.requireNonNull(token, "token");
    return bearer(() -> token);
  }

  /** Sends a bearer token with each request, read from the supplier each time. */
  public McpTools bearer(Supplier<String> token) {
    Objects.requireNonNull(token, "token");
    return header("Authorization", () -> "Bearer " + token.get());
  }

  private McpTools header(String header, Supplier<String> value) {
    if (!(terms.server instanceof Server.Http http)) {
      throw new IllegalStateException(
          "The MCP server %s is a command and has no headers; set its environment with env"
              .formatted(terms.name));
    }
    Map<String, Supplier<String>> headers = new LinkedHashMap<>(http.headers());
    headers.put(header, value);
    return with(terms -> terms.server = new Server.Http(http.url(), headers));
  }

  /** Sets a variable in the environment of a server that is a command. */
  public McpTools env(String variable, String value) {
    if (!(terms.server instanceof Server.Command command)) {
      throw new IllegalStateException(
          "The MCP server %s is not a command and has no environment; use a header"
              .formatted(terms.name));
    }
    Map<String, String> env = new LinkedHashMap<>(command.env());
    env.put(variable, value);
    return with(terms -> terms.server = new Server.Command(command.words(), env));
  }

  /** A prefix of the tools' names, which avoids conflicts between servers. */
  public McpTools prefix(String value) {
    return with(terms -> terms.prefix = value);
  }

  /** Selects tools, by their names on the server. */
  public McpTools only(String... tools) {
    return with(terms -> terms.only = new LinkedHashSet<>(Given.listed(tools)));
  }

  /**
   * Changes one tool, by its name on the server: {@code with("refund", tool -> tool.approval("Pay
   * it back?"))}.
   */
  public McpTools with(String tool, UnaryOperator<Tool> change) {
    return with(terms -> terms.changes = Options.plus(terms.changes, tool, change));
  }

  /** How long one attempt of a call may take; one minute by default. */
  public McpTools timeout(Duration limit) {
    return with(terms -> terms.timeout = limit);
  }

  /** How long connecting and listing the tools may take; 10 seconds by default. */
  public McpTools connectTimeout(Duration limit) {
    return with(terms -> terms.connectTimeout = limit);
  }

  /**
   * Declares that the server deduplicates by {@code _meta["fermata/callId"]}, as Fermata's own
   * does, or that its tools are idempotent: an interrupted call is repeated.
   */
  public McpTools idempotent() {
    return with(terms -> terms.idempotent = true);
  }

  /**
   * If the server is unavailable, there are no tools and a warning, where {@link #tools} would
   * fail.
   */
  public McpTools optional() {
    return with(terms -> terms.optional = true);
  }

  private McpTools with(Consumer<Terms> change) {
    return new McpTools(terms.with(Terms.class, change));
  }

  private static final class Terms extends Options {
    final String name;
    Server server;
    String prefix = "";
    Set<String> only = Set.of();
    Map<String, UnaryOperator<Tool>> changes = Map.of();
    Duration timeout = Duration.ofMinutes(1);
    Duration connectTimeout = Duration.ofSeconds(10);
    boolean idempotent;
    boolean optional;

    Terms(String name, Server server) {
      this.name = name;
      this.server = server;
    }
  }

  // --- tools -----------------------------------------------------------------------------------

  /**
   * Lists the tools of the server.
   *
   * @throws IllegalStateException if the server cannot be reached, or a tool is invalid; the
   *     message contains the repair
   */
  public List<Tool> tools() throws InterruptedException {
    List<McpSchema.Tool> listed;
    try {
      listed = listed();
    } catch (IllegalStateException e) {
      if (!terms.optional || closed()) {
        throw e;
      }
      LOG.warn(
          "{} Its tools are unavailable until the next start.",
          Texts.inOneLine(String.valueOf(e.getMessage())));
      return List.of();
    }
    return taken(listed);
  }

  private List<McpSchema.Tool> listed() throws InterruptedException {
    Connection line = connection();
    line.begin();
    try {
      line.open();
      return line.tools(terms.connectTimeout);
    } catch (ExecutionException e) {
      drop(line);
      throw away(e.getCause());
    } finally {
      line.end();
    }
  }

  private List<Tool> taken(List<McpSchema.Tool> listed) {
    List<String> wrong = new ArrayList<>();
    Map<String, Tool> tools = new LinkedHashMap<>();
    Set<String> known = new TreeSet<>();
    for (McpSchema.Tool remote : listed) {
      known.add(remote.name());
      if (terms.only.isEmpty() || terms.only.contains(remote.name())) {
        try {
          Tool tool = tool(remote);
          if (tools.putIfAbsent(tool.name(), tool) != null) {
            wrong.add("%s: another tool is named %s, too".formatted(remote.name(), tool.name()));
          }
        } catch (RuntimeException e) {
          wrong.add(remote.name() + ": " + e.getMessage());
        }
      }
    }
    Set<String> named = new TreeSet<>(terms.only);
    named.addAll(terms.changes.keySet());
    named.removeAll(known);
    named.forEach(tool -> wrong.add(tool + ": the server has no such tool; it has " + known));
    if (!wrong.isEmpty()) {
      throw new IllegalStateException(
          "Some tools of the MCP server %s cannot be used; select others with only(…):\n- %s"
              .formatted(terms.name, String.join("\n- ", wrong)));
    }
    return List.copyOf(tools.values());
  }

  private Tool tool(McpSchema.Tool remote) {
    Tool tool =
        Tool.of(
                terms.prefix + remote.name().replaceAll("[^a-zA-Z0-9_-]", "_"),
                description(remote),
                (ObjectNode) Json.tree(remote.inputSchema()),
                (flow, arguments) -> call(remote.name(), flow, arguments))
            .timeout(terms.timeout);
    McpSchema.ToolAnnotations hints = remote.annotations();
    boolean again =
        hints != null
            && (Boolean.TRUE.equals(hints.readOnlyHint())
                || Boolean.TRUE.equals(hints.idempotentHint()));
    Tool safe = again || terms.idempotent ? tool : tool.once();
    return terms.changes.getOrDefault(remote.name(), UnaryOperator.identity()).apply(safe);
  }

  private static String description(McpSchema.Tool remote) {
    return Stream.of(remote.description(), remote.title())
        .filter(text -> text != null && !text.isBlank())
        .findFirst()
        .orElse(remote.name());
  }

  // --- calls -----------------------------------------------------------------------------------

  private ToolResult call(String tool, FlowState flow, ObjectNode arguments) throws Exception {
    McpSchema.CallToolRequest request =
        McpSchema.CallToolRequest.builder(tool)
            .arguments(
                Json.MAPPER.convertValue(arguments, new TypeReference<Map<String, Object>>() {}))
            .meta(Map.of(CALL_ID, flow.idempotencyKey()))
            .build();
    try {
      return once(request);
    } catch (McpTransportSessionNotFoundException e) {
      // The server was restarted and has not started the call.
      return once(request);
    }
  }

  private ToolResult once(McpSchema.CallToolRequest request) throws Exception {
    Connection line = connection();
    line.begin();
    try {
      try {
        line.open();
      } catch (ExecutionException e) {
        drop(line);
        throw away(e.getCause());
      }
      return Contents.of(line.call(request));
    } catch (ExecutionException e) {
      return failed(line, e.getCause());
    } finally {
      line.end();
    }
  }

  private ToolResult failed(Connection line, @Nullable Throwable cause) throws Exception {
    if (cause instanceof McpError refused && refused.getJsonRpcError() != null) {
      int code = refused.getJsonRpcError().code();
      if (code == INVALID_PARAMS || code == UNKNOWN_METHOD) {
        return ToolResult.error(refused.getJsonRpcError().message());
      }
      throw refused;
    } else if (refusal(cause).isPresent()) {
      throw away(cause);
    }
    drop(line);
    if (cause instanceof McpTransportSessionNotFoundException restarted) {
      throw restarted;
    } else if (causes(cause).anyMatch(ConnectException.class::isInstance)) {
      throw away(cause);
    }
    throw new OutcomeUnknownException(
        "The MCP server %s disconnected (%s): the call may or may not have taken effect"
            .formatted(terms.name, reason(cause)),
        cause);
  }

  /** Why the server has not started what it was asked for. */
  private IllegalStateException away(@Nullable Throwable cause) {
    String why =
        refusal(cause)
            .orElseGet(
                () ->
                    "The MCP server %s cannot be reached at %s: %s. Start it, or correct its address."
                        .formatted(terms.name, terms.server.place(), reason(cause)));
    return new IllegalStateException(why, cause);
  }

  /** How the server refused the credentials of a request, which it has not started then. */
  private Optional<String> refusal(@Nullable Throwable thrown) {
    return causes(thrown)
        .filter(McpHttpClientTransportAuthorizationException.class::isInstance)
        .map(McpHttpClientTransportAuthorizationException.class::cast)
        .map(refused -> refusal(refused.getResponseInfo()))
        .findFirst();
  }

  private String refusal(HttpResponse.ResponseInfo response) {
    String challenge =
        response.headers().firstValue("WWW-Authenticate").map(text -> ", " + text).orElse("");
    return "The MCP server %s refused the credentials of the request (HTTP %s%s). Correct its token or its headers."
        .formatted(
            terms.name,
            response.statusCode(),
            Texts.shortened(terms.server.masked(challenge), MAX_CHALLENGE));
  }

  private static Stream<Throwable> causes(@Nullable Throwable thrown) {
    return Stream.iterate(thrown, Objects::nonNull, Throwable::getCause);
  }

  /** The innermost message. */
  private String reason(@Nullable Throwable thrown) {
    return causes(thrown)
        .map(Failures::message)
        .reduce((outer, inner) -> inner)
        .map(terms.server::masked)
        .orElse("no answer");
  }

  // --- the connection --------------------------------------------------------------------------

  private synchronized Connection connection() {
    if (closed) {
      throw new IllegalStateException(
          "The tools of the MCP server %s are closed".formatted(terms.name));
    }
    Connection line = connection;
    if (line != null && line.usable()) {
      return line;
    }
    if (line != null) {
      line.giveUp();
    }
    line =
        new Connection(
            new Line(terms.server.transport(terms.connectTimeout)), terms.connectTimeout);
    connection = line;
    return line;
  }

  private synchronized void drop(Connection line) {
    line.giveUp();
    if (connection == line) {
      connection = null;
    }
  }

  private synchronized boolean closed() {
    return closed;
  }

  /** Closes the connection and the process, if there is one. Calls in progress fail. */
  @Override
  public void close() {
    Connection line;
    synchronized (this) {
      closed = true;
      line = connection;
      connection = null;
    }
    if (line != null) {
      line.closeNow();
    }
  }
}
