package io.fermata.flow.json;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.flow.CpuProfiler;
import io.fermata.flow.Loads;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.RunState;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Steps per second of the engine alone, on one thread. A step is an action performed, a decision, a
 * question, or the begin or the end of a sub-flow or of a fork. Run it by hand, it asserts nothing;
 * its arguments are those of JMH.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class EngineBenchmark {
  private static final ObjectMapper JSON = Json.MAPPER;

  /** Whether a recorder observes everything that happens, hook by hook. */
  @Param({"false", "true"})
  public boolean recorded;

  private final Loads.Counter counter = new Loads.Counter();
  private final FlowProgram<?> linear = FlowProgram.of(Loads.linear(), Loads.ROOMY);
  private final FlowProgram<?> loop = FlowProgram.of(Loads.loop(100), Loads.ROOMY);
  private final FlowProgram<?> mixed = FlowProgram.of(Loads.mixed(), Loads.ROOMY);
  private final FlowProgram<?> fork = FlowProgram.of(Loads.fork(), Loads.ROOMY);

  public static void main(String[] arguments) throws CommandLineOptionException, RunnerException {
    new Runner(
            new OptionsBuilder()
                .parent(new CommandLineOptions(arguments))
                .addProfiler(CpuProfiler.class)
                .addProfiler(GCProfiler.class)
                .build())
        .run();
  }

  private RunState take(FlowProgram<?> program, RunState state, Input input) {
    return Loads.take(program, state, input, recorded ? counter : null);
  }

  @Benchmark
  @OperationsPerInvocation(10)
  public RunState linear10() {
    return take(linear, RunState.NONE, Loads.start());
  }

  @Benchmark
  @OperationsPerInvocation(200)
  public RunState loop100() {
    return take(loop, RunState.NONE, Loads.start());
  }

  @Benchmark
  @OperationsPerInvocation(16)
  public RunState mixed16() throws JsonProcessingException {
    RunState paused = take(mixed, RunState.NONE, Loads.start());
    RunState read = JSON.readValue(JSON.writeValueAsString(paused), RunState.class);
    return take(FlowProgram.of(mixed.flow(), Loads.ROOMY), read, Loads.go());
  }

  @Benchmark
  @OperationsPerInvocation(12)
  public RunState fork8() {
    return take(fork, RunState.NONE, Loads.start());
  }

  /** A run that waits with a large state. */
  @State(Scope.Benchmark)
  public static class Large {
    @Param({"10", "1000", "10000"})
    public int lines;

    private FlowProgram<?> filled = FlowProgram.of(Loads.filled(0), Loads.ROOMY);
    private FlowProgram<?> growing = filled;
    private RunState waiting = RunState.NONE;

    /** Begins a run with so many lines; it is the same for both flows. */
    @Setup(Level.Trial)
    public void fill() {
      filled = FlowProgram.of(Loads.filled(lines), Loads.ROOMY);
      growing = FlowProgram.of(Loads.growing(lines), Loads.ROOMY);
      waiting = Loads.take(filled, RunState.NONE, Loads.start(), null);
    }
  }

  /** Five actions that read a large state and write a small field of it. */
  @Benchmark
  @OperationsPerInvocation(5)
  public RunState write5(Large large) {
    return take(large.filled, large.waiting, Loads.go());
  }

  /** Five actions that append to the largest field of a large state. */
  @Benchmark
  @OperationsPerInvocation(5)
  public RunState append5(Large large) {
    return take(large.growing, large.waiting, Loads.go());
  }
}
