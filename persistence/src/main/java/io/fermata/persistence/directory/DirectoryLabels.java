package io.fermata.persistence.directory;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigSyntax;
import com.typesafe.config.ConfigValueFactory;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The tags and attributes of an entry.
 *
 * @param tags up to 32, each up to 64 characters
 * @param attributes up to 32, each name up to 64 characters and each value up to 1024
 */
public record DirectoryLabels(Set<String> tags, Map<String, String> attributes) {

  private static final ConfigParseOptions JSON =
      ConfigParseOptions.defaults().setSyntax(ConfigSyntax.JSON);

  public DirectoryLabels {
    tags = Set.copyOf(tags);
    attributes = Map.copyOf(attributes);
  }

  /** One JSON text, as a table keeps it. */
  public String write() {
    return ConfigValueFactory.fromMap(Map.of("tags", tags, "attributes", attributes))
        .render(ConfigRenderOptions.concise());
  }

  public static DirectoryLabels read(String json) {
    Config labels = ConfigFactory.parseString(json, JSON);
    return new DirectoryLabels(
        Set.copyOf(labels.getStringList("tags")),
        labels.getObject("attributes").unwrapped().entrySet().stream()
            .collect(Collectors.toMap(Map.Entry::getKey, value -> value.getValue().toString())));
  }
}
