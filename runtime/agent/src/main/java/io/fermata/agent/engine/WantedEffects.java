package io.fermata.agent.engine;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.Relations;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Program.Next;
import io.fermata.flow.event.Program.Pause;
import io.fermata.flow.event.Program.Perform;
import io.fermata.flow.event.Retry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The effects and the timers that a thread wants of its shell. */
final class WantedEffects {
  /** Models have stall guards of their own and no limit on the whole reply. */
  static final Policy LONG = Policy.DEFAULT.timeout(Model.LONGEST);

  private static final Policy DELIVERY =
      Policy.DEFAULT
          .timeout(Duration.ofMinutes(1))
          .retry(new Retry(1_000, Duration.ofMillis(200), Duration.ofHours(1)));

  private final Agents agents;

  WantedEffects(Agents agents) {
    this.agents = agents;
  }

  /**
   * The id of a summary; a turn may begin with several.
   *
   * @param upTo the last message that the summary before it covers
   */
  static String summary(long steps, @Nullable String upTo) {
    return "s" + steps + (upTo == null ? "" : "." + upTo);
  }

  /** The summary in progress; null for none. */
  static @Nullable ThreadEffect summary(ThreadState state) {
    String id = summary(state.steps().count(), state.history().upTo());
    return state.compacting() == 0
        ? null
        : effect(ThreadEffect.Kind.COMPACT, id, state.compacting(), LONG);
  }

  Next<ThreadEffect> next(ThreadState state) {
    List<ThreadEffect> wanted = new ArrayList<>();
    if (state.deleted()) {
      wanted.add(effect(ThreadEffect.Kind.ERASE, "thread", 1, DELIVERY));
      return new Perform<>(wanted);
    }
    Agent agent = state.exists() ? agents.find(state.agent()) : null;
    if (agent == null) {
      return new Pause<>(rest(state), List.of(), scheduled(state));
    }
    ThreadEffect summary = summary(state);
    if (!state.greeted()) {
      wanted.add(effect(ThreadEffect.Kind.GREET, "thread", 1, Policy.DEFAULT));
    } else if (summary != null) {
      wanted.add(summary);
    }
    Message due = TurnLoop.due(state, agents);
    if (due != null) {
      wanted.add(effect(ThreadEffect.Kind.RECEIVE, due.id(), 1, Policy.DEFAULT));
    }
    for (StepFrame frame : state.frames().values()) {
      of(state, frame, wanted);
    }
    if (!state.sandboxed()) {
      state.effects().values().forEach(effect -> of(effect, wanted));
    }
    if (!state.reports().isEmpty()) {
      wanted.add(delivery(state, ThreadEffect.Kind.REPORT, "" + state.reports().get(0).report()));
    }
    for (ThreadEvent.CallAbandoned left : state.abandonedCalls()) {
      wanted.add(delivery(state, ThreadEffect.Kind.WITHDRAW, left.call()));
    }
    ThreadEffect expiry = wanted.isEmpty() ? expiry(state, agent) : null;
    if (expiry != null) {
      wanted.add(expiry);
    }
    return result(state, wanted);
  }

  /** A thread that another one created goes with that one; one that still has work ahead stays. */
  private @Nullable ThreadEffect expiry(ThreadState state, Agent agent) {
    Duration idle = agent.expiry();
    ThreadEvent.Created created = state.created();
    if (idle == null
        || created == null
        || created.parent() != null
        || ahead(state) != null
        || state.children().values().stream()
            .anyMatch(
                child ->
                    child.status() == ChildThread.Status.RUNNING
                        || child.status() == ChildThread.Status.WAITING)) {
      return null;
    }
    long due = Math.max(created.at(), said(state)) + idle.toMillis();
    return new ThreadEffect(ThreadEffect.Kind.EXPIRE, "" + due, 1, due, Policy.DEFAULT);
  }

  /** When somebody last said something, in milliseconds since 1970. */
  private static long said(ThreadState state) {
    return TimeUnit.MICROSECONDS.toMillis(state.history().last());
  }

  private Next<ThreadEffect> result(ThreadState state, List<ThreadEffect> wanted) {
    boolean works = wanted.stream().anyMatch(effect -> !effect.backgroundTimer());
    if (works) {
      return new Perform<>(wanted);
    }
    Long until = wanted.stream().map(ThreadEffect::due).reduce(null, WantedEffects::earlier);
    return new Pause<>(rest(state), wanted, earlier(until, ahead(state)));
  }

