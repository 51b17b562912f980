package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.record.Because.Kind;
import io.fermata.flow.record.Trace.Choice;
import io.fermata.flow.record.Trace.Entry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One walk through what a run wrote and decided, backward or forward. What it has explained once it
 * does not explain again.
 */
final class ValueCauses {
  private static final int MOST_PARTS = 50;

  private final Flow<?> flow;
  private final List<Entry> entries;
  private final List<Choice> choices;
  private final Map<Place, Place> cameFrom;

  /** The writes by the first part of their paths. */
  private final Map<String, List<Entry>> byHead = new HashMap<>();

  private final Map<Place, List<Choice>> byPlace = new HashMap<>();

  /** When each field right under a home was first written. */
  private final Map<String, Map<String, Integer>> firstWrites = new HashMap<>();

  private final Map<Integer, Set<Entry>> sources = new HashMap<>();
  private final Map<Integer, Set<Entry>> seen = new HashMap<>();
  private final Set<Integer> explained = new HashSet<>();
  private int left;

  ValueCauses(
      Flow<?> flow,
      List<Entry> entries,
      List<Choice> choices,
      Map<Place, Place> cameFrom,
      int nodes) {
    this.flow = flow;
    this.entries = entries;
    this.choices = choices;
    this.cameFrom = cameFrom;
    this.left = nodes;
    entries.forEach(e -> byHead.computeIfAbsent(head(e.path()), h -> new ArrayList<>()).add(e));
    for (Choice choice : choices) {
      Place place = choice.moment().place();
      if (place != null) {
        byPlace.computeIfAbsent(place, p -> new ArrayList<>()).add(choice);
      }
    }
  }

  private static String head(String path) {
    int dot = path.indexOf('.');
    return dot < 0 ? path : path.substring(0, dot);
  }

  // --- backward -------------------------------------------------------------------------------

  Because why(String path, int depth) {
    List<Entry> writes = latest(path);
    if (writes.isEmpty()) {
      return unwritten(path);
    } else if (writes.size() == 1 && writes.get(0).path().equals(path)) {
      return because(writes.get(0), depth);
    }
    Entry latest = writes.get(0);
    JsonNode value = value(path, writes);
    String text =
        writes.size() == 1
            ? "%s = %s is part of %s".formatted(path, Phrases.value(value), latest.path())
            : path + " was written in " + writes.size() + " parts";
    List<Because> parts = new ArrayList<>();
    writes.forEach(write -> add(parts, write, depth - 1));
    return new Because(kind(latest), path, value, latest.moment(), text, parts);
  }

  /** What the run knows of a field; if it is known in a branch alone, what that knows. */
  private List<Entry> latest(String path) {
    List<Entry> writes = lastWrites(path, "", Integer.MAX_VALUE);
    for (int i = entries.size() - 1; i >= 0 && writes.isEmpty(); i--) {
      Entry entry = entries.get(i);
      if (related(path, entry.path())) {
        writes = lastWrites(path, entry.moment().branch(), Integer.MAX_VALUE);
      }
    }
    return writes;
  }

  private static Because unwritten(String path) {
    return leaf(Kind.UNWRITTEN, path, path + " has no value: nobody wrote it");
  }

  private static Because leaf(Kind kind, String subject, String text) {
    return new Because(kind, subject, null, null, text, List.of());
  }

  private void add(List<Because> reasons, Entry entry, int depth) {
    if (!cut(reasons, depth)) {
      reasons.add(explained.contains(entry.number()) ? again(entry) : because(entry, depth));
    }
  }

  private static Because again(Entry entry) {
    String text = is(entry) + " (see above)";
    return new Because(Kind.REPEATED, entry.path(), entry.value(), entry.moment(), text, List.of());
  }

  /** Whether the tree has to end here; says so once among its siblings. */
  private boolean cut(List<Because> reasons, int depth) {
    if (depth > 0 && left > 0) {
      left--;
      return false;
    }
    boolean said = !reasons.isEmpty() && reasons.get(reasons.size() - 1).kind() == Kind.TRUNCATED;
    if (!said) {
      String text = left > 0 ? "… and what is further away" : "… and more that is not shown";
      reasons.add(leaf(Kind.TRUNCATED, "", text));
    }
    return true;
  }

