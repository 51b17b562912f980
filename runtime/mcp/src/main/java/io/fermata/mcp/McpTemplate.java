package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Many resources whose addresses differ in some parts, as {@code orders://{id}}. A variable stands
 * for what has no slash in it, {@code {+path}} for anything.
 */
public final class McpTemplate {
  private static final Pattern VARIABLE = Pattern.compile("\\{(\\+?)([A-Za-z0-9_]+)}");

  /** Longer ones are nobody's: matching takes time. */
  private static final int MAX_URI = 4_096;

  private final String uriTemplate;
  private final String name;
  private final String mimeType;
  private final McpHandler<McpBody> reading;
  private final List<String> variables = new ArrayList<>();
  private final Pattern pattern;
  private final Map<String, McpCompletion> completions = new LinkedHashMap<>();
  private @Nullable String title;
  private @Nullable String description;
  private ObjectNode meta = Json.object();

  private McpTemplate(
      String uriTemplate, String name, String mimeType, McpHandler<McpBody> reading) {
    this.uriTemplate = uriTemplate;
    this.name = name;
    this.mimeType = mimeType;
    this.reading = reading;
    this.pattern = compiled();
  }

  /**
   * Resources that are what a handler says they are: it finds the address in {@link McpCall#name},
   * and the variables in {@link McpCall#arguments()}.
   */
  public static McpTemplate of(
      String uriTemplate, String name, String mimeType, McpHandler<McpBody> reading) {
    McpTemplate template = new McpTemplate(uriTemplate, name, mimeType, reading);
    if (template.variables.isEmpty() || name.isBlank()) {
      throw new IllegalArgumentException(
          "The template \"%s\" needs a name, and a variable as {id}".formatted(uriTemplate));
    }
    return template;
  }

  private Pattern compiled() {
    StringBuilder regex = new StringBuilder();
    Matcher found = VARIABLE.matcher(uriTemplate);
    int end = 0;
    while (found.find()) {
      regex.append(Pattern.quote(uriTemplate.substring(end, found.start())));
      regex.append(found.group(1).isEmpty() ? "([^/]+)" : "(.+)");
      variables.add(found.group(2));
      end = found.end();
    }
    return Pattern.compile(regex.append(Pattern.quote(uriTemplate.substring(end))).toString());
  }

  private McpTemplate with(Consumer<McpTemplate> change) {
    McpTemplate copy = new McpTemplate(uriTemplate, name, mimeType, reading);
    copy.completions.putAll(completions);
    copy.title = title;
    copy.description = description;
    copy.meta = meta.deepCopy();
    change.accept(copy);
    return copy;
  }

  /** What people read. */
  public McpTemplate title(String text) {
    return with(it -> it.title = text);
  }

  /** What models read. */
  public McpTemplate description(String text) {
    return with(it -> it.description = text);
  }

  /** Puts something into the descriptor's {@code _meta}. */
  public McpTemplate meta(String key, JsonNode value) {
    return with(it -> it.meta.set(key, value));
  }

  /** Proposes values for a variable. */
  public McpTemplate completing(String variable, McpCompletion completion) {
    if (!variables.contains(variable)) {
      throw new IllegalArgumentException(
          "The template %s has no variable %s; it has %s"
              .formatted(uriTemplate, variable, variables));
    }
    return with(it -> it.completions.put(variable, completion));
  }

  String uriTemplate() {
    return uriTemplate;
  }

  McpHandler<McpBody> reading() {
    return reading;
  }

  /** The values of the variables in a URI, or null if it is none of this template's. */
  @Nullable ObjectNode matched(String uri) {
    Matcher matcher = pattern.matcher(uri.length() > MAX_URI ? "" : uri);
    if (!matcher.matches()) {
      return null;
    }
    ObjectNode values = Json.object();
    for (int i = 0; i < variables.size(); i++) {
      values.put(variables.get(i), decoded(matcher.group(i + 1)));
    }
    return values;
  }

  private static String decoded(String value) {
    try {
      return URLDecoder.decode(value.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException notEncoded) {
      return value;
    }
  }

  @Nullable McpCompletion completion(String variable) {
    return completions.get(variable);
  }

  /** How it is described to clients. */
  ObjectNode descriptor(Revision revision) {
    ObjectNode template = Descriptors.named(name, title, description, revision);
    template.put("uriTemplate", uriTemplate).put("mimeType", mimeType);
    return Descriptors.withMeta(template, meta);
  }
}
