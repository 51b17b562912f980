package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/** Runs a program without any actor: performs every effect at once and keeps the journal. */
final class Driver {
  final FlowProgram<?> program;
  final List<Event> journal = new ArrayList<>();
  RunState state = RunState.NONE;
  long now = 1_000;
  int performed;

  Driver(Flow<?> flow) {
    this(flow, Limits.DEFAULT);
  }

  Driver(Flow<?> flow, Limits limits) {
    this.program = flow.program(limits);
  }

  Outcome start(Object... updates) {
    return call(new Input.Start("run-1", "to test", object(updates), now++));
  }

  Outcome proceed(Object... updates) {
    return call(new Input.Continue(object(updates), now++));
  }

  Outcome reset(Object... updates) {
    return call(new Input.Reset(object(updates), now++));
  }

  Outcome cancel() {
    return call(new Input.Cancel(now++));
  }

  Outcome resolve(Input.Resolution resolution) {
    return call(new Input.Resolve(resolution, now++));
  }

  Outcome call(Input input) {
    if (program.accept(state, input) instanceof Program.Refused<Event> refused) {
      return refused.failure();
    }
    feed(input);
    return settle();
  }

  /** Feeds an input without performing what follows from it. */
  void feed(Input input) {
    if (program.accept(state, input) instanceof Program.Accepted<Event> accepted) {
      for (Event event : accepted.events()) {
        journal.add(event);
        state = program.apply(state, event);
      }
    }
  }

  Outcome settle() {
    while (true) {
      Program.Next next = program.next(state);
      if (next instanceof Program.Pause pause) {
        return pause.outcome();
      } else if (next instanceof Program.Finish finish) {
        return finish.outcome();
      }
      perform(((Program.Perform) next).effects().get(0));
    }
  }

  private void perform(Effect effect) {
    Long retryAt = effect.retryAt();
    if (retryAt != null) {
      now = Math.max(now, retryAt);
      feed(new Input.EffectDue(effect, now));
      return;
    }
    performed++;
    feed(new Input.EffectEnded(effect, result(effect), now++));
  }

  Input.Result result(Effect effect) {
    Future<Input.Result> result = program.perform(state, effect).toCompletableFuture();
    try {
      return result.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  Effect pendingEffect() {
    return ((Program.Perform) program.next(state)).effects().get(0);
  }

  static RunState fold(List<Event> journal) {
    RunState state = RunState.NONE;
    for (Event event : journal) {
      state = state.apply(event);
    }
    return state;
  }

  static ObjectNode object(Object... pairs) {
    ObjectNode object = Json.object();
    for (int i = 0; i < pairs.length; i += 2) {
      Object value = pairs[i + 1];
      object.set((String) pairs[i], value instanceof JsonNode node ? node : Json.tree(value));
    }
    return object;
  }
}
