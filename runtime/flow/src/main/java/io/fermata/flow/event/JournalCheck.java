package io.fermata.flow.event;

import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a journal again. What came from outside is taken from the journal, so
 * nothing is performed; what a program makes of it now is compared with what it made of it then.
 *
 * @param <S> the state, a fold of events
 * @param <E> what happened
 */
public abstract class JournalCheck<S, E> {
  private S state;

  /**
   * Where the present code decides otherwise.
   *
   * @param before the state up to which they agree
   * @param recorded the rest of the entry in the journal, from the event that differs
   * @param now the same of the present code
   * @param refused why the present code refuses what came in; null if it does not
   */
  public record Difference<S, E>(
      S before, List<E> recorded, List<E> now, Outcome.@Nullable Failure refused) {}

  protected JournalCheck(S initial) {
    this.state = initial;
  }

  /**
   * The state after events of an entry.
   *
   * @param seq the number of the entry
   * @param index the place of the first of the events in the entry
   */
  protected abstract S apply(S before, List<E> events, long seq, int index);

  /**
   * What the program makes of the inputs that the first of the events may have come from, the
   * likeliest first. Inputs that the journal does not distinguish are equivalent.
   */
  protected abstract Stream<Program.Acceptance<S, E>> again(List<E> rest, long at);

  /** Whether two events have the same effect. */
  protected abstract boolean same(E recorded, E now);

  /** Whether an event is not compared. */
  protected boolean incidental(E event) {
    return false;
  }

  /** The state after what was taken or decided so far. */
  public S state() {
    return state;
  }

  /** Continues with another state. */
  protected void continueWith(S other) {
    state = other;
  }

  /** Takes an entry as it is. */
  public void take(long seq, List<E> events) {
    state = apply(state, events, seq, 0);
  }

  /** Decides the next entry again. Null if the same comes of it. */
  public @Nullable Difference<S, E> decide(long seq, long at, List<E> events) {
    int done = 0;
    while (done < events.size()) {
      List<E> rest = events.subList(done, events.size());
      Match<E> best = best(rest, at);
      if (!best.whole()) {
        return new Difference<>(
            apply(state, rest.subList(0, best.same()), seq, done),
            rest.subList(best.same(), rest.size()),
            best.now(),
            best.refused());
      }
      state = apply(state, rest.subList(0, best.same()), seq, done);
      done += best.same();
    }
    return null;
  }

  /**
   * How far the events of an entry are what comes now.
   *
   * @param same how many of them are
   * @param now what comes after those
   */
  private record Match<E>(int same, List<E> now, Outcome.@Nullable Failure refused) {
    boolean whole() {
      return same > 0 && now.isEmpty() && refused == null;
    }
  }

  private Match<E> best(List<E> rest, long at) {
    if (rest.stream().allMatch(this::incidental)) {
      return new Match<>(rest.size(), List.of(), null);
    }
    Match<E> best = null;
    Iterator<Program.Acceptance<S, E>> all = again(rest, at).iterator();
    while (all.hasNext()) {
      Match<E> next = match(rest, all.next());
      if (next.whole()) {
        return next;
      }
      best = best == null || next.same() > best.same() ? next : best;
    }
    return best == null || best.whole() ? new Match<>(0, List.of(), null) : best;
  }

  private Match<E> match(List<E> rest, Program.Acceptance<S, E> again) {
    if (again instanceof Program.Refused<S, E> refused) {
      return new Match<>(0, List.of(), refused.failure());
    }
    List<E> now =
        ((Program.Accepted<S, E>) again).events().stream().filter(e -> !incidental(e)).toList();
    int recorded = 0;
    int compared = 0;
    while (recorded < rest.size()) {
      if (!incidental(rest.get(recorded))) {
        if (compared == now.size() || !same(rest.get(recorded), now.get(compared))) {
          break;
        }
        compared++;
      }
      recorded++;
    }
    return compared == 0
        ? new Match<>(0, now, null)
        : new Match<>(recorded, now.subList(compared, now.size()), null);
  }
}
