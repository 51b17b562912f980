package io.fermata.mcp.rpc;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DatabindException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.BoundedNumbers;
import io.fermata.flow.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The JSON-RPC codec: reads messages within limits, and writes responses and notifications. */
public final class JsonRpcCodec {
  /** The maximum length of a message. */
  public static final int MAX_BYTES = 1 << 20;

  private static final int MAX_DEPTH = 64;
  private static final int MAX_NUMBER = 100;
  private static final int MAX_NAME = 1_000;

  private static final JsonFactory OWN_FACTORY =
      Json.unlimited(
          new JsonFactoryBuilder()
              // Clients choose the names: they must not fill the JVM's string table.
              .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
              .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
              .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8));

  private static final JsonFactory FACTORY =
      OWN_FACTORY
          .rebuild()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_DEPTH)
                  .maxNumberLength(MAX_NUMBER)
                  .maxNameLength(MAX_NAME)
                  .maxStringLength(MAX_BYTES)
                  .build())
          .build();

  private static final ObjectMapper MAPPER =
      JsonMapper.builder(FACTORY)
          .nodeFactory(new BoundedNumbers())
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private static final ObjectReader READER = MAPPER.reader();

  /** Reads what this server wrote: the limits are those of clients, not of authors. */
  private static final ObjectReader OWN =
      JsonMapper.builder(OWN_FACTORY)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build()
          .reader();

  private JsonRpcCodec() {}

  /**
   * Reads one JSON text.
   *
   * @throws RpcException if it is not JSON, or exceeds a limit
   */
  public static JsonNode read(byte[] bytes) {
    WellFormedText.require(bytes);
    try (JsonParser parser = FACTORY.createParser(bytes)) {
      JsonNode tree = READER.readTree(parser);
      if (tree == null || tree.isMissingNode()) {
        throw RpcException.parseError("The message is empty: send a JSON-RPC request.");
      }
      if (parser.nextToken() != null) {
        throw RpcException.parseError(
            "The JSON message is followed by more text: send one message at a time.");
      }
      return tree;
    } catch (BoundedNumbers.TooLong e) {
      throw RpcException.parseError(e.getMessage() + ".");
    } catch (StreamConstraintsException e) {
      throw RpcException.parseError(
          "The message exceeds a limit of this server: nesting depth %s, names of %s and numbers of %s characters."
              .formatted(MAX_DEPTH, MAX_NAME, MAX_NUMBER));
    } catch (DatabindException e) {
      throw RpcException.parseError("A member occurs twice in one object" + place(e) + ".");
    } catch (IOException e) {
      throw RpcException.parseError("The message is not valid JSON" + place(e) + ".");
    }
  }

  /** Reads what {@link #bytes} wrote. */
  public static JsonNode readOwn(byte[] bytes) {
    try {
      return OWN.readTree(bytes);
    } catch (IOException e) {
      throw new IllegalStateException("What the server wrote could not be read", e);
    }
  }

  private static String place(IOException e) {
    JsonLocation at = e instanceof JsonProcessingException json ? json.getLocation() : null;
    return at == null ? "" : ", at line %s, column %s".formatted(at.getLineNr(), at.getColumnNr());
  }

  /** A response with a result. */
  public static byte[] result(JsonNode id, RpcResult result) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(1_024);
    try (JsonGenerator out = MAPPER.createGenerator(bytes)) {
      open(out, id);
      out.writeFieldName("result");
      result.write(out);
      out.writeEndObject();
    }
    return bytes.toByteArray();
  }

  /** A result as a tree, to embed it in another. */
  public static ObjectNode tree(RpcResult result) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(1_024);
    try (JsonGenerator out = MAPPER.createGenerator(bytes)) {
      result.write(out);
    } catch (IOException e) {
      throw new IllegalStateException("A result could not be written", e);
    }
    return (ObjectNode) readOwn(bytes.toByteArray());
  }

  /** A response with an error; a missing id is left out. */
  public static byte[] error(JsonNode id, RpcException refusal) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    try (JsonGenerator out = MAPPER.createGenerator(bytes)) {
      open(out, id);
      out.writeObjectFieldStart("error");
      out.writeNumberField("code", refusal.code);
      out.writeStringField("message", refusal.reason);
      if (refusal.data != null) {
        out.writeFieldName("data");
        out.writeTree(refusal.data);
      }
      out.writeEndObject();
      out.writeEndObject();
    } catch (IOException e) {
      throw new IllegalStateException("Writing to a byte array cannot fail", e);
    }
    return bytes.toByteArray();
  }

  /** A request of the server to the client. */
  public static byte[] request(String id, String method, ObjectNode params) {
    ObjectNode whole = JsonNodeFactory.instance.objectNode();
    whole.put("jsonrpc", "2.0").put("id", id).put("method", method).set("params", params);
    return bytes(whole);
  }

  /** A notification. */
  public static byte[] notification(String method, ObjectNode params) {
    ObjectNode whole = JsonNodeFactory.instance.objectNode();
    whole.put("jsonrpc", "2.0").put("method", method).set("params", params);
    return bytes(whole);
  }

  private static void open(JsonGenerator out, JsonNode id) throws IOException {
    out.writeStartObject();
    out.writeStringField("jsonrpc", "2.0");
    if (!id.isMissingNode()) {
      out.writeFieldName("id");
      out.writeTree(id);
    }
  }

  /** A tree as JSON, in bytes. */
  public static byte[] bytes(JsonNode tree) {
    return json(tree).getBytes(StandardCharsets.UTF_8);
  }

  /** A tree as JSON. */
  public static String json(JsonNode tree) {
    try {
      return MAPPER.writeValueAsString(tree);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A JSON tree could not be written", e);
    }
  }

  /** The text of a string member, or null where there is no string. */
  public static @Nullable String text(JsonNode tree, String member) {
    JsonNode value = tree.get(member);
    return value == null ? null : value.textValue();
  }
}
