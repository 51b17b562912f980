package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The machine that runs one version of a flow.
 *
 * <p>It holds no state of its own, so one instance serves any number of runs at once.
 */
public final class FlowProgram<S extends Record> implements Program<RunState, Input, Event> {
  private final Flow<S> flow;
  private final Limits limits;

  FlowProgram(Flow<S> flow, Limits limits) {
    this.flow = flow;
    this.limits = limits;
  }

  public Flow<S> flow() {
    return flow;
  }

  @Override
  public RunState initial() {
    return RunState.NONE;
  }

  @Override
  public RunState apply(RunState state, Event event) {
    return state.apply(event);
  }

  @Override
  public Acceptance<Event> accept(RunState state, Input input) {
    if (input instanceof Input.Start start) {
      return start(state, start);
    }
    Outcome.Failure gone = gone(state, input);
    if (gone != null) {
      return new Refused<>(gone);
    }
    if (input instanceof Input.Continue next) {
      return proceed(state, next);
    } else if (input instanceof Input.Reset reset) {
      return reset(state, reset);
    } else if (input instanceof Input.Cancel cancel) {
      return new Accepted<>(List.of(new Event.Cancelled(cancel.at())));
    } else if (input instanceof Input.Resolve resolve) {
      return resolve(state, resolve);
    } else if (input instanceof Input.EffectEnded ended) {
      return effectEnded(state, ended);
    } else if (input instanceof Input.EffectDue due) {
      return effectDue(state, due);
    }
    return recovered(state, (Input.Recovered) input);
  }

  @Override
  public Next next(RunState state) {
    if (!state.running()) {
      return new Finish(ended(state));
    }
    List<Effect> effects = effects(state);
    return effects.isEmpty() ? new Pause(pause(state)) : new Perform(effects);
  }

  /**
   * Carries out an effect: the one method that calls actions and async validators. It may block, so
   * its caller chooses the thread. The stage never fails; failures are results.
   */
  public CompletionStage<Input.Result> perform(RunState state, Effect effect) {
    try {
      Node<S> node = node(effect.place());
      String field = effect.field();
      if (field != null && node instanceof Node.Ask<S> ask) {
        return judge(state, ask, field, effect);
      }
      return act(state, (Node.Act<S>) node, effect);
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      return CompletableFuture.completedStage(failed(effect, e));
    }
  }

  /** How a failure inside an effect is told to the client, and how to the operator. */
  public Input.Failed failed(Effect effect, Throwable thrown) {
    Throwable cause =
        thrown instanceof CompletionException && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    ErrorCode code = ErrorCode.ofFailed(effect);
    return new Input.Failed(
        code, Failures.message(effect.place(), code, cause), Failures.detail(cause));
  }

  /** An effect that did not end in its time. */
  public Input.Failed timedOut(Effect effect) {
    return new Input.Failed(
        ErrorCode.STEP_TIMEOUT,
        "The step "
            + effect.place().node()
            + " took longer than it may. "
            + ErrorCode.STEP_TIMEOUT.repair()
            + ".",
        "no result within " + effect.policy().timeout());
  }

  // --- calls ----------------------------------------------------------------------------------

  private Acceptance<Event> start(RunState state, Input.Start start) {
    if (start.runId().equals(state.runId())) {
      return new Accepted<>(List.of());
    }
    if (start.intent().isBlank()) {
      return refused(state, Outcome.Failure.of(ErrorCode.MISSING_INTENT));
    }
    Updates updates = updates(start.updates());
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    Drive<S> drive = new Drive<>(flow, limits, state, start.at());
    if (state.running()) {
      drive.emit(new Event.Abandoned(start.at()));
    }
    drive.emit(
        new Event.Started(
            start.runId(), flow.version(), flow.fingerprint(), start.intent(), start.at()));
    return answer(drive, updates.filled());
  }

