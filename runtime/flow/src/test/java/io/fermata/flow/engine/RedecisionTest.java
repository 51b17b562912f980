package io.fermata.flow.engine;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.RandomFlows;
import io.fermata.flow.action.Action;
import io.fermata.flow.engine.PropertyTest.Walk;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.seeds.Seeds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The present code decides a journal again: the same code the same, other code otherwise. */
@Tag("slow")
class RedecisionTest {
  private static final int SEEDS = Seeds.of(300);
  private static final int NONE = -1;

  private static final int VERSIONS = 3;

  private static RandomFlows flows(Random random, int mutated) {
    return new RandomFlows(
            random,
            new RandomFlows.Taste(true, true, true, (run, forGood) -> random.nextInt(6) == 0))
        .mutating(mutated);
  }

  /** A walk through a random flow, with crashes and all. */
  private static Driver walked(long seed) {
    return walked(seed, driver -> {});
  }

  private static Driver walked(long seed, Consumer<Driver> observer) {
    Random random = new Random(seed);
    RandomFlows flows = flows(random, NONE);
    Driver run = new Driver(flows.nextThatMayExpire(), PropertyTest.LIMITS);
    run.observer = observer;
    Walk walk = new Walk(random, flows, run, true);
    walk.take(50);
    walk.end();
    return run;
  }

