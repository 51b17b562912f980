package io.fermata.agent.message;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Json;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** A digest by which a repeated message or answer is recognised. */
public final class Fingerprint {
  private Fingerprint() {}

  static String of(byte[] data) {
    return HexFormat.of().formatHex(Digests.sha256().digest(data), 0, 16);
  }

  /** The same whatever the order of the properties. */
  public static String of(JsonNode tree) {
    return of(Json.sortedText(tree).getBytes(StandardCharsets.UTF_8));
  }
}
