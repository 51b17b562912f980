package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.route.Evidence;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How values, times and looks at the state are put in words. */
final class Phrases {
  private static final int LONGEST_VALUE = 120;
  private static final long SECOND = 1_000;
  private static final long MINUTE = 60 * SECOND;
  private static final long HOUR = 60 * MINUTE;
  private static final long DAY = 24 * HOUR;

  private Phrases() {}

  static String value(@Nullable JsonNode value) {
    return value == null || value.isMissingNode() ? "nothing" : text(Json.text(value));
  }

  private static String kept(@Nullable JsonNode value) {
    return value == null ? "nothing" : text(Evidence.text(value));
  }

  /** {@code with 3}; nothing if there is no value. */
  static String with(@Nullable JsonNode value) {
    return value == null ? "" : " with " + value(value);
  }

  /** The text on one line, of bounded length. */
  static String text(String text) {
    return Texts.visible(Texts.shortened(text, LONGEST_VALUE));
  }

  /** The same in quotation marks that nothing in the text can close. */
  static String quoted(String text) {
    return Texts.visible(Json.text(Json.tree(Texts.shortened(text, LONGEST_VALUE))));
  }

  /** {@code 2 min}, {@code 3 h 20 min}: two units at most. */
  static String time(long millis) {
    if (millis < SECOND) {
      return millis + " ms";
    } else if (millis < MINUTE) {
      long tenths = (millis + SECOND / 20) / (SECOND / 10);
      return tenths / 10 + (tenths % 10 == 0 || tenths >= 100 ? "" : "." + tenths % 10) + " s";
    } else if (millis < HOUR) {
      return two(millis, MINUTE, "min", SECOND, "s", 10);
    } else if (millis < DAY) {
      return two(millis, HOUR, "h", MINUTE, "min", 24);
    }
    return two(millis, DAY, "d", HOUR, "h", 7);
  }

  private static String two(
      long millis, long unit, String name, long smaller, String smallerName, long until) {
    long whole = millis / unit;
    long rest = (millis % unit) / smaller;
    return whole + " " + name + (rest == 0 || whole >= until ? "" : " " + rest + " " + smallerName);
  }

  /** {@code a}, {@code a and b}, {@code a, b and c}. */
  static String list(List<String> words) {
    if (words.size() < 2) {
      return String.join("", words);
    }
    int last = words.size() - 1;
    return String.join(", ", words.subList(0, last)) + " and " + words.get(last);
  }

  static String values(Map<String, JsonNode> values) {
    List<String> words = new ArrayList<>();
    values.forEach((path, value) -> words.add(path + " = " + value(value)));
    return list(words);
  }

  /** {@code set a = 1 and b = 2 and deleted c}: one verb for all that it is said of. */
  static String writes(List<Write> writes) {
    List<String> sets =
        writes.stream()
            .filter(w -> w.verb() == Write.Verb.SET)
            .map(w -> w.path() + " = " + value(w.value()))
            .toList();
    List<String> words = new ArrayList<>();
    if (!sets.isEmpty()) {
      words.add("set " + list(sets));
    }
    writes.stream().filter(w -> w.verb() != Write.Verb.SET).forEach(w -> words.add(write(w)));
    return list(words);
  }

  /** The same as the end of a sentence; nothing if there are none. */
  static String and(List<Write> writes) {
    return writes.isEmpty() ? "" : " and " + writes(writes);
  }

  private static String write(Write write) {
    String path = write.path();
    String value = value(write.value());
    return switch (write.verb()) {
      case SET -> "set " + path + " = " + value;
      case MERGE -> "merged " + value + " into " + path;
      case APPEND -> "appended " + value + " to " + path;
      case DELETE -> "deleted " + path;
    };
  }

  /** Which way the looks of a rule went: {@code seats was 7, which is gt 6}. */
  static String look(Event.Seen seen) {
    String what = seen.what();
    String was = what + " was " + kept(seen.is());
    String op = seen.op();
    boolean held = Boolean.TRUE.equals(seen.held());
    if (op == null) {
      return was;
    }
    String than = seen.than() == null ? "" : kept(seen.than());
    return switch (op) {
      case "exists" -> what + (held ? " was there" : " was not there");
      case "eq" -> held ? was : was + ", not " + than;
      case "ne" -> held ? was + ", not " + than : was;
      default -> was + (held ? ", " : ", not ") + comparison(op) + " " + than;
    };
  }

  private static String comparison(String op) {
    if (op.equals("not in")) {
      return "outside";
    }
    int space = op.indexOf(' ');
    String word = space < 0 ? op : op.substring(0, space);
    String said =
        switch (word) {
          case "eq" -> "equal to";
          case "ne" -> "other than";
          case "gt" -> "above";
          case "gte" -> "at least";
          case "lt" -> "below";
          case "lte" -> "at most";
          case "in" -> "one of";
          case "matches" -> "like";
          default -> word;
        };
    return space < 0 ? said : said + " " + op.substring(space + 1) + ",";
  }

  static String looks(Event.Tried rule) {
    return list(rule.seen().stream().map(Phrases::look).toList());
  }
}
