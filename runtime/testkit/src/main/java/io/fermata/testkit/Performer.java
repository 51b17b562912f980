package io.fermata.testkit;

import io.fermata.flow.World;
import io.fermata.flow.action.Caller;
import io.fermata.flow.action.Progress;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Performs effects for a probe, each on a separate thread and within a limit of real time. */
final class Performer {
  private final Steps steps;
  private Duration timeout = Duration.ofSeconds(5);

  Performer(Steps steps) {
    this.steps = steps;
  }

  /** How an attempt ended, if it did. */
  sealed interface Ending {}

  record Ended(Input.Result result) implements Ending {}

  record Crashed() implements Ending {}

  record Endless() implements Ending {}

  private static final World STARTED = new World(Progress.NONE, Caller.NONE, Probe.TESTER);

  Duration timeout() {
    return timeout;
  }

  void timeout(Duration limit) {
    timeout = limit;
  }

  Ending perform(FlowProgram<?> program, RunState state, StepEffect effect) {
    return switch (steps.ask(state, effect)) {
      case RUN -> run(program, state, effect);
      case FAIL -> new Ended(Steps.planned(effect));
      case HANG -> new Endless();
      case CRASH -> {
        run(program, state, effect);
        yield new Crashed();
      }
    };
  }

  private Ending run(FlowProgram<?> program, RunState state, StepEffect effect) {
    CompletableFuture<Input.Result> result = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () ->
                steps
                    .perform(state, effect, () -> program.perform(state, effect, STARTED))
                    .whenComplete(
                        (ended, thrown) ->
                            result.complete(
                                thrown == null ? ended : program.failed(effect, thrown))),
            "fermata-probe-" + effect.place());
    thread.setDaemon(true);
    thread.setUncaughtExceptionHandler((t, thrown) -> result.completeExceptionally(thrown));
    thread.start();
    try {
      return new Ended(result.get(timeout.toMillis(), TimeUnit.MILLISECONDS));
    } catch (TimeoutException e) {
      thread.interrupt();
      return new Endless();
    } catch (ExecutionException e) {
      throw new AssertionError("Step " + effect.place() + " threw an error", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("The test was interrupted in step " + effect.place(), e);
    }
  }
}
