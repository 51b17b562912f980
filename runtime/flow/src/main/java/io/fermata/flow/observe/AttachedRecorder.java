package io.fermata.flow.observe;

import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Texts;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A recorder where it is attached: one that belongs to a sub-flow receives only what happens there.
 *
 * @param mounts the paths of the nodes that mount what it listens to; "" for everything
 */
public record AttachedRecorder(Recorder recorder, Set<String> mounts) {
  private static final int DETAIL = 500;

  public AttachedRecorder {
    mounts = Set.copyOf(mounts);
  }

  /** A recorder that receives everything. */
  public static AttachedRecorder everywhere(Recorder recorder) {
    return new AttachedRecorder(recorder, Set.of(""));
  }

  /** The same with every recorder named once, wherever it is attached; equal ones are several. */
  public static List<AttachedRecorder> once(List<AttachedRecorder> all) {
    IdentityHashMap<Recorder, Set<String>> mounts = new IdentityHashMap<>();
    for (AttachedRecorder one : all) {
      mounts.computeIfAbsent(one.recorder(), r -> new HashSet<>()).addAll(one.mounts());
    }
    List<AttachedRecorder> once = new ArrayList<>();
    for (AttachedRecorder one : all) {
      Set<String> paths = mounts.remove(one.recorder());
      if (paths != null) {
        once.add(new AttachedRecorder(one.recorder(), paths));
      }
    }
    return List.copyOf(once);
  }

  /** Whether an event is meant for it. */
  public boolean accepts(Observation event) {
    return mounts.stream().anyMatch(event::under);
  }

  /** Announces an entry of the journal. Returns what the recorder threw, to notify the others. */
  public @Nullable Observation announce(ObservedEntry entry) {
    return entry.observations().isEmpty()
        ? null
        : guarded(entry.observations().get(0).moment(), () -> recorder.onEntry(entry));
  }

  /** Delivers an event that is meant for it. Returns what it threw, to notify the others. */
  public @Nullable Observation deliver(Observation event) {
    return accepts(event) ? guarded(event.moment(), () -> recorder.onEvent(event)) : null;
  }

  private @Nullable Observation guarded(Occurrence moment, Runnable telling) {
    try {
      telling.run();
      return null;
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      String detail = Failures.detail(e);
      return new Observation(
          moment,
          new Observation.Failure(
              null, Texts.shortened(Failures.message(e), DETAIL), detail, name()));
    }
  }

  /** Its id, or its class where that throws or says nothing. */
  String name() {
    try {
      String id = recorder.id();
      return id.isBlank() ? recorder.getClass().getName() : id;
    } catch (RuntimeException e) {
      return recorder.getClass().getName();
    }
  }
}
