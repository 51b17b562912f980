package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RecordedResult;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.math.BigDecimal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The values of a run that must not leave the run, and how they are found in what does.
 *
 * <p>Texts and numbers of at least four characters are found also where they are part of a text, in
 * upper or lower case; shorter texts where they are the whole value.
 */
public final class Secrets {
  /** What stands where a value was. */
  public static final String MARK = "[redacted]";

  private static final int SHORTEST_PART = 4;
  private static final String CUT = "…";
  private static final int[] NOTHING = {};

  /** A search costs a multiple of the characters that it looks for. */
  private static final int MOST_CHARACTERS = 1 << 20;

  /** In the order in which they were noted last. */
  private final Set<String> parts = new LinkedHashSet<>();

  private int characters;

  /** The length of the shortest part that was ever noted. */
  private int shortest = Integer.MAX_VALUE;

  /** The parts that were not looked for yet. */
  private final List<String> newParts = new ArrayList<>();

  /** What looks for the other parts; each has more to look for than the next. */
  private final Deque<TextSearch> searches = new ArrayDeque<>();

  private final Set<String> shortTexts = new HashSet<>();
  private final Set<BigDecimal> numbers = new HashSet<>();

  // --- what is known ----------------------------------------------------------------------------

  /**
   * Forgets the texts that were noted first once all have more than a million characters together:
   * for what is kept while a run lasts.
   *
   * @return whether there were as many
   */
  public boolean forgetEldest() {
    if (characters <= MOST_CHARACTERS) {
      return false;
    }
    Iterator<String> eldest = parts.iterator();
    while (characters > MOST_CHARACTERS / 2) {
      characters -= eldest.next().length();
      eldest.remove();
    }
    searches.clear();
    newParts.clear();
    newParts.addAll(parts);
    return true;
  }

  /** Notes a value, and those within it. */
  public void add(JsonNode value) {
    if (value.isContainerNode()) {
      value.forEach(this::add);
    } else if (value.isTextual() && !value.textValue().isBlank()) {
      text(value);
    } else if (value.isNumber()) {
      BigDecimal number = value.decimalValue().stripTrailingZeros();
      numbers.add(number);
      part(number.toPlainString());
      part(value.decimalValue().toPlainString());
      part(value.asText());
    }
  }

  private void text(JsonNode value) {
    String text = value.textValue();
    if (text.length() < SHORTEST_PART) {
      shortTexts.add(text);
    } else {
      String quoted = Json.text(value);
      for (String written : List.of(text, quoted.substring(1, quoted.length() - 1))) {
        part(written);
        part(Texts.visible(written));
      }
      String upper = text.toUpperCase(Locale.ROOT);
      if (!upper.equalsIgnoreCase(text)) { // as STRASSE is not Straße letter by letter
        part(upper);
      }
    }
  }

  private void part(String text) {
    if (text.length() < SHORTEST_PART) {
      return;
    }
    if (!parts.remove(text)) {
      newParts.add(text);
      characters += text.length();
      shortest = Math.min(shortest, text.length());
    }
    parts.add(text);
  }

  /** Notes what an event brings into secret fields. */
  public void learn(SecretFields fields, Event event) {
    find(fields, event, this::add);
  }

  /** Hands over what an event brings into secret fields. */
  public static void find(SecretFields fields, Event event, Consumer<JsonNode> found) {
    if (event instanceof Event.Answered e) {
      values(fields, e.values(), found);
    } else if (event instanceof Event.Accepted e) {
      if (e.value() != null) {
        fields.find(e.field(), e.value(), found);
      }
      values(fields, e.sets(), found);
    } else if (event instanceof Event.Signalled e && e.payload() != null) {
      fields.findInSignal(e.signal(), e.payload(), found);
    } else if (event instanceof Event.Received e && e.field() != null && e.payload() != null) {
      fields.find(e.field(), e.payload(), found);
    } else if (event instanceof Event.Committed e) {
      writes(fields, e.writes(), found);
    } else if (event instanceof Event.Joined e) {
      writes(fields, e.writes(), found);
    } else if (event instanceof Event.Opened e) {
      values(fields, e.input(), found);
    } else if (event instanceof Event.Closed e) {
      writes(fields, e.writes(), found);
    } else if (event instanceof Event.Reset e) {
      values(fields, e.corrected(), found);
    } else if (event instanceof Event.Migrated e) {
      e.rewrites().forEach(rewrite -> writes(fields, rewrite.writes(), found));
    } else if (event instanceof Event.ForkedFrom e) {
      recorded(fields, e.recorded(), found);
    }
  }

