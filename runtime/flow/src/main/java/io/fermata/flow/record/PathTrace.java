package io.fermata.flow.record;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Renaming;
import io.fermata.flow.json.Reached;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Which ways of a picture a run took, and which of its branches were dropped. */
final class PathTrace implements Recorder {
  private static final String START = "/" + Flow.START;
  private static final String END = "/" + Flow.END;

  private final Map<String, Shape> shapes = new HashMap<>();
  private final Map<String, List<Arrow>> ways = new HashMap<>();

  private final Map<String, Integer> visits = new HashMap<>();

  /** How often which ways were taken, without their labels; to "" whichever way that is. */
  private final Map<Arrow, Integer> taken = new LinkedHashMap<>();

  private final Map<String, Event.Decided> choices = new HashMap<>();
  private final Map<Place, Items> items = new LinkedHashMap<>();
  private final Set<String> dropped = new HashSet<>();
  private final Set<Place> late = new HashSet<>();
  private final Map<Place, String> broken = new HashMap<>();
  private final Set<Place> lists = new HashSet<>();
  private final Set<Place> joined = new HashSet<>();

  /** How far the items of a list are. */
  record Items(int all, Set<String> done, Set<String> failed, boolean open) {}

  PathTrace(Picture picture) {
    for (Shape shape : picture.shapes()) {
      shapes.put(shape.path(), shape);
    }
    for (Arrow arrow : picture.arrows()) {
      ways.computeIfAbsent(arrow.from(), from -> new ArrayList<>()).add(arrow);
    }
  }

  // --- the result ------------------------------------------------------------------------

  int visits(Shape shape) {
    return shape.kind().branches()
        ? ways(shape.path()).stream().mapToInt(this::taken).max().orElse(0)
        : visits.getOrDefault(shape.path(), 0);
  }

  int taken(Arrow arrow) {
    Arrow one =
        arrow.style() == Style.EARLY
            ? arrow
            : way(arrow.from(), arrow.to(), arrow.style(), arrow.rule());
    Arrow any = way(arrow.from(), "", arrow.style(), arrow.rule());
    return taken.getOrDefault(one, 0) + taken.getOrDefault(any, 0);
  }

  private static Arrow way(String from, String to, Style style, int rule) {
    return new Arrow(from, to, style, rule, List.of());
  }

  /** The ways of a run that left its flow early; no author declared them. */
  List<Arrow> early() {
    return taken.keySet().stream()
        .filter(arrow -> arrow.style() == Style.EARLY)
        .filter(arrow -> shapes.containsKey(arrow.from()) && shapes.containsKey(arrow.to()))
        .toList();
  }

  /** The last decision at the node that a way leads from. */
  Event.@Nullable Decided choice(Arrow arrow) {
    return choices.get(node(arrow.from()));
  }

  /** The items of a list, where there is one; those of all branches together. */
  List<Items> items(String path) {
    return items.entrySet().stream()
        .filter(entry -> entry.getKey().node().equals(path))
        .map(Map.Entry::getValue)
        .toList();
  }

  boolean isDropped(Arrow arrow) {
    return isDropped(arrow.from()) || isDropped(arrow.to());
  }

  /** Whether a shape lies in a branch that was dropped. */
  boolean isDropped(String path) {
    if (dropped.contains(path)) {
      return true;
    }
    Shape shape = shapes.get(path);
    return shape != null && !shape.box().isEmpty() && isDropped(shape.box());
  }

  private List<Arrow> ways(String from) {
    return ways.getOrDefault(from, List.of());
  }

  /** The node that a shape belongs to. */
  private String node(String path) {
    Shape shape = shapes.get(path);
    return shape != null && shape.kind().branches() ? path.substring(0, path.length() - 1) : path;
  }

  // --- following ------------------------------------------------------------------------------

  @Override
  public void onRunStart(Occurrence at, Observation.RunStart event) {
    visit(Flow.START);
  }

  @Override
  public void onNext(Occurrence at, Event.Moved event) {
    Place from = at.here();
    String to = event.to().node();
    if (!to.equals(from.node() + START)) {
      leave(from, to);
    }
    visit(to);
  }

