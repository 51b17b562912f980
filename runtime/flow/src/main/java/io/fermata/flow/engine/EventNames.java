package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.MigrationFold;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The events of a run as they would be called in a later version of its flow, whose migrations say
 * what became of nodes and fields. Values, and words that were said, stay as they were.
 */
public final class EventNames {
  /** Everything is called what it was. */
  public static final EventNames SAME = new EventNames(List.of());

  private final List<Renaming> steps;

  /** The new names of one migration, by their old ones. */
  private record Renaming(Map<String, String> nodes, Map<String, String> fields) {}

  private EventNames(List<Renaming> steps) {
    this.steps = steps;
  }

  /** These names, and then those of a further migration. */
  public EventNames then(Map<String, String> nodes, Map<String, String> fields) {
    if (nodes.isEmpty() && fields.isEmpty()) {
      return this;
    }
    return new EventNames(RunState.plus(steps, new Renaming(nodes, fields)));
  }

  /** Whether nothing has another name. */
  public boolean same() {
    return steps.isEmpty();
  }

  /** Events under the new names. Migrations are not among them. */
  public List<Event> of(List<Event> events) {
    if (steps.isEmpty()) {
      return events;
    }
    List<Event> named = new ArrayList<>();
    for (Event event : events) {
      Event one = event;
      for (Renaming step : steps) {
        one = new Named(step).of(one);
      }
      named.add(one);
    }
    return List.copyOf(named);
  }

  /** The names after one migration. */
  private record Named(Renaming names) {

    Event of(Event event) {
      Event named = calls(event);
      named = named == event ? waits(event) : named;
      named = named == event ? works(event) : named;
      named = named == event ? moves(event) : named;
      return named == event ? undoes(event) : named;
    }

    private Event calls(Event event) {
      if (event instanceof Event.Answered e) {
        return new Event.Answered(
            keys(e.values()),
            e.acknowledged() == null ? null : place(e.acknowledged()),
            e.at(),
            recipients(e.recipients()),
            e.left() == null ? null : all(e.left(), this::field));
      } else if (event instanceof Event.Accepted e) {
        return new Event.Accepted(place(e.place()), field(e.field()), e.value(), keys(e.sets()));
      } else if (event instanceof Event.Rejected e) {
        return new Event.Rejected(place(e.place()), field(e.field()), e.message());
      } else if (event instanceof Event.Passed e) {
        return new Event.Passed(place(e.place()), field(e.field()), e.value());
      } else if (event instanceof Event.Reset e) {
        return new Event.Reset(
            all(
                e.to(),
                back ->
                    new Event.Back(
                        place(back.place()),
                        MigrationFold.checkpoint(back.checkpoint(), names.nodes()),
                        back.leaving())),
            keys(e.corrected()),
            all(e.undo(), this::place),
            e.at(),
            recipients(e.recipients()));
      } else if (event instanceof Event.Retried e) {
        return new Event.Retried(place(e.place()));
      } else if (event instanceof Event.Skipped e) {
        return new Event.Skipped(place(e.place()), e.undoable());
      }
      return event;
    }

    private Event waits(Event event) {
      if (event instanceof Event.Asked e) {
        return new Event.Asked(
            place(e.place()), all(e.questions(), this::question), e.context(), e.limits(), e.at());
      } else if (event instanceof Event.Shown e) {
        Event.Widget w = e.widget();
        return new Event.Shown(
            place(e.place()),
            new Event.Widget(w.tool(), w.data(), w.interactive(), maybe(w.field()), w.schema()),
            e.limits(),
            e.at());
      } else if (event instanceof Event.Slept e) {
        return new Event.Slept(place(e.place()), e.until(), e.at());
      } else if (event instanceof Event.Awaited e) {
        return new Event.Awaited(place(e.place()), e.signal(), e.limits(), e.at());
      } else if (event instanceof Event.Received e) {
        return new Event.Received(place(e.place()), e.signal(), maybe(e.field()), e.payload());
      } else if (event instanceof Event.Woken e) {
        return new Event.Woken(place(e.place()), e.at());
      } else if (event instanceof Event.DeadlinePassed e) {
        return new Event.DeadlinePassed(place(e.place()), node(e.target()), e.at());
      } else if (event instanceof Event.Reminding e) {
        return new Event.Reminding(place(e.place()), e.number(), e.attempt(), e.at());
      } else if (event instanceof Event.Reminded e) {
        return new Event.Reminded(place(e.place()), e.number(), e.failure(), e.next());
      }
      return event;
    }