  private static void recorded(
      SecretFields fields, List<RecordedResult> all, Consumer<JsonNode> found) {
    for (RecordedResult one : all) {
      values(fields, one.read(), found);
      one.events().forEach(event -> find(fields, event, found));
    }
  }

  private static void values(
      SecretFields fields, Map<String, JsonNode> values, Consumer<JsonNode> found) {
    values.forEach((path, value) -> fields.find(path, value, found));
  }

  public void writes(SecretFields fields, List<Write> writes) {
    writes(fields, writes, this::add);
  }

  private static void writes(SecretFields fields, List<Write> writes, Consumer<JsonNode> found) {
    for (Write write : writes) {
      JsonNode value = write.value();
      if (value != null) {
        fields.find(write.at(), value, found);
      }
    }
  }

  /** Notes what the secret fields held where the run can go back to, and what they hold. */
  public void learn(SecretFields fields, RunState state) {
    Set<JsonNode> trees = trees();
    for (Branch branch : state.branches().values()) {
      branch.entered().values().forEach(checkpoint -> memory(fields, checkpoint.memory(), trees));
    }
    state.done().forEach(undo -> tree(fields, undo.data(), trees));
    state.undoing().forEach(undo -> tree(fields, undo.data(), trees));
    RunState.Fork fork = state.fork();
    if (fork != null) {
      recorded(fields, fork.known().recorded(), this::add);
      recorded(fields, fork.known().past(), this::add);
    }
    for (RunState.Signal signal : state.signals()) {
      JsonNode payload = signal.payload();
      if (payload != null) {
        fields.findInSignal(signal.name(), payload, this::add);
      }
    }
    // What it holds comes last, to be forgotten last.
    Set<JsonNode> present = trees();
    state.branches().values().forEach(branch -> memory(fields, branch.memory(), present));
  }

  private static Set<JsonNode> trees() {
    return Collections.newSetFromMap(new IdentityHashMap<>());
  }

  /** Branches and checkpoints share their trees; each is looked through once. */
  private void tree(SecretFields fields, JsonNode tree, Set<JsonNode> trees) {
    if (trees.add(tree)) {
      fields.find("", tree, this::add);
    }
  }

  private void memory(SecretFields fields, StateMemory memory, Set<JsonNode> trees) {
    tree(fields, memory.data(), trees);
    memory.answers().forEach((path, answer) -> fields.find(path, answer.value(), this::add));
  }

  public boolean isEmpty() {
    return parts.isEmpty() && shortTexts.isEmpty() && numbers.isEmpty();
  }

  /** How many characters are sought. */
  public int size() {
    return characters;
  }

  /** All that is known, as a list that {@link #add} takes. */
  public ArrayNode known() {
    ArrayNode known = JsonNodeFactory.instance.arrayNode();
    parts.forEach(known::add);
    shortTexts.forEach(known::add);
    numbers.forEach(known::add);
    return known;
  }

  // --- where it is found ------------------------------------------------------------------------

  /** Whether a text or number is one of them, or has one of them in it. */
  public boolean in(JsonNode leaf) {
    if (leaf.isTextual()) {
      return in(leaf.textValue());
    }
    String plain = leaf.isNumber() ? leaf.decimalValue().toPlainString() : "";
    return plain.length() >= SHORTEST_PART && masks(leaf);
  }

  /** Whether a text is one of them, or has one of them in it. */
  public boolean in(String text) {
    return shortTexts.contains(text) || hasPart(text);
  }

  /** Those that are in a tree, as a list that {@link #add} takes. */
  public ArrayNode foundIn(JsonNode tree) {
    Set<JsonNode> found = new LinkedHashSet<>();
    collect(tree, found);
    return JsonNodeFactory.instance.arrayNode().addAll(found);
  }

