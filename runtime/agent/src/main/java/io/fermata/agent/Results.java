package io.fermata.agent;

import io.fermata.agent.model.Usage;
import io.fermata.flow.Policy;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the ends of effects mean for a thread. */
final class Results {
  private static final int SUMMARIES = 3;

  private final Agents agents;
  private final TurnLoop loop;

  Results(Agents agents, TurnLoop loop) {
    this.agents = agents;
    this.loop = loop;
  }

  void take(ThreadEffect effect, ThreadInput.Result result, long at) {
    switch (effect.kind()) {
      case GREET -> greeted(result);
      case RECEIVE -> received(effect, result);
      case STEP -> stepped(effect, result, at);
      case HANDLE -> handled(effect, result);
      case CALL, STORE -> called(effect, result, at);
      case DEFERRED -> deferred(effect, result, at);
      case COMPACT -> compacted(effect, result, at);
      case REPORT -> reported(effect, result);
      case WITHDRAW -> withdrawn(effect, result);
      case ERASE -> {}
    }
  }

  private void greeted(ThreadInput.Result result) {
    if (result instanceof ThreadInput.Done done) {
      loop.absorb(done.changes(), "greet");
    }
    loop.emit(new ThreadEvent.Greeted());
  }

  private void received(ThreadEffect effect, ThreadInput.Result result) {
    Message waiting = TurnLoop.due(loop.state(), agents);
    if (waiting == null || !waiting.id().equals(effect.id())) {
      return;
    }
    if (result instanceof ThreadInput.Admitted admitted) {
      loop.take(admitted.message());
      loop.absorb(admitted.changes(), effect.id());
    } else {
      loop.take(waiting);
    }
  }

  // --- steps -----------------------------------------------------------------------------------

  private @Nullable Frame thinking(ThreadEffect effect) {
    return loop.state().frames().values().stream()
        .filter(frame -> frame.stage() == Frame.Stage.THINKING)
        .filter(frame -> effect.id().equals("s" + frame.step()))
        .findFirst()
        .orElse(null);
  }

  private void stepped(ThreadEffect effect, ThreadInput.Result result, long at) {
    Frame frame = thinking(effect);
    if (frame == null) {
      return;
    }
    if (result instanceof ThreadInput.Replied replied) {
      loop.emit(
          new ThreadEvent.StepEnded(
              frame.path(), replied.message(), replied.calls(), replied.log()));
      loop.absorb(replied.changes(), effect.id());
    } else if (result instanceof ThreadInput.Blocked blocked) {
      blocked(frame, blocked, effect);
    } else if (result instanceof ThreadInput.Unanswered unanswered) {
      unanswered(frame, unanswered.code(), unanswered.reason(), unanswered.failed(), at);
    } else if (result instanceof ThreadInput.Failed failed) {
      unanswered(frame, failed.code(), failed.reason(), List.of(), at);
    }
  }

  private void blocked(Frame frame, ThreadInput.Blocked blocked, ThreadEffect effect) {
    String words = blocked.message().content();
    if (!frame.top()) {
      loop.absorb(blocked.changes(), effect.id());
      loop.failSubPrompt(frame, String.valueOf(words));
      return;
    }
    loop.emit(new ThreadEvent.FrameClosed(frame.path()));
    loop.emit(new ThreadEvent.Said(Frame.TOP, blocked.message(), null));
    loop.absorb(blocked.changes(), effect.id());
    loop.stop(frame.side(), StopCode.HOOK_BLOCKED, words, false);
  }

  private void unanswered(
      Frame frame,
      String code,
      String reason,
      List<io.fermata.agent.model.ModelAttempt> failed,
      long at) {
    loop.emit(new ThreadEvent.StepFailed(frame.path(), code, reason, failed, at));
    if (frame.top()) {
      loop.stop(frame.side(), StopCode.STEP_ERROR, reason, false);
    } else {
      loop.failSubPrompt(frame, reason);
    }
  }

