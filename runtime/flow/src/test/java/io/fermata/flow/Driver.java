package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Runs a program without any actor: performs every effect at once and keeps the journal. */
public final class Driver {
  public final FlowProgram<?> program;
  public final List<Event> journal = new ArrayList<>();

  /** The same in the records that a host would write. */
  public final List<Entry> entries = new ArrayList<>();

  public RunState state = RunState.NONE;

  /** Sees the driver after each entry. */
  public Consumer<Driver> observer = driver -> {};

  public long now = 1_000;
  public int performed;
  private int runs;

  public Driver(Flow<?> flow) {
    this(flow, Limits.DEFAULT);
  }

  public Driver(Flow<?> flow, Limits limits) {
    this.program = FlowProgram.of(flow, limits);
  }

  public Outcome start(Object... updates) {
    return call(new Input.Start("run-" + ++runs, "to test", object(updates), now++));
  }

  public Outcome proceed(Object... updates) {
    return call(new Input.Continue(object(updates), now++));
  }

  public Outcome reset(Object... updates) {
    return call(new Input.Reset(object(updates), now++));
  }

  public Outcome cancel() {
    return call(new Input.Cancel(now++));
  }

  public Outcome signal(String name, @Nullable Object payload) {
    return call(new Input.Signal(name, Json.tree(payload), now++));
  }

  /** Lets the time come that the run waits for, the earliest if there are several. */
  public Outcome pass() {
    StepEffect next = earliest(timers());
    now = Math.max(now, Objects.requireNonNull(next.due()));
    feed(new Input.EffectDue(next, now));
    return settle();
  }

  public Outcome resolve(Input.Resolution resolution) {
    return call(new Input.Resolve(resolution, now++));
  }

  /** Takes over the run of a driver that has another version, as it is called. */
  public Outcome takeOver(Driver before) {
    continueAfter(before);
    return come(program.migrate(state, now++), null);
  }

  /** The same as its time has come. */
  public Outcome takeOverWhenDue(Driver before) {
    continueAfter(before);
    return come(program.takeOver(state, now++), null);
  }

  /** A fork of the run at its latest entry. */
  public Driver fork(String runId, long at) {
    List<JournalEntry<Event>> own =
        entries.stream()
            .map(e -> new JournalEntry<>(e.seq, e.at, "caller", null, e.events))
            .toList();
    List<Event> events =
        new RunJournal(program.flow().id(), state.runId(), own)
            .fork(entries.size(), runId, ForkOptions.live(), at);
    Driver fork = new Driver(program.flow());
    fork.now = at;
    fork.journal.addAll(events);
    fork.entries.add(new Entry(1, at, events, null));
    fork.state = fold(events);
    return fork;
  }

  private void continueAfter(Driver before) {
    journal.addAll(before.journal);
    entries.addAll(before.entries);
    state = before.state;
    now = before.now;
    runs = before.runs;
  }

  /** As a host does: a call that changes nothing repeats what the run waits for. */
  public Outcome call(Input input) {
    return come(program.accept(state, input), input);
  }

  private Outcome come(Program.Acceptance<RunState, Event> acceptance, @Nullable Input input) {
    if (acceptance instanceof Program.Refused<RunState, Event> refused) {
      return refused.failure();
    }
    Program.Accepted<RunState, Event> accepted = (Program.Accepted<RunState, Event>) acceptance;
    record(accepted, input);
    boolean repeats = accepted.events().isEmpty() && program.open(state) != null;
    return repeats ? program.now(state) : settle();
  }

  /** Feeds an input without performing what follows from it. */
  public void feed(Input input) {
    if (program.accept(state, input) instanceof Program.Accepted<RunState, Event> accepted) {
      record(accepted, input);
    }
  }

  /**
   * A journal record.
   *
   * @param input what it came from; null for a migration
   */
  public record Entry(long seq, long at, List<Event> events, @Nullable Input input) {}

  private void record(Program.Accepted<RunState, Event> accepted, @Nullable Input input) {
    List<Event> events = accepted.events();
    RunState reached = program.after(state, accepted, 0);
    if (!events.isEmpty()) {
      entries.add(new Entry(entries.size() + 1L, now, events, input));
    }
    for (Event event : events) {
      journal.add(event);
      state = program.apply(state, List.of(event), 0);
    }
    assertThat(reached).as("what was decided is what the events are folded to").isEqualTo(state);
    observer.accept(this);
  }