  @Override
  public void onLoop(Occurrence at, Event.Moved event, int pass) {
    onNext(at, event);
  }

  @Override
  public void onReset(Occurrence at, Event.Reset event) {
    event.to().forEach(back -> visit(back.place().node()));
  }

  private void visit(String path) {
    visits.merge(path, 1, Integer::sum);
    dropped.remove(path);
  }

  /** What is known of nodes is known under their new names. */
  @Override
  public void onMigrated(Occurrence at, Event.Migrated event) {
    Renaming names = Renaming.by(event);
    UnaryOperator<String> path = old -> named(old, names);
    rename(visits, path, Integer::sum);
    rename(choices, path, (one, later) -> later);
    rename(taken, way -> named(way, path), Integer::sum);
    rename(items, names::place, (one, later) -> later);
    rename(dropped, path);
    List.of(late, lists, joined).forEach(places -> rename(places, names::place));
    rename(broken, names::place, (one, later) -> later);
  }

  /** The shapes where branches part and come together are named after their node. */
  private static String named(String path, Renaming names) {
    boolean branches = path.endsWith(Picture.fork("")) || path.endsWith(Picture.join(""));
    int end = branches ? path.length() - 1 : path.length();
    return names.node(path.substring(0, end)) + path.substring(end);
  }

  /** The rule that leads to a branch may be found only by the branch's new name. */
  private Arrow named(Arrow way, UnaryOperator<String> path) {
    String from = path.apply(way.from());
    String to = path.apply(way.to());
    boolean unknown = way.style() == Style.ONWARD && way.rule() < 0;
    Set<Integer> rules = unknown ? rules(from, to) : Set.of();
    int rule = rules.stream().findFirst().orElse(way.rule());
    return new Arrow(from, to, way.style(), rule, way.label());
  }

  private static <K, V> void rename(Map<K, V> map, UnaryOperator<K> name, BinaryOperator<V> both) {
    Map<K, V> old = new LinkedHashMap<>(map);
    map.clear();
    old.forEach((key, value) -> map.merge(name.apply(key), value, both));
  }

  private static <T> void rename(Set<T> set, UnaryOperator<T> name) {
    List<T> old = List.copyOf(set);
    set.clear();
    old.forEach(one -> set.add(name.apply(one)));
  }

  @Override
  public void onDecision(Occurrence at, Event.Decided event) {
    choices.put(source(at.here()), event);
  }

  @Override
  public void onSelected(Occurrence at, Event.Decided event) {
    onDecision(at, event);
  }

  @Override
  public void onResume(Occurrence at, Observation.Resume event) {
    if (event.cause() == Observation.Cause.DEADLINE) {
      late.add(at.here());
    }
  }

  @Override
  public void onBreak(Occurrence at, Event.Broken event) {
    broken.put(at.here(), RunPicture.shortened(event.reason()));
  }

  @Override
  public void onFork(Occurrence at, Event.Forked event) {
    Place place = at.here();
    String node = source(place);
    if (event.list()) {
      lists.add(place);
      items.put(
          key(place), new Items(event.heads().size(), new HashSet<>(), new HashSet<>(), true));
    } else {
      lists.remove(place);
      take(node, Style.ONWARD, -1);
    }
    for (Event.Head head : event.heads()) {
      String path = head.place().node();
      if (!event.list()) {
        dropped.removeAll(region(node, path));
        enter(node, path);
      }
      visit(path);
    }
  }

  @Override
  public void onArrival(Occurrence at, Event.Arrived event) {
    Place place = at.here();
    Items list = list(place.fork());
    if (list == null) {
      leave(place, null);
    } else {
      list.done().add(place.label());
    }
  }

  @Override
  public void onBranchFailed(Occurrence at, Event.BranchFailed event) {
    Place place = at.here();
    Place fork = place.fork();
    Items list = list(fork);
    if (list != null) {
      list.failed().add(place.label());
    } else if (fork != null) {
      dropped.addAll(region(source(fork), sibling(source(fork), place.label())));
    }
  }

