package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** The name, version and instructions of the server. */
public record ServerIdentity(String name, String version, @Nullable String instructions) {
  /** The version of Fermata. */
  public static final String RELEASE = release();

  private static String release() {
    Properties properties = new Properties();
    try (InputStream in = ServerIdentity.class.getResourceAsStream("release.properties")) {
      properties.load(Objects.requireNonNull(in, "release.properties is not in the jar"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Objects.requireNonNull(properties.getProperty("version"), "version");
  }

  public ObjectNode tree() {
    return JsonNodeFactory.instance.objectNode().put("name", name).put("version", version);
  }
}
