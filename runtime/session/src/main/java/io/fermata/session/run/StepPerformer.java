package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.World;
import io.fermata.flow.action.Caller;
import io.fermata.flow.action.Progress;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Verdict;
import io.fermata.session.actor.Effects;
import io.fermata.session.actor.SessionPort;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Performs the effects of a run in one of its states, and publishes their progress. */
record StepPerformer(
    Program<RunState, Input, Event, StepEffect, Input.Result, World> program,
    RunState run,
    SessionPort.Handle session,
    Function<StepEffect, Caller> callers,
    String principal,
    TraceContext cause)
    implements Effects.Performer<StepEffect, Input.Result> {

  @Override
  public CompletionStage<Input.Result> perform(
      StepEffect effect, Consumer<ToolProgress> progress, BooleanSupplier cancelled) {
    World world = new World(progress(progress), callers.apply(effect), principal);
    return session
        .host()
        .handlers()
        .steps()
        .perform(run, effect, () -> program.perform(run, effect, world));
  }

  @Override
  public Input.Result failed(StepEffect effect, Throwable thrown) {
    return program.failed(effect, thrown);
  }

  @Override
  public Telemetry.Effect described(StepEffect effect) {
    return new Telemetry.Effect(
        Telemetry.Kind.FLOW,
        SessionKey.flowOf(session.entityId()),
        run.version(),
        effect.runId(),
        effect.place().node(),
        effect.kind().name().toLowerCase(Locale.ROOT),
        effect.attempt(),
        cause);
  }

  @Override
  public String described(Input.Result result) {
    if (result instanceof Input.Failed) {
      return Activity.End.FAILED;
    }
    return result instanceof Input.Judged judged && judged.verdict() instanceof Verdict.Rejected
        ? Activity.End.REJECTED
        : Activity.End.OK;
  }

  @Override
  public LogLabels labels(StepEffect effect) {
    return LogLabels.on()
        .session(session.entityId())
        .with(LogLabels.RUN, effect.runId())
        .with(LogLabels.NODE, effect.place().node())
        .with(LogLabels.ATTEMPT, String.valueOf(effect.attempt()));
  }

  private Progress progress(Consumer<ToolProgress> listener) {
    return new Progress() {
      @Override
      public void emitted(Place place, String name, @Nullable JsonNode payload) {
        listener.accept(
            new ToolProgress(place.node(), name, payload == null ? NullNode.instance : payload));
      }

      @Override
      public void streamed(Place place, String text) {
        listener.accept(ToolProgress.text(place.node(), text));
      }

      @Override
      public void refused(IllegalStateException refusal) {
        session.host().handlers().steps().refused(refusal);
      }
    };
  }
}