    private Event works(Event event) {
      if (event instanceof Event.Attempted e) {
        return new Event.Attempted(place(e.place()), maybe(e.field()), e.attempt(), e.at());
      } else if (event instanceof Event.AttemptFailed e) {
        return new Event.AttemptFailed(
            place(e.place()), e.attempt(), e.code(), e.message(), e.detail(), e.retryAt());
      } else if (event instanceof Event.Committed e) {
        return new Event.Committed(
            place(e.place()),
            writes(e.writes()),
            all(e.reads(), this::field),
            e.emitted(),
            e.undoable(),
            e.ends());
      } else if (event instanceof Event.Tagged e) {
        return new Event.Tagged(place(e.place()), e.added(), e.removed());
      } else if (event instanceof Event.Stopped e) {
        return new Event.Stopped(
            place(e.place()),
            e.resume(),
            e.code(),
            e.message(),
            e.detail(),
            maybe(e.field()),
            e.dropped());
      }
      return event;
    }

    private Event moves(Event event) {
      if (event instanceof Event.Decided e) {
        return new Event.Decided(place(e.place()), e.tried(), labels(e.place(), e.targets()));
      } else if (event instanceof Event.Moved e) {
        return new Event.Moved(place(e.from()), place(e.to()), e.asks(), e.at());
      } else if (event instanceof Event.Forked e) {
        return new Event.Forked(
            place(e.place()),
            all(
                e.heads(),
                head ->
                    new Event.Head(
                        label(e.place(), head.label()),
                        place(head.place()),
                        head.asks(),
                        head.item())),
            e.list(),
            e.at());
      } else if (event instanceof Event.Arrived e) {
        return new Event.Arrived(place(e.place()), e.result(), e.at());
      } else if (event instanceof Event.BranchFailed e) {
        List<Place> undo = e.undo();
        return new Event.BranchFailed(
            place(e.place()),
            e.code(),
            e.message(),
            e.at(),
            undo == null ? null : all(undo, this::place));
      } else if (event instanceof Event.Joined e) {
        return new Event.Joined(
            place(e.place()),
            labels(e.place(), e.merged()),
            labels(e.place(), e.dropped()),
            writes(e.writes()),
            all(e.undo(), this::place),
            e.to() == null ? null : node(e.to()),
            e.at(),
            e.ends());
      } else if (event instanceof Event.Opened e) {
        return new Event.Opened(
            place(e.place()),
            field(e.scope()),
            keys(e.input()),
            all(e.kept(), this::field),
            e.at());
      } else if (event instanceof Event.Closed e) {
        return new Event.Closed(
            place(e.place()), field(e.scope()), writes(e.writes()), e.result(), e.at());
      } else if (event instanceof Event.Broken e) {
        return new Event.Broken(place(e.place()), e.reason(), node(e.end()));
      }
      return event;
    }

    private Event undoes(Event event) {
      if (event instanceof Event.Undoing e) {
        return new Event.Undoing(place(e.place()), e.at());
      } else if (event instanceof Event.Undone e) {
        return new Event.Undone(place(e.place()));
      } else if (event instanceof Event.Ending e) {
        return new Event.Ending(e.code(), e.message(), all(e.undo(), this::place), e.at());
      }
      return event;
    }

    // --- names --------------------------------------------------------------------------------

    private String node(String name) {
      return MigrationFold.renamed(name, names.nodes(), '/');
    }

    private Place place(Place place) {
      return place.undoes()
          ? MigrationFold.place(place.undone(), names.nodes()).undo()
          : MigrationFold.place(place, names.nodes());
    }

    private String field(String path) {
      return MigrationFold.field(path, names.fields());
    }

    private @Nullable String maybe(@Nullable String path) {
      return path == null ? null : field(path);
    }

    private String label(Place at, String label) {
      return MigrationFold.label(at, label, names.nodes());
    }

    private List<String> labels(Place at, List<String> labels) {
      return all(labels, label -> label(at, label));
    }

    private Event.Question question(Event.Question q) {
      return new Event.Question(
          field(q.field()), q.question(), q.schema(), q.suggestions(), q.context(), q.optional());
    }

    private List<Write> writes(List<Write> writes) {
      return all(writes, write -> new Write(write.verb(), field(write.path()), write.value()));
    }

    private Map<String, JsonNode> keys(Map<String, JsonNode> values) {
      Map<String, JsonNode> named = new LinkedHashMap<>();
      values.forEach((path, value) -> named.put(field(path), value));
      return named;
    }

    private @Nullable Map<String, List<String>> recipients(
        @Nullable Map<String, List<String>> branches) {
      if (branches == null) {
        return null;
      }
      Map<String, List<String>> named = new LinkedHashMap<>();
      branches.forEach(
          (path, some) ->
              named.put(field(path), all(some, each -> MigrationFold.branch(each, names.nodes()))));
      return named;
    }

    private static <T> List<T> all(List<T> some, UnaryOperator<T> name) {
      return some.stream().map(name).toList();
    }
  }
}
