package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Policy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** Reads a journal from its beginning and refuses what no run may do. */
public final class JournalCheck {
  /** Stands for what a flow does when a run of it expires, after all that it undoes. */
  private static final Place HOOK = new Place(Flow.START, 1);

  private final Graph graph;

  /** The actions under way; true as long as nobody has asked for another attempt. */
  private final Map<Place, Boolean> attempted = new HashMap<>();

  private final Set<Place> committed = new HashSet<>();
  private final Map<Place, Set<String>> accepted = new HashMap<>();
  private final Map<String, Integer> visits = new HashMap<>();

  /** The fields whose questions a call has left open. */
  private final Set<String> left = new HashSet<>();

  /** For each node the answers that came since it was last left; absent before that. */
  private final Map<String, Set<String>> sinceLeft = new HashMap<>();

  /** What can be undone, in the order in which it was done. */
  private final List<Place> done = new ArrayList<>();

  /** What is to be undone, the next one first. */
  private final List<Place> undoing = new ArrayList<>();

  private boolean ending;
  private boolean over;

  JournalCheck(Flow<?> flow) {
    this.graph = flow.graph();
  }

  public static void read(Flow<?> flow, List<Event> journal) {
    JournalCheck check = new JournalCheck(flow);
    journal.forEach(check::read);
  }

  private void read(Event event) {
    assertThat(over && !(event instanceof Event.Started)).as("after the end: " + event).isFalse();
    if (event instanceof Event.Started) {
      begin();
    } else if (event instanceof Event.Answered e) {
      given(e.values().keySet());
      left.addAll(e.left() == null ? List.of() : e.left());
    } else if (event instanceof Event.Passed e) {
      assertThat(left).as("left open by a call").contains(e.field());
      assertThat(accepted.computeIfAbsent(e.place(), place -> new HashSet<>()).add(e.field()))
          .as("passed at %s although answered there", e.place())
          .isTrue();
    } else if (event instanceof Event.Opened e) {
      given(e.input().keySet());
    } else if (event instanceof Event.Asked e) {
      Set<String> known = accepted.getOrDefault(e.place(), Set.of());
      assertThat(e.questions().stream().map(Event.Question::field))
          .as("asked at %s although answered there", e.place())
          .noneMatch(known::contains);
    } else if (event instanceof Event.Accepted e) {
      accepted(e);
    } else if (event instanceof Event.Moved e) {
      left(e.from());
      entered(e.to());
    } else if (event instanceof Event.Arrived e) {
      left(e.place());
    } else if (event instanceof Event.Forked e) {
      e.heads().forEach(head -> entered(head.place()));
    } else if (event instanceof Event.Reset e) {
      sinceLeft.clear();
      e.to().forEach(back -> entered(back.place()));
      toUndo(e.undo());
    } else if (event instanceof Event.BranchFailed e) {
      List<Place> underWay = new ArrayList<>(e.undo() == null ? List.of() : e.undo());
      assertThat(attempted.keySet()).as("under way").containsAll(underWay);
      assertThat(committed).as("done, and not under way").noneMatch(underWay::contains);
      Collections.reverse(underWay);
      underWay.forEach(place -> done(place, true));
    } else if (event instanceof Event.Joined e) {
      Predicate<Place> dropped =
          place ->
              e.dropped().stream()
                  .anyMatch(label -> Place.within(place.branch(), e.place().branch(label)));
      assertThat(e.undo()).as("undone with its branch").allMatch(dropped);
      assertThat(done.stream().filter(dropped)).as("all of it").allMatch(e.undo()::contains);
      toUndo(e.undo());
    } else if (event instanceof Event.ForkedFrom) {
      // what another run was doing is begun again, and what it did is not undone
      attempted.replaceAll((place, now) -> false);
      done.clear();
    } else {
      effect(event);
    }
  }

  private void begin() {
    attempted.clear();
    committed.clear();
    accepted.clear();
    visits.clear();
    left.clear();
    sinceLeft.clear();
    done.clear();
    undoing.clear();
    ending = false;
    over = false;
  }

  // --- answers and ways -----------------------------------------------------------------------

  private void given(Set<String> fields) {
    sinceLeft.values().forEach(since -> since.addAll(fields));
  }

