package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.mcp.rpc.FormSchema;
import io.fermata.mcp.rpc.Revision;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A question to the client: an answer of its user, a completion of its model, or its roots. */
public final class McpAsk {
  private static final String ELICIT = "elicitation/create";

  private final String method;
  private final ObjectNode params;

  /** The capability that the client must have declared, in the form of such a declaration. */
  private final ObjectNode capability;

  /** The check of a form that was filled in; null until it is needed, as it is costly to make. */
  private volatile @Nullable ArgumentSchema form;

  private McpAsk(String method, ObjectNode params, ObjectNode capability) {
    this.method = method;
    this.params = params;
    this.capability = capability;
  }

  /**
   * A form for the user to fill in. It must not ask for secrets. The client is sent the words of
   * the schema that forms have; a reply is checked with all of them.
   *
   * @param schema a flat object: strings, numbers, booleans and choices
   * @throws IllegalArgumentException if a property does not fit into a form
   */
  public static McpAsk form(String message, ObjectNode schema) {
    ArgumentSchema whole = ArgumentSchema.of(schema);
    McpAsk ask = uncheckedForm(message, FormSchema.of(schema));
    ask.form = whole;
    return ask;
  }

  /** A form of the host, whose generated schema is used only once somebody has filled it in. */
  public static McpAsk uncheckedForm(String message, ObjectNode schema) {
    ObjectNode params = Json.object().put("message", Objects.requireNonNull(message, "message"));
    params.set("requestedSchema", schema);
    return new McpAsk(ELICIT, params, declared("elicitation"));
  }

  /**
   * A form for the user to fill in, with the components of a record.
   *
   * @throws IllegalArgumentException if a component does not fit into a form
   */
  public static McpAsk form(String message, Class<? extends Record> fields) {
    ObjectNode schema = ArgumentSchema.of(fields).json();
    schema.remove("additionalProperties");
    return form(message, schema);
  }

  /** A page for the user to open. The reply only says whether the user agreed to. */
  public static McpAsk page(String message, String url) {
    if (!Objects.requireNonNull(url, "url").matches("[A-Za-z][A-Za-z0-9+.-]*://\\S+")) {
      throw new IllegalArgumentException(
          "\"%s\" is not an address to open, such as https://example.com/pay".formatted(url));
    }
    ObjectNode params =
        Json.object()
            .put("mode", "url")
            .put("message", Objects.requireNonNull(message, "message"))
            .put("url", url);
    ObjectNode capability = Json.object();
    capability.putObject("elicitation").putObject("url");
    return new McpAsk(ELICIT, params, capability);
  }

  /** A text that the client's model answers. */
  public static McpAsk model(String text, int maxTokens) {
    if (maxTokens < 1) {
      throw new IllegalArgumentException("maxTokens must be at least 1, not " + maxTokens);
    }
    ObjectNode params = Json.object();
    params.putArray("messages").add(McpMessage.user(text).json());
    return model(params.put("maxTokens", maxTokens));
  }

  /**
   * A request to the client's model, with all the parameters of the protocol. With {@code tools} or
   * {@code toolChoice}, the client must have declared {@code sampling.tools}.
   */
  public static McpAsk model(ObjectNode params) {
    ObjectNode capability = declared("sampling");
    if (Objects.requireNonNull(params, "params").has("tools") || params.has("toolChoice")) {
      capability.withObjectProperty("sampling").putObject("tools");
    }
    return new McpAsk("sampling/createMessage", params, capability);
  }

  /** A request for the folders that the client works on. */
  public static McpAsk roots() {
    return new McpAsk("roots/list", Json.object(), declared("roots"));
  }

  private static ObjectNode declared(String capability) {
    ObjectNode declared = Json.object();
    declared.putObject(capability);
    return declared;
  }

  public String method() {
    return method;
  }

  public ObjectNode params() {
    return params;
  }

  public ObjectNode capability() {
    return capability;
  }

  /** The request as part of a result. */
  public ObjectNode json() {
    return Json.object().put("method", method).set("params", params);
  }

  /** Whether a client of a revision that declares these capabilities can be asked. */
  public boolean supportedBy(JsonNode declared, Revision revision) {
    return declaredIn(declared) && isIn(revision);
  }

  /** Whether a revision has all that the request uses. */
  public boolean isIn(Revision revision) {
    return revision.listsInForms() || !hasLists();
  }

  /** Whether capabilities are those that the request needs. */
  public boolean declaredIn(JsonNode declared) {
    return covers(declared, capability) && (!isForm() || canShowForms(declared));
  }

  private static boolean covers(JsonNode declared, JsonNode needed) {
    return declared.isObject()
        && needed.properties().stream()
            .allMatch(part -> covers(declared.path(part.getKey()), part.getValue()));
  }

  private boolean isForm() {
    return params.has("requestedSchema");
  }

  /** Clients that declare no mode can show forms, which were once the only mode. */
  private static boolean canShowForms(JsonNode declared) {
    JsonNode modes = declared.path("elicitation");
    return modes.has("form") || !modes.has("url");
  }

  private boolean hasLists() {
    for (JsonNode field : params.path("requestedSchema").path("properties")) {
      if (field.path("type").asText().equals("array")) {
        return true;
      }
    }
    return false;
  }

  /** Whether a reply is valid for this question, so that a handler can rely on its shape. */
  public boolean fits(JsonNode reply) {
    if (!reply.isObject()) {
      return false;
    } else if (method.equals("roots/list")) {
      return reply.path("roots").isArray();
    } else if (!method.equals(ELICIT)) {
      return reply.hasNonNull("content");
    }
    return switch (reply.path("action").asText()) {
      case "accept" -> isFilledIn(new McpReply(reply).content());
      case "decline", "cancel" -> true;
      default -> false;
    };
  }

  private boolean isFilledIn(JsonNode content) {
    if (!(params.get("requestedSchema") instanceof ObjectNode schema)) {
      return true;
    }
    ArgumentSchema check = form;
    if (check == null) {
      check = ArgumentSchema.of(schema);
      form = check;
    }
    return check.check(content).isEmpty();
  }
}