  private void handled(ThreadEffect effect, ThreadInput.Result result) {
    Frame frame = loop.state().top();
    if (frame == null
        || frame.stage() != Frame.Stage.HANDLING
        || !effect.id().equals(frame.messageId())) {
      return;
    }
    loop.emit(new ThreadEvent.FrameClosed(Frame.TOP));
    if (result instanceof ThreadInput.Done done) {
      loop.absorb(done.changes(), effect.id());
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
    Frame frame = loop.state().frameOf(effect.id());
    CallState call = frame == null ? null : frame.call(effect.id());
    if (frame == null || call == null || call.over() || call.attempt() != effect.attempt()) {
      return;
    }
    if (result instanceof ThreadInput.Called called) {
      over(call, called, at);
    } else if (result instanceof ThreadInput.Asks asks) {
      loop.emit(new ThreadEvent.CallAsked(call.key(), false, asks.question(), at));
    } else if (result instanceof ThreadInput.Later later) {
      loop.emit(new ThreadEvent.CallFailed(call.key(), call.attempt(), "unfinished", later.due()));
    } else if (result instanceof ThreadInput.Delegated delegated) {
      loop.absorb(delegated.changes(), call.key());
      loop.emit(new ThreadEvent.CallDelegated(call.key(), delegated.threadId()));
    } else if (result instanceof ThreadInput.Failed failed) {
      failed(frame, call, effect, failed, at);
    }
  }

  private void over(CallState call, ThreadInput.Called called, long at) {
    loop.absorb(called.changes(), call.key());
    if (called.message() == null) {
      loop.emit(new ThreadEvent.CallStruck(call.key(), at));
    } else {
      loop.emit(new ThreadEvent.CallEnded(call.key(), called.message(), called.code(), at));
    }
  }

  private void failed(
      Frame frame, CallState call, ThreadEffect effect, ThreadInput.Failed failed, long at) {
    Policy policy = effect.policy();
    if (effect.kind() == ThreadEffect.Kind.CALL
        && policy.once()
        && (failed.code().equals("timeout")
            || failed.code().equals(OutcomeUnknownException.CODE))) {
      loop.returned(frame, call, ThreadProgram.unknown());
    } else if (effect.kind() == ThreadEffect.Kind.CALL
        && call.attempt() < policy.retry().attempts()) {
      Duration wait = policy.retry().after(call.attempt());
      loop.emit(
          new ThreadEvent.CallFailed(
              call.key(), call.attempt(), failed.reason(), at + wait.toMillis()));
    } else if (effect.kind() == ThreadEffect.Kind.CALL) {
      String code = failed.code().equals("failed") ? null : failed.code();
      loop.returned(frame, call, new ToolResult(true, failed.reason(), code, null, List.of()));
    } else {
      ToolResult result = call.result() == null ? ToolResult.error("lost") : call.result();
      Message message =
          Calling.result(frame, call, result, List.of())
              .placed("m-" + call.key(), at * 1000, frame.depth(), frame.parentId());
      loop.emit(new ThreadEvent.CallEnded(call.key(), message, result.code(), at));
    }
  }

  // --- the rest --------------------------------------------------------------------------------

  private void deferred(ThreadEffect effect, ThreadInput.Result result, long at) {
    ScheduledEffect running = loop.state().effects().get(effect.id());
    if (running == null || running.status() != ScheduledEffect.Status.RUNNING) {
      return;
    }
    if (result instanceof ThreadInput.Done done) {
      loop.absorb(done.changes(), effect.id());
      loop.emit(new ThreadEvent.EffectEnded(effect.id(), null, at));
    } else if (result instanceof ThreadInput.Failed failed) {
      boolean again = running.attempt() < effect.policy().retry().attempts();
      if (again) {
        long due = at + effect.policy().retry().after(running.attempt()).toMillis();
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
    if (result instanceof ThreadInput.Summed summed) {
      loop.emit(new ThreadEvent.Compacted(summed.summary(), summed.upTo(), summed.usage(), at));
    } else if (effect.attempt() < SUMMARIES) {
      loop.emit(new ThreadEvent.Compacting(effect.attempt() + 1, at));
    } else {
      loop.emit(new ThreadEvent.Compacted(null, null, Usage.ZERO, at));
    }
  }

  private void reported(ThreadEffect effect, ThreadInput.Result result) {
    if (result instanceof ThreadInput.Done) {
      loop.emit(new ThreadEvent.Reported(Long.parseLong(effect.id())));
    }
  }

  private void withdrawn(ThreadEffect effect, ThreadInput.Result result) {
    if (result instanceof ThreadInput.Done) {
      loop.emit(new ThreadEvent.TakenBack(effect.id()));
    }
  }
}
