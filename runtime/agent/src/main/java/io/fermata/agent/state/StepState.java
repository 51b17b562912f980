package io.fermata.agent.state;

import io.fermata.agent.message.RequestedCall;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a thread that are in progress.
 *
 * @param frames by path: the step at top level, and those of sub-prompts
 * @param waiting calls that author code queued outside of a step
 * @param count how often a model or turn handler has been called in the thread
 * @param compacting the attempt at a summary that is in progress; 0 if there is none
 * @param failedSummaries how many attempts at the next summary have failed in this turn
 */
public record StepState(
    Map<String, StepFrame> frames,
    List<RequestedCall> waiting,
    long count,
    int compacting,
    int failedSummaries) {

  /** How many consecutive interruptions make work fail. */
  public static final int CUT_OFFS = 5;

  static final StepState NONE = new StepState(Map.of(), List.of(), 0, 0, 0);

  StepState with(StepFrame frame) {
    Map<String, StepFrame> all = new LinkedHashMap<>(frames);
    all.put(frame.path(), frame);
    return new StepState(all, waiting, count, compacting, failedSummaries);
  }

  StepState without(String path) {
    Map<String, StepFrame> all = new LinkedHashMap<>(frames);
    all.remove(path);
    return new StepState(all, waiting, count, compacting, failedSummaries);
  }

  /** Ends everything in progress; queued calls stay, and those that people decide. */
  StepState stopped() {
    Map<String, StepFrame> left = new LinkedHashMap<>(frames);
    left.values().removeIf(frame -> !frame.detached() || frame.calls().isEmpty());
    return new StepState(left, waiting, count, 0, 0);
  }

  /** As they are in a fork of their thread. */
  StepState renewed(boolean sandbox) {
    Map<String, StepFrame> all = new LinkedHashMap<>(frames);
    all.replaceAll(
        (path, frame) ->
            frame.withCalls(frame.calls().stream().map(call -> call.renewed(sandbox)).toList()));
    // Nobody decides a call in a sandbox, and its conversation continues without it.
    all.values().removeIf(frame -> sandbox && frame.detached());
    return new StepState(all, waiting, count, compacting, failedSummaries);
  }

  StepState counted(long step) {
    return new StepState(frames, waiting, step, compacting, failedSummaries);
  }

  StepState compacting(int attempt) {
    return new StepState(frames, waiting, count, attempt, failedSummaries);
  }

  /** Whether the summary has been interrupted too often if this attempt is, too. */
  public boolean compactingIsCutOff() {
    return compacting - failedSummaries >= CUT_OFFS;
  }

  /** No summary is in progress. */
  StepState compacted(int failed) {
    return new StepState(frames, waiting, count, 0, failed);
  }

  StepState waiting(RequestedCall call) {
    List<RequestedCall> all = new ArrayList<>(notWaiting(call).waiting);
    all.add(call);
    return new StepState(frames, List.copyOf(all), count, compacting, failedSummaries);
  }

  StepState notWaiting(RequestedCall call) {
    List<RequestedCall> all = new ArrayList<>(waiting);
    all.removeIf(other -> other.id().equals(call.id()));
    return new StepState(frames, List.copyOf(all), count, compacting, failedSummaries);
  }

  /** With what is asked and waited for alone. */
  StepState outline() {
    Map<String, StepFrame> all = new LinkedHashMap<>(frames);
    all.replaceAll((path, frame) -> frame.outline());
    return new StepState(all, List.of(), count, compacting, failedSummaries);
  }

  @Nullable StepFrame top() {
    return frames.get(StepFrame.TOP);
  }

  /** The frame that a call belongs to. */
  @Nullable StepFrame frameOf(String call) {
    for (StepFrame frame : frames.values()) {
      if (frame.call(call) != null) {
        return frame;
      }
    }
    return null;
  }

  @Nullable CallState call(String key) {
    StepFrame frame = frameOf(key);
    return frame == null ? null : frame.call(key);
  }

  List<CallState> calls(Predicate<CallState> which) {
    List<CallState> calls = new ArrayList<>();
    for (StepFrame frame : frames.values()) {
      for (CallState call : frame.calls()) {
        if (which.test(call)) {
          calls.add(call);
        }
      }
    }
    return List.copyOf(calls);
  }
}