  /** When there is work, also such as waits for a release that has what it needs. */
  private @Nullable Long ahead(ThreadState state) {
    return earlier(scheduled(state), held(state));
  }

  /** Of the calls whose tool is missing, so that a host which has it wakes the thread. */
  private @Nullable Long held(ThreadState state) {
    Long first = null;
    for (StepFrame frame : state.frames().values()) {
      CallSite site = CallSite.of(agents, state, frame);
      for (CallState call : frame.calls()) {
        if (site.lacks(call) && !call.open()) {
          first = earlier(first, call.scheduled() ? call.retryAt() : (Long) said(state));
        }
      }
    }
    return first;
  }

  /** Also of those without a handler, so that a host which has it wakes the thread. */
  private static @Nullable Long scheduled(ThreadState state) {
    return state.sandboxed() ? null : due(state);
  }

  private static @Nullable Long due(ThreadState state) {
    return state.effects().values().stream()
        .filter(effect -> !effect.over())
        .map(ScheduledEffect::due)
        .reduce(null, WantedEffects::earlier);
  }

  private static @Nullable Long earlier(@Nullable Long a, @Nullable Long b) {
    return a == null ? b : b == null ? a : (Long) Math.min(a, b);
  }

  private static Outcome rest(ThreadState state) {
    return new Outcome.Complete(null, state.turn().code());
  }

  private void of(ThreadState state, StepFrame frame, List<ThreadEffect> wanted) {
    CallSite site = CallSite.of(agents, state, frame);
    ThreadEffect turn = turn(frame);
    if (turn != null) {
      wanted.add(turn);
    }
    for (CallState call : frame.calls()) {
      if (site.lacks(call)) {
        continue;
      }
      if (call.phase() == CallState.Phase.RUNNING) {
        wanted.add(effect(ThreadEffect.Kind.CALL, call.key(), call.attempt(), site.policy(call)));
      } else if (call.scheduled()) {
        boolean paused = call.phase() == CallState.Phase.PAUSED;
        wanted.add(
            new ThreadEffect(
                paused ? ThreadEffect.Kind.LOOK : ThreadEffect.Kind.CALL,
                call.key(),
                call.attempt(),
                call.retryAt(),
                site.policy(call)));
      } else if (call.phase() == CallState.Phase.RETURNED) {
        wanted.add(effect(ThreadEffect.Kind.STORE, call.key(), call.attempt(), Policy.DEFAULT));
      }
    }
  }

  /** An effect without a handler waits for a release that has it. */
  private void of(ScheduledEffect effect, List<ThreadEffect> wanted) {
    ScheduledHandler deferred = agents.find(effect);
    if (deferred == null) {
      return;
    }
    Policy policy = deferred.policy();
    if (effect.status() == ScheduledEffect.Status.RUNNING) {
      wanted.add(effect(ThreadEffect.Kind.DEFERRED, effect.id(), effect.attempt(), policy));
    } else if (effect.status() == ScheduledEffect.Status.PENDING) {
      wanted.add(
          new ThreadEffect(
              ThreadEffect.Kind.DEFERRED, effect.id(), effect.attempt(), effect.due(), policy));
    }
  }

  private static ThreadEffect delivery(ThreadState state, ThreadEffect.Kind kind, String id) {
    Relations.Delivery delivery =
        state.relations().deliveries().get(ThreadEffect.delivery(kind, id));
    return delivery == null
        ? effect(kind, id, 1, DELIVERY)
        : new ThreadEffect(kind, id, delivery.attempt(), delivery.due(), DELIVERY);
  }

  private static ThreadEffect effect(
      ThreadEffect.Kind kind, String id, int attempt, Policy policy) {
    return new ThreadEffect(kind, id, attempt, null, policy);
  }

  /** The current effect of a frame's participant; null if it waits for calls. */
  static @Nullable ThreadEffect turn(StepFrame frame) {
    return switch (frame.stage()) {
      case THINKING -> effect(ThreadEffect.Kind.STEP, "s" + frame.step(), frame.attempt(), LONG);
      case HANDLING -> effect(ThreadEffect.Kind.HANDLE, "t" + frame.step(), frame.attempt(), LONG);
      default -> null;
    };
  }

  /** The key of an effect without a timer. */
  static String key(ThreadEffect.Kind kind, String id, int attempt) {
    return effect(kind, id, attempt, Policy.DEFAULT).key();
  }
}
