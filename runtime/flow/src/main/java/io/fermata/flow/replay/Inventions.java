package io.fermata.flow.replay;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.Step;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.StateSchema;
import java.math.BigDecimal;
import java.nio.CharBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Invented values in place of those that must not be seen. The same value gets the same invented
 * one, however it is written: with other punctuation, in upper or lower case, as a part of a text.
 *
 * <p>A letter becomes a letter and a digit a digit; dates stay dates, and of a list of choices
 * another one is taken. A truth value becomes {@code false}. Nothing but that shape is kept.
 */
public final class Inventions {
  private static final int SHORTEST_PART = 4;
  private static final int TRIES = 100;
  private static final Pattern DATE =
      Pattern.compile(
          "(\\d{4})-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}(:\\d{2})?(\\.\\d+)?(Z|[+-]\\d{2}:\\d{2})?)?");
  private static final Pattern SCHEME = Pattern.compile("[a-z][a-z0-9+.-]*://");
  private static final Pattern HEX = Pattern.compile("[0-9a-f]{32}");

  private final Random random;
  private final List<List<String>> choices = new ArrayList<>();
  private final Secrets known = new Secrets();

  /** What is invented for letters and digits alone, in lower case. */
  private final Map<String, String> skeletons = new HashMap<>();

  /** What is invented for texts that are more than letters and digits: dates, and choices. */
  private final Map<String, String> wholes = new HashMap<>();

  /** What stands for texts that are long enough to be found in others. */
  private final Map<String, String> parts = new HashMap<>();

  /** The same texts by how they are compared, in upper or lower case. */
  private final NavigableMap<CharSequence, String> sorted = new TreeMap<>(CharSequence::compare);

  private final Map<String, String> shortTexts = new HashMap<>();
  private final Set<String> taken = new HashSet<>();

  private final boolean words;

  /**
   * Nothing is known yet.
   *
   * @param seed other seeds invent other values
   * @param words whether texts of two or three characters are also replaced where they are a word
   *     of another one; shorter than four they may be there by chance
   */
  public Inventions(long seed, boolean words) {
    this.random = new Random(seed);
    this.words = words;
  }

  /** The lists of values in a schema: what is one of them becomes another one of them. */
  public void choosing(JsonNode schema) {
    List<String> listed = new ArrayList<>();
    schema.path("enum").forEach(value -> listed.add(value.asText()));
    listed.remove("null");
    choosing(listed);
    schema.forEach(this::choosing);
  }

  /** The lists of values that fields of a flow may have, also those that no client writes. */
  public void choosing(Flow<?> flow) {
    choosing(flow.answersSchema());
    for (Step<?> step : flow.graph().steps()) {
      StateSchema<?> schema = step.scope().schema();
      for (String path : schema.paths()) {
        StateSchema.Field field = schema.ownField(path);
        if (field != null) {
          choosing(field.type());
        }
      }
    }
  }

  private void choosing(JavaType type) {
    JavaType element = type.isContainerType() ? type.getContentType() : type;
    Object[] constants = element.getRawClass().getEnumConstants();
    if (constants != null) {
      choosing(Arrays.stream(constants).map(each -> Json.tree(each).asText()).toList());
    }
  }

  private void choosing(List<String> listed) {
    if (listed.size() > 1 && !choices.contains(listed)) {
      choices.add(List.copyOf(listed));
    }
  }

  /** Notes a value, and those within it. */
  public void add(JsonNode value) {
    known.add(value);
    if (value.isContainerNode()) {
      value.forEach(this::add);
    } else if (value.isTextual() && !value.textValue().isBlank()) {
      text(value.textValue(), invented(value.textValue()));
    } else if (value.isNumber()) {
      String plain = value.decimalValue().toPlainString();
      part(plain, invented(plain));
    }
  }

  private void text(String text, String invented) {
    if (text.length() < SHORTEST_PART) {
      shortTexts.put(text, invented);
    } else {
      part(text, invented);
      part(quoted(text), quoted(invented));
    }
  }

  private void part(String text, String invented) {
    if (text.length() >= SHORTEST_PART) {
      parts.put(text, invented);
      sorted.merge(folded(text), text, (a, b) -> a.compareTo(b) < 0 ? a : b);
    }
  }

  private static String quoted(String text) {
    String json = Json.text(TextNode.valueOf(text));
    return json.substring(1, json.length() - 1);
  }

  // --- inventing --------------------------------------------------------------------------------

  private String invented(String text) {
    String whole = wholes.get(text);
    if (whole == null) {
      whole = whole(text);
      if (whole != null) {
        wholes.put(text, whole);
      }
    }
    if (whole != null) {
      return whole;
    }
    Matcher scheme = SCHEME.matcher(text);
    if (scheme.lookingAt()) {
      return scheme.group() + poured(text.substring(scheme.end()));
    }
    return poured(text);
  }

