package io.fermata.flow.engine;

import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.World;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Paths;
import io.fermata.flow.logging.LoggedFailure;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Runs the authors' code that effects stand for: actions, compensations, reminders and asynchronous
 * checks.
 */
final class ActionRunner {
  private final Graph graph;
  private final SecretFields secretFields;

  ActionRunner(Graph graph, SecretFields secretFields) {
    this.graph = graph;
    this.secretFields = secretFields;
  }

  /** The stage never fails. */
  CompletionStage<Input.Result> perform(RunState state, StepEffect effect, World world) {
    try {
      TypedPlace<?> spot =
          effect.kind() == StepEffect.Kind.UNDO
              ? TypedPlace.asOf(
                  PendingEffects.undo(state, effect.place()).data(), effect.place(), graph)
              : TypedPlace.of(state, effect.place(), graph);
      return perform(effect, spot, state, world);
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      return CompletableFuture.completedStage(failed(effect, e));
    }
  }

  /** The result of an effect that threw. */
  static Input.Failed failed(StepEffect effect, Throwable thrown) {
    Throwable cause =
        thrown instanceof CompletionException && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    ErrorCode code = ErrorCode.ofFailed(effect);
    return new Input.Failed(
        code,
        StepFailures.message(effect.place(), effect.field(), code, cause),
        Failures.detail(cause),
        cause,
        cause instanceof StepException step && step.isTerminal());
  }

  private <T extends Record> CompletionStage<Input.Result> perform(
      StepEffect effect, TypedPlace<T> spot, RunState state, World world) throws Exception {
    Node<T> node = spot.step().node();
    return switch (effect.kind()) {
      case CHECK -> judge((Node.Ask<T>) Objects.requireNonNull(node), effect, spot);
      case UNDO -> {
        Node.Compensation<T> undo = spot.compensation();
        AsyncAction<T> action = undo == null ? null : undo.action();
        yield act(orNothing(action), run(state, effect, spot, List.of(), world), effect);
      }
      case REMIND -> {
        AsyncAction<T> reminder = spot.waiting().reminder();
        yield act(orNothing(reminder), run(state, effect, spot, List.of(), world), effect);
      }
      default -> {
        Node.Act<T> act = (Node.Act<T>) Objects.requireNonNull(node);
        yield act(act.action(), run(state, effect, spot, act.reads(), world), effect);
      }
    };
  }

  /** A hook or a reminder may be gone from a flow of the same version. */
  private static <T extends Record> AsyncAction<T> orNothing(@Nullable AsyncAction<T> action) {
    return action == null ? run -> CompletableFuture.completedStage(null) : action;
  }

  private static <T extends Record> Run<T> run(
      RunState state, StepEffect effect, TypedPlace<T> spot, List<String> reads, World world) {
    return new Run<>(
        spot.schema(),
        state,
        effect,
        spot.data(),
        spot.prefix(),
        reads,
        world.progress(),
        world.caller(),
        world.principal());
  }

  private <T extends Record> CompletionStage<Input.Result> act(
      AsyncAction<T> action, Run<T> run, StepEffect effect) {
    CompletionStage<?> acted;
    try {
      acted = action.perform(run);
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      acted = CompletableFuture.failedStage(e);
    }
    return acted.handle(
        (nothing, thrown) -> {
          Input.Wrote wrote = run.close(thrown == null);
          return thrown == null ? wrote : unwritten(wrote, failed(effect, thrown));
        });
  }

  /** What an action meant to keep secret is known to nobody when it fails, and must not get out. */
  private Input.Failed unwritten(Input.Wrote wrote, Input.Failed failed) {
    Secrets secrets = new Secrets();
    secrets.writes(secretFields, wrote.writes());
    if (secrets.isEmpty()) {
      return failed;
    }
    String detail = failed.detail();
    Throwable thrown = failed.thrown();
    return new Input.Failed(
        failed.code(),
        secrets.masked(failed.message()),
        detail == null ? null : secrets.masked(detail),
        thrown == null ? null : LoggedFailure.of(thrown, secrets::masked),
        failed.terminal());
  }

  private static <T extends Record> CompletionStage<Input.Result> judge(
      Node.Ask<T> ask, StepEffect effect, TypedPlace<T> spot) throws Exception {
    String field = Objects.requireNonNull(effect.field()).substring(spot.prefix().length());
    Object answer =
        Objects.requireNonNull(spot.schema().value(field, Paths.get(spot.data(), field)));
    Node.Check check = PendingEffects.check(ask, field);
    CompletionStage<Verdict> judged =
        check instanceof Node.Async async
            ? async.validator().check(answer)
            : CompletableFuture.completedStage(OpenQuestions.verdict(spot, answer, check));
    return judged.handle(
        (verdict, thrown) -> thrown == null ? new Input.Judged(verdict) : failed(effect, thrown));
  }
}
