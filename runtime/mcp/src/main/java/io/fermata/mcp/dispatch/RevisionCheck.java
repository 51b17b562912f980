package io.fermata.mcp.dispatch;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.ModernClient;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import org.jspecify.annotations.Nullable;

/** Selects the revision of a message, and validates the envelope of modern ones. */
public final class RevisionCheck {
  private static final String VERSION = "io.modelcontextprotocol/protocolVersion";
  private static final String CAPABILITIES = ModernClient.CAPABILITIES;
  private static final String HEADER = "MCP-Protocol-Version";

  private final MethodTable methods;

  RevisionCheck(MethodTable methods) {
    this.methods = methods;
  }

  /** Whether a message describes itself, as only modern ones do. */
  static boolean declaresVersion(RpcMessage message) {
    return message.meta().has(VERSION);
  }

  Revision of(RpcMessage message, MessageSource arrival) {
    if (declaresVersion(message)) {
      return modern(message, arrival);
    }
    Revision revision = undeclared(arrival);
    if (revision.modern() || methods.modernOnly(message.method())) {
      throw missing(VERSION);
    }
    return revision;
  }

  /** A notification needs no envelope; its header or the handshake decides. */
  Revision ofNotification(RpcMessage message, MessageSource arrival) {
    return declaresVersion(message) ? Revision.V2026_07_28 : undeclared(arrival);
  }

  /** The revision of a message that does not declare one. */
  public static Revision undeclared(MessageSource arrival) {
    if (arrival instanceof MessageSource.Connection line) {
      return line.revision();
    }
    return ofHeader(arrival instanceof MessageSource.Post post ? post.version() : null);
  }

  /**
   * The revision that a header names.
   *
   * @throws RpcException if the server does not support it
   */
  public static Revision ofHeader(@Nullable String header) {
    if (header == null) {
      return Revision.WITHOUT_HEADER;
    }
    Revision revision = Revision.of(header);
    if (revision == null) {
      throw RpcException.unsupportedVersion(header, Revision.all());
    }
    return revision;
  }

  private Revision modern(RpcMessage message, MessageSource arrival) {
    String declared = JsonRpcCodec.text(message.meta(), VERSION);
    if (declared == null) {
      throw RpcException.malformed("The _meta key " + VERSION + " must be a string.");
    }
    if (arrival instanceof MessageSource.Post post) {
      requireVersionHeader(post.version(), declared);
    }
    Revision revision = Revision.of(declared);
    if (revision == null || !revision.modern()) {
      throw RpcException.unsupportedVersion(declared, Revision.allModern());
    }
    JsonNode capabilities = message.meta().get(CAPABILITIES);
    if (capabilities == null || !capabilities.isObject()) {
      throw missing(CAPABILITIES);
    }
    JsonNode level = message.meta().get(ModernClient.LOG_LEVEL);
    if (level != null && McpLevel.of(level.textValue()) == null) {
      throw RpcException.malformed(
          "The _meta key " + ModernClient.LOG_LEVEL + " must be one of debug to emergency.");
    }
    if (arrival instanceof MessageSource.Post post) {
      HeaderCheck.require(message, post, methods.headers(message));
    }
    return revision;
  }

  private static void requireVersionHeader(@Nullable String header, String declared) {
    if (header == null) {
      throw RpcException.headerMismatch("the header " + HEADER + " is missing.");
    }
    if (!header.equals(declared)) {
      throw RpcException.headerMismatch(
          "the header %s says '%s', _meta says '%s'."
              .formatted(
                  HEADER, RpcException.abbreviate(header), RpcException.abbreviate(declared)));
    }
  }

  private static RpcException missing(String key) {
    return RpcException.malformed("A request must have the _meta key " + key + ".");
  }
}
