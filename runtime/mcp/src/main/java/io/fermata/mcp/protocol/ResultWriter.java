package io.fermata.mcp.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpContent;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.call.ToolReply;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;

/** Writes results as their revision requires. */
public final class ResultWriter {
  static final String SERVER_INFO = "io.modelcontextprotocol/serverInfo";

  /** How long clients may cache what changes only when the server is replaced. */
  private static final Duration FIXED = Duration.ofMinutes(5);

  /** How long clients may cache a list, which handlers may change at any time. */
  private static final Duration LISTED = Duration.ofSeconds(10);

  /** The empty result of revisions that require no member. */
  public static final RpcResult EMPTY = out -> out.writeRawValue("{}");

  private final SerializedString serverInfo;
  private final ObjectNode identity;

  public ResultWriter(ServerIdentity identity) {
    this.identity = identity.tree();
    this.serverInfo = new SerializedString(JsonRpcCodec.json(this.identity));
  }

  /** A constant result, serialized once. */
  RpcResult fixed(Revision revision, ObjectNode fields) {
    SerializedString json =
        new SerializedString(JsonRpcCodec.json(whole(revision, "complete", fields)));
    return out -> out.writeRawValue(json);
  }

  /** A result that is written once. */
  public RpcResult once(Revision revision, ObjectNode fields) {
    ObjectNode whole = whole(revision, "complete", fields);
    return out -> out.writeTree(whole);
  }

  /** The input that the client has to send before there is a result. */
  public RpcResult inputRequired(Map<String, McpAsk> asks, String state) {
    return inputRequired(asks, state, JsonNodeFactory.instance.objectNode());
  }

  /** The input that the client has to send before there is a result, with a {@code _meta}. */
  public RpcResult inputRequired(Map<String, McpAsk> asks, String state, ObjectNode meta) {
    ObjectNode fields = JsonNodeFactory.instance.objectNode();
    if (!meta.isEmpty()) {
      fields.set("_meta", meta);
    }
    ObjectNode requests = fields.putObject("inputRequests");
    asks.forEach((key, ask) -> requests.set(key, ask.json()));
    fields.put("requestState", state);
    ObjectNode whole = whole(Revision.V2026_07_28, "input_required", fields);
    return out -> out.writeTree(whole);
  }

  /** A call that continues as a task. */
  public RpcResult task(ObjectNode fields) {
    ObjectNode whole = whole(Revision.V2026_07_28, "task", fields);
    return out -> out.writeTree(whole);
  }

  private ObjectNode whole(Revision revision, String type, ObjectNode fields) {
    ObjectNode whole = JsonNodeFactory.instance.objectNode();
    if (revision.modern()) {
      whole.put("resultType", type);
    }
    whole.setAll(fields);
    if (revision.modern()) {
      whole.withObjectProperty("_meta").set(SERVER_INFO, identity);
    }
    return whole;
  }

  /** A {@linkplain #fixed fixed} result that stays the same while the server runs. */
  public RpcResult cacheable(Revision revision, ObjectNode fields) {
    return cacheable(revision, fields, FIXED);
  }

  /** A {@linkplain #fixed fixed} result that stays the same until the offered features change. */
  public RpcResult list(Revision revision, ObjectNode fields) {
    return cacheable(revision, fields, LISTED);
  }

  private RpcResult cacheable(Revision revision, ObjectNode fields, Duration time) {
    ObjectNode hinted = fields.deepCopy();
    if (revision.modern()) {
      hinted.put("ttlMs", time.toMillis()).put("cacheScope", "public");
    }
    return fixed(revision, hinted);
  }

  /** The host's reply to a call of a flow or an agent. */
  public RpcResult ofTool(Revision revision, ToolReply reply) {
    String json = JsonRpcCodec.json(reply.structured());
    return ofTool(revision, json, json, reply.error(), reply.meta());
  }

  /**
   * The result of a tool of the host: text for every client, structured content for the revisions
   * that have it.
   */
  public RpcResult ofTool(
      Revision revision, String text, String structuredJson, boolean error, ObjectNode meta) {
    return out -> {
      out.writeStartObject();
      if (revision.modern()) {
        out.writeStringField("resultType", "complete");
      }
      writeText(out, text);
      if (revision.structured()) {
        out.writeFieldName("structuredContent");
        out.writeRawValue(structuredJson);
      }
      out.writeBooleanField("isError", error);
      writeMeta(out, revision, meta);
      out.writeEndObject();
    };
  }

  /** The result of a plain tool. */
  public RpcResult ofTool(Revision revision, McpResult result) {
    return out -> {
      out.writeStartObject();
      if (revision.modern()) {
        out.writeStringField("resultType", "complete");
      }
      out.writeArrayFieldStart("content");
      for (McpContent content : result.content()) {
        out.writeTree(content(revision, content.json()));
      }
      out.writeEndArray();
      JsonNode structured = result.structured();
      // Before 2026-07-28, only an object can be structured content; other values are sent as text.
      if (structured != null
          && revision.structured()
          && (structured.isObject() || revision.modern())) {
        out.writeFieldName("structuredContent");
        out.writeTree(structured);
      }
      out.writeBooleanField("isError", result.error());
      writeMeta(out, revision, result.meta());
      out.writeEndObject();
    };
  }

  /** A content block. Where there are no links, one is a text. */
  public static JsonNode content(Revision revision, JsonNode block) {
    if (revision.structured() || !block.path("type").asText().equals("resource_link")) {
      return block;
    }
    return McpContent.text(block.path("name").asText() + ": " + block.path("uri").asText()).json();
  }

  private static void writeText(JsonGenerator out, String text) throws IOException {
    out.writeArrayFieldStart("content");
    out.writeStartObject();
    out.writeStringField("type", "text");
    out.writeStringField("text", text);
    out.writeEndObject();
    out.writeEndArray();
  }

  private void writeMeta(JsonGenerator out, Revision revision, ObjectNode meta) throws IOException {
    if (meta.isEmpty() && !revision.modern()) {
      return;
    }
    out.writeObjectFieldStart("_meta");
    for (Map.Entry<String, JsonNode> entry : meta.properties()) {
      out.writeFieldName(entry.getKey());
      out.writeTree(entry.getValue());
    }
    if (revision.modern()) {
      out.writeFieldName(SERVER_INFO);
      out.writeRawValue(serverInfo);
    }
    out.writeEndObject();
  }
}
