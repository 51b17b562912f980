package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a run knows about one of its places.
 *
 * @param accepted the fields whose answers stand in this visit
 * @param again the fields that are asked again in this visit, and have not been answered since,
 *     each with when this was found in the run's count of events
 * @param posed what was asked here
 * @param attempts how often an effect was attempted here
 * @param base the attempts before the present effect began; its retry policy counts from there
 * @param since when the place began to wait
 * @param deadline when the wait expires; null if never
 * @param reminder the next reminder of those who are waited for; null if nobody is reminded
 */
public record PlaceState(
    Phase phase,
    Set<String> accepted,
    Map<String, Long> again,
    Posed posed,
    int attempts,
    int base,
    long since,
    @Nullable Long deadline,
    @Nullable Reminder reminder) {

  private static final Phase ENTERING = new Phase.Entering();

  /**
   * A reminder that is to come or is being sent, or the one that would follow the last.
   *
   * @param number counts from 1
   * @param due when it is sent; null if all were sent
   * @param attempt 0 as long as its time has not come
   */
  public record Reminder(int number, @Nullable Long due, int attempt) {
    private Reminder later(long millis) {
      return new Reminder(number, due == null ? null : Long.valueOf(due + millis), 0);
    }
  }

  /**
   * Questions as they were put.
   *
   * @param earlier whether an earlier version put them, and this one is yet to
   */
  public record Posed(
      List<Event.Question> questions,
      @Nullable String context,
      @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean earlier) {
    private static final Posed NOTHING = new Posed(List.of(), null, false);

    private Posed carried() {
      return new Posed(questions, context, true);
    }

    /** Whether a question was put before, in another way. */
    private boolean differs(Event.Question now, @Nullable String nowContext) {
      return questions.stream()
          .filter(then -> then.field().equals(now.field()))
          .anyMatch(
              then ->
                  !Objects.equals(context, nowContext)
                      || !Json.same(Json.tree(then), Json.tree(now)));
    }
  }

  static PlaceState entered(long at) {
    return new PlaceState(ENTERING, Set.of(), Map.of(), Posed.NOTHING, 0, 0, at, null, null);
  }

  /** What was asked here by the present version. */
  @JsonIgnore
  public List<Event.Question> questions() {
    return posed.earlier() ? List.of() : posed.questions();
  }

  @JsonIgnore
  public @Nullable String context() {
    return posed.earlier() ? null : posed.context();
  }

  /** The questions that still wait for an answer, in declared order. */
  @JsonIgnore
  public List<Event.Question> open() {
    return unaccepted(questions());
  }

  /** The questions that waited for an answer in whichever version put them last. */
  List<Event.Question> lastOpen() {
    return unaccepted(posed.questions());
  }

  private List<Event.Question> unaccepted(List<Event.Question> all) {
    return accepted.isEmpty()
        ? all
        : all.stream().filter(q -> !accepted.contains(q.field())).toList();
  }

  PlaceState phase(Phase next) {
    return begun(next, attempts, base, since);
  }

  /**
   * A question that is put in another way is asked again: an answer to the former is none to it.
   */
  PlaceState asked(Event.Asked asked, boolean seen, long tick) {
    Map<String, Long> reworded = new LinkedHashMap<>(again);
    asked.questions().stream()
        .filter(question -> posed.differs(question, asked.context()))
        .forEach(question -> reworded.put(question.field(), tick));
    return new PlaceState(
            new Phase.Asking(seen),
            accepted,
            reworded,
            new Posed(asked.questions(), asked.context(), false),
            attempts,
            base,
            asked.at(),
            deadline,
            reminder)
        .waiting(asked.limits());
  }

  PlaceState shown(Event.Shown shown, boolean seen) {
    return waits(new Phase.Showing(shown.widget(), seen), shown.at()).waiting(shown.limits());
  }

  /** It begins to wait for something that happens outside. */
  PlaceState waits(Phase next, long at) {
    return begun(next, attempts, base, at);
  }

  /** Bounds the wait. A question that is put again in the same visit keeps the bounds it has. */
  PlaceState waiting(Event.@Nullable WaitLimits limits) {
    if (limits == null) {
      return this;
    }
    Long remind = limits.remindAt();
    Reminder first = remind == null ? null : new Reminder(1, remind, 0);
    return timed(
        deadline == null ? limits.deadline() : deadline, reminder == null ? first : reminder);
  }

  /** Whether a reminder is to come or is being sent. */
  @JsonIgnore
  public boolean reminds() {
    return reminder != null && reminder.due() != null;
  }

  /** The same in a fork, so much later: what was being attempted is begun again. */
  PlaceState forked(long later) {
    Phase again = phase;
    if (phase instanceof Phase.Working working) {
      again = working.field() == null ? ENTERING : asking(false);
    } else if (phase instanceof Phase.Halted halted) {
      again = halted.later(later);
    }
    return begun(again, attempts, base, since + later)
        .timed(
            deadline == null ? null : Long.valueOf(deadline + later),
            reminder == null ? null : reminder.later(later));
  }

  PlaceState remind(Reminder next) {
    return timed(deadline, next);
  }

  /** The same in another version: what was asked is asked in the words of that one. */
  PlaceState carried(
      Phase next,
      Set<String> kept,
      Map<String, Long> asksAgain,
      @Nullable Long newDeadline,
      @Nullable Reminder newReminder) {
    return new PlaceState(
        next, kept, asksAgain, posed.carried(), attempts, base, since, newDeadline, newReminder);
  }

  /**
   * Somebody took the interrupted effect as done: the action as carried out, the answer as good.
   */
  PlaceState skipped() {
    if (phase instanceof Phase.Halted halted && halted.field() != null) {
      return accept(halted.field(), true).phase(asking(true));
    }
    return phase(new Phase.Leaving(null));
  }

  PlaceState accept(String field, boolean called) {
    return judged(afterVerdict(called), withAccepted(field), without(field));
  }

  PlaceState reject(String field, boolean called, long tick) {
    return judged(afterVerdict(called), accepted, with(field, tick));
  }

  PlaceState postpone(String field, long tick) {
    return judged(phase, accepted, with(field, tick));
  }

  private Phase afterVerdict(boolean called) {
    return phase instanceof Phase.Working ? asking(called) : phase;
  }

  /** It waits for answers again, or for its questions to be put if they were not yet. */
  private Phase asking(boolean seen) {
    return questions().isEmpty() ? new Phase.Entering() : new Phase.Asking(seen);
  }

  PlaceState answered(Set<String> fields, boolean acknowledged) {
    Map<String, Long> left = new LinkedHashMap<>(again);
    left.keySet().removeIf(r -> Paths.anyRelated(fields, r));
    return judged(afterAnswer(fields, acknowledged), accepted, left);
  }

  /**
   * A call that answers acknowledges a widget without a field, and a new answer ends the check of
   * the one that it replaces: its verdict would be about a value that is gone.
   */
  private Phase afterAnswer(Set<String> fields, boolean acknowledged) {
    if (acknowledged) {
      return new Phase.Leaving(null);
    }
    boolean overtaken =
        phase instanceof Phase.Working working
            && working.field() != null
            && Paths.anyRelated(fields, working.field());
    return overtaken ? asking(true) : phase;
  }

  PlaceState attempted(Event.Attempted attempted) {
    boolean again =
        phase instanceof Phase.Working before && Objects.equals(before.field(), attempted.field());
    long first = again ? ((Phase.Working) phase).since() : attempted.at();
    Phase working = new Phase.Working(attempted.field(), attempted.attempt(), null, first);
    return begun(working, attempted.attempt(), again ? base : attempts, attempted.at());
  }

  private Set<String> withAccepted(String field) {
    if (accepted.isEmpty()) {
      return Set.of(field);
    }
    Set<String> more = new LinkedHashSet<>(accepted);
    more.add(field);
    return more;
  }

  private Map<String, Long> with(String field, long tick) {
    Map<String, Long> more = new LinkedHashMap<>(again);
    more.put(field, tick);
    return more;
  }

  private Map<String, Long> without(String field) {
    if (!again.containsKey(field)) {
      return again;
    }
    Map<String, Long> fewer = new LinkedHashMap<>(again);
    fewer.remove(field);
    return fewer;
  }

  // --- the same but for some of it ------------------------------------------------------------

  private PlaceState begun(Phase newPhase, int newAttempts, int newBase, long at) {
    return new PlaceState(
        newPhase, accepted, again, posed, newAttempts, newBase, at, deadline, reminder);
  }

  private PlaceState judged(Phase newPhase, Set<String> newAccepted, Map<String, Long> newAgain) {
    return new PlaceState(
        newPhase, newAccepted, newAgain, posed, attempts, base, since, deadline, reminder);
  }

  private PlaceState timed(@Nullable Long newDeadline, @Nullable Reminder newReminder) {
    return new PlaceState(
        phase, accepted, again, posed, attempts, base, since, newDeadline, newReminder);
  }
}
