package io.fermata.agent.engine;

import io.fermata.agent.Agents;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelError;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.event.Policy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Applies the results of effects to a thread. */
final class EffectResults {
  /** How scheduled work ends that may have been done and is not repeated. */
  static final String UNKNOWN = "interrupted; the outcome is unknown";

  private static final ToolResult CUT_OFF =
      ToolResult.error(
          "cut_off",
          "The call was cut off at the output limit of the model; it was not made. Make it shorter, or several of it.");

  private static final String SAID_NOTHING =
      "The model reached its output limit before it said anything; raise the limit in its client, or let it think less";

  private final Agents agents;
  private final TurnLoop loop;

  EffectResults(Agents agents, TurnLoop loop) {
    this.agents = agents;
    this.loop = loop;
  }

  void take(ThreadEffect effect, ThreadInput.Result result, long at) {
    switch (effect.kind()) {
      case GREET -> greeted(result);
      case RECEIVE -> received(effect, result);
      case STEP -> stepped(effect, result);
      case HANDLE -> handled(effect, result);
      case CALL, STORE -> called(effect, result, at);
      case DEFERRED -> deferred(effect, result, at);
      case COMPACT -> compacted(effect, result, at);
      case REPORT -> reported(effect, result, at);
      case WITHDRAW -> withdrawn(effect, result, at);
      case LOOK, EXPIRE, ERASE -> {}
    }
  }

  private void greeted(ThreadInput.Result result) {
    if (result instanceof ThreadInput.Done done) {
      loop.absorb(done.changes());
    }
    loop.emit(new ThreadEvent.Greeted());
  }

  private void received(ThreadEffect effect, ThreadInput.Result result) {
    Message waiting = TurnLoop.due(loop.state(), agents);
    if (waiting == null || !waiting.id().equals(effect.id())) {
      return;
    }
    if (result instanceof ThreadInput.Admitted admitted) {
      loop.absorb(admitted.before());
      loop.take(admitted.message());
      loop.absorb(admitted.after());
    } else {
      loop.take(waiting);
    }
  }

  // --- steps -----------------------------------------------------------------------------------

  private @Nullable StepFrame thinking(ThreadEffect effect) {
    for (StepFrame frame : loop.state().frames().values()) {
      if (frame.stage() == StepFrame.Stage.THINKING && effect.id().equals("s" + frame.step())) {
        return frame;
      }
    }
    return null;
  }

  private void stepped(ThreadEffect effect, ThreadInput.Result result) {
    StepFrame frame = thinking(effect);
    if (frame == null) {
      return;
    }
    if (result instanceof ThreadInput.Replied replied) {
      replied(frame, replied);
    } else if (result instanceof ThreadInput.Blocked blocked) {
      blocked(frame, blocked);
    } else if (result instanceof ThreadInput.Overspent overspent) {
      overspent(frame, overspent.reason());
    } else if (result instanceof ThreadInput.Unanswered unanswered) {
      unanswered(frame, unanswered.code(), unanswered.reason(), unanswered.failed());
    } else if (result instanceof ThreadInput.Failed failed) {
      unanswered(frame, failed.code(), failed.reason(), List.of());
    }
  }

  /** Changes by hooks before the message precede it; calls that they queued follow its own. */
  private void replied(StepFrame frame, ThreadInput.Replied replied) {
    List<ThreadEvent.Change> calls = new ArrayList<>();
    List<ThreadEvent.Change> others = new ArrayList<>();
    for (ThreadEvent.Change change : replied.before()) {
      (change instanceof ThreadEvent.Queued ? calls : others).add(change);
    }
    ThreadEvent.StepEnded ended =
        new ThreadEvent.StepEnded(frame.path(), replied.message(), replied.calls(), replied.log());
    loop.absorb(others);
    loop.emit(ended);
    loop.absorb(calls);
    loop.absorb(replied.after());
    StepFrame calling = loop.state().frames().get(frame.path());
    if (replied.log().cutOff() && calling != null) {
      cutOff(calling, ended);
    }
  }

  /** The last call is not whole, and a model that said nothing would reach its limit again. */
  private void cutOff(StepFrame frame, ThreadEvent.StepEnded step) {
    CallState last = frame.call(step.key(step.calls().size() - 1));
    if (last != null) {
      loop.calls().returned(frame, last, CUT_OFF);
    } else if (step.saysNothing() && frame.calls().isEmpty()) {
      unanswered(frame, ModelError.EMPTY.wireName(), SAID_NOTHING, List.of());
    }
  }

