package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.Json;
import java.math.BigDecimal;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The values of a run that must not be told, and how they are found in what is told. */
final class Secrets {
  private static final int SHORTEST_PART = 4;
  private static final String CUT = "…";

  private final Set<String> parts = new LinkedHashSet<>();
  private final Set<String> shortTexts = new HashSet<>();
  private final Set<BigDecimal> numbers = new HashSet<>();
  private @Nullable Pattern pattern;

  /** Notes a value, and those within it. */
  void add(JsonNode value) {
    if (value.isContainerNode()) {
      value.forEach(this::add);
    } else if (value.isTextual() && !value.textValue().isBlank()) {
      String text = value.textValue();
      if (text.length() < SHORTEST_PART) {
        shortTexts.add(text);
      } else {
        part(text);
        String quoted = Json.text(value);
        part(quoted.substring(1, quoted.length() - 1));
      }
    } else if (value.isNumber()) {
      BigDecimal number = value.decimalValue().stripTrailingZeros();
      numbers.add(number);
      part(number.toPlainString());
      part(value.decimalValue().toPlainString());
      part(value.asText());
    }
  }

  private void part(String text) {
    if (text.length() >= SHORTEST_PART && parts.add(text)) {
      pattern = null;
    }
  }

  /** The tree with a mark in place of what must not be told. */
  JsonNode masked(JsonNode tree) {
    if (tree.isTextual()) {
      String masked = masked(tree.textValue());
      return shortTexts.contains(tree.textValue())
          ? TextNode.valueOf(Redaction.MARK)
          : TextNode.valueOf(masked);
    } else if (tree.isNumber()) {
      return masks(tree) ? TextNode.valueOf(Redaction.MARK) : tree;
    } else if (tree instanceof ObjectNode object) {
      ObjectNode copy = JsonNodeFactory.instance.objectNode();
      object.properties().forEach(e -> copy.set(masked(e.getKey()), masked(e.getValue())));
      return copy;
    }
    return Fields.mapped(tree, (name, value) -> masked(value));
  }

  private boolean masks(JsonNode number) {
    BigDecimal decimal = number.decimalValue();
    return numbers.contains(decimal.stripTrailingZeros())
        || !masked(decimal.toPlainString()).equals(decimal.toPlainString());
  }

  /** The text with a mark in place of what must not be told. */
  String masked(String text) {
    if (parts.isEmpty() || text.length() < SHORTEST_PART) {
      return text;
    }
    String whole = pattern().matcher(text).replaceAll(Matcher.quoteReplacement(Redaction.MARK));
    return whole.endsWith(CUT) ? cut(whole) : whole;
  }

  private Pattern pattern() {
    if (pattern == null) {
      String any =
          parts.stream()
              .sorted(Comparator.comparingInt(String::length).reversed())
              .map(Pattern::quote)
              .collect(Collectors.joining("|"));
      pattern = Pattern.compile(any, Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE);
    }
    return pattern;
  }

  /** A text that was shortened may end with the beginning of what must not be told. */
  private String cut(String text) {
    String left = text.substring(0, text.length() - CUT.length());
    String lower = left.toLowerCase(Locale.ROOT);
    int longest = 0;
    for (String part : parts) {
      String secret = part.toLowerCase(Locale.ROOT);
      for (int n = Math.min(secret.length(), lower.length()); n > longest; n--) {
        if (n >= SHORTEST_PART && lower.endsWith(secret.substring(0, n))) {
          longest = n;
        }
      }
    }
    return longest == 0
        ? text
        : left.substring(0, Math.max(0, left.length() - longest)) + Redaction.MARK + CUT;
  }
}
