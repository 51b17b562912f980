package io.fermata.flow.event;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.ThreadMXBean;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.Loads;
import io.fermata.flow.Secrets;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.json.Json;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What a step costs depends on what it does, not on how much there is. Compares allocated bytes
 * where they tell; elsewhere processor time with processor time, the least of many tries, with a
 * wide margin.
 */
@Tag("slow")
@Tag("long")
class CostTest {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Test
  void aSmallWriteToALargeStateCostsWhatItCostsToASmallOne() {
    assertThat(times(writes(10_000), writes(10), 40)).isLessThan(5);
  }

  @Test
  void anElementAppendedToALongListCostsFarLessThanTheList() {
    assertThat(times(appends(10_000), appends(10), 40)).isLessThan(5);
  }

  @Test
  void aRunTwiceAsLongCostsTwiceAsMuch() {
    assertThat(times(loop(2_000), loop(1_000), 10)).isLessThan(3);
  }

  @Test
  void aJournalOfTenThousandStepsIsFoldedInTenTimesTheTimeOfAThousand() {
    assertThat(times(fold(10_000), fold(1_000), 30)).isLessThan(25);
  }

  @Test
  void anElementAppendedToAListAllocatesTheSameHoweverLongTheListIs() {
    assertThat((double) allocated(append(10_000)) / allocated(append(100))).isLessThan(2);
  }

  @Test
  void aFlowOfTenTimesTheNodesIsCompiledForTenTimesTheCost() {
    assertThat((double) allocated(compile(10_000)) / allocated(compile(1_000))).isLessThan(15);
    assertThat(times(compile(10_000), compile(1_000), 5)).isLessThan(25);
  }

  @Test
  void aRunThroughTenTimesTheNodesIsFoldedForTenTimesTheCost() {
    assertThat((double) allocated(foldLine(10_000)) / allocated(foldLine(1_000))).isLessThan(15);
    assertThat(times(foldLine(10_000), foldLine(1_000), 5)).isLessThan(25);
  }

  @Test
  void secretsAreLookedForInTenTimesTheTextAtTenTimesTheCost() {
    assertThat(times(lookCut(30_000), lookCut(3_000), 5)).isLessThan(25);
    assertThat(times(lookAlike(30_000), lookAlike(3_000), 5)).isLessThan(25);
    assertThat(times(lookMonotonous(30_000), lookMonotonous(3_000), 5)).isLessThan(25);
  }

  @Test
  void tenTimesAsManySecretsAreLearnedOneByOneAtTenTimesTheCost() {
    assertThat(times(learnOneByOne(5_000), learnOneByOne(500), 5)).isLessThan(25);
  }

  /** One long secret, and a text that was cut off. */
  private static Runnable lookCut(int length) {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree("secret".repeat(length / 6)));
    String text = "a text ".repeat(length / 7) + "…";
    return () -> secrets.in(text);
  }

  /** Many secrets that begin alike, and a text where one might begin at every fourth character. */
  private static Runnable lookAlike(int length) {
    Secrets secrets = new Secrets();
    IntStream.range(0, length / 10).forEach(i -> secrets.add(Json.tree("card" + i)));
    String text = "card".repeat(length / 4);
    return () -> secrets.in(text);
  }

  private static Runnable lookMonotonous(int length) {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree("a".repeat(length / 2) + "b"));
    String text = "a".repeat(length);
    return () -> secrets.in(text);
  }

  private static Runnable learnOneByOne(int values) {
    return () -> {
      Secrets secrets = new Secrets();
      for (int i = 0; i < values; i++) {
        secrets.add(Json.tree("card-" + i));
        secrets.in("no card");
      }
    };
  }

  private static Runnable append(int lines) {
    ObjectNode element = Json.object().put("item", "one more");
    StateMemory memory = StateMemory.EMPTY;
    for (int i = 0; i < lines; i++) {
      memory = memory.write(List.of(new Write(Write.Verb.APPEND, "lines", element)), i);
    }
    StateMemory filled = memory;
    return () -> filled.write(List.of(new Write(Write.Verb.APPEND, "lines", element)), lines);
  }

  private static Runnable compile(int nodes) {
    return () -> Loads.linear(nodes);
  }

  private static Runnable foldLine(int nodes) {
    Driver driver = new Driver(Loads.linear(nodes), Loads.ROOMY);
    driver.start();
    List<Event> journal = List.copyOf(driver.journal);
    return () -> Driver.fold(journal);
  }

  private static long allocated(Runnable work) {
    work.run();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    work.run();
    return THREADS.getCurrentThreadAllocatedBytes() - before;
  }

  private static Runnable writes(int lines) {
    return going(Loads.filled(lines));
  }

  private static Runnable appends(int lines) {
    return going(Loads.growing(lines));
  }

  private static Runnable going(Flow<?> flow) {
    FlowProgram<?> program = FlowProgram.of(flow, Loads.ROOMY);
    RunState waiting = Loads.take(program, RunState.NONE, Loads.start(), null);
    return () -> Loads.take(program, waiting, Loads.go(), null);
  }

  private static Runnable loop(int rounds) {
    FlowProgram<?> program = FlowProgram.of(Loads.loop(rounds), Loads.ROOMY);
    return () -> Loads.take(program, RunState.NONE, Loads.start(), null);
  }

  private static Runnable fold(int steps) {
    Driver driver = new Driver(Loads.loop(steps), Loads.ROOMY);
    driver.start();
    List<Event> journal = List.copyOf(driver.journal);
    return () -> Driver.fold(journal);
  }

  /** How many times as much the one work costs as the other. */
  private static double times(Runnable work, Runnable other, int tries) {
    for (int i = 0; i < tries; i++) {
      work.run();
      other.run();
    }
    long least = Long.MAX_VALUE;
    long leastOther = Long.MAX_VALUE;
    for (int i = 0; i < tries; i++) {
      least = Math.min(least, cost(work));
      leastOther = Math.min(leastOther, cost(other));
    }
    return (double) least / leastOther;
  }

  private static long cost(Runnable work) {
    long began = THREADS.getCurrentThreadCpuTime();
    work.run();
    return THREADS.getCurrentThreadCpuTime() - began;
  }
}
