package io.fermata.agent.message;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Json;
import java.util.HexFormat;

/** A digest by which a repeated message or answer is recognised. */
public final class Fingerprint {
  private static final ObjectWriter SORTED =
      Json.MAPPER.writer().with(JsonNodeFeature.WRITE_PROPERTIES_SORTED);

  private Fingerprint() {}

  /** The same whatever the order of the properties. */
  public static String of(JsonNode tree) {
    try {
      byte[] hash = Digests.sha256().digest(SORTED.writeValueAsBytes(tree));
      return HexFormat.of().formatHex(hash, 0, 16);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A JSON tree could not be written", e);
    }
  }
}
