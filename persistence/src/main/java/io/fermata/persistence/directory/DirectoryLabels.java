package io.fermata.persistence.directory;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The tags and attributes of an entry.
 *
 * @param tags up to 32, each up to 64 characters
 * @param attributes up to 32, each name up to 64 characters and each value up to 1024
 */
public record DirectoryLabels(Set<String> tags, Map<String, String> attributes) {

  private static final ObjectMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS).build();

  public DirectoryLabels {
    tags = Set.copyOf(tags);
    attributes = Map.copyOf(attributes);
  }

  /** One JSON text, as a table keeps it; the same labels are always the same text. */
  public String write() {
    try {
      return JSON.writeValueAsString(Map.of("tags", new TreeSet<>(tags), "attributes", attributes));
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  public static DirectoryLabels read(String json) {
    try {
      return JSON.readValue(json, DirectoryLabels.class);
    } catch (JsonProcessingException damaged) {
      throw new UncheckedIOException(damaged);
    }
  }
}
