package io.fermata.mcp;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Map;

/** Gives results what their revision wants of every result. */
final class Results {
  static final String SERVER_INFO = "io.modelcontextprotocol/serverInfo";

  /** How long a client may rely on what only changes when the server is replaced. */
  private static final long TTL_MILLIS = 300_000;

  private final SerializedString serverInfo;
  private final ObjectNode identity;

  Results(Identity identity) {
    this.identity = identity.tree();
    this.serverInfo = new SerializedString(Wire.json(this.identity));
  }

  /** A result that is always the same, written once and for all. */
  Result fixed(Revision revision, ObjectNode fields) {
    ObjectNode whole = JsonNodeFactory.instance.objectNode();
    if (revision.modern()) {
      whole.put("resultType", "complete");
    }
    whole.setAll(fields);
    if (revision.modern()) {
      whole.putObject("_meta").set(SERVER_INFO, identity);
    }
    SerializedString json = new SerializedString(Wire.json(whole));
    return out -> out.writeRawValue(json);
  }

  /** A {@linkplain #fixed fixed} result that modern clients may keep for a while. */
  Result cacheable(Revision revision, ObjectNode fields) {
    ObjectNode hinted = fields.deepCopy();
    if (revision.modern()) {
      hinted.put("ttlMs", TTL_MILLIS).put("cacheScope", "public");
    }
    return fixed(revision, hinted);
  }

  /** What a tool said: text for every client, the structure for those who know it. */
  Result ofTool(
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