  /** What becomes of a text as a whole; null if its letters and digits are replaced one by one. */
  private @Nullable String whole(String text) {
    for (List<String> listed : choices) {
      int at = listed.indexOf(text);
      if (at >= 0) {
        return listed.get((at + 1 + random.nextInt(listed.size() - 1)) % listed.size());
      }
    }
    Matcher date = DATE.matcher(text);
    return date.matches() ? date(text, date) : null;
  }

  private String date(String text, Matcher date) {
    StringBuilder other = new StringBuilder(date.group(1));
    other.append(two("-", 1, 12)).append(two("-", 1, 28));
    if (text.indexOf('T') > 0) {
      other.append(two("T", 0, 23)).append(two(":", 0, 59));
      other.append(date.group(2) == null ? "" : two(":", 0, 59));
      other.append(date.group(3) == null ? "" : date.group(3));
      other.append(date.group(4) == null ? "" : date.group(4));
    }
    return other.toString();
  }

  private String two(String before, int least, int most) {
    return String.format(Locale.ROOT, "%s%02d", before, least + random.nextInt(most - least + 1));
  }

  /** The text with what is invented for its letters and digits in their places. */
  private String poured(String text) {
    StringBuilder skeleton = new StringBuilder();
    text.chars().filter(Character::isLetterOrDigit).forEach(c -> skeleton.append((char) c));
    if (skeleton.isEmpty()) {
      return text.replaceAll("\\S", "x");
    }
    String own = skeleton.toString().toLowerCase(Locale.ROOT);
    if (own.length() != skeleton.length()) { // as of İ, which becomes two letters
      own = skeleton.toString();
    }
    String other = skeletons.computeIfAbsent(own, this::skeleton);
    StringBuilder poured = new StringBuilder(text);
    int used = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isLetterOrDigit(c)) {
        char next = other.charAt(used++);
        poured.setCharAt(i, Character.isUpperCase(c) ? Character.toUpperCase(next) : next);
      }
    }
    return poured.toString();
  }

  private String skeleton(String own) {
    IntUnaryOperator letters = HEX.matcher(own).matches() ? c -> letter(6) : c -> letter(26);
    String other = own;
    for (int i = 0; i < TRIES && (other.equals(own) || !taken.add(other)); i++) {
      StringBuilder next = new StringBuilder();
      boolean inNumber = false;
      for (int at = 0; at < own.length(); at++) {
        char c = own.charAt(at);
        boolean digit = Character.isDigit(c);
        next.append((char) (digit ? digit(c != '0' && !inNumber) : letters.applyAsInt(c)));
        inNumber = digit;
      }
      other = next.toString();
    }
    return other;
  }

  private int letter(int of) {
    return 'a' + random.nextInt(of);
  }

  private int digit(boolean first) {
    return first ? '1' + random.nextInt(9) : '0' + random.nextInt(10);
  }

  // --- replacing --------------------------------------------------------------------------------

  /** A text with invented values in place of those that are known. */
  public String text(String text) {
    String whole = shortTexts.get(text);
    if (whole != null) {
      return whole;
    } else if (!known.in(text) && (!words || shortTexts.isEmpty())) {
      return text;
    }
    StringBuilder replaced = new StringBuilder();
    String folded = folded(text);
    int at = 0;
    while (at < text.length()) {
      String part = partAt(text, folded, at);
      if (part == null) {
        replaced.append(text.charAt(at));
        at++;
      } else {
        replaced.append(written(text.substring(at, at + part.length()), part));
        at += part.length();
      }
    }
    return replaced.toString();
  }

  /** A text with a mark in place of the values that are known, but with the invented ones. */
  public String masked(String text) {
    return known.masked(text);
  }

  private @Nullable String partAt(String text, String folded, int at) {
    String part = longestAt(folded, at);
    if (part != null || !words || letterAt(text, at - 1)) {
      return part;
    }
    for (int end = Math.min(text.length(), at + SHORTEST_PART - 1); end > at + 1; end--) {
      if (!letterAt(text, end) && shortTexts.containsKey(text.substring(at, end))) {
        return text.substring(at, end);
      }
    }
    return null;
  }

  /** The longest part that begins at a place: all that do are before it in order, or it is one. */
  private @Nullable String longestAt(String folded, int at) {
    CharSequence rest = CharBuffer.wrap(folded, at, folded.length());
    while (rest.length() >= SHORTEST_PART) {
      Map.Entry<CharSequence, String> before = sorted.floorEntry(rest);
      int common = before == null ? 0 : common(rest, before.getKey());
      if (before != null && common == before.getKey().length()) {
        return before.getValue();
      }
      rest = rest.subSequence(0, common);
    }
    return null;
  }

  private static int common(CharSequence a, CharSequence b) {
    int common = 0;
    while (common < Math.min(a.length(), b.length()) && a.charAt(common) == b.charAt(common)) {
      common++;
    }
    return common;
  }

  /** As {@link String#equalsIgnoreCase} compares them, character by character. */
  private static String folded(String text) {
    StringBuilder folded = new StringBuilder(text);
    for (int i = 0; i < text.length(); i++) {
      folded.setCharAt(i, Character.toLowerCase(Character.toUpperCase(text.charAt(i))));
    }
    return folded.toString();
  }

  private static boolean letterAt(String text, int at) {
    return at >= 0 && at < text.length() && Character.isLetterOrDigit(text.charAt(at));
  }

  /** What is invented for a part, in upper or lower case as it is written. */
  private String written(String written, String part) {
    String word = shortTexts.get(part);
    return word == null ? like(written, part, parts.getOrDefault(part, part)) : word;
  }

  private static String like(String written, String part, String invented) {
    if (written.equals(part)) {
      return invented;
    } else if (invented.length() != part.length()) {
      return written.equals(written.toUpperCase(Locale.ROOT))
          ? invented.toUpperCase(Locale.ROOT)
          : invented.toLowerCase(Locale.ROOT);
    }
    StringBuilder like = new StringBuilder();
    for (int i = 0; i < written.length(); i++) {
      char c = invented.charAt(i);
      boolean upper = Character.isUpperCase(written.charAt(i));
      like.append(upper ? Character.toUpperCase(c) : Character.toLowerCase(c));
    }
    return like.toString();
  }

  /** A tree with invented values in place of those that are known. */
  public JsonNode tree(JsonNode tree) {
    if (tree.isTextual()) {
      return TextNode.valueOf(text(tree.textValue()));
    } else if (tree.isNumber()) {
      String plain = tree.decimalValue().toPlainString();
      String other = plain.length() < SHORTEST_PART ? plain : text(plain);
      return other.equals(plain) ? tree : number(tree, other);
    } else if (tree instanceof ObjectNode object) {
      ObjectNode copy = Json.object();
      object.properties().forEach(e -> copy.set(text(e.getKey()), tree(e.getValue())));
      return copy;
    }
    return Json.mapped(tree, (name, value) -> tree(value));
  }

  /**
   * A tree at a path, with invented values in these fields and in place of those that are known.
   */
  public JsonNode tree(SecretFields fields, String path, JsonNode tree) {
    return fields.replaced(path, tree, this::secret, this::outside);
  }

  /** A value outside of secret fields, whose parts are invented by now where they must be. */
  private JsonNode outside(JsonNode value) {
    if (!value.isContainerNode()) {
      return tree(value);
    } else if (!value.isObject()) {
      return value;
    }
    ObjectNode copy = Json.object();
    value.properties().forEach(e -> copy.set(text(e.getKey()), e.getValue()));
    return copy;
  }

  /** Something invented in place of a whole value. */
  private JsonNode secret(JsonNode value) {
    if (value.isTextual()) {
      String text = value.textValue();
      return text.isBlank() ? value : TextNode.valueOf(invented(text));
    } else if (value.isNumber()) {
      return number(value, invented(value.decimalValue().toPlainString()));
    } else if (value instanceof ObjectNode object) {
      ObjectNode copy = Json.object();
      object.properties().forEach(e -> copy.set(text(e.getKey()), secret(e.getValue())));
      return copy;
    }
    return value.isBoolean() ? BooleanNode.FALSE : Json.mapped(value, (name, part) -> secret(part));
  }

  /** A number of the same type; the number itself if there is none. */
  private static JsonNode number(JsonNode like, String plain) {
    JsonNodeFactory nodes = JsonNodeFactory.instance;
    try {
      BigDecimal number = new BigDecimal(plain);
      if (like.isInt()) {
        return nodes.numberNode(number.min(BigDecimal.valueOf(Integer.MAX_VALUE)).intValueExact());
      } else if (like.isLong()) {
        return nodes.numberNode(number.min(BigDecimal.valueOf(Long.MAX_VALUE)).longValueExact());
      } else if (like.isBigInteger()) {
        return nodes.numberNode(number.toBigIntegerExact());
      }
      return like.isDouble() || like.isFloat()
          ? nodes.numberNode(number.doubleValue())
          : nodes.numberNode(number);
    } catch (ArithmeticException | NumberFormatException e) {
      return like;
    }
  }
}
