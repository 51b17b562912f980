package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** Selects the revision of a message, and validates the envelope of modern ones. */
final class Eras {
  private static final String VERSION = "io.modelcontextprotocol/protocolVersion";
  private static final String CAPABILITIES = ModernClient.CAPABILITIES;
  private static final String HEADER = "MCP-Protocol-Version";

  private final Methods methods;

  Eras(Methods methods) {
    this.methods = methods;
  }

  /** Whether a message describes itself, as only modern ones do. */
  static boolean declaresVersion(Message message) {
    return message.meta().has(VERSION);
  }

  static boolean modernHeader(Arrival.Post post) {
    Revision revision = Revision.of(post.version());
    return revision != null && revision.modern();
  }

  Revision of(Message message, Arrival arrival) {
    if (declaresVersion(message)) {
      return modern(message, arrival);
    }
    Revision revision = undeclared(arrival);
    if (revision.modern() || methods.modernOnly(message.method())) {
      throw missing(VERSION);
    }
    return revision;
  }

  /** A notification needs no envelope; its header decides. */
  Revision ofNotification(Message message, Arrival.Post post) {
    return declaresVersion(message) ? Revision.V2026_07_28 : undeclared(post);
  }

  /** The revision of a message that does not declare one. */
  static Revision undeclared(Arrival arrival) {
    if (arrival instanceof Arrival.Line line) {
      return line.revision();
    }
    String header = arrival instanceof Arrival.Post post ? post.version() : null;
    if (header == null) {
      return Revision.WITHOUT_HEADER;
    }
    Revision revision = Revision.of(header);
    if (revision == null) {
      throw Refusal.unsupportedVersion(header, Revision.all());
    }
    return revision;
  }

  private Revision modern(Message message, Arrival arrival) {
    String declared = Wire.text(message.meta(), VERSION);
    if (declared == null) {
      throw Refusal.malformed("The _meta key " + VERSION + " must be a string.");
    }
    if (arrival instanceof Arrival.Post post) {
      requireVersionHeader(post.version(), declared);
    }
    Revision revision = Revision.of(declared);
    if (revision == null || !revision.modern()) {
      throw Refusal.unsupportedVersion(declared, Revision.allModern());
    }
    JsonNode capabilities = message.meta().get(CAPABILITIES);
    if (capabilities == null || !capabilities.isObject()) {
      throw missing(CAPABILITIES);
    }
    if (arrival instanceof Arrival.Post post) {
      MirrorHeaders.require(message, post, methods.headers(message));
    }
    return revision;
  }

  private static void requireVersionHeader(@Nullable String header, String declared) {
    if (header == null) {
      throw Refusal.headers("the header " + HEADER + " is missing.");
    }
    if (!header.equals(declared)) {
      throw Refusal.headers(
          "the header %s says '%s', _meta says '%s'."
              .formatted(HEADER, Refusal.shortened(header), Refusal.shortened(declared)));
    }
  }

  private static Refusal missing(String key) {
    return Refusal.malformed("A request must have the _meta key " + key + ".");
  }
}