  private void collect(JsonNode tree, Set<JsonNode> found) {
    if (tree.isTextual()) {
      collect(tree.textValue(), found);
    } else if (tree.isNumber() && in(tree)) {
      found.add(tree);
      collect(tree.decimalValue().toPlainString(), found);
    } else if (tree instanceof ObjectNode object) {
      object
          .properties()
          .forEach(
              e -> {
                collect(e.getKey(), found);
                collect(e.getValue(), found);
              });
    } else {
      tree.forEach(value -> collect(value, found));
    }
  }

  private void collect(String text, Set<JsonNode> found) {
    if (shortTexts.contains(text)) {
      found.add(TextNode.valueOf(text));
    }
    int[] lengths = lengths(text);
    for (int end = SHORTEST_PART; end < lengths.length; end++) {
      if (lengths[end] >= SHORTEST_PART) {
        found.add(TextNode.valueOf(text.substring(end - lengths[end], end)));
      }
    }
  }

  /** The tree with a mark in place of what must not leave the run. */
  public JsonNode masked(JsonNode tree) {
    if (tree.isTextual()) {
      return shortTexts.contains(tree.textValue())
          ? TextNode.valueOf(MARK)
          : TextNode.valueOf(masked(tree.textValue()));
    } else if (tree.isNumber()) {
      return masks(tree) ? TextNode.valueOf(MARK) : tree;
    } else if (tree instanceof ObjectNode object) {
      ObjectNode copy = JsonNodeFactory.instance.objectNode();
      object.properties().forEach(e -> copy.set(masked(e.getKey()), masked(e.getValue())));
      return copy;
    }
    return Json.mapped(tree, (name, value) -> masked(value));
  }

  private boolean masks(JsonNode number) {
    BigDecimal decimal = number.decimalValue();
    return numbers.contains(decimal.stripTrailingZeros()) || hasPart(decimal.toPlainString());
  }

  private boolean hasPart(String text) {
    for (int length : lengths(text)) {
      if (length >= SHORTEST_PART) {
        return true;
      }
    }
    return false;
  }

  /** The text with a mark in place of what must not leave the run. */
  public String masked(String text) {
    BitSet found = found(text);
    if (found.isEmpty()) {
      return text;
    }
    StringBuilder masked = new StringBuilder();
    int copied = 0;
    for (int from = found.nextSetBit(0); from >= 0; from = found.nextSetBit(copied)) {
      masked.append(text, copied, from).append(MARK);
      copied = found.nextClearBit(from);
    }
    return masked.append(text, copied, text.length()).toString();
  }

  /**
   * The characters of a text that belong to a known part. A text that was shortened may end with
   * the beginning of one.
   */
  private BitSet found(String text) {
    BitSet found = new BitSet();
    int[] lengths = lengths(text);
    int within = 0;
    for (int end = lengths.length - 1; end > 0; end--) {
      within = Math.max(within - 1, lengths[end] < SHORTEST_PART ? 0 : lengths[end]);
      found.set(end - 1, within > 0);
    }
    return found;
  }

  /** The length of the longest known part that ends at each place of a text; empty for none. */
  private int[] lengths(String text) {
    int cut = text.endsWith(CUT) ? text.length() - CUT.length() : 0;
    if (parts.isEmpty() || text.length() < (cut > 0 ? SHORTEST_PART : shortest)) {
      return NOTHING;
    }
    int[] lengths = new int[text.length() + 1];
    searches().forEach(search -> search.find(text, cut, lengths));
    return lengths;
  }

  /**
   * A search is made again with more parts only if they have become twice as many, so a part that
   * is added costs little, however many there are.
   */
  private Deque<TextSearch> searches() {
    if (!newParts.isEmpty()) {
      List<String> sought = new ArrayList<>(newParts);
      newParts.clear();
      while (!searches.isEmpty() && searches.getLast().size() <= TextSearch.size(sought)) {
        sought.addAll(searches.removeLast().sought());
      }
      searches.addLast(new TextSearch(sought));
    }
    return searches;
  }
}