  private Acceptance<Event> proceed(RunState state, Input.Continue next) {
    Updates updates = updates(next.updates());
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    if (unknownOutcome(state) != null) {
      return refused(state, Outcome.Failure.of(ErrorCode.OUTCOME_UNKNOWN));
    }
    Answers<S> answers = new Answers<>(flow, state);
    List<Violation> conflicts = answers.conflicts(updates.filled());
    if (!conflicts.isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.ALREADY_ANSWERED, conflicts));
    }
    Map<String, JsonNode> news = answers.news(updates.filled());
    Drive<S> drive = new Drive<>(flow, limits, state, next.at());
    if (news.isEmpty() && !drive.canGoOn()) {
      return new Accepted<>(List.of());
    }
    return answer(drive, news);
  }

  private Acceptance<Event> reset(RunState state, Input.Reset reset) {
    Updates updates = updates(reset.updates());
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    if (updates.values().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.MISSING_UPDATES));
    }
    if (unknownOutcome(state) != null) {
      return refused(state, Outcome.Failure.of(ErrorCode.OUTCOME_UNKNOWN));
    }
    Corrections<S> corrections = new Corrections<>(flow, state);
    Place back = corrections.goBackTo(updates.values().keySet());
    Drive<S> drive = new Drive<>(flow, limits, state, reset.at());
    if (back == null) {
      return answer(drive, updates.values());
    }
    String once = corrections.onceAfter(back);
    if (once != null) {
      return refused(
          state,
          Outcome.Failure.of(
              ErrorCode.RESET_PAST_ONCE,
              "The correction lies before the step "
                  + once
                  + ", which may run only once and has begun. "
                  + ErrorCode.RESET_PAST_ONCE.repair()
                  + "."));
    }
    drive.emit(
        new Event.Reset(
            state.places().keySet().iterator().next(), back, updates.values(), reset.at()));
    return fits(drive, updates.values().keySet());
  }

  private Acceptance<Event> resolve(RunState state, Input.Resolve resolve) {
    Place place = unknownOutcome(state);
    if (place == null) {
      return refused(state, Outcome.Failure.of(ErrorCode.NOTHING_TO_RESOLVE));
    }
    Drive<S> drive = new Drive<>(flow, limits, state, resolve.at());
    drive.emit(
        resolve.resolution() == Input.Resolution.RETRY
            ? new Event.Retried(place)
            : new Event.Skipped(place));
    return new Accepted<>(drive.run());
  }

  /**
   * Gives values to a run and lets it go on, unless they make its state too large or unreadable.
   */
  private Acceptance<Event> answer(Drive<S> drive, Map<String, JsonNode> values) {
    drive.answered(values);
    return fits(drive, values.keySet());
  }

  private Acceptance<Event> fits(Drive<S> drive, Set<String> fields) {
    ObjectNode data = drive.state().data();
    if (Json.bytes(data) > limits.stateBytes()) {
      return refused(
          drive.before(),
          Outcome.Failure.of(
              ErrorCode.STATE_TOO_LARGE,
              "The state would become larger than "
                  + limits.stateBytes()
                  + " bytes. "
                  + ErrorCode.STATE_TOO_LARGE.repair()
                  + "."));
    }
    try {
      flow.schema().view(data);
    } catch (IllegalArgumentException e) {
      String field = fields.isEmpty() ? "stateUpdates" : String.join(", ", fields);
      return refused(
          drive.before(),
          Outcome.Failure.of(
              ErrorCode.INVALID_UPDATES,
              List.of(new Violation(field, "cannot be read as what the flow expects"))));
    }
    return new Accepted<>(drive.run());
  }

  private record Updates(Map<String, JsonNode> values, List<Violation> violations) {
    Map<String, JsonNode> filled() {
      Map<String, JsonNode> filled = new LinkedHashMap<>(values);
      filled.values().removeIf(value -> !Paths.filled(value));
      return filled;
    }
  }

  private Updates updates(ObjectNode sent) {
    StateSchema.Checked checked = flow.schema().check(sent, limits);
    return new Updates(checked.values(), checked.violations());
  }

  // --- effects --------------------------------------------------------------------------------

  private Acceptance<Event> effectEnded(RunState state, Input.EffectEnded ended) {
    Effect effect = ended.effect();
    boolean lateFailure = ended.result() instanceof Input.Failed && waits(state, effect);
    if (!underWay(state, effect) || lateFailure) {
      return new Accepted<>(List.of());
    }
    Drive<S> drive = new Drive<>(flow, limits, state, ended.at());
    drive.ended(effect, ended.result());
    return new Accepted<>(drive.run());
  }

  private Acceptance<Event> effectDue(RunState state, Input.EffectDue due) {
    Effect effect = due.effect();
    if (!underWay(state, effect) || !waits(state, effect)) {
      return new Accepted<>(List.of());
    }
    return new Accepted<>(
        List.of(
            new Event.Attempted(effect.place(), effect.field(), effect.attempt() + 1, due.at())));
  }

  /** Whether the effect failed and is to be tried again; a late success still counts. */
  private static boolean waits(RunState state, Effect effect) {
    At at = state.places().get(effect.place());
    return at != null && at.phase() instanceof Phase.Working working && working.retryAt() != null;
  }

  private static boolean underWay(RunState state, Effect effect) {
    At at = state.places().get(effect.place());
    return at != null
        && state.runId().equals(effect.runId())
        && at.phase() instanceof Phase.Working working
        && working.attempt() == effect.attempt()
        && Objects.equals(working.field(), effect.field());
  }

  /** Begins anew what a crash interrupted, and goes on where a journal ends within a step. */
  private Acceptance<Event> recovered(RunState state, Input.Recovered recovered) {
    Drive<S> drive = new Drive<>(flow, limits, state, recovered.at());
    effects(state).stream().filter(e -> e.retryAt() == null).forEach(drive::recover);
    return new Accepted<>(drive.run());
  }

  private List<Effect> effects(RunState state) {
    List<Effect> effects = new ArrayList<>();
    state
        .places()
        .forEach(
            (place, at) -> {
              if (at.phase() instanceof Phase.Working w) {
                effects.add(
                    new Effect(
                        state.runId(),
                        place,
                        w.field(),
                        w.attempt(),
                        w.retryAt(),
                        policy(place, w.field())));
              }
            });
    return effects;
  }

  private Policy policy(Place place, @Nullable String field) {
    Node<S> node = node(place);
    if (node instanceof Node.Act<S> act) {
      return act.policy();
    }
    if (node instanceof Node.Ask<S> ask && field != null) {
      return asyncCheck(ask, field).policy();
    }
    throw new IllegalStateException("Place " + place + " of " + flow + " has no effect");
  }

  private Node.Async asyncCheck(Node.Ask<S> ask, String field) {
    for (Node.Question<S> question : ask.questions()) {
      if (question.field().equals(field) && question.check() instanceof Node.Async async) {
        return async;
      }
    }
    throw new IllegalStateException("Field " + field + " of " + ask.id() + " has no async check");
  }

  private CompletionStage<Input.Result> act(RunState state, Node.Act<S> act, Effect effect)
      throws Exception {
    Run<S> run = new Run<>(flow.schema(), state, effect.place(), effect.attempt());
    CompletionStage<?> acted;
    try {
      acted = act.action().perform(run);
    } catch (Throwable e) {
      run.close();
      throw e;
    }
    return acted.handle(
        (nothing, thrown) -> {
          List<Write> writes = run.close();
          return thrown == null ? new Input.Wrote(writes) : failed(effect, thrown);
        });
  }

  private CompletionStage<Input.Result> judge(
      RunState state, Node.Ask<S> ask, String field, Effect effect) throws Exception {
    Object answer = flow.schema().value(field, Paths.get(state.data(), field));
    return asyncCheck(ask, field)
        .validator()
        .check(Objects.requireNonNull(answer))
        .handle(
            (verdict, thrown) ->
                thrown == null ? new Input.Judged(verdict) : failed(effect, thrown));
  }

  // --- what the outside sees ------------------------------------------------------------------

  private Outcome.@Nullable Failure gone(RunState state, Input input) {
    if (!state.running()) {
      return ended(state) instanceof Outcome.Failure failure
          ? failure
          : Outcome.Failure.of(ErrorCode.RUN_COMPLETED);
    }
    boolean call =
        input instanceof Input.Continue
            || input instanceof Input.Reset
            || input instanceof Input.Resolve;
    return call && expired(state, input.at()) ? Outcome.Failure.of(ErrorCode.RUN_EXPIRED) : null;
  }

  /** Whether nobody has touched the run for longer than the flow allows. */
  public boolean expired(RunState state, long at) {
    Duration expiry = flow.expiry();
    return state.running() && expiry != null && at - state.changedAt() > expiry.toMillis();
  }

  private static Outcome ended(RunState state) {
    return switch (state.status()) {
      case COMPLETED -> new Outcome.Complete(state.result());
      case CANCELLED -> Outcome.Failure.of(ErrorCode.RUN_CANCELLED);
      default -> Outcome.Failure.of(ErrorCode.UNKNOWN_RUN);
    };
  }

  private Acceptance<Event> refused(RunState state, Outcome.Failure failure) {
    return new Refused<>(failure.open(open(state)));
  }

  /** What the run waits for, without what went wrong; null where it waits for nobody. */
  public @Nullable Outcome open(RunState state) {
    List<Event.Question> questions = new ArrayList<>();
    String context = null;
    for (At at : state.places().values()) {
      if (at.phase() instanceof Phase.Showing showing) {
        return new Outcome.ShowWidget(showing.widget());
      }
      if (at.phase() instanceof Phase.Asking) {
        questions.addAll(at.open());
        context = at.context();
      }
    }
    return questions.isEmpty() ? null : new Outcome.Interrupt(questions, context);
  }

  private Outcome pause(RunState state) {
    Outcome open = open(state);
    for (Map.Entry<Place, At> entry : state.places().entrySet()) {
      if (entry.getValue().phase() instanceof Phase.Halted halted) {
        return new Outcome.Failure(
            halted.code().wireName(), halted.message(), halted.field(), List.of(), open);
      }
    }
    Outcome.Failure rejected = rejected(state);
    if (rejected != null) {
      return rejected.open(open);
    }
    if (open == null) {
      throw new IllegalStateException("Run " + state.runId() + " neither works nor waits");
    }
    return open;
  }

  private static Outcome.@Nullable Failure rejected(RunState state) {
    List<Violation> violations = new ArrayList<>();
    for (At at : state.places().values()) {
      at.rejected()
          .forEach(
              (field, rejection) -> {
                if (rejection.tick() > state.callTick()) {
                  violations.add(new Violation(field, rejection.message()));
                }
              });
    }
    if (violations.isEmpty()) {
      return null;
    }
    String message = String.join(" ", violations.stream().map(Violation::message).toList());
    return new Outcome.Failure(
        ErrorCode.ANSWER_REJECTED.wireName(), message, violations.get(0).field(), violations, null);
  }

  private static @Nullable Place unknownOutcome(RunState state) {
    for (Map.Entry<Place, At> entry : state.places().entrySet()) {
      if (entry.getValue().phase() instanceof Phase.Halted halted
          && halted.code() == ErrorCode.OUTCOME_UNKNOWN) {
        return entry.getKey();
      }
    }
    return null;
  }

  private Node<S> node(Place place) {
    Node<S> node = flow.nodes().get(place.node());
    if (node == null) {
      throw new IllegalStateException("There is no node " + place.node() + " in " + flow);
    }
    return node;
  }
}
