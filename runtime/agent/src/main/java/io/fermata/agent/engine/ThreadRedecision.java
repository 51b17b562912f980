package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agents;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.JournalCheck;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a thread again. Messages, answers, time, the replies of models and what
 * tools, flows and children returned are taken from the journal. Hooks are called again with them,
 * and the turn loop decides again; no tool, model or code of a side is called.
 */
public final class ThreadRedecision extends JournalCheck<ThreadState, ThreadEvent> {
  private static final List<String> TIMES = List.of("at", "due", "retryAt", "until", "window");

  private final ThreadProgram program;
  private final EarlierEntries earlier;

  /** The states that an effect may have seen: it sees the thread as it was when it started. */
  private final Map<String, List<ThreadState>> seen = new HashMap<>();

  /** What the present code asks models in the steps of an entry, by the ids of their logs. */
  private final Map<String, RequestDigest> asked = new HashMap<>();

  /** The entry that is decided next. */
  private long next = 1;

  private @Nullable Difference<ThreadState, ThreadEvent> request;

  /**
   * Begins with an empty thread.
   *
   * @param earlier the journal; it is asked for entries that were taken or decided before
   */
  public ThreadRedecision(Agents agents, EarlierEntries earlier) {
    super(ThreadState.NONE);
    program = new ThreadProgram(agents);
    this.earlier = earlier;
  }

  @Override
  protected ThreadState apply(ThreadState before, List<ThreadEvent> events, long seq, int index) {
    ThreadState state = before;
    for (int i = 0; i < events.size(); i++) {
      state = ThreadFold.apply(state, events.get(i), seq, index + i);
    }
    return state;
  }

  @Override
  public void take(long seq, List<ThreadEvent> events) {
    super.take(seq, events);
    journaled(seq);
  }

  @Override
  public @Nullable Difference<ThreadState, ThreadEvent> decide(
      long seq, long at, List<ThreadEvent> events) {
    next = seq;
    request = null;
    asked.clear();
    if (events.stream().anyMatch(ThreadEvent.ForkedFrom.class::isInstance)) {
      // What was under way began again.
      seen.clear();
      take(seq, events);
      return null;
    }
    ThreadState before = state();
    Difference<ThreadState, ThreadEvent> difference = super.decide(seq, at, events);
    request = otherRequest(before, events);
    if (difference == null) {
      journaled(seq);
    }
    return difference;
  }

  /**
   * Where the entry that was decided last asks a model otherwise; null if nowhere. That is no
   * decision: what the model replied is taken from the journal all the same.
   */
  public @Nullable Difference<ThreadState, ThreadEvent> request() {
    return request;
  }

  private @Nullable Difference<ThreadState, ThreadEvent> otherRequest(
      ThreadState before, List<ThreadEvent> events) {
    for (int i = 0; i < events.size(); i++) {
      if (events.get(i) instanceof ThreadEvent.StepEnded ended) {
        RequestDigest recorded = ended.log().asked();
        RequestDigest now = asked.get(ended.log().id());
        if (recorded != null && now != null && !recorded.fits(now)) {
          return new Difference<>(
              before, events.subList(i, events.size()), List.of(ended.asking(now)), null);
        }
      }
    }
    return null;
  }

  /**
   * The events of the entry that was decided last, as if the present code had asked; without a
   * request where that is not known.
   */
  public List<ThreadEvent> asked(List<ThreadEvent> events) {
    List<ThreadEvent> all = new ArrayList<>();
    for (ThreadEvent event : events) {
      all.add(
          event instanceof ThreadEvent.StepEnded ended
              ? ended.asking(asked.get(ended.log().id()))
              : event);
    }
    return all;
  }

  private void journaled(long seq) {
    next = seq + 1;
    Map<String, List<ThreadState>> before = new HashMap<>(seen);
    seen.clear();
    for (ThreadEffect effect : wanted(state())) {
      if (!effect.timer()) {
        List<ThreadState> states = before.getOrDefault(effect.key(), List.of());
        if (states.isEmpty() || restartsUnnoticed(effect)) {
          states = new ArrayList<>(states);
          states.add(state());
        }
        seen.put(effect.key(), states);
      }
    }
  }

  /** Whether the journal does not show that an effect was interrupted and started again. */
  private static boolean restartsUnnoticed(ThreadEffect effect) {
    return switch (effect.kind()) {
      case GREET, RECEIVE, STORE -> true;
      default -> false;
    };
  }

