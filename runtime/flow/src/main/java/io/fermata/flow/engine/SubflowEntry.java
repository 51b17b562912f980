package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.FieldScope;
import io.fermata.flow.Flow;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** How a drive enters a flow within the flow, and comes out of it. */
final class SubflowEntry {
  private final Drive drive;

  SubflowEntry(Drive drive) {
    this.drive = drive;
  }

  // --- a sub-flow -----------------------------------------------------------------------------

  <S extends Record> void open(TypedPlace<S> spot, Node.Mount<S, ?> mount) {
    try {
      FieldScope<?> inner = inner(spot.place());
      Map<String, ?> input = mount.input() == null ? Map.of() : mount.input().apply(spot.view());
      emitKept(opened(spot.place(), inner, inner.prefix(spot.place()), input), spot);
    } catch (Throwable e) {
      drive.stop(spot.place(), Event.Resume.ENTERING, ErrorCode.STEP_FAILED, e);
    }
  }

  void close(Place place, Step<?> end, FieldScope<?> inner) {
    try {
      closed(place, end, inner);
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.ENTERING, ErrorCode.RESULT_FAILED, e);
    }
  }

  private <S extends Record, T extends Record> void closed(
      Place place, Step<S> end, FieldScope<T> inner) {
    Node.Mount<S, T> mount = mount(end.scope().flow().nodes().get(inner.id()));
    TypedPlace<S> outside = new TypedPlace<>(drive.state(), place, end);
    TypedPlace<T> inside = inside(place, inner);
    List<Write> writes = new ArrayList<>();
    if (mount.output() != null) {
      writes.addAll(writes(outside, mount.output().apply(outside.view(), inside.view())));
    }
    JsonNode result = Drive.result(inside);
    if (mount.into() != null) {
      writes.add(write(outside, mount.into(), result));
    }
    emitKept(new Event.Closed(place, inner.home(place), writes, result, drive.at()), outside);
  }

  @SuppressWarnings("unchecked") // a scope is made from the mount whose flow it runs
  private static <S extends Record, T extends Record> Node.Mount<S, T> mount(
      @Nullable Node<S> node) {
    return (Node.Mount<S, T>) Objects.requireNonNull(node);
  }

  /** A write of each value, by the order of the paths: what contains another goes before it. */
  static List<Write> writes(TypedPlace<?> spot, Map<String, ? extends @Nullable Object> values) {
    List<Write> writes = new ArrayList<>();
    new TreeMap<String, @Nullable Object>(values)
        .forEach((field, value) -> writes.add(write(spot, field, value)));
    return writes;
  }

  private static Write write(TypedPlace<?> spot, String field, @Nullable Object value) {
    spot.schema().requireWritable(field);
    return value == null
        ? new Write(Write.Verb.DELETE, spot.path(field), null)
        : new Write(Write.Verb.SET, spot.path(field), Json.tree(value));
  }

  // --- a sub-flow for every item --------------------------------------------------------------

  <S extends Record> void openEach(TypedPlace<S> spot, Node.Each<S, ?> each) {
    Place place = spot.place();
    try {
      List<?> items = each.items().apply(spot.view());
      if (items == null || items.isEmpty()) {
        drive.together(
            () -> {
              misplaced(place, 0);
              drive.passBy(place);
            });
      } else if (items.size() > each.atMost()) {
        tooMany(place, items.size(), each.atMost());
      } else if (drive.mayVisit(place, items.size())) {
        openItems(spot, each, items);
      }
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.ENTERING, ErrorCode.STEP_FAILED, e);
    }
  }

  private void tooMany(Place place, int items, int bound) {
    ErrorCode code = ErrorCode.TOO_MANY_BRANCHES;
    String message =
        "The list of %s has %s items and may have %s.".formatted(place.node(), items, bound);
    drive.halt(place, Event.Resume.ENTERING, code, message, "");
  }

  private <S extends Record> void openItems(
      TypedPlace<S> spot, Node.Each<S, ?> each, List<?> items) {
    Place place = spot.place();
    FieldScope<?> inner = inner(place);
    List<Event.Head> heads = new ArrayList<>();
    List<Map<String, ?>> inputs = new ArrayList<>();
    for (int i = 0; i < items.size(); i++) {
      Object item = items.get(i);
      Place first = new Place(place.branch("" + i), inner.node(Flow.START), 1);
      heads.add(new Event.Head("" + i, first, false, Json.tree(item)));
      inputs.add(each.input() == null ? Map.of() : each.input().apply(spot.view(), item));
    }
    drive.together(
        () -> {
          misplaced(place, heads.size());
          drive.emit(new Event.Forked(place, heads, true, drive.at()));
          for (int i = 0; i < heads.size(); i++) {
            begin(heads.get(i).place(), inner, inputs.get(i));
          }
        });
  }

  private void misplaced(Place list, int items) {
    List<String> fields = new Answers(drive.graph(), drive.state()).misplacedAhead(list, items);
    if (!fields.isEmpty()) {
      drive.emit(new Event.Misplaced(list, fields, items));
    }
  }

  private void begin(Place item, FieldScope<?> inner, Map<String, ?> input) {
    Event opened = opened(item, inner, inner.prefix(item), input);
    String what = "The input of item " + Place.labelOf(item.branch());
    drive.requireKept(opened, inside(item, inner), what);
    drive.emit(opened);
  }

  /** Begins an item whose list was left in between. */
  void openItem(Place place, FieldScope<?> inner) {
    try {
      Place list = Objects.requireNonNull(Place.forkOf(place.branch()));
      TypedPlace<?> outside = TypedPlace.asOf(drive.asForked(list), list, drive.graph());
      Map<String, ?> input = input(outside, Integer.parseInt(Place.labelOf(place.branch())));
      begin(place, inner, input);
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.ENTERING, ErrorCode.STEP_FAILED, e);
    }
  }

  private static <S extends Record> Map<String, ?> input(TypedPlace<S> outside, int index) {
    Node.Each<S, ?> each = (Node.Each<S, ?>) Objects.requireNonNull(outside.step().node());
    return each.input() == null
        ? Map.of()
        : each.input().apply(outside.view(), each.items().apply(outside.view()).get(index));
  }

  void closeItem(Place place, FieldScope<?> inner) {
    try {
      TypedPlace<?> inside = inside(place, inner);
      JsonNode result = Drive.result(inside);
      drive.emit(new Event.Closed(place, inner.home(place), List.of(), result, drive.at()));
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.ENTERING, ErrorCode.RESULT_FAILED, e);
    }
  }

  private <T extends Record> TypedPlace<T> inside(Place place, FieldScope<T> inner) {
    return new TypedPlace<>(drive.state(), place, new Step<>("", inner, null, null, null));
  }

  // --- both -----------------------------------------------------------------------------------

  private FieldScope<?> inner(Place place) {
    return drive.graph().step(place.node() + "/" + Flow.START).scope();
  }

  /** What a sub-flow begins with: what it is given, and what the client has answered ahead. */
  private Event.Opened opened(
      Place place, FieldScope<?> inner, String prefix, Map<String, ?> given) {
    Map<String, JsonNode> input = new LinkedHashMap<>();
    local(inner, given).forEach((field, value) -> input.put(prefix + field, value));
    StateMemory memory = drive.state().memory(place.branch());
    long last = memory.left().getOrDefault(inner.node(Flow.END), 0L);
    List<JsonNode> items = RunState.about(drive.state().places(), place.branch());
    List<String> kept = new ArrayList<>();
    memory
        .answers()
        .forEach(
            (path, answer) -> {
              boolean ahead =
                  path.startsWith(prefix)
                      && answer.tick() > last
                      && Paths.filled(Paths.get(memory.data(), path));
              if (ahead && answer.isAbout(items)) {
                kept.add(path);
              }
            });
    kept.removeAll(input.keySet());
    return new Event.Opened(
        place, prefix.substring(0, prefix.length() - 1), input, kept, drive.at());
  }

  private static Map<String, JsonNode> local(FieldScope<?> inner, Map<String, ?> given) {
    Map<String, JsonNode> input = new LinkedHashMap<>();
    new TreeMap<String, @Nullable Object>(given)
        .forEach(
            (field, value) -> {
              inner.schema().requireWritable(field);
              if (value != null) {
                JsonNode tree = Json.tree(value);
                inner.schema().value(field, tree);
                input.put(field, tree);
              }
            });
    return input;
  }

  private void emitKept(Event event, TypedPlace<?> spot) {
    drive.requireKept(event, spot, "Node " + spot.place().node());
    drive.emit(event);
  }
}
