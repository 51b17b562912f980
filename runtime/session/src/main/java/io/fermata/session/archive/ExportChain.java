package io.fermata.session.archive;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Json;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Lossless;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The chain of an export's lines: each is hashed together with the hash of all before it. The last
 * line has the hash of them all, and its signature if the host has a key.
 */
public final class ExportChain {
  private static final String END = "end";
  private static final String CHAIN = "chain";
  private static final String KEY = "key";
  private static final String SIGNATURE = "signature";

  private byte[] head = {};

  /**
   * Who signed an export.
   *
   * @param by the id of the key, as the export says; null if it is not signed
   */
  public record Signed(ExportSignature signature, @Nullable String by) {}

  void add(String line) {
    MessageDigest digest = Digests.sha256();
    digest.update(head);
    head = digest.digest(line.getBytes(StandardCharsets.UTF_8));
  }

  /** The last line. */
  String end(long records, Encryption encryption) {
    ObjectNode line = Json.object().put(END, records).put(CHAIN, HexFormat.of().formatHex(head));
    String key = encryption.cipher().current();
    byte[] signature = key == null ? null : encryption.cipher().mac(key, head);
    if (signature != null) {
      line.put(KEY, key).put(SIGNATURE, HexFormat.of().formatHex(signature));
    }
    return Lossless.text(line);
  }

  static boolean ends(JsonNode line) {
    return line.has(END);
  }

  /**
   * Checks the last line.
   *
   * @throws ArchiveException if it does not fit the lines before it
   */
  Signed checked(JsonNode end, int records, Encryption encryption) {
    if (end.path(END).asLong(-1) != records || records == 0) {
      throw new ArchiveException(
          "The end states %s entries before it, and there are %s; nothing of it was used"
              .formatted(end.path(END), records));
    } else if (!same(head, end.path(CHAIN))) {
      throw new ArchiveException(
          "The export was altered: its lines do not fit the checksum in the last one. Nothing"
              + " of it was used; export the journal again");
    } else if (!end.has(SIGNATURE)) {
      return new Signed(ExportSignature.UNSIGNED, null);
    }
    String key = end.path(KEY).asText();
    byte[] expected = encryption.cipher().mac(key, head);
    if (expected == null) {
      return new Signed(ExportSignature.NOT_VERIFIED, key);
    } else if (!same(expected, end.path(SIGNATURE))) {
      throw new ArchiveException(
          "The export was altered: its signature is not one of the key "
              + key
              + ". Nothing of it was used; export the journal again");
    }
    return new Signed(ExportSignature.VERIFIED, key);
  }

  private static boolean same(byte[] expected, JsonNode text) {
    byte[] given = text.asText().getBytes(StandardCharsets.US_ASCII);
    return MessageDigest.isEqual(
        HexFormat.of().formatHex(expected).getBytes(StandardCharsets.US_ASCII), given);
  }
}
