package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Options;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Resources with variables in their URIs, as {@code orders://{id}}. A variable matches text without
 * a slash, encoded or not; {@code {+path}} matches any text. Either may match {@code ..}: a handler
 * that builds a path must check where it leads.
 */
public final class McpTemplate extends McpFeature<McpTemplate> {
  private static final Pattern VARIABLE = Pattern.compile("\\{(\\+?)([A-Za-z0-9_]+)}");

  /** A longer URI matches no template, because matching takes time. */
  public static final int MAX_URI = 4_096;

  private final String uriTemplate;
  private final String mimeType;
  private final McpHandler<McpBody> reading;
  private final List<String> variables = new ArrayList<>();

  /** The text before, between and after the variables: one more than there are variables. */
  private final List<String> literals = new ArrayList<>();

  /** The last variable that matches any text, else the last of all: it takes the rest. */
  private int widest;

  /** Whether each variable matches any text, slashes included. */
  private final List<Boolean> widths = new ArrayList<>();

  private Map<String, McpCompletion> completions = Map.of();

  private McpTemplate(
      String uriTemplate, String name, String mimeType, McpHandler<McpBody> reading) {
    super(name, "");
    this.uriTemplate = Objects.requireNonNull(uriTemplate, "uriTemplate");
    this.mimeType = Objects.requireNonNull(mimeType, "mimeType");
    this.reading = Objects.requireNonNull(reading, "reading");
    compile();
  }

  /**
   * Resources whose content a handler returns. It finds the URI in {@link McpCall#name}, and the
   * variables in {@link McpCall#arguments()}.
   */
  public static McpTemplate of(
      String uriTemplate, String name, String mimeType, McpHandler<McpBody> reading) {
    McpTemplate template = new McpTemplate(uriTemplate, name, mimeType, reading);
    if (template.variables.isEmpty() || Objects.requireNonNull(name, "name").isBlank()) {
      throw new IllegalArgumentException(
          "The template \"%s\" needs a name and a variable such as {id}".formatted(uriTemplate));
    }
    if (Set.copyOf(template.variables).size() < template.variables.size()) {
      throw new IllegalArgumentException(
          "The template \"%s\" has a variable twice: rename one".formatted(uriTemplate));
    }
    if (template.literals.subList(1, template.variables.size()).contains("")) {
      throw new IllegalArgumentException(
          "Two variables of the template \"%s\" are adjacent: put text between them"
              .formatted(uriTemplate));
    }
    return template;
  }

  private void compile() {
    Matcher found = VARIABLE.matcher(uriTemplate);
    int end = 0;
    while (found.find()) {
      literals.add(uriTemplate.substring(end, found.start()));
      boolean anything = !found.group(1).isEmpty();
      if (anything || widths.isEmpty() || !widths.get(widest)) {
        widest = widths.size();
      }
      widths.add(anything);
      variables.add(found.group(2));
      end = found.end();
    }
    literals.add(uriTemplate.substring(end));
  }

  /** The description that models read. */
  public McpTemplate description(String text) {
    return with(it -> it.description = Objects.requireNonNull(text, "description"));
  }

  /** Proposes values for a variable. */
  public McpTemplate completing(String variable, McpCompletion completion) {
    if (!variables.contains(variable)) {
      throw new IllegalArgumentException(
          "The template %s has no variable %s; it has %s"
              .formatted(uriTemplate, variable, variables));
    }
    return with(
        it ->
            it.completions =
                Options.plus(
                    completions, variable, Objects.requireNonNull(completion, "completion")));
  }

  public String uriTemplate() {
    return uriTemplate;
  }

  public McpHandler<McpBody> reading() {
    return reading;
  }

  /** The values of the variables in a URI; null if the URI does not match. */
  public @Nullable ObjectNode matched(String uri) {
    String[] found = uri.length() > MAX_URI ? null : split(uri);
    if (found == null) {
      return null;
    }
    ObjectNode values = Json.object();
    for (int i = 0; i < found.length; i++) {
      String value = decoded(found[i]);
      if (value.contains("/") && !widths.get(i)) {
        return null;
      }
      values.put(variables.get(i), value);
    }
    return values;
  }

  /**
   * The text of each variable; null if a literal is missing. Literals are searched from the left up
   * to the widest variable and from the right after it; the first occurrence counts.
   */
  private String @Nullable [] split(String uri) {
    int last = variables.size();
    int from = literals.get(0).length();
    int to = uri.length() - literals.get(last).length();
    if (!uri.startsWith(literals.get(0)) || !uri.endsWith(literals.get(last))) {
      return null;
    }
    String[] values = new String[last];
    for (int i = 0; i < widest; i++) {
      String literal = literals.get(i + 1);
      int end = uri.indexOf(literal, from + 1);
      if (end < 0) {
        return null;
      }
      values[i] = uri.substring(from, end);
      from = end + literal.length();
    }
    for (int i = last - 1; i > widest; i--) {
      String literal = literals.get(i);
      int start = uri.lastIndexOf(literal, to - 1 - literal.length());
      if (start < 0) {
        return null;
      }
      values[i] = uri.substring(start + literal.length(), to);
      to = start;
    }
    if (from >= to) {
      return null;
    }
    values[widest] = uri.substring(from, to);
    return values;
  }

  private static String decoded(String value) {
    try {
      return URLDecoder.decode(value.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException notEncoded) {
      return value;
    }
  }

  public @Nullable McpCompletion completion(String variable) {
    return completions.get(variable);
  }

  public String mimeType() {
    return mimeType;
  }
}