  private Because because(Entry entry, int depth) {
    explained.add(entry.number());
    List<Because> reasons = new ArrayList<>();
    sources(entry).forEach(source -> add(reasons, source, depth - 1));
    Place place = entry.asker() == null ? entry.moment().place() : entry.asker();
    if (entry.source() != Source.VALIDATOR) {
      control(reasons, place, entry.number(), depth);
    }
    String text = is(entry) + " because " + how(entry);
    return new Because(kind(entry), entry.path(), entry.value(), entry.moment(), text, reasons);
  }

  /** The decisions without which the run need not have reached a place, the latest first. */
  private void control(List<Because> reasons, @Nullable Place place, int before, int depth) {
    Set<Place> passed = new HashSet<>();
    String node = place == null ? "" : place.node();
    Place step = place;
    while (step != null && passed.add(step)) {
      Place from = cameFrom.get(step);
      for (Choice choice :
          from == null ? List.<Choice>of() : byPlace.getOrDefault(from, List.of())) {
        boolean taken = choice.number() < before && decides(choice, node);
        if (taken && !decided(reasons, choice, depth)) {
          return;
        }
      }
      step = from;
    }
  }

  private boolean decides(Choice choice, String node) {
    return flow.avoidable(choice.moment().node(), node);
  }

  /** Adds a decision; false if the tree has to end here. */
  private boolean decided(List<Because> reasons, Choice choice, int depth) {
    if (cut(reasons, depth - 1)) {
      return false;
    }
    boolean again = !explained.add(choice.number());
    List<Because> looks = new ArrayList<>();
    if (!again) {
      seen(choice).forEach(write -> add(looks, write, depth - 2));
    }
    Occurrence moment = choice.moment();
    String text = words(choice) + (again ? " (see above)" : "");
    Kind kind = again ? Kind.REPEATED : Kind.DECISION;
    reasons.add(new Because(kind, moment.node(), null, moment, text, looks));
    return true;
  }

  /** The writes that a decision looked at. */
  private Set<Entry> seen(Choice choice) {
    return seen.computeIfAbsent(choice.number(), number -> lookedAt(choice));
  }

  private Set<Entry> lookedAt(Choice choice) {
    Set<Entry> seen = new LinkedHashSet<>();
    Occurrence moment = choice.moment();
    for (Event.Tried rule : choice.decided().tried()) {
      for (Event.Seen look : rule.seen()) {
        seen.addAll(lastWrites(moment.field(look.what()), moment.branch(), choice.number()));
        String other = look.otherField();
        if (other != null) {
          seen.addAll(lastWrites(moment.field(other), moment.branch(), choice.number()));
        }
      }
    }
    return seen;
  }

  // --- forward --------------------------------------------------------------------------------

  Because fed(String path, int depth) {
    List<Entry> writes = latest(path);
    if (writes.isEmpty()) {
      return unwritten(path);
    }
    Entry latest = writes.get(0);
    List<Because> uses = uses(latest, depth);
    String text = is(latest) + (uses.isEmpty() ? " went into nothing" : " went into");
    return new Because(kind(latest), path, value(path, writes), latest.moment(), text, uses);
  }

  private List<Because> uses(Entry source, int depth) {
    explained.add(source.number());
    List<Because> uses = new ArrayList<>();
    for (Entry entry : entries) {
      if (entry.value() == null || !sources(entry).contains(source)) {
        continue;
      }
      if (cut(uses, depth)) {
        return uses;
      }
      if (explained.contains(entry.number())) {
        uses.add(again(entry));
      } else {
        String text = is(entry) + ": " + how(entry);
        List<Because> further = uses(entry, depth - 1);
        uses.add(
            new Because(kind(entry), entry.path(), entry.value(), entry.moment(), text, further));
      }
    }
    for (Choice choice : choices) {
      if (seen(choice).contains(source) && !cut(uses, depth)) {
        Occurrence moment = choice.moment();
        uses.add(new Because(Kind.DECISION, moment.node(), null, moment, words(choice), List.of()));
      }
    }
    return uses;
  }

  // --- what a write rests on ------------------------------------------------------------------

  private Set<Entry> sources(Entry entry) {
    Set<Entry> known = sources.get(entry.number());
    if (known == null) {
      known = new LinkedHashSet<>();
      switch (entry.source()) {
        case ACTION -> read(entry, known);
        case INPUT, OUTPUT -> mapped(entry, known);
        case VALIDATOR -> validated(entry, known);
        case JOIN -> joined(entry, known);
        case RESET -> restored(entry, known);
        case MIGRATION -> carried(entry, known);
        case CLIENT, SIGNAL, PASSED -> {}
      }
      known.remove(entry);
      sources.put(entry.number(), known);
    }
    return known;
  }

