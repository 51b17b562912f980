package io.fermata.flow.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.JournalCheck;
import io.fermata.flow.event.Bystanders;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.OrderTest;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.seeds.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A run that is forked from another one, at whatever entry. */
@Tag("slow")
class ForkedRunTest {
  private static final int SEEDS = Seeds.of(25);

  @ParameterizedTest
  @EnumSource(ForkOrigin.Mode.class)
  void aForkAtAnyEntryWithTheSameInputsEndsAsItsSource(ForkOrigin.Mode mode) {
    AtomicInteger forks = new AtomicInteger();
    AtomicInteger performed = new AtomicInteger();
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          Flow<?> flow = OrderTest.flows(seed, false, true).next();
          Bystanders whole = OrderTest.inDeclaredOrder(flow);
          for (int entry = 0; entry < whole.run.entries.size(); entry++) {
            Driver run = forked(flow, whole.run, entry + 1L, ForkOptions.of(mode));
            if (run == null) {
              continue;
            }
            Bystanders all = new Bystanders(run);
            assertThat(all.last(OrderTest::asDeclared))
                .as("forked at entry %s: %s", entry + 1, whole.run.entries.get(entry))
                .isEqualTo(whole.end());
            JournalCheck.read(flow, run.journal);
            forks.incrementAndGet();
            performed.addAndGet(all.performed().size());
            if (mode != ForkOrigin.Mode.LIVE) {
              assertThat(all.performed())
                  .as("effects performed, forked at entry %s", entry + 1)
                  .isEmpty();
            }
            if (entry % 8 == 0) {
              decidedAgain(flow, run);
            }
          }
        });
    assertThat(forks.get()).isGreaterThan(4 * SEEDS);
    if (mode == ForkOrigin.Mode.LIVE) {
      assertThat(performed.get()).isGreaterThan(forks.get());
    } else {
      assertThat(performed.get()).as("effects performed").isZero();
    }
  }

  static void decidedAgain(Flow<?> flow, Driver run) {
    Redecision again = new Redecision(flow, OrderTest.LIMITS);
    for (Driver.Entry entry : run.entries) {
      assertThat(again.decide(entry.at(), entry.events())).as("%s", entry).isNull();
    }
    assertThat(again.state()).isEqualTo(run.state);
  }

  /** Null where it cannot be forked as it has ended, or undoes what it did. */
  static @Nullable Driver forked(Flow<?> flow, Driver source, long entry, ForkOptions options) {
    RunJournal journal = journal(source);
    Driver run = new Driver(flow, OrderTest.LIMITS);
    run.now = source.now;
    List<Event> events;
    try {
      // Under the same id, as the systems around it look at that.
      events = new ArrayList<>(journal.fork(entry, source.state.runId(), options, run.now));
    } catch (ForkException e) {
      assertThat(e.code()).isIn("run_ended", "run_ending");
      return null;
    }
    if (RunState.NONE.apply(events).version() != flow.version()) {
      Program.Acceptance<RunState, Event> migrated =
          run.program.migrate(RunState.NONE.apply(events), run.now);
      events.addAll(((Program.Accepted<RunState, Event>) migrated).events());
    }
    RunState state = RunState.NONE.apply(events);
    Program.Acceptance<RunState, Event> onward =
        run.program.fork(state, options.answers(), run.now);
    events.addAll(((Program.Accepted<RunState, Event>) onward).events());
    run.entries.add(new Driver.Entry(1, run.now++, events, null));
    run.journal.addAll(events);
    run.state = RunState.NONE.apply(events);
    return run;
  }

  /** All that a driver has written, also of runs that it abandoned. */
  static RunJournal journal(Driver source) {
    List<JournalEntry<Event>> entries = new ArrayList<>();
    for (Driver.Entry entry : source.entries) {
      entries.add(new JournalEntry<>(entry.seq(), entry.at(), "caller", "ann", entry.events()));
    }
    return new RunJournal(source.program.flow().id(), source.state.runId(), entries);
  }
}
