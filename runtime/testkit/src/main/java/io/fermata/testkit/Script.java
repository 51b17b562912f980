package io.fermata.testkit;

import io.fermata.flow.json.Texts;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The script of a model: rules, which decide from the request alone and never run out, and turns,
 * of which each request without a matching rule takes the next.
 *
 * <p>A rule always answers the same request in the same way, so it survives a restart of the
 * process. The position in the turns is kept in this object only: a test that restarts its host
 * must keep the object, and a test that restarts the process needs rules.
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

  // --- the script -------------------------------------------------------------------------------

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

  /** The next turns, all the same. */
  public synchronized S turn(int times, Turn turn) {
    for (int i = 0; i < times; i++) {
      turns.add(turn);
    }
    return self();
  }

  /** A rule for requests like this; the first rule that matches is used. */
  public When when(Predicate<R> request) {
    return new When(request);
  }

  /** A rule for all requests that no earlier rule matches. */
  public When otherwise() {
    return when(request -> true);
  }

  /** The answer of a rule. */
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

    /** Answers by a function of the request, which should depend on nothing else. */
    public S answer(Function<R, Turn> answer) {
      synchronized (Script.this) {
        rules.add(new Rule<>(request, answer));
      }
      return self();
    }
  }

  // --- the requests -----------------------------------------------------------------------------

  /** How many of the latest requests are remembered; a thousand by default. */
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
      throw new AssertionError("The model has had no request yet");
    }
    return last;
  }

  /** How many requests there were, including forgotten ones. */
  public synchronized int asked() {
    return asked;
  }

  /** How many turns are left. */
  public synchronized int left() {
    return turns.size();
  }

  // --- for the player ---------------------------------------------------------------------------

  /** The turn for a request; empty if the script has none. */
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
    // Rules are authors' code, which may be slow: they run outside the lock.
    for (Rule<R> rule : known) {
      if (rule.applies().test(request)) {
        return Optional.of(rule.answer().apply(request));
      }
    }
    synchronized (this) {
      return Optional.ofNullable(turns.poll());
    }
  }

  /** The error for a request without a turn. */
  String exhausted(String request) {
    return "The script has no turn left and no rule for request "
        + asked()
        + ", which ends with "
        + Texts.shortened(request, 200)
        + "; add a turn, or a rule with when(…)";
  }

  /** The same request gives the same ids, another request other ones. */
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
