package io.fermata.flow.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.JournalCheck;
import io.fermata.flow.RandomFlows;
import io.fermata.flow.event.Bystanders;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.OrderTest;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Sizes;
import io.fermata.flow.record.Because;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.seeds.Seeds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What holds of every run of every flow, whatever a client, a handler or a crash does. */
@Tag("slow")
public class PropertyTest {
  private static final int SEEDS = Seeds.of(300);
  static final Limits LIMITS = new Limits(8_000, 120, 40, 8);

  /** The seeds are the same in every build; to look further, begin with another, -Dseed=1000. */
  public static void forEverySeed(int seeds, LongConsumer property) {
    long first = Long.getLong("seed", 0);
    LongStream.range(first, first + seeds)
        .forEach(
            seed -> {
              try {
                property.accept(seed);
              } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
              }
            });
  }

  // --- anything may happen --------------------------------------------------------------------

  @Test
  void theInvariantsHoldWhateverHappens() {
    Set<Class<?>> seen = new HashSet<>();
    forEverySeed(
        SEEDS,
        seed -> {
          Random random = new Random(seed);
          RandomFlows flows =
              new RandomFlows(
                  random,
                  new RandomFlows.Taste(
                      true, true, true, (run, forGood) -> random.nextInt(6) == 0));
          Walk walk = new Walk(random, flows, new Driver(flows.nextThatMayExpire(), LIMITS), false);
          walk.take(50);
          walk.end();
          walk.run.journal.forEach(event -> seen.add(event.getClass()));
        });
    Set<Class<?>> all = new HashSet<>(List.of(Event.class.getPermittedSubclasses()));
    // A walk stays in one version of its flow, and in one run.
    all.removeAll(Set.of(Event.Migrated.class, Event.ForkedFrom.class));
    assertThat(seen).as("what happened").containsAll(all);
  }

  @Test
  void everyRunIsNarratedExplainedAndDrawnAsItStoodAtAnyMoment() {
    forEverySeed(
        SEEDS / 3,
        seed -> {
          Random random = new Random(seed);
          RandomFlows.Taste taste =
              new RandomFlows.Taste(true, true, true, (run, forGood) -> random.nextInt(6) == 0);
          RandomFlows flows = new RandomFlows(random, taste);
          Flow<?> flow = flows.nextThatMayExpire();
          Walk walk = new Walk(random, flows, new Driver(flow, LIMITS), false);
          walk.take(40);
          RunJournal journal = journal(walk.run);
          assertThat(journal.narrativeWithSecrets(flow)).isNotBlank();
          for (int moment = 1; moment <= 4; moment++) {
            explained(flow, flows.fields(), journal.upTo(walk.run.journal.size() * moment / 4));
          }
        });
  }

  /** What a field is said to be is what it is. */
  private static void explained(Flow<?> flow, List<String> fields, RunJournal journal) {
    RunState state = journal.state();
    if (journal.entries().isEmpty()) {
      return;
    }
    assertThat(journal.pictureWithSecrets(flow).mermaid()).isNotBlank();
    for (String field : fields) {
      JsonNode value = Paths.get(state.memory("").data(), field);
      Because why = journal.whyWithSecrets(flow, field);
      assertThat(why.toString()).isNotBlank();
      if (!value.isMissingNode() && !value.isNull()) {
        assertThat(why.value()).as(why.toString()).isEqualTo(value);
      }
    }
  }

  private static RunJournal journal(Driver run) {
    List<JournalEntry<Event>> entries = new ArrayList<>();
    for (Event event : run.journal) {
      entries.add(
          new JournalEntry<>(entries.size() + 1L, run.now, "caller", "ann", List.of(event)));
    }
    return RunJournal.of("random", run.state.runId(), entries);
  }

  /**
   * One client, one host and much bad luck.
   *
   * @param whole whether a crash leaves whole entries, as that of a host does
   */
  record Walk(Random random, RandomFlows flows, Driver run, boolean whole) {
    void take(int steps) {
      for (int i = 0; i < steps; i++) {
        int before = run.journal.size();
        step();
        if (run.journal.size() > before && random.nextInt(8) == 0) {
          int lost = random.nextInt(run.journal.size() - before + 1);
          run.crash(whole && lost > 0 ? before : run.journal.size() - lost);
          run.recover();
        }
        check(before);
      }
      read();
    }

    /** A migration begins what it continues with again, which no other journal does. */
    private void read() {
      if (run.events(Event.Migrated.class).isEmpty()) {
        JournalCheck.read(run.program.flow(), run.journal);
      }
    }

    private List<StepEffect> effects() {
      Program.Next<StepEffect> next = run.program.next(run.state);
      return next instanceof Program.Perform<StepEffect> perform
          ? perform.effects()
          : next instanceof Program.Pause<StepEffect> pause ? pause.timers() : List.of();
    }

    private void step() {
      List<StepEffect> effects = effects();
      if (!effects.isEmpty() && random.nextInt(4) > 0) {
        effect(effects.get(random.nextInt(effects.size())));
      } else {
        run.feed(call());
      }
    }

    private void effect(StepEffect effect) {
      Long due = effect.due();
      if (due != null) {
        run.now = Math.max(run.now, due);
        run.feed(new Input.EffectDue(effect, run.now++));
        return;
      }
      assertThat(run.journal)
          .as("an effect begins only after the journal says so: %s", effect)
          .anyMatch(event -> begins(event, effect));
      Input.Result result =
          random.nextInt(8) == 0 ? run.program.timedOut(effect) : run.result(effect);
      Input ended = new Input.EffectEnded(effect, result, run.now++);
      run.feed(ended);
      if (random.nextInt(4) == 0) {
        run.feed(ended);
      }
    }

    private static boolean begins(Event event, StepEffect effect) {
      return effect.kind() == StepEffect.Kind.REMIND
          ? event instanceof Event.Reminding reminding
              && reminding.place().equals(effect.place())
              && Integer.toString(reminding.number()).equals(effect.field())
              && reminding.attempt() == effect.attempt()
          : event instanceof Event.Attempted attempted
              && attempted.place().equals(effect.place())
              && Objects.equals(attempted.field(), effect.field())
              && attempted.attempt() == effect.attempt();
    }

    private Input call() {
      long now = run.now++;
      return switch (random.nextInt(16)) {
        case 0 -> new Input.Reset(some(), now);
        case 1, 2 -> new Input.Continue(Json.object(), now);
        case 3, 4 -> new Input.Continue(some(), now);
        case 5 ->
            new Input.Resolve(
                random.nextBoolean() ? Input.Resolution.RETRY : Input.Resolution.SKIP, now);
        case 6 -> random.nextInt(4) == 0 ? new Input.Cancel(now) : new Input.Continue(some(), now);
        case 7 -> random.nextInt(12) == 0 ? start(now) : signal(now);
        case 8 -> signal(now);
        case 9 ->
            random.nextInt(4) == 0
                ? new Input.Postpone(Set.copyOf(flows.fields()), now)
                : new Input.Unattended(now);
        default -> run.state.running() ? new Input.Continue(openAnswers(), now) : start(now);
      };
    }

    private Input signal(long now) {
      List<String> awaited = new ArrayList<>();
      for (PlaceState at : run.state.places().values()) {
        if (at.phase() instanceof Phase.Awaiting awaiting) {
          awaited.add(awaiting.signal());
        }
      }
      String name = awaited.isEmpty() ? "none" : awaited.get(random.nextInt(awaited.size()));
      return new Input.Signal(name, Json.tree(random.nextInt(5) == 0 ? 1 : "text"), now);
    }

    private ObjectNode some() {
      ObjectNode values = Json.object();
      for (String field : flows.fields()) {
        if (random.nextInt(3) == 0) {
          values.set(field, Json.tree(value(field)));
        }
      }
      return values;
    }

    private ObjectNode openAnswers() {
      ObjectNode values = Json.object();
      for (String field : Driver.asked(run.program.open(run.state))) {
        values.set(field, Json.tree(value(field)));
      }
      return values;
    }

    /** Before a list is known, also values for an item that it will not have. */
    private Input start(long now) {
      ObjectNode values = some();
      flows.fields().stream()
          .filter(field -> field.contains(".0.") && random.nextInt(4) == 0)
          .forEach(
              field -> values.set(field.replaceFirst("\\.0\\.", ".9."), Json.tree(value(field))));
      return new Input.Start("run " + now, "to test", values, now);
    }

    private Object value(String field) {
      if (random.nextInt(20) == 0) {
        return List.of("wrong");
      }
      return switch (field.substring(field.lastIndexOf('.') + 1)) {
        case "number" -> random.nextInt(3);
        case "flag" -> random.nextBoolean();
        default -> List.of("x", "y", "z", "bad", "").get(random.nextInt(5));
      };
    }

    private void check(int known) {
      if (random.nextInt(5) == 0) {
        RunState folded = flows.withoutAuthor(() -> Driver.fold(run.journal));
        assertThat(folded).as("the fold of the journal").isEqualTo(run.state);
      }
      Program.Next<StepEffect> next = flows.withoutAuthor(() -> run.program.next(run.state));
      if (next instanceof Program.Pause<StepEffect> pause) {
        boolean waits = pause.outcome() instanceof Outcome.Waiting;
        assertThat(waits && pause.timers().isEmpty() && !awaits())
            .as("waits for nobody and nothing: %s", run.state.places())
            .isFalse();
      } else if (next instanceof Program.Perform<StepEffect> perform) {
        assertThat(perform.effects()).as("has something to do").isNotEmpty();
      }
      run.state
          .branches()
          .values()
          .forEach(b -> assertThat(b.memory().bytes()).isEqualTo(Sizes.of(b.memory().data())));
      oneAtATime();
      run.journal.subList(Math.min(known, run.journal.size()), run.journal.size()).stream()
          .forEach(event -> assertThat(readBack(event, Event.class)).isEqualTo(event));
    }

    private boolean awaits() {
      return run.state.places().values().stream()
          .anyMatch(at -> at.phase() instanceof Phase.Awaiting);
    }

    /** Every branch that is open is at one place, and nothing is left of one that is not. */
    private void oneAtATime() {
      Set<String> branches = new HashSet<>(Set.of(""));
      Set<String> busy = new HashSet<>();
      run.state
          .places()
          .forEach(
              (place, at) -> {
                if (!place.undoes()) {
                  assertThat(busy.add(place.branch()))
                      .as("alone in its branch: %s", place)
                      .isTrue();
                }
                if (at.phase().busy() instanceof Phase.Forked forked) {
                  forked.labels().forEach(label -> branches.add(place.branch(label)));
                }
              });
      if (run.state.running() && run.state.ending() == null) {
        assertThat(run.state.branches().keySet()).as("branches").isEqualTo(branches);
        run.state
            .places()
            .forEach(
                (place, at) -> {
                  if (at.phase().busy() instanceof Phase.Forked forked) {
                    forked
                        .labels()
                        .forEach(
                            label ->
                                assertThat(busy.contains(place.branch(label)))
                                    .as("branch %s of %s is open", label, place)
                                    .isEqualTo(!forked.ended().containsKey(label)));
                  }
                });
      }
    }

    /** The state reads back as it was, and a run that has ended takes nothing any more. */
    void end() {
      assertThat(readBack(run.state, RunState.class)).isEqualTo(run.state);
      List<StepEffect> effects = effects();
      run.feed(new Input.Cancel(run.now++));
      for (int i = 0; run.state.running() && i < 100; i++) {
        run.settle();
        run.feed(
            PauseReport.undecided(run.state) == null
                ? new Input.Continue(Json.object(), run.now++)
                : new Input.Resolve(Input.Resolution.SKIP, run.now++));
      }
      assertThat(run.state.running()).as("runs on after it was cancelled").isFalse();
      read();
      int events = run.journal.size();
      run.feed(new Input.Continue(some(), run.now++));
      run.feed(new Input.Continue(Json.object(), run.now++));
      run.feed(new Input.Reset(some(), run.now++));
      run.feed(new Input.Resolve(Input.Resolution.RETRY, run.now++));
      run.feed(signal(run.now++));
      run.feed(new Input.Cancel(run.now++));
      run.recover();
      for (StepEffect effect : effects) {
        run.feed(new Input.EffectEnded(effect, run.program.timedOut(effect), run.now++));
        run.feed(new Input.EffectDue(effect, run.now++));
      }
      assertThat(run.journal).as("nothing happens after the end").hasSize(events);
    }

    private static <T> T readBack(T value, Class<T> type) {
      try {
        return Json.MAPPER.readValue(Json.MAPPER.writeValueAsString(value), type);
      } catch (JsonProcessingException e) {
        throw new AssertionError(e);
      }
    }
  }

  // --- a crash changes nothing ----------------------------------------------------------------

  /** A journal of so many events is cut after each of them, a longer one as often. */
  private static final int CUTS = 60;

  @Test
  void aCrashAtAnyMomentChangesNothingInTheEnd() {
    int[] compared = {0};
    forEverySeed(
        SEEDS / 4,
        seed -> {
          Flow<?> flow = OrderTest.flows(seed, false, true).next();
          Bystanders whole = OrderTest.inDeclaredOrder(flow);
          List<Integer> cuts = IntStream.range(1, whole.run.journal.size()).boxed().toList();
          for (int cut : some(cuts, new Random(seed))) {
            same(whole, cut, crashed(flow, whole, cut), all -> all.last(OrderTest::asDeclared));
            compared[0]++;
          }
        });
    assertThat(compared[0]).isGreaterThan(8 * SEEDS);
  }

  @Test
  void norDoesItWhereAJoinWaitsForSomeAndTheyArriveInTheSameOrder() {
    int[] raced = {0};
    forEverySeed(
        SEEDS / 2,
        seed -> {
          Random random = new Random(seed);
          Flow<?> flow = OrderTest.flows(seed, true, false).next();
          Bystanders whole = new Bystanders(new Driver(flow, OrderTest.LIMITS));
          whole.start(Json.object());
          whole.last(possible -> OrderTest.any(possible, random));
          if (!OrderTest.raced(whole.run.journal)) {
            return;
          }
          OrderTest.Ranking ranking = new OrderTest.Ranking(whole.run.journal);
          for (int cut : some(betweenRecords(whole.run), random)) {
            Driver broken = crashed(flow, whole, cut);
            // nobody else goes on before it is decided whether a branch had done its step
            while (PauseReport.unknownOutcome(broken.state) != null) {
              broken.feed(new Input.Resolve(Input.Resolution.RETRY, broken.now++));
            }
            same(whole, cut, broken, all -> first(all, ranking));
          }
          raced[0]++;
        });
    assertThat(raced[0]).isGreaterThan(SEEDS / 10);
  }

  static List<Integer> some(List<Integer> cuts, Random random) {
    List<Integer> some = new ArrayList<>(cuts);
    Collections.shuffle(some, random);
    return some.subList(0, Math.min(CUTS, some.size()));
  }

  /** Between records only: half of one may let a branch go on before the one that won. */
  private static List<Integer> betweenRecords(Driver run) {
    List<Integer> cuts = new ArrayList<>();
    int events = 0;
    for (Driver.Entry entry : run.entries) {
      events += entry.events().size();
      cuts.add(events);
    }
    return cuts;
  }

  private static Driver crashed(Flow<?> flow, Bystanders whole, int cut) {
    Driver broken = new Driver(flow, OrderTest.LIMITS);
    broken.journal.addAll(whole.run.journal);
    broken.now = whole.run.now;
    broken.crash(cut);
    broken.recover();
    return broken;
  }

  private static void same(
      Bystanders whole, int cut, Driver broken, Function<Bystanders, Bystanders.End> goOn) {
    assertThat(goOn.apply(new Bystanders(broken)))
        .as("after a crash at event %s, %s", cut, whole.run.journal.get(cut - 1))
        .isEqualTo(whole.end());
    JournalCheck.read(broken.program.flow(), broken.journal);
  }

  /** Tries again at once what failed: a crash spares others a failure, and they must not win. */
  private static Bystanders.End first(Bystanders all, OrderTest.Ranking ranking) {
    return all.last(
        possible -> {
          if (failed(all.run.state)) {
            all.run.feed(new Input.Continue(Json.object(), all.run.now++));
          }
          List<Bystanders.Move> moves = all.moves();
          return moves.isEmpty() ? moves : List.of(ranking.first(moves));
        });
  }

  private static boolean failed(RunState state) {
    return state.places().values().stream()
        .anyMatch(
            at ->
                at.phase() instanceof Phase.Halted halted
                    && halted.code() == ErrorCode.STEP_FAILED);
  }
}
