package io.fermata.agent.message;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Json;
import java.util.HexFormat;

/** A digest by which a repeated message or answer is recognised. */
public final class Fingerprint {
  private Fingerprint() {}

  /** The same whatever the order of the properties. */
  public static String of(JsonNode tree) {
    return HexFormat.of().formatHex(Digests.sha256(Json.sortedText(tree)), 0, 16);
  }
}
