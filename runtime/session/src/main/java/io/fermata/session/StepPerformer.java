package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.Caller;
import io.fermata.flow.FlowProgram;
import io.fermata.flow.Input;
import io.fermata.flow.Place;
import io.fermata.flow.Progress;
import io.fermata.flow.RunState;
import io.fermata.flow.StepEffect;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** Carries out the effects of a run as it is now, and lets its session hear what they tell. */
record StepPerformer(
    FlowProgram<?> program,
    RunState run,
    ActorRef<SessionCommand> session,
    Function<StepEffect, Caller> callers)
    implements Effects.Performer<StepEffect, Input.Result> {

  @Override
  public CompletionStage<Input.Result> perform(StepEffect effect) {
    return program.perform(run, effect, progress(effect), callers.apply(effect));
  }

  @Override
  public Input.Result failed(StepEffect effect, Throwable thrown) {
    return program.failed(effect, thrown);
  }

  private Progress progress(StepEffect effect) {
    return new Progress() {
      @Override
      public void emitted(Place place, String name, @Nullable JsonNode payload) {
        tell(new ToolProgress(place.node(), name, payload == null ? NullNode.instance : payload));
      }

      @Override
      public void streamed(Place place, String text) {
        tell(ToolProgress.text(place.node(), text));
      }

      private void tell(ToolProgress progress) {
        session.tell(new RunCommand.Told(effect.key(), progress));
      }
    };
  }
}