  /** The items of a list whose branches a place has parted into; null if it is none. */
  private @Nullable Items list(@Nullable Place fork) {
    return fork == null || !lists.contains(fork) ? null : items.get(key(fork));
  }

  @Override
  public void onJoin(Occurrence at, Event.Joined event, boolean list) {
    Place place = at.here();
    String node = source(place);
    Items all = items.get(key(place));
    if (lists.remove(place) && all != null) {
      items.put(key(place), new Items(all.all(), all.done(), all.failed(), false));
    } else if (!event.merged().isEmpty() || !event.dropped().isEmpty()) {
      joined.add(place);
      event.dropped().forEach(label -> dropped.addAll(region(node, sibling(node, label))));
    }
  }

  /** The same in all visits. */
  private static Place key(Place place) {
    return new Place(place.branch(), place.node(), 1);
  }

  /** A sub-flow's end is drawn inside its box, and what follows it leaves from the box. */
  private static String source(Place place) {
    String path = place.node();
    return path.endsWith(END) ? path.substring(0, path.length() - END.length()) : path;
  }

  // --- ways -----------------------------------------------------------------------------------

  /**
   * Takes the way that leads out of a place.
   *
   * @param to where it led; null for the end of a branch
   */
  private void leave(Place place, @Nullable String to) {
    String from = source(place);
    String reason = broken.remove(place);
    if (reason != null && to != null) {
      early(from, to, reason);
    } else if (late.remove(place)) {
      take(from, Style.LATE, -1);
    } else if (joined.remove(place)) {
      take(Picture.join(from), Style.ONWARD, -1);
    } else if (!shapes.containsKey(Picture.fork(from))) {
      take(from, Style.ONWARD, matched(choices.get(from)));
    } else {
      take(from, Style.ONWARD, -1);
      enter(from, Picture.join(from));
      take(Picture.join(from), Style.ONWARD, -1);
    }
  }

  private void take(String from, Style style, int rule) {
    taken.merge(way(from, "", style, rule), 1, Integer::sum);
  }

  private void early(String from, String to, String reason) {
    Arrow arrow = new Arrow(from, to, Style.EARLY, -1, List.of("ended early", reason));
    taken.merge(arrow, 1, Integer::sum);
  }

  /** Takes the ways from where branches part to a branch: those whose rules matched. */
  private void enter(String node, String head) {
    String fork = Picture.fork(node);
    Set<Integer> rules = rules(fork, head);
    for (int rule : rules.isEmpty() ? Set.of(-1) : rules) {
      taken.merge(way(fork, head, Style.ONWARD, rule), 1, Integer::sum);
    }
  }

  /** The rules of the last decision that lead from where branches part to a branch. */
  private Set<Integer> rules(String fork, String head) {
    Event.Decided choice = choices.get(node(fork));
    return ways(fork).stream()
        .filter(arrow -> arrow.to().equals(head) && matched(choice, arrow.rule()))
        .map(Arrow::rule)
        .collect(Collectors.toSet());
  }

  /** The first rule that matched; -1 if none did. */
  private static int matched(Event.@Nullable Decided choice) {
    return choice == null
        ? -1
        : choice.tried().stream().map(Event.Tried::matched).toList().indexOf(true);
  }

  private static boolean matched(Event.@Nullable Decided choice, int rule) {
    return choice != null
        && rule >= 0
        && rule < choice.tried().size()
        && choice.tried().get(rule).matched();
  }

  // --- branches -------------------------------------------------------------------------------

  private static String sibling(String node, String other) {
    return node.substring(0, node.lastIndexOf('/') + 1) + other;
  }

  /** The paths of a branch's shapes, from its first node to the join. */
  private Set<String> region(String node, String head) {
    Shape first = shapes.get(head);
    if (first == null) {
      // It may be known under another name.
      return Set.of(head);
    } else if (first.kind() == Kind.JOIN) {
      return Set.of();
    }
    return Reached.from(
        Set.of(head),
        at ->
            ways(at).stream().map(Arrow::to).filter(to -> !to.equals(Picture.join(node))).toList());
  }
}
