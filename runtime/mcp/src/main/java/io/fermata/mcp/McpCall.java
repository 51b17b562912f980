package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A call as its handler sees it: what was given, and ways back to the client. */
public final class McpCall {
  private final Request request;
  private final String name;
  private final ObjectNode arguments;
  private final ObjectNode replies;
  private final ObjectNode fresh;
  private final McpChanges changes;
  private JsonNode remembered;
  private volatile boolean cancelled;

  McpCall(Request request, String name, ObjectNode arguments, Inputs inputs, McpChanges changes) {
    this.request = request;
    this.name = name;
    this.arguments = arguments;
    this.replies = inputs.replies().deepCopy();
    this.fresh = inputs.fresh();
    this.remembered = inputs.remembered();
    this.changes = changes;
  }

  /** What is called: the name of the tool or the prompt, or the address of the resource. */
  public String name() {
    return name;
  }

  /** What the client gave; of a resource, the variables of its template. */
  public ObjectNode arguments() {
    return arguments;
  }

  /**
   * What the client gave, as a record.
   *
   * @throws IllegalArgumentException if it is none, which a tool with that input never meets
   */
  public <T extends Record> T arguments(Class<T> type) {
    return Json.value(arguments, type);
  }

  /** An argument that is a text; empty if there is none. */
  public String argument(String argument) {
    return arguments.path(argument).asText();
  }

  /** Who calls. */
  public String principal() {
    return request.principal();
  }

  /** The session of clients that have one. */
  public @Nullable String session() {
    return request.session();
  }

  /** The request's {@code _meta}: hints, never an authority. */
  public ObjectNode meta() {
    return request.meta();
  }

  /** Whether the client declares a capability, as {@code elicitation} or {@code sampling}. */
  public boolean declares(String capability) {
    return request.capabilities().path(capability).isObject();
  }

  /** Whether the client is gone or wants no answer any more. */
  public boolean cancelled() {
    return cancelled;
  }

  /** Changes what the server offers, or tells that a resource is not what it was. */
  public McpChanges changes() {
    return changes;
  }

  /** Tells how far the call is. Nothing is told to a client that does not want to hear of it. */
  public void progress(double done, double total) {
    progress(done, total, null);
  }

  /** Tells how far the call is, and what it is at. */
  public void progress(double done, double total, @Nullable String message) {
    JsonNode token = Progress.token(request.meta());
    Progress told = request.progress();
    if (told == null || token.isMissingNode()) {
      return;
    }
    ObjectNode params = Json.object();
    params.set("progressToken", token);
    params.put("progress", done).put("total", total);
    if (message != null) {
      params.put("message", Text.repaired(message));
    }
    told.tellLatest(Wire.notification("notifications/progress", params));
  }

  /**
   * Lets the client's connection go while the handler works on: a client of 2025-11-25 comes back
   * for what follows by itself, and may be let go again. For others nothing changes, nor where the
   * server keeps as many streams for its principal as it may.
   */
  public void letGo() {
    Progress way = request.progress();
    if (way != null) {
      way.letGo();
    }
  }

  /** Logs to the client, if it wants to have messages of this level. */
  public void log(McpLevel level, Object data) {
    Progress told = request.progress();
    McpLevel least = request.logLevel();
    if (told == null || least == null || level.compareTo(least) < 0) {
      return;
    }
    ObjectNode params = Json.object().put("level", level.text).put("logger", name);
    params.set("data", Json.tree(data));
    told.tell(Wire.notification("notifications/message", params));
  }

  /**
   * Asks the client. If it has replied already, the reply is here at once. If not, the call ends
   * here, with an exception that has to pass, and the handler runs again from its beginning when
   * there is a reply: what comes before happens again each time.
   *
   * @param key what the question is called within this call; the same each time
   */
  public McpReply ask(String key, McpAsk ask) {
    return Objects.requireNonNull(ask(Map.of(key, ask)).get(key));
  }

  /** Asks the client several things at once. */
  public synchronized Map<String, McpReply> ask(Map<String, McpAsk> asks) {
    Map<String, McpReply> replied = new LinkedHashMap<>();
    Map<String, McpAsk> open = new LinkedHashMap<>();
    asks.forEach(
        (key, ask) -> {
          JsonNode reply = fresh.has(key) ? fresh.path(key) : replies.path(key);
          if (ask.fits(reply)) {
            replies.set(key, reply);
            replied.put(key, new McpReply(reply));
          } else {
            open.put(key, ask);
          }
        });
    if (!open.isEmpty()) {
      throw new Unanswered(open);
    }
    return replied;
  }

  /**
   * Keeps something for when the handler runs again. It goes through the client, which can neither
   * read nor change it.
   */
  public synchronized void remember(Object value) {
    remembered = Json.tree(value);
  }

  /** What the handler kept when it ran last; null if nothing. */
  public synchronized @Nullable JsonNode remembered() {
    return remembered.isNull() ? null : remembered;
  }

  void cancel() {
    cancelled = true;
  }

  /** What the next round has of this one. */
  synchronized Inputs next(ObjectNode replied) {
    return new Inputs(replies.deepCopy(), replied, remembered);
  }

  /** What the next round has of this one, before there are replies. */
  Inputs next() {
    return next(Json.object());
  }
}
