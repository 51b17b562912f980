package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A call as its handler sees it: the request, and messages to the client. */
public interface McpCall {
  /** The name of the tool or the prompt, or the URI of the resource. */
  String name();

  /** The arguments of the call; of a resource, the variables of its template. */
  ObjectNode arguments();

  /**
   * The arguments of the call as a record.
   *
   * @throws IllegalArgumentException if they do not fit the record; never the case for a tool whose
   *     input is that record
   */
  <T extends Record> T arguments(Class<T> type);

  /** An argument as text; empty if it is absent. */
  String argument(String argument);

  /** The authenticated caller. */
  String principal();

  /** The transport session of clients that have one. */
  @Nullable String session();

  /** The request's {@code _meta}: hints, never an authority. */
  ObjectNode meta();

  /** Whether the client declared a capability, such as {@code elicitation} or {@code sampling}. */
  boolean declares(String capability);

  /** Whether the client disconnected or cancelled the request. */
  boolean cancelled();

  /** Changes what the server offers, and notifies clients of changed resources. */
  McpChanges changes();

  /**
   * Reports progress to the client, if it asked for progress. A total that is not finite is
   * unknown.
   */
  void progress(double done, double total);

  /** Reports progress with a message to the client, if it asked for progress. */
  void progress(double done, double total, @Nullable String message);

  /**
   * Releases the client's connection while the handler continues. A client of 2025-11-25 reconnects
   * by itself and may be released again. For other clients nothing changes, nor if the principal
   * already has too many retained streams.
   */
  void releaseConnection();

  /** Sends a log message to the client, if it wants messages of this level. */
  void log(McpLevel level, Object data);

  /**
   * Asks the client. Returns the reply if the client has sent it already. If not, the call ends
   * here with an exception that must not be caught, and the handler runs again from its beginning
   * once the reply is there: everything before this line is repeated.
   *
   * @param key identifies the question within this call; the same in each run of the handler
   */
  McpReply ask(String key, McpAsk ask);

  /** Asks the client several questions at once. */
  Map<String, McpReply> ask(Map<String, McpAsk> asks);

  /**
   * Keeps a value for the next run of the handler. It travels through the client, which can neither
   * read nor change it.
   */
  void remember(Object value);

  /** The value that the handler kept in its last run; null if none. */
  @Nullable JsonNode remembered();
}
