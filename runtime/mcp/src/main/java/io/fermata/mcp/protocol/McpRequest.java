package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.ToolProgress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request whose envelope has been checked.
 *
 * @param client the client that sent it, as far as it is known
 * @param progress the queue of messages before the result; null if the client accepts no stream
 * @param connection whether all requests of the client share one stream
 * @param cancellation what to do when the client cancels it
 * @param permission refuses a caller who may not make the request
 */
public record McpRequest(
    JsonNode id,
    Revision revision,
    AuthenticatedCaller caller,
    Client client,
    ObjectNode params,
    ObjectNode meta,
    @Nullable OutboundQueue progress,
    boolean connection,
    Cancellation cancellation,
    Consumer<AuthenticatedCaller> permission) {
  /** A request that nobody has cancelled. */
  public McpRequest(
      JsonNode id,
      Revision revision,
      AuthenticatedCaller caller,
      Client client,
      ObjectNode params,
      ObjectNode meta,
      @Nullable OutboundQueue progress,
      boolean connection) {
    this(
        id,
        revision,
        caller,
        client,
        params,
        meta,
        progress,
        connection,
        progress == null ? new Cancellation() : progress.cancellation(),
        anyone -> {});
  }

  /**
   * The same request, if its caller may make it. Who replies to its questions needs the same.
   *
   * @param needed refuses who may not
   * @throws RpcException if the caller may not
   */
  public McpRequest permittedBy(Consumer<AuthenticatedCaller> needed) {
    needed.accept(caller);
    return new McpRequest(
        id, revision, caller, client, params, meta, progress, connection, cancellation, needed);
  }

  /** Who asks the questions of this request. */
  public Client.Asker asker() {
    return new Client.Asker(caller, client.session(), permission);
  }

  /** What to do when the client cancels the request, or disconnects from its stream. */
  public void onCancel(Runnable todo) {
    cancellation.onCancel(todo);
  }

  /** The client has cancelled the request. */
  public void cancel() {
    if (progress == null) {
      cancellation.cancel();
    } else {
      progress.cancel();
    }
  }

  /** Whether the client has cancelled the request, and has not just disconnected. */
  public boolean cancelled() {
    return cancellation.cancelled();
  }

  /** The client of a request without a stream has disconnected. */
  public void disconnect() {
    cancellation.disconnect();
  }

  public String principal() {
    return caller.principal();
  }

  /** The transport session of the client; null if it has none. */
  public @Nullable String session() {
    return client.session();
  }

  /** Receives the progress of the host's work. */
  public Consumer<ToolProgress> progressListener() {
    return progress == null ? ignored -> {} : progress.listener(meta);
  }

  /** The capabilities of the client; missing if they are not known. */
  public JsonNode capabilities() {
    return client.capabilities();
  }

  /** The least severe log messages that the client wants; null if it wants none. */
  public @Nullable McpLevel logLevel() {
    return client.logLevel();
  }

  /**
   * A required parameter.
   *
   * @throws RpcException if it is missing or not a string
   */
  public String text(String parameter) {
    String text = JsonRpcCodec.text(params, parameter);
    if (text == null) {
      throw RpcException.invalidParams("The parameter " + parameter + " must be a string.");
    }
    return text;
  }

  /**
   * The state that the client holds for the server; null if none, as before 2026-07-28.
   *
   * @throws RpcException if it is not a string
   */
  public @Nullable String requestState() {
    JsonNode state = revision.modern() ? params.get("requestState") : null;
    if (state == null || state.isTextual()) {
      return state == null ? null : state.textValue();
    }
    throw RpcException.invalidParams("The parameter requestState must be a string.");
  }

  /**
   * The replies of the client, by the keys of the questions; none before 2026-07-28.
   *
   * @throws RpcException if they are not an object
   */
  public ObjectNode inputResponses() {
    JsonNode responses = revision.modern() ? params.get("inputResponses") : null;
    if (responses == null) {
      return params.objectNode();
    }
    if (responses instanceof ObjectNode object) {
      return object;
    }
    throw RpcException.invalidParams("The parameter inputResponses must be an object.");
  }

  /**
   * The arguments; empty if there are none.
   *
   * @throws RpcException if they are not an object
   */
  public ObjectNode arguments() {
    JsonNode arguments = params.get("arguments");
    if (arguments == null) {
      return params.objectNode();
    }
    if (arguments instanceof ObjectNode object) {
      return object;
    }
    throw RpcException.invalidParams("The parameter arguments must be an object.");
  }
}
