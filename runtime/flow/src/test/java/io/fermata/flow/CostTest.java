package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * What a step costs depends on what it does, not on how much there is. Compares processor time with
 * processor time, the least of many tries, and leaves a wide margin.
 */
class CostTest {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  @Test
  void aSmallWriteToALargeStateCostsWhatItCostsToASmallOne() {
    Runnable small = writes(10);
    Runnable large = writes(10_000);
    assertThat(least(large, 40)).isLessThan(5 * least(small, 40));
  }

  @Test
  void anElementAppendedToALongListCostsFarLessThanTheList() {
    Runnable small = appends(10);
    Runnable large = appends(10_000);
    assertThat(least(large, 40)).isLessThan(50 * least(small, 40));
  }

  @Test
  void aRunTwiceAsLongCostsTwiceAsMuch() {
    Runnable half = loop(1_000);
    Runnable whole = loop(2_000);
    assertThat(least(whole, 10)).isLessThan(3 * least(half, 10));
  }

  @Test
  void aJournalOfTenThousandStepsIsFoldedInTenTimesTheTimeOfAThousand() {
    Runnable tenth = fold(1_000);
    Runnable whole = fold(10_000);
    assertThat(least(whole, 10)).isLessThan(25 * least(tenth, 10));
  }

  private static Runnable writes(int lines) {
    return going(Loads.filled(lines));
  }

  private static Runnable appends(int lines) {
    return going(Loads.growing(lines));
  }

  private static Runnable going(Flow<?> flow) {
    FlowProgram<?> program = flow.program(Loads.ROOMY);
    RunState waiting = Loads.take(program, RunState.NONE, Loads.start(), null);
    return () -> Loads.take(program, waiting, Loads.go(), null);
  }

  private static Runnable loop(int rounds) {
    FlowProgram<?> program = Loads.loop(rounds).program(Loads.ROOMY);
    return () -> Loads.take(program, RunState.NONE, Loads.start(), null);
  }

  private static Runnable fold(int steps) {
    Driver driver = new Driver(Loads.loop(steps), Loads.ROOMY);
    driver.start();
    List<Event> journal = List.copyOf(driver.journal);
    return () -> Driver.fold(journal);
  }

  private static long least(Runnable work, int tries) {
    for (int i = 0; i < tries; i++) {
      work.run();
    }
    long least = Long.MAX_VALUE;
    for (int i = 0; i < tries; i++) {
      long began = THREADS.getCurrentThreadCpuTime();
      work.run();
      least = Math.min(least, THREADS.getCurrentThreadCpuTime() - began);
    }
    return least;
  }
}