  private List<ThreadEffect> wanted(ThreadState state) {
    Program.Next<ThreadEffect> next = program.next(state);
    return next instanceof Program.Perform<ThreadEffect> perform
        ? perform.effects()
        : next instanceof Program.Pause<ThreadEffect> pause ? pause.timers() : List.of();
  }

  @Override
  protected Stream<Program.Acceptance<ThreadState, ThreadEvent>> again(
      List<ThreadEvent> rest, long at) {
    List<ThreadEffect> wanted = wanted(state());
    RecordedThreadInputs inputs = new RecordedThreadInputs(state(), wanted, rest, at);
    Stream<Program.Acceptance<ThreadState, ThreadEvent>> ended =
        wanted.stream()
            .filter(effect -> !effect.timer())
            .map(effect -> RecordedEffect.of(state(), effect, rest))
            .filter(Objects::nonNull)
            .sorted(Comparator.comparingInt(RecordedEffect::place))
            .flatMap(effect -> ended(effect, at));
    return Stream.of(
            inputs.calls().stream().map(this::accept),
            ended,
            inputs.others().stream().map(this::accept))
        .flatMap(each -> each);
  }

  private Program.Acceptance<ThreadState, ThreadEvent> accept(ThreadInput input) {
    return program.accept(state(), input);
  }

  private Stream<Program.Acceptance<ThreadState, ThreadEvent>> ended(
      RecordedEffect recorded, long at) {
    return recorded.endings().stream().flatMap(ending -> ended(recorded, ending, at));
  }

  private Stream<Program.Acceptance<ThreadState, ThreadEvent>> ended(
      RecordedEffect recorded, RecordedEffect.Ending ending, long at) {
    ThreadEffect effect = recorded.effect();
    if (ending instanceof RecordedEffect.Result known) {
      return Stream.of(accept(new ThreadInput.EffectEnded(effect, known.result(), at)));
    } else if (ending instanceof RecordedEffect.Made made) {
      return seen.getOrDefault(effect.key(), List.of(state())).stream()
          .map(view -> madeAgain(view, recorded, made, at));
    }
    return Stream.of(new Program.Accepted<>(recorded.events()));
  }

  private Program.Acceptance<ThreadState, ThreadEvent> madeAgain(
      ThreadState view, RecordedEffect recorded, RecordedEffect.Made made, long at) {
    RecordedOutside outside = new RecordedOutside(made.given(), at, earlier, next);
    ThreadInput.Result result =
        program.perform(view, recorded.effect(), outside).toCompletableFuture().join();
    outside.requireRead();
    String missing = outside.missing();
    if (outside.invoked()) {
      return new Program.Accepted<>(recorded.events());
    } else if (missing != null && made.unanswered() == null) {
      return new Program.Refused<>(
          new Outcome.Failure(
              "not_recorded",
              "Now %s, and the journal has no result of that".formatted(missing),
              null,
              List.of(),
              null));
    }
    if (result instanceof ThreadInput.Replied replied) {
      RequestDigest digest = Objects.requireNonNull(replied.log().asked());
      asked.put(replied.log().id(), digest);
    }
    return accept(
        new ThreadInput.EffectEnded(
            recorded.effect(),
            missing == null ? result : Objects.requireNonNull(made.unanswered()),
            at));
  }

  // --- what is compared -------------------------------------------------------------------------

  /** How many messages a state keeps is no decision, nor is what a parent sees of a wait. */
  @Override
  protected boolean incidental(ThreadEvent event) {
    return event instanceof ThreadEvent.Widened
        || (event instanceof ThreadEvent.ReportPending report
            && report.status() != null
            && report.status() != ChildThread.Status.ASKING);
  }

  @Override
  protected boolean same(ThreadEvent recorded, ThreadEvent now) {
    return recorded.equals(now)
        || (recorded.getClass() == now.getClass() && timeless(recorded).equals(timeless(now)));
  }

  /**
   * An event without the times that its effect read from the clock, what a model was asked, and the
   * call of a report, which follows from the messages before it.
   */
  private static JsonNode timeless(ThreadEvent event) {
    ObjectNode tree = Json.MAPPER.valueToTree(event);
    tree.remove(TIMES);
    if (event instanceof ThreadEvent.ReportPending) {
      tree.remove("call");
    }
    timelessMessage(tree.path("message"));
    tree.path("said").forEach(ThreadRedecision::timelessMessage);
    if (tree.path("log") instanceof ObjectNode log) {
      log.remove(List.of("began", "ended", "asked"));
    }
    return tree;
  }

  private static void timelessMessage(JsonNode message) {
    if (message.path("place") instanceof ObjectNode place) {
      place.remove("createdAt");
    }
  }
}