  private void read(Entry entry, Set<Entry> found) {
    for (String read : entry.reads()) {
      boolean all = read.equals(entry.moment().home());
      for (String path : all ? fields(read, entry.saw()) : List.of(read)) {
        found.addAll(lastWrites(path, entry.moment().branch(), entry.saw()));
      }
    }
  }

  /** The fields right under a home that had been written by then. */
  private List<String> fields(String home, int before) {
    return firstWrites.computeIfAbsent(home, this::firstWrites).entrySet().stream()
        .filter(first -> first.getValue() < before)
        .map(Map.Entry::getKey)
        .toList();
  }

  private Map<String, Integer> firstWrites(String home) {
    Map<String, Integer> first = new LinkedHashMap<>();
    String prefix = home.isEmpty() ? "" : home + ".";
    for (Entry entry : home.isEmpty() ? entries : byHead.getOrDefault(head(home), List.of())) {
      if (entry.path().startsWith(prefix)) {
        int dot = entry.path().indexOf('.', prefix.length());
        String field = dot < 0 ? entry.path() : entry.path().substring(0, dot);
        first.putIfAbsent(field, entry.number());
      }
    }
    return first;
  }

  private void mapped(Entry entry, Set<Entry> found) {
    Set<Entry> all = new LinkedHashSet<>();
    for (String from : entry.reads()) {
      for (String field : fields(from, entry.saw())) {
        String own = entry.own();
        if (own != null && related(own, field)) {
          continue;
        }
        List<Entry> writes = lastWrites(field, entry.moment().branch(), entry.saw());
        JsonNode there = value(field, writes);
        if (there != null && entry.value() != null && holds(there, entry.value())) {
          found.addAll(writes);
        }
        all.addAll(writes);
      }
    }
    if (found.isEmpty()) {
      found.addAll(all);
    }
  }

  private static boolean holds(JsonNode tree, JsonNode value) {
    if (tree.equals(value)) {
      return true;
    }
    for (JsonNode child : tree) {
      if (holds(child, value)) {
        return true;
      }
    }
    return false;
  }

  /** The answer that a validator's write follows from. */
  private void validated(Entry entry, Set<Entry> found) {
    for (Entry earlier : backward(entry)) {
      if (earlier.source() == Source.CLIENT && entry.reads().contains(earlier.path())) {
        found.add(earlier);
        return;
      }
    }
  }

  /** What the branches had written there last; of a list, what its items had written at all. */
  private void joined(Entry entry, Set<Entry> found) {
    String fork = entry.moment().step() + ":";
    String items = entry.moment().field(entry.moment().name());
    Set<String> taken = new HashSet<>();
    for (Entry earlier : backward(entry)) {
      String branch = earlier.moment().branch();
      boolean of = branch.startsWith(fork) && branch.indexOf('|', fork.length()) < 0;
      boolean item = covers(items, earlier.path()) && !earlier.path().equals(items);
      boolean touches = related(earlier.path(), entry.path()) || item;
      boolean first = taken.add(item ? earlier.path() : branch + " " + entry.path());
      if (of && touches && first && earlier.value() != null) {
        found.add(earlier);
      }
    }
  }

  /** The earlier write that a correction went back to. */
  private void restored(Entry entry, Set<Entry> found) {
    for (Entry earlier : backward(entry)) {
      if (earlier.path().equals(entry.path())
          && entry.value() != null
          && entry.value().equals(earlier.value())) {
        found.add(earlier);
        return;
      }
    }
  }

  /** What held the same value under another name, if it only moved. */
  private void carried(Entry entry, Set<Entry> found) {
    for (Entry earlier : backward(entry)) {
      if (earlier.source() != Source.MIGRATION
          && entry.value() != null
          && entry.value().equals(earlier.value())) {
        found.add(earlier);
        return;
      }
    }
  }

