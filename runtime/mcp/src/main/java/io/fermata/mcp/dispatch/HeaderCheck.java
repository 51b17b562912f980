package io.fermata.mcp.dispatch;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.ParamHeader;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks the headers that repeat parts of the body for intermediaries: they must match the body.
 */
final class HeaderCheck {
  private static final String PREFIX = "=?base64?";
  private static final String SUFFIX = "?=";

  private HeaderCheck() {}

  static void require(RpcMessage message, MessageSource.Post post, List<ParamHeader> parameters) {
    requireEqual("Mcp-Method", post.method(), message.method());
    String source = nameSource(message.method());
    if (source != null) {
      requireName(post.name(), JsonRpcCodec.text(message.params(), source));
    }
    for (ParamHeader parameter : parameters) {
      requireParameter(parameter, post, message.params().path("arguments"));
    }
  }

  private static void requireParameter(
      ParamHeader parameter, MessageSource.Post post, JsonNode arguments) {
    JsonNode value = arguments.at(parameter.place());
    String sent = post.headers().get(parameter.header());
    String header = sent == null ? null : decoded(parameter.header(), sent);
    boolean absent = value.isMissingNode() || value.isNull();
    if (header == null && absent) {
      return;
    }
    if (header != null && value.isNumber() && equal(header, value.decimalValue())) {
      return;
    }
    requireEqual(parameter.header(), header, absent ? null : value.asText());
  }

  private static boolean equal(String header, BigDecimal value) {
    try {
      return new BigDecimal(header).compareTo(value) == 0;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private static @Nullable String nameSource(String method) {
    return switch (method) {
      case "tools/call", "prompts/get" -> "name";
      case "resources/read" -> "uri";
      case "tasks/get", "tasks/update", "tasks/cancel" -> "taskId";
      default -> null;
    };
  }

  private static void requireName(@Nullable String header, @Nullable String body) {
    if (header != null || body != null) {
      requireEqual("Mcp-Name", header == null ? null : decoded("Mcp-Name", header), body);
    }
  }

  private static void requireEqual(String name, @Nullable String header, @Nullable String body) {
    if (header == null) {
      throw RpcException.headerMismatch("the header " + name + " is missing.");
    }
    if (!header.equals(body)) {
      throw RpcException.headerMismatch(
          "the header %s says '%s', the body %s."
              .formatted(
                  name,
                  RpcException.abbreviate(header),
                  body == null ? "nothing" : "'" + RpcException.abbreviate(body) + "'"));
    }
  }

  private static String decoded(String name, String header) {
    if (!header.startsWith(PREFIX) || !header.endsWith(SUFFIX)) {
      return plain(name, header);
    }
    try {
      String inner =
          header.substring(
              PREFIX.length(), Math.max(PREFIX.length(), header.length() - SUFFIX.length()));
      if (inner.length() % 4 != 0) {
        // Java's decoder accepts missing padding, others do not.
        throw new IllegalArgumentException("The padding is missing");
      }
      ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(inner));
      return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (IllegalArgumentException | CharacterCodingException e) {
      throw RpcException.headerMismatch("the header " + name + " is not Base64 of UTF-8 text.");
    }
  }

  private static String plain(String name, String header) {
    for (int i = 0; i < header.length(); i++) {
      char c = header.charAt(i);
      if (c != '\t' && (c < ' ' || c > '~')) {
        throw RpcException.headerMismatch(
            "the header " + name + " has characters that must be sent as Base64.");
      }
    }
    return header;
  }
}
