package io.fermata.flow.engine;

import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Violation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** How a paused run looks from outside: what it waits for and what went wrong. */
public final class PauseReport {

  /** What the run waits for, without what went wrong; null where it waits for nobody. */
  @Nullable Outcome open(RunState state) {
    List<Event.Question> questions = new ArrayList<>();
    Set<String> contexts = new LinkedHashSet<>();
    Place shown = state.shown();
    if (shown != null && state.at(shown).phase() instanceof Phase.Showing showing) {
      return new Outcome.ShowWidget(showing.widget());
    }
    for (Place place : state.inOrder()) {
      PlaceState at = state.at(place);
      if (unchecked(at) && at.phase().busy() instanceof Phase.Showing showing) {
        return new Outcome.ShowWidget(showing.widget());
      } else if (asks(at)) {
        questions.addAll(at.open());
        if (at.context() != null) {
          contexts.add(at.context());
        }
      }
    }
    String context = contexts.isEmpty() ? null : String.join("\n", contexts);
    return questions.isEmpty() ? null : new Outcome.Interrupt(questions, context);
  }

  /** Whether a place's questions are open to answers. */
  public static boolean asks(PlaceState at) {
    return at.phase() instanceof Phase.Asking || unchecked(at);
  }

  private static boolean unchecked(PlaceState at) {
    return at.phase() instanceof Phase.Halted halted && halted.unchecked();
  }

  /** The outcome of a call: where the run is, and which of the call's answers were refused. */
  Outcome pause(RunState state) {
    Outcome now = now(state);
    List<Violation> refused = state.refused();
    if (refused.isEmpty()) {
      return now;
    }
    return now instanceof Outcome.Failure stopped
        ? stopped.with(Violation.first(refused))
        : rejected(refused, now);
  }

  /** What stopped the run, if anything did, and what it waits for. */
  Outcome now(RunState state) {
    Outcome open = open(state);
    Phase.Halted halted = halted(state);
    if (halted != null) {
      return new Outcome.Failure(
          halted.code().wireName(),
          halted.code().explained(halted.message()),
          halted.field(),
          List.of(),
          open);
    }
    return open == null ? waiting(state) : open;
  }

  /**
   * The stop that somebody has to decide about, or else the one that others follow from; one that
   * the next call passes is reported last.
   */
  private static Phase.@Nullable Halted halted(RunState state) {
    Place undecided = undecided(state);
    if (undecided != null) {
      return (Phase.Halted) state.at(undecided).phase();
    }
    Phase.Halted first = null;
    for (Place place : state.inOrder()) {
      if (state.at(place).phase() instanceof Phase.Halted halted
          && (first == null || rank(halted.code()) < rank(first.code()))) {
        first = halted;
      }
    }
    return first;
  }

  private static int rank(ErrorCode code) {
    return switch (code) {
      case VISIT_LIMIT -> 1;
      case BRANCH_CANCELLED -> 2;
      default -> 0;
    };
  }

  /** What a run reports that took less than its caller gave. */
  private static Outcome.Failure rejected(List<Violation> refused, Outcome now) {
    return new Outcome.Failure(
        ErrorCode.ANSWER_REJECTED.wireName(),
        message(refused, now),
        refused.get(0).field(),
        Violation.first(refused),
        now);
  }

  /**
   * The author's text; of several rejections a line each, with the field in front, as of one that
   * no question is open for.
   */
  private static String message(List<Violation> refused, Outcome now) {
    if (refused.size() == 1 && asks(now, refused.get(0).field())) {
      return refused.get(0).message();
    }
    return Violation.first(refused).stream()
        .map(v -> v.field() + ": " + v.message())
        .collect(Collectors.joining("\n"));
  }

  private static boolean asks(Outcome now, String field) {
    return now instanceof Outcome.Interrupt interrupt
        ? interrupt.questions().stream().anyMatch(question -> question.field().equals(field))
        : now instanceof Outcome.ShowWidget show && field.equals(show.widget().field());
  }

  private static Outcome.Waiting waiting(RunState state) {
    Set<String> kinds = new LinkedHashSet<>();
    List<String> awaited = new ArrayList<>();
    Long first = null;
    for (Place place : state.inOrder()) {
      PlaceState at = state.at(place);
      Long until = null;
      if (at.phase() instanceof Phase.Sleeping sleeping) {
        until = sleeping.until();
        kinds.add("time");
        awaited.add("until " + Instant.ofEpochMilli(until));
      } else if (at.phase() instanceof Phase.Awaiting awaiting) {
        until = at.deadline();
        String longest = until == null ? "" : " until " + Instant.ofEpochMilli(until);
        kinds.add("signal " + awaiting.signal());
        awaited.add("for the signal " + awaiting.signal() + longest);
      }
      first = first == null || (until != null && until < first) ? until : first;
    }
    if (awaited.isEmpty()) {
      throw new IllegalStateException("Run " + state.runId() + " neither works nor waits");
    }
    String when = first == null ? "" : " after " + Instant.ofEpochMilli(first);
    boolean signal = kinds.size() > 1 || !kinds.contains("time");
    String or = when.isEmpty() ? " when" : ", or when";
    return new Outcome.Waiting(
        String.join(", ", kinds),
        first,
        "The run waits "
            + String.join(" and ", awaited)
            + ", and then continues by itself. Tell the user and end the turn. Call again with"
            + " action continue and without stateUpdates"
            + when
            + (signal ? or + " the user says that it has happened" : "")
            + ".");
  }

  /** When the run continues by itself; null if somebody has to do something first. */
  @Nullable Long until(RunState state) {
    Long until = null;
    for (PlaceState at : state.places().values()) {
      if (needsSomebody(at)) {
        return null;
      } else if (at.phase() instanceof Phase.Sleeping sleeping
          && (until == null || sleeping.until() < until)) {
        until = sleeping.until();
      }
    }
    return until;
  }

  private static boolean needsSomebody(PlaceState at) {
    return at.phase() instanceof Phase.Halted
        || at.phase() instanceof Phase.Showing
        || (at.phase() instanceof Phase.Asking && !at.open().isEmpty());
  }

  static @Nullable Place unknownOutcome(RunState state) {
    return stopped(state, (place, halted) -> halted.code() == ErrorCode.OUTCOME_UNKNOWN);
  }

  /** Whether a place is halted because it is unknown what its step has done. */
  static boolean unknown(PlaceState at) {
    return at.phase() instanceof Phase.Halted halted && halted.code() == ErrorCode.OUTCOME_UNKNOWN;
  }

  /** A place that somebody may decide about: try it again, or take it as done. */
  public static @Nullable Place undecided(RunState state) {
    Place unknown = unknownOutcome(state);
    return unknown == null ? stopped(state, (place, halted) -> place.undoes()) : unknown;
  }

  private static @Nullable Place stopped(RunState state, BiPredicate<Place, Phase.Halted> which) {
    for (Map.Entry<Place, PlaceState> entry : state.places().entrySet()) {
      if (entry.getValue().phase() instanceof Phase.Halted halted
          && which.test(entry.getKey(), halted)) {
        return entry.getKey();
      }
    }
    return null;
  }
}