  private void blocked(StepFrame frame, ThreadInput.Blocked blocked) {
    String words = blocked.message().content();
    if (!frame.top()) {
      loop.absorb(blocked.before());
      loop.absorb(blocked.after());
      loop.failSubPrompt(frame, String.valueOf(words));
      return;
    }
    loop.absorb(blocked.before());
    loop.emit(new ThreadEvent.FrameClosed(frame.path()));
    loop.emit(new ThreadEvent.Said(StepFrame.TOP, blocked.message(), null));
    loop.absorb(blocked.after());
    loop.stop(frame.side(), StopCode.HOOK_BLOCKED, words, false);
  }

  private void overspent(StepFrame frame, String reason) {
    if (frame.top()) {
      loop.emit(new ThreadEvent.FrameClosed(frame.path()));
      loop.stop(frame.side(), StopCode.BUDGET_SPENT, reason, false);
    } else {
      loop.failSubPrompt(frame, reason);
    }
  }

  private void unanswered(StepFrame frame, String code, String reason, List<ModelAttempt> failed) {
    loop.failStep(frame, code, reason, failed);
    if (frame.top()) {
      loop.stop(frame.side(), StopCode.STEP_ERROR, reason, false);
    } else {
      loop.failSubPrompt(frame, reason);
    }
  }

  private void handled(ThreadEffect effect, ThreadInput.Result result) {
    StepFrame frame = loop.state().top();
    if (frame == null
        || frame.stage() != StepFrame.Stage.HANDLING
        || !effect.id().equals("t" + frame.step())) {
      return;
    }
    loop.emit(new ThreadEvent.FrameClosed(StepFrame.TOP));
    if (result instanceof ThreadInput.Done done) {
      loop.absorb(done.changes());
      loop.endHandling(frame.side(), spoke(done.changes(), frame.side()));
    } else if (result instanceof ThreadInput.Failed failed) {
      loop.stop(frame.side(), StopCode.STEP_ERROR, failed.reason(), false);
    }
  }

  private static boolean spoke(List<ThreadEvent.Change> changes, Side side) {
    return changes.stream()
        .anyMatch(
            change ->
                change instanceof ThreadEvent.Said said && said.message().role() == side.role());
  }

  // --- calls -----------------------------------------------------------------------------------

  private void called(ThreadEffect effect, ThreadInput.Result result, long at) {
    StepFrame frame = loop.state().frameOf(effect.id());
    CallState call = frame == null ? null : frame.call(effect.id());
    CallState.Phase phase =
        effect.kind() == ThreadEffect.Kind.CALL
            ? CallState.Phase.RUNNING
            : CallState.Phase.RETURNED;
    if (frame == null
        || call == null
        || call.phase() != phase
        || call.attempt() != effect.attempt()) {
      return;
    }
    if (result instanceof ThreadInput.Called called) {
      over(frame, call, called, at);
    } else if (result instanceof ThreadInput.Asks asks) {
      loop.absorb(asks.changes());
      loop.emit(new ThreadEvent.CallAsked(call.key(), false, asks.question(), at));
    } else if (result instanceof ThreadInput.Later later) {
      loop.absorb(later.changes());
      loop.emit(
          new ThreadEvent.CallWaits(call.key(), later.due(), later.waitsFor(), later.begun()));
    } else if (result instanceof ThreadInput.Delegated delegated) {
      delegated(frame, call, delegated);
    } else if (result instanceof ThreadInput.Failed failed) {
      failed(frame, call, effect, failed, at);
    }
  }

  private void delegated(StepFrame frame, CallState call, ThreadInput.Delegated delegated) {
    loop.absorb(delegated.changes());
    String child = delegated.threadId();
    if (child != null) {
      loop.emit(new ThreadEvent.CallDelegated(call.key(), child));
    } else if (CallSite.of(agents, loop.state(), frame).offered(call) instanceof SubPrompt sub) {
      loop.calls().open(frame, sub, call);
    }
  }