  @Test
  void whateverHappenedIsDecidedAgainAsItWas() {
    Set<Class<?>> seen = new HashSet<>();
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          Driver run = walked(seed);
          run.journal.forEach(event -> seen.add(event.getClass()));
          Redecision again = new Redecision(run.program.flow(), PropertyTest.LIMITS);
          for (Driver.Entry entry : run.entries) {
            assertThat(again.decide(entry.at(), entry.events())).as("%s", entry).isNull();
          }
          assertThat(again.state()).isEqualTo(run.state);
        });
    Set<Class<?>> all = new HashSet<>(List.of(Event.class.getPermittedSubclasses()));
    all.removeAll(Set.of(Event.Migrated.class, Event.ForkedFrom.class));
    assertThat(seen).as("what happened").containsAll(all);
  }

  record Box(Integer pieces) {}

  record Boxes(Integer count, Integer more) {}

  /** In a later pass a list has fewer items, and the steps beside it fail. */
  @Test
  void aCallThatOnlyRepeatsAnAnswerIsDecidedAgainThoughAListHadMoreItemsBefore() {
    AtomicBoolean fails = new AtomicBoolean();
    Action<Boxes> failing =
        r -> {
          if (fails.get()) {
            throw new IllegalStateException("no");
          }
        };
    Flow<Box> box =
        Flow.of("box", Box.class)
            .description("Fills a box.")
            .ask("ask", q -> q.question("pieces", "How many?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile();
    Flow<Boxes> flow =
        Flow.of("boxes", Boxes.class)
            .description("Fills boxes.")
            .ask("ask_count", q -> q.question("count", "How many boxes?"))
            .<Box, Integer>forEach(
                "boxes",
                box,
                e -> e.items(s -> Collections.nCopies(s.more() == null ? 2 : 1, 0)).atMost(2))
            .act("check", failing)
            .act("weigh", failing)
            .widget("look", w -> w.tool("picture"))
            .ask("ask_more", q -> q.question("more", "Any more?"))
            .edge(START, "ask_count")
            .fork(
                "ask_count",
                f ->
                    f.branch("boxes")
                        .branch("check")
                        .branch("weigh")
                        .branch("look")
                        .join("ask_more"))
            .edge("boxes", "ask_more")
            .edge("check", "ask_more")
            .edge("weigh", "ask_more")
            .edge("look", "ask_more")
            .decide("ask_more", d -> d.when("more", eq("more", 1)).to("ask_count").otherwise(END))
            .compile();
    Driver run = new Driver(flow, PropertyTest.LIMITS);
    run.start();
    run.proceed("count", 2);
    run.proceed("boxes.0.pieces", 1);
    run.proceed("boxes.1.pieces", 1);
    run.proceed();
    run.proceed("more", 1);
    fails.set(true);
    run.proceed("count", 3);
    int known = run.entries.size();

    run.proceed("count", 3);

    assertThat(run.entries.get(known).events().get(0)).isInstanceOf(Event.Retried.class);
    ForkedRunTest.decidedAgain(flow, run);
  }

  @Test
  void theStateAtEveryEntryIsTheOneThatTheRunHadThen() {
    AtomicInteger compared = new AtomicInteger();
    PropertyTest.forEverySeed(
        SEEDS / 5,
        seed -> {
          Map<Long, RunState> live = new HashMap<>();
          Driver run = walked(seed, driver -> live.put((long) driver.entries.size(), driver.state));
          RunJournal journal = ForkedRunTest.journal(run);
          Redecision again = new Redecision(run.program.flow(), PropertyTest.LIMITS);
          for (Driver.Entry entry : run.entries) {
            assertThat(again.decide(entry.at(), entry.events())).as("%s", entry).isNull();
            RunState then = live.get(entry.seq());
            assertThat(again.state()).as("decided again up to %s", entry).isEqualTo(then);
            assertThat(journal.upTo(entry.seq()).state())
                .as("read up to %s", entry)
                .isEqualTo(then);
            compared.incrementAndGet();
          }
        });
    assertThat(compared.get()).isGreaterThan(4 * SEEDS);
  }

  @Test
  void codeThatChangedDivergesWhereItsOutcomeFirstDiffersAndNowhereBefore() {
    AtomicInteger diverged = new AtomicInteger();
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          Driver run = walked(seed);
          RandomFlows same = flows(new Random(seed), NONE);
          same.nextThatMayExpire();
          if (same.pieces() == 0) {
            return;
          }
          int mutated = new Random(seed).nextInt(same.pieces());
          Flow<?> changed = flows(new Random(seed), mutated).nextThatMayExpire();

          int expected = firstDifference(changed, run.entries);

          assertThat(divergence(changed, run.entries)).as("diverges in entry").isEqualTo(expected);
          diverged.addAndGet(expected < run.entries.size() ? 1 : 0);
        });
    assertThat(diverged.get()).as("mutations that made a difference").isGreaterThan(SEEDS / 6);
  }

  // --- migrations -------------------------------------------------------------------------------

  private static Flow<?> version(long seed, int version, boolean renames, int mutated) {
    return flows(new Random(seed), mutated).version(version, renames).nextThatMayExpire();
  }

  /** A walk that continues in later versions of its flow, wherever the run can be carried over. */
  private static Driver carriedOver(long seed, boolean renames) {
    Random random = new Random(seed);
    RandomFlows flows = flows(random, NONE).version(1, renames);
    Driver run = new Driver(flows.nextThatMayExpire(), PropertyTest.LIMITS);
    for (int i = 0; i < 8; i++) {
      new Walk(random, flows, run, true).take(4);
      int version = run.program.flow().version() + 1;
      if (run.state.running() && version <= VERSIONS) {
        RandomFlows later = flows(new Random(seed), NONE).version(version, renames);
        Driver next = new Driver(later.nextThatMayExpire(), PropertyTest.LIMITS);
        next.takeOver(run);
        boolean taken = next.journal.size() > run.journal.size();
        flows = taken ? later : flows;
        run = taken ? next : run;
      }
    }
    new Walk(random, flows, run, true).end();
    return run;
  }

  private static List<RunJournal> runs(Driver driver) {
    List<JournalEntry<Event>> entries = new ArrayList<>();
    for (Driver.Entry entry : driver.entries) {
      entries.add(new JournalEntry<>(entry.seq(), entry.at(), "caller", "ann", entry.events()));
    }
    return driver.events(Event.Started.class).stream()
        .map(started -> RunJournal.of("random", started.runId(), entries))
        .toList();
  }

  private static boolean migrated(RunJournal run) {
    return run.events().stream().anyMatch(Event.Migrated.class::isInstance);
  }

  /** The last version that a run was on. */
  private static int last(RunJournal run) {
    int version = 0;
    for (Event event : run.events()) {
      version = event instanceof Event.Started started ? started.version() : version;
      version = event instanceof Event.Migrated migrated ? migrated.to() : version;
    }
    return version;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRunThatWasCarriedOverIsDecidedAgainAsItWasByEveryLaterVersion(boolean renames) {
    AtomicInteger beyond = new AtomicInteger();
    PropertyTest.forEverySeed(
        SEEDS / 2,
        seed -> {
          List<RunJournal> runs = runs(carriedOver(seed, renames));
          for (int version = 1; version <= VERSIONS + 1; version++) {
            Flow<?> flow = version(seed, version, renames, NONE);
            for (RunJournal run : runs) {
              if (!renames || version >= last(run)) {
                Replay replay = Replay.of(flow, PropertyTest.LIMITS, run);
                assertThat(replay.divergence()).as("version %s", version).isNull();
                assertThat(replay.uncompared()).as("version %s", version).isNull();
                if (version > last(run)) {
                  assertThat(replay.decided()).isEqualTo(run.entries().size());
                }
                beyond.addAndGet(version != last(run) && migrated(run) ? 1 : 0);
              }
            }
          }
        });
    assertThat(beyond.get()).as("compared beyond a migration").isGreaterThan(SEEDS / 4);
  }

  @Test
  void codeThatChangedDivergesBehindAMigrationWhereItsOutcomeFirstDiffers() {
    AtomicInteger diverged = new AtomicInteger();
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          RandomFlows same = flows(new Random(seed), NONE);
          same.nextThatMayExpire();
          Driver run = carriedOver(seed, false);
          int migrated = firstMigration(run.entries);
          for (int piece = 0; piece < Math.min(same.pieces(), 5); piece++) {
            Flow<?> changed = version(seed, VERSIONS + 1, false, piece);
            int expected = firstDifference(changed, run.entries);

            assertThat(divergence(changed, run.entries)).as("diverges in").isEqualTo(expected);
            diverged.addAndGet(migrated <= expected && expected < run.entries.size() ? 1 : 0);
          }
        });
    assertThat(diverged.get()).as("mutations that made a difference").isGreaterThan(SEEDS / 50);
  }

  private static int firstMigration(List<Driver.Entry> entries) {
    int i = 0;
    while (i < entries.size() && !(entries.get(i).events().get(0) instanceof Event.Migrated)) {
      i++;
    }
    return i;
  }

  private static int divergence(Flow<?> flow, List<Driver.Entry> entries) {
    Redecision again = new Redecision(flow, PropertyTest.LIMITS);
    int i = 0;
    while (i < entries.size()
        && again.decide(entries.get(i).at(), entries.get(i).events()) == null) {
      i++;
    }
    return i;
  }

  /** The first entry of which the flow makes something else when it gets the very same input. */
  private static int firstDifference(Flow<?> flow, List<Driver.Entry> entries) {
    FlowProgram<?> program = FlowProgram.of(flow, PropertyTest.LIMITS);
    RunState state = RunState.NONE;
    for (int i = 0; i < entries.size(); i++) {
      Driver.Entry entry = entries.get(i);
      Input input = entry.input();
      Program.Acceptance<RunState, Event> now =
          input == null ? program.migrate(state, at(entry)) : program.accept(state, input);
      List<Event> events =
          now instanceof Program.Accepted<RunState, Event> accepted ? accepted.events() : List.of();
      if (!same(events, entry.events())) {
        return i;
      }
      state = state.apply(entry.events());
    }
    return entries.size();
  }

  /** When a run was carried over. */
  private static long at(Driver.Entry entry) {
    return entry.events().get(0).at();
  }

  /** The same but for the versions, the fingerprint of the code and the rules that were tried. */
  private static boolean same(List<Event> now, List<Event> recorded) {
    return outcomes(now).equals(outcomes(recorded));
  }

  private static List<Object> outcomes(List<Event> events) {
    return events.stream()
        .filter(event -> !(event instanceof Event.Migrated))
        .map(RedecisionTest::outcome)
        .toList();
  }

  private static Object outcome(Event event) {
    if (event instanceof Event.Decided decided) {
      return decided.place() + " " + decided.targets();
    }
    return event instanceof Event.Started started ? started.runId() : event;
  }
}