  /** The earlier writes, the latest first. */
  private Iterable<Entry> backward(Entry entry) {
    return () -> {
      ListIterator<Entry> before = entries.listIterator(earlier(entries, entry.number()));
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return before.hasPrevious();
        }

        @Override
        public Entry next() {
          return before.previous();
        }
      };
    };
  }

  /** How many of the writes, which are in order, came before a moment. */
  private static int earlier(List<Entry> writes, int before) {
    int low = 0;
    int high = writes.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (writes.get(middle).number() < before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // --- looking up -----------------------------------------------------------------------------

  /**
   * The writes that a field's value was made of, the latest first: back to the one that set all of
   * it. A branch sees what was written in it and before it branched off.
   */
  private List<Entry> lastWrites(String path, String branch, int before) {
    List<Entry> writes = new ArrayList<>();
    List<String> replaced = new ArrayList<>();
    List<Entry> all = path.isEmpty() ? entries : byHead.getOrDefault(head(path), List.of());
    for (int i = earlier(all, before) - 1; i >= 0 && writes.size() < MOST_PARTS; i--) {
      Entry entry = all.get(i);
      boolean stale = replaced.stream().anyMatch(known -> covers(known, entry.path()));
      boolean visible = Place.within(branch, entry.moment().branch());
      if (stale || !visible || !related(path, entry.path())) {
        continue;
      }
      if (entry.value() != null) {
        writes.add(entry);
      }
      if (entry.replaces() && covers(entry.path(), path)) {
        return writes;
      } else if (entry.replaces()) {
        replaced.add(entry.path());
      }
    }
    return writes;
  }

  /** Whether a path is another or contains it. */
  private static boolean covers(String outer, String path) {
    return outer.isEmpty() || path.equals(outer) || path.startsWith(outer + ".");
  }

  private static boolean related(String a, String b) {
    return covers(a, b) || covers(b, a);
  }

  static String outer(String home) {
    int dot = home.lastIndexOf('.');
    return dot < 0 ? "" : home.substring(0, dot);
  }

  /** The value that one write left at a path; null where it takes more than one to know. */
  private static @Nullable JsonNode value(String path, Collection<Entry> writes) {
    if (writes.size() != 1) {
      return null;
    }
    Entry only = writes.iterator().next();
    JsonNode value = only.value();
    if (value == null || only.path().equals(path) || !covers(only.path(), path)) {
      return only.path().equals(path) ? value : null;
    }
    for (String part : path.substring(only.path().length() + 1).split("\\.", -1)) {
      value = value.path(part);
    }
    return value;
  }

  // --- words ----------------------------------------------------------------------------------

  private static Kind kind(Entry entry) {
    return switch (entry.source()) {
      case CLIENT -> Kind.ANSWER;
      case VALIDATOR -> Kind.VALIDATION;
      case PASSED -> Kind.DEFAULT;
      case ACTION -> Kind.ACTION;
      case SIGNAL -> Kind.SIGNAL;
      case INPUT -> Kind.INPUT;
      case OUTPUT -> Kind.OUTPUT;
      case JOIN -> Kind.JOIN;
      case RESET -> Kind.RESET;
      case MIGRATION -> Kind.MIGRATION;
    };
  }

  private static String is(Entry entry) {
    String value = Phrases.value(entry.value());
    return switch (entry.write().verb()) {
      case APPEND, MERGE -> entry.path() + " has " + value;
      case DELETE -> entry.path() + " has no value";
      case SET -> entry.path() + " = " + value;
    };
  }

  private static String how(Entry entry) {
    Occurrence moment = entry.moment();
    String step = moment.step();
    Place asker = entry.asker();
    String said =
        switch (entry.source()) {
          case CLIENT ->
              asker == null ? "the client gave it unasked" : "the client answered " + asker;
          case VALIDATOR -> "the validator of " + step + " made it so";
          case PASSED -> step + " was left open, and this is its default";
          case ACTION -> step + " " + verb(entry) + " it";
          case SIGNAL -> step + " took it from a signal";
          case INPUT -> "sub-flow " + entry.own() + " was given it";
          case OUTPUT -> "sub-flow " + String.join("", entry.reads()) + " gave it";
          case JOIN -> "the branches after " + step + " joined";
          case RESET -> "a correction went back to it";
          case MIGRATION -> "it was carried over from an earlier version";
        };
    return moment.seq() > 0 ? said + " (record " + moment.seq() + ")" : said;
  }

  private static String verb(Entry entry) {
    return switch (entry.write().verb()) {
      case SET -> "set";
      case MERGE -> "merged";
      case APPEND -> "appended";
      case DELETE -> "deleted";
    };
  }

  private static String words(Choice choice) {
    List<String> looks =
        choice.decided().tried().stream()
            .map(Phrases::looks)
            .filter(look -> !look.isEmpty())
            .toList();
    String why = looks.isEmpty() ? "" : ", as " + String.join("; ", looks);
    return choice.moment().step() + " chose " + Phrases.list(choice.decided().targets()) + why;
  }
}
