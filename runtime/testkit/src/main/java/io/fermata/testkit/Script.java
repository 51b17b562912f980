package io.fermata.testkit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * What a scripted model is told: rules, which look at the request alone and are never used up, and
 * turns, of which each request that no rule knows takes the next one.
 *
 * <p>A rule answers the same request the same way for ever, so it outlives the process. How far the
 * turns are is known to this object alone: a test that starts its host again keeps the object, and
 * what really dies needs rules.
 *
 * @param <S> the script itself
 * @param <R> the requests it sees
 */
public abstract class Script<S extends Script<S, R>, R> {
  private final List<Rule<R>> rules = new ArrayList<>();
  private final Deque<Turn> turns = new ArrayDeque<>();
  private final Deque<R> requests = new ArrayDeque<>();
  private int remembered = 1_000;
  private int asked;

  private record Rule<R>(Predicate<R> applies, Function<R, Turn> answer) {}

  Script() {}

  abstract S self();

  // --- telling it -----------------------------------------------------------------------------

  /** The next turn says this. */
  public S say(String text) {
    return turn(Turn.say(text));
  }

  /** The next turn calls this tool. */
  public S call(String tool, Object arguments) {
    return turn(Turn.call(tool, arguments));
  }

  /** The next turn. */
  public S turn(Turn turn) {
    return turn(1, turn);
  }

  /** The next so many turns, all alike. */
  public synchronized S turn(int times, Turn turn) {
    for (int i = 0; i < times; i++) {
      turns.add(turn);
    }
    return self();
  }

  /** Requests like this are answered by a rule; the first rule that applies counts. */
  public When when(Predicate<R> request) {
    return new When(request);
  }

  /** Requests that no earlier rule knows are answered by this one. */
  public When otherwise() {
    return when(request -> true);
  }

  /** What a rule answers. */
  public final class When {
    private final Predicate<R> request;

    private When(Predicate<R> request) {
      this.request = request;
    }

    public S say(String text) {
      return turn(Turn.say(text));
    }

    public S call(String tool, Object arguments) {
      return turn(Turn.call(tool, arguments));
    }

    public S turn(Turn turn) {
      return answer(asked -> turn);
    }

    /** What it answers depends on the request, and should depend on nothing else. */
    public S answer(Function<R, Turn> answer) {
      synchronized (Script.this) {
        rules.add(new Rule<>(request, answer));
      }
      return self();
    }
  }

  // --- what it was asked ----------------------------------------------------------------------

  /** How many of the last requests are remembered; a thousand unless told. */
  public synchronized S remember(int last) {
    remembered = last;
    return self();
  }

  /** The last requests, the oldest first. */
  public synchronized List<R> requests() {
    return List.copyOf(requests);
  }

  /** The last request. */
  public synchronized R request() {
    R last = requests.peekLast();
    if (last == null) {
      throw new AssertionError("The model was asked nothing yet");
    }
    return last;
  }

  /** How often it was asked, forgotten requests included. */
  public synchronized int asked() {
    return asked;
  }

  /** How many turns were not taken. */
  public synchronized int left() {
    return turns.size();
  }

  // --- for those who play it ------------------------------------------------------------------

  /** What is done about a request; empty if nothing was said about it. */
  Optional<Turn> next(R request) {
    List<Rule<R>> known;
    synchronized (this) {
      asked++;
      requests.add(request);
      while (requests.size() > remembered) {
        requests.remove();
      }
      known = List.copyOf(rules);
    }
    // Rules are authors' code, which may be slow; two requests do not wait for each other.
    for (Rule<R> rule : known) {
      if (rule.applies().test(request)) {
        return Optional.of(rule.answer().apply(request));
      }
    }
    synchronized (this) {
      return Optional.ofNullable(turns.poll());
    }
  }

  /** What is said when nothing was said about a request. */
  String exhausted(String request) {
    return "The script has no turn left and no rule for request "
        + asked()
        + ", which ends with "
        + Trees.shortened(request, 200)
        + "; add a turn, or a rule with when(…)";
  }

  /** The same request gives the same ids, and another one others. */
  static String callId(Turn.Call call, List<?> messages, int index) {
    String id = call.id();
    return id != null
        ? id
        : "call_" + messages.size() + "_" + Integer.toHexString(messages.hashCode()) + "_" + index;
  }

  static boolean contains(String text, String part) {
    return text.toLowerCase(Locale.ROOT).contains(part.toLowerCase(Locale.ROOT));
  }
}
