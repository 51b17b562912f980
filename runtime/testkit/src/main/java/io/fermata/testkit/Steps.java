package io.fermata.testkit;

import io.fermata.flow.Flow;
import io.fermata.flow.Step;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Nearest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a test plans for the steps of a flow, and what they were asked for. */
final class Steps {
  /** What a test plans for an attempt. */
  enum Fate {
    RUN,
    FAIL,
    HANG,
    CRASH
  }

  /** What the name of a compensation ends with. */
  private static final String UNDO = "~undo";

  private final Flow<?> flow;
  private final Map<String, Fate> plans = new HashMap<>();
  private final Map<String, Function<AskedEffect, Object[]>> standIns = new HashMap<>();
  private final List<AskedEffect> asked = new ArrayList<>();
  private final List<String> log = new ArrayList<>();
  private @Nullable RuntimeException mistake;

  Steps(Flow<?> flow) {
    this.flow = flow;
  }

  /** The same plans, for another version of the flow. */
  synchronized Steps on(Flow<?> version) {
    Steps next = new Steps(version);
    next.plans.putAll(plans);
    next.standIns.putAll(standIns);
    next.asked.addAll(asked);
    next.log.addAll(log);
    return next;
  }

  synchronized void plan(String node, Fate fate, int... attempts) {
    if (!flow.compensationIds().contains(node)) {
      require(node);
    }
    if (attempts.length == 0) {
      throw new IllegalArgumentException("Name the attempts of " + node + ", such as 1");
    }
    for (int attempt : attempts) {
      if (attempt < 1) {
        throw new IllegalArgumentException("Attempts count from 1, and this is " + attempt);
      }
      plans.put(node + "/" + attempt, fate);
    }
  }

  void instead(String node, Object... pairs) {
    require(node);
    Trees.each(pairs, (path, value) -> requireWritable(flow.graph().step(node), path));
    instead(node, asked -> pairs);
  }

  synchronized void instead(String node, Function<AskedEffect, Object[]> writes) {
    require(node);
    standIns.put(node, writes);
  }

  /** Refuses a field that the step's flow does not have, as a run refuses it to the action. */
  private static void requireWritable(Step<?> step, String path) {
    try {
      step.scope().schema().requireWritable(path);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "The test writes %s instead of %s: %s".formatted(path, step.path(), e.getMessage()), e);
    }
  }

  /** A step wrote after it had succeeded; that is lost. */
  synchronized void refused(IllegalStateException refusal) {
    mistake = refusal;
  }

  /**
   * Fails the test if what it writes instead of a step cannot be written, or a step writes too
   * late.
   */
  synchronized void requireNoMistake() {
    if (mistake != null) {
      throw mistake;
    }
  }

  /** Refuses a node that the flow does not have; one of a sub-flow is named by its path. */
  private void require(String node) {
    Set<String> known =
        flow.graph().steps().stream()
            .filter(step -> step.node() != null)
            .map(Step::path)
            .collect(Collectors.toCollection(TreeSet::new));
    if (!known.contains(node)) {
      throw new IllegalArgumentException(
          "There is no node %s in %s; %s"
              .formatted(node, flow, Nearest.next(node, known, "its nodes are ")));
    }
  }

  /** Refuses a place that no run of the flow comes to: a node, or the compensation of one. */
  void requirePlace(String node) {
    require(node.endsWith(UNDO) ? node.substring(0, node.length() - UNDO.length()) : node);
  }

  /** Refuses fields that the state of a run cannot have. */
  void requireFields(String... paths) {
    for (String path : paths) {
      String misnamed = flow.misnamed(path);
      if (misnamed != null) {
        throw new IllegalArgumentException(misnamed);
      }
    }
  }

  /** An effect is asked for; what the test plans for it. */
  synchronized Fate ask(RunState run, StepEffect effect) {
    AskedEffect next = AskedEffect.of(run, effect);
    asked.add(next);
    log.add(next.toString());
    return plans.getOrDefault(next.node() + "/" + next.attempt(), Fate.RUN);
  }

  synchronized void killed() {
    log.add("✗ killed");
  }

  synchronized List<AskedEffect> asked() {
    return List.copyOf(asked);
  }

  synchronized String log() {
    return log.isEmpty() ? "none" : String.join(", ", log);
  }

  synchronized void forget() {
    asked.clear();
    log.clear();
  }

  /** Performs an effect as the test wants it. */
  CompletionStage<Input.Result> perform(
      RunState run, StepEffect effect, Supplier<CompletionStage<Input.Result>> performing) {
    Function<AskedEffect, Object[]> writes;
    synchronized (this) {
      writes = effect.kind() == StepEffect.Kind.ACT ? standIns.get(effect.place().node()) : null;
    }
    return writes == null
        ? performing.get()
        : CompletableFuture.completedStage(wrote(effect, AskedEffect.of(run, effect), writes));
  }

  private Input.Result wrote(
      StepEffect effect, AskedEffect asked, Function<AskedEffect, Object[]> writes) {
    Object[] pairs;
    try {
      pairs = writes.apply(asked);
    } catch (RuntimeException e) {
      return FlowProgram.of(flow, Limits.DEFAULT).failed(effect, e);
    }
    try {
      return new Input.Wrote(
          written(effect.place(), pairs), List.of(), List.of(), Tagging.NONE, null);
    } catch (IllegalArgumentException e) {
      synchronized (this) {
        mistake = e;
      }
      return failed(effect, String.valueOf(e.getMessage()), e);
    }
  }

  /** The writes in the state of the whole run. */
  private List<Write> written(Place place, Object[] pairs) {
    Step<?> step = flow.graph().step(place);
    String prefix = step.scope().prefix(place);
    List<Write> written = new ArrayList<>();
    Trees.each(
        pairs,
        (path, value) -> {
          requireWritable(step, path);
          written.add(write(path, value).under(prefix));
        });
    return written;
  }

  private static Write write(String path, @Nullable Object value) {
    return value == null
        ? new Write(Write.Verb.DELETE, path, null)
        : new Write(Write.Verb.SET, path, Json.tree(value));
  }

  /** The failure of a planned attempt. */
  static Input.Failed planned(StepEffect effect) {
    return failed(effect, "the test let this attempt fail", null);
  }

  private static Input.Failed failed(StepEffect effect, String detail, @Nullable Throwable thrown) {
    ErrorCode code = ErrorCode.ofFailed(effect);
    return new Input.Failed(code, code.cause() + ".", detail, thrown);
  }
}