  private void over(StepFrame frame, CallState call, ThreadInput.Called called, long at) {
    loop.absorb(called.before());
    if (called.message() == null && frame.detached()) {
      loop.emit(new ThreadEvent.FrameClosed(frame.path()));
    } else if (called.message() == null) {
      loop.emit(new ThreadEvent.CallRemoved(call.key(), at));
    } else {
      loop.emit(new ThreadEvent.CallEnded(call.key(), called.message(), called.code(), at));
    }
    loop.absorb(called.after());
  }

  private void failed(
      StepFrame frame, CallState call, ThreadEffect effect, ThreadInput.Failed failed, long at) {
    Policy policy = effect.policy();
    boolean unknown = !failed.code().equals("failed");
    if (effect.kind() == ThreadEffect.Kind.CALL && policy.once() && unknown) {
      loop.calls().returned(frame, call, ThreadProgram.unknown());
    } else if (effect.kind() == ThreadEffect.Kind.CALL
        && call.attempt() < policy.retry().attempts()) {
      Duration wait = policy.retry().after(call.attempt());
      loop.emit(
          new ThreadEvent.CallFailed(
              call.key(), call.attempt(), failed.reason(), at + wait.toMillis()));
    } else if (effect.kind() == ThreadEffect.Kind.CALL) {
      loop.calls().abandon(frame, call);
      String code = unknown ? failed.code() : null;
      loop.calls()
          .returned(frame, call, new ToolResult(true, failed.reason(), code, null, List.of()));
    } else {
      ToolResult result = call.result() == null ? ToolResult.error("lost") : call.result();
      loop.emit(ToolCalls.over(frame, call, result, at));
    }
  }

  // --- the rest --------------------------------------------------------------------------------

  private void deferred(ThreadEffect effect, ThreadInput.Result result, long at) {
    ScheduledEffect running = loop.state().effects().get(effect.id());
    if (running == null || running.status() != ScheduledEffect.Status.RUNNING) {
      return;
    }
    if (result instanceof ThreadInput.Done done) {
      loop.absorb(done.changes());
      loop.emit(new ThreadEvent.EffectEnded(effect.id(), null, at));
    } else if (result instanceof ThreadInput.Failed failed) {
      Policy policy = effect.policy();
      if (policy.once() && !failed.code().equals("failed")) {
        loop.emit(new ThreadEvent.EffectEnded(effect.id(), UNKNOWN, at));
      } else if (running.attempt() < policy.retry().attempts()) {
        long due = at + policy.retry().after(running.attempt()).toMillis();
        loop.emit(
            new ThreadEvent.EffectDelayed(effect.id(), running.attempt(), failed.reason(), due));
      } else {
        loop.emit(new ThreadEvent.EffectEnded(effect.id(), failed.reason(), at));
      }
    }
  }

  private void compacted(ThreadEffect effect, ThreadInput.Result result, long at) {
    if (loop.state().compacting() != effect.attempt()) {
      return;
    }
    loop.emit(
        result instanceof ThreadInput.Summed summed
            ? new ThreadEvent.Compacted(
                summed.summary(), summed.upTo(), summed.model(), summed.usage(), at)
            : new ThreadEvent.Compacted(null, null, null, Usage.ZERO, at));
  }

  private void reported(ThreadEffect effect, ThreadInput.Result result, long at) {
    if (!retryDelivery(effect, result, at)) {
      loop.emit(new ThreadEvent.Reported(Long.parseLong(effect.id())));
    }
  }

  /** Schedules a retry of a failed delivery; reports are retried without limit. */
  private boolean retryDelivery(ThreadEffect effect, ThreadInput.Result result, long at) {
    boolean again =
        result instanceof ThreadInput.Failed
            && (effect.kind() == ThreadEffect.Kind.REPORT
                || effect.attempt() < effect.policy().retry().attempts());
    if (again && result instanceof ThreadInput.Failed failed) {
      long due = at + effect.policy().retry().after(effect.attempt()).toMillis();
      String what = effect.delivery();
      loop.emit(new ThreadEvent.DeliveryFailed(what, effect.attempt(), failed.reason(), due));
    }
    return again;
  }

  private void withdrawn(ThreadEffect effect, ThreadInput.Result result, long at) {
    if (!retryDelivery(effect, result, at)) {
      loop.emit(new ThreadEvent.CallWithdrawn(effect.id()));
    }
  }
}