  private void accepted(Event.Accepted e) {
    Set<String> given = sinceLeft.get(node(e.place()));
    assertThat(given == null || given.contains(e.field()))
        .as("the answer accepted by " + e + " was given in this pass")
        .isTrue();
    accepted.computeIfAbsent(e.place(), place -> new HashSet<>()).add(e.field());
  }

  private void left(Place place) {
    sinceLeft.put(node(place), new HashSet<>());
  }

  /** A node in its branch, whichever pass it is. */
  private static String node(Place place) {
    return place.toString().replaceAll("#[0-9]+", "");
  }

  private void entered(Place place) {
    Integer before = visits.put(place.branch() + "|" + place.node(), place.visit());
    assertThat(place.visit()).as("visit of " + place).isGreaterThan(before == null ? 0 : before);
    assertThat(ending).as("goes on to %s although it is to end", place).isFalse();
  }

  // --- effects --------------------------------------------------------------------------------

  private void effect(Event event) {
    if (event instanceof Event.Attempted e) {
      assertThat(committed).as("a step that has committed").doesNotContain(e.place());
      if (e.field() == null && once(e.place())) {
        assertThat(attempted.getOrDefault(e.place(), false))
            .as("the once step %s runs again by itself", e.place())
            .isFalse();
      }
      attempted.put(e.place(), true);
    } else if (event instanceof Event.Retried e) {
      attempted.computeIfPresent(e.place(), (place, now) -> false);
    } else if (event instanceof Event.Committed e) {
      assertThat(attempted).as("begun before it is done").containsKey(e.place());
      assertThat(committed.add(e.place())).as("%s is committed once", e.place()).isTrue();
      done(e.place(), e.undoable());
    } else if (event instanceof Event.Skipped e) {
      if (e.place().undoes()) {
        undone(e.place().undone());
      } else {
        done(e.place(), e.undoable());
      }
    } else {
      end(event);
    }
  }

  private void done(Place place, boolean undoable) {
    assertThat(ending).as("%s is done although the run is to end", place).isFalse();
    if (undoable) {
      done.add(place);
    }
  }

  private boolean once(Place place) {
    Policy policy =
        place.undoes()
            ? Policy.DEFAULT
            : graph.step(place).node() instanceof Node.Act<?> act ? act.policy() : Policy.DEFAULT;
    return policy.once();
  }

  // --- undoing --------------------------------------------------------------------------------

  /** What is under way goes first, and then what was done, the last one first. */
  private void toUndo(List<Place> places) {
    assertThat(places).doesNotHaveDuplicates().noneMatch(undoing::contains);
    int known = Integer.MAX_VALUE;
    for (Place place : places) {
      int at = done.indexOf(place);
      if (at < 0) {
        assertThat(attempted).as("undone without having begun").containsKey(place);
        assertThat(committed).as("undone twice").doesNotContain(place);
      }
      assertThat(at < 0 ? Integer.MAX_VALUE : at)
          .as("%s in the order of %s", place, places)
          .isLessThanOrEqualTo(known);
      known = at < 0 ? known : at;
    }
    done.removeAll(places);
    undoing.addAll(places);
  }

  private void undone(Place place) {
    assertThat(undoing).as("to be undone").isNotEmpty();
    assertThat(place).as("the next to be undone").isEqualTo(undoing.remove(0));
  }

  private void end(Event event) {
    if (event instanceof Event.Undoing e) {
      assertThat(undoing).as("to be undone").isNotEmpty();
      assertThat(e.place()).as("the next to be undone").isEqualTo(undoing.get(0));
    } else if (event instanceof Event.Undone e) {
      undone(e.place());
    } else if (event instanceof Event.Ending e) {
      assertThat(done).as("all that can be undone").allMatch(e.undo()::contains);
      toUndo(e.undo().stream().filter(place -> !HOOK.equals(place)).toList());
      e.undo().stream().filter(HOOK::equals).forEach(undoing::add);
      ending = true;
    } else if (event instanceof Event.Cancelled
        || event instanceof Event.Failed
        || event instanceof Event.Expired) {
      assertThat(done).as("left undone").isEmpty();
      over();
    } else if (event instanceof Event.Completed) {
      over();
    } else if (event instanceof Event.Abandoned) {
      over = true;
    }
  }

  private void over() {
    assertThat(undoing).as("still to be undone").isEmpty();
    over = true;
  }
}