  /** What a process that has just started knows: the first events of the journal, nothing else. */
  public void crash(int events) {
    journal.subList(events, journal.size()).clear();
    int kept = 0;
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      int size = Math.min(entry.events.size(), events - kept);
      List<Event> left = List.copyOf(entry.events.subList(0, size));
      entries.set(i, new Entry(entry.seq, entry.at, left, entry.input));
      kept += size;
    }
    entries.removeIf(entry -> entry.events.isEmpty());
    state = fold(journal);
  }

  public void recover() {
    feed(new Input.Recovered(now++));
  }

  public Outcome settle() {
    while (true) {
      Program.Next<StepEffect> next = program.next(state);
      if (next instanceof Program.Finish<StepEffect> finish) {
        return finish.outcome();
      }
      StepEffect effect = pending();
      if (effect == null) {
        return ((Program.Pause<StepEffect>) next).outcome();
      }
      perform(effect);
    }
  }

  /** What is to be done now; the time to wait for only if the run works on nothing else. */
  @Nullable StepEffect pending() {
    Program.Next<StepEffect> next = program.next(state);
    List<StepEffect> effects =
        next instanceof Program.Perform<StepEffect> perform
            ? perform.effects()
            : next instanceof Program.Pause<StepEffect> pause ? pause.timers() : List.of();
    return effects.stream()
        .filter(effect -> !effect.timer())
        .findFirst()
        .orElseGet(() -> next instanceof Program.Perform<StepEffect> ? earliest(effects) : null);
  }

  private static StepEffect earliest(List<StepEffect> effects) {
    return effects.stream()
        .filter(StepEffect::timer)
        .min(Comparator.comparing(effect -> Objects.requireNonNull(effect.due())))
        .orElseThrow();
  }

  /** The moments that the run waits for. */
  public List<StepEffect> timers() {
    return ((Program.Pause<StepEffect>) program.next(state)).timers();
  }

  private void perform(StepEffect effect) {
    Long due = effect.due();
    if (due != null) {
      now = Math.max(now, due);
      feed(new Input.EffectDue(effect, now));
      return;
    }
    performed++;
    feed(new Input.EffectEnded(effect, result(effect), now++));
  }

  public Input.Result result(StepEffect effect) {
    Future<Input.Result> result = program.perform(state, effect, World.NONE).toCompletableFuture();
    try {
      return result.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  public StepEffect pendingEffect() {
    return Objects.requireNonNull(pending());
  }

  public static RunState fold(List<Event> journal) {
    RunState state = RunState.NONE;
    for (Event event : journal) {
      state = state.apply(event);
    }
    return state;
  }

  /** The events of one kind, in order. */
  public <E extends Event> List<E> events(Class<E> kind) {
    return journal.stream().filter(kind::isInstance).map(kind::cast).toList();
  }

  /** The fields that an outcome asks for, be it a pause or an error with one. */
  public static List<String> asked(@Nullable Outcome outcome) {
    if (outcome instanceof Outcome.Interrupt interrupt) {
      return interrupt.questions().stream().map(Event.Question::field).toList();
    } else if (outcome instanceof Outcome.Failure failure) {
      return asked(failure.open());
    } else if (outcome instanceof Outcome.ShowWidget show) {
      return show.widget().field() == null ? List.of() : List.of(show.widget().field());
    }
    return List.of();
  }

  public static Outcome.Failure failure(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Failure.class);
    return (Outcome.Failure) outcome;
  }

  public static String code(Outcome outcome) {
    return outcome instanceof Outcome.Waiting ? "waiting" : failure(outcome).code();
  }

  public static List<String> violated(Outcome outcome) {
    return failure(outcome).violations().stream().map(Violation::field).toList();
  }

  public static JsonNode result(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Complete.class);
    return Objects.requireNonNull(((Outcome.Complete) outcome).result());
  }

  public static ObjectNode object(Object... pairs) {
    ObjectNode object = Json.object();
    for (int i = 0; i < pairs.length; i += 2) {
      Object value = pairs[i + 1];
      object.set((String) pairs[i], value instanceof JsonNode node ? node : Json.tree(value));
    }
    return object;
  }
}
