package io.fermata.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a thread that are in progress.
 *
 * @param frames by path: the step at top level, and those of sub-prompts
 * @param waiting calls that author code queued outside of a step
 * @param count how often a model or a turn handler has been asked in the life of the thread
 * @param compacting the attempt at a summary that is in progress; 0 if there is none
 */
public record Steps(Map<String, Frame> frames, List<ToolCall> waiting, long count, int compacting) {

  static final Steps NONE = new Steps(Map.of(), List.of(), 0, 0);

  Steps with(Frame frame) {
    Map<String, Frame> all = new LinkedHashMap<>(frames);
    all.put(frame.path(), frame);
    return new Steps(all, waiting, count, compacting);
  }

  Steps without(String path) {
    Map<String, Frame> all = new LinkedHashMap<>(frames);
    all.remove(path);
    return new Steps(all, waiting, count, compacting);
  }

  /** Everything in progress was ended; queued calls stay. */
  Steps stopped() {
    return new Steps(Map.of(), waiting, count, 0);
  }

  Steps counted(long step) {
    return new Steps(frames, waiting, step, compacting);
  }

  Steps compacting(int attempt) {
    return new Steps(frames, waiting, count, attempt);
  }

  Steps waiting(ToolCall call) {
    List<ToolCall> all = new ArrayList<>(notWaiting(call).waiting);
    all.add(call);
    return new Steps(frames, List.copyOf(all), count, compacting);
  }

  Steps notWaiting(ToolCall call) {
    List<ToolCall> all = new ArrayList<>(waiting);
    all.removeIf(other -> other.id().equals(call.id()));
    return new Steps(frames, List.copyOf(all), count, compacting);
  }

  @Nullable Frame top() {
    return frames.get(Frame.TOP);
  }

  /** The frame that a call belongs to. */
  @Nullable Frame frameOf(String call) {
    for (Frame frame : frames.values()) {
      if (frame.call(call) != null) {
        return frame;
      }
    }
    return null;
  }

  @Nullable CallState call(String key) {
    Frame frame = frameOf(key);
    return frame == null ? null : frame.call(key);
  }

  /** The calls that wait for a person. */
  List<CallState> open() {
    List<CallState> open = new ArrayList<>();
    for (Frame frame : frames.values()) {
      for (CallState call : frame.calls()) {
        if (call.open()) {
          open.add(call);
        }
      }
    }
    return List.copyOf(open);
  }
}
