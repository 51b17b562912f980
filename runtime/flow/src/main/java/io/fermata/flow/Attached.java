package io.fermata.flow;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A recorder where it is attached: one that belongs to a sub-flow hears only what happens there.
 *
 * @param mounts the paths of the nodes that mount what it listens to; "" for everything
 */
public record Attached(Recorder recorder, Set<String> mounts) {
  private static final int DETAIL = 500;

  public Attached {
    mounts = Set.copyOf(mounts);
  }

  /** A recorder that hears everything. */
  public static Attached everywhere(Recorder recorder) {
    return new Attached(recorder, Set.of(""));
  }

  /** The same with every recorder named once, wherever it is attached. */
  public static List<Attached> once(List<Attached> all) {
    Map<Recorder, Set<String>> mounts = new LinkedHashMap<>();
    for (Attached one : all) {
      mounts.computeIfAbsent(one.recorder(), r -> new LinkedHashSet<>()).addAll(one.mounts());
    }
    List<Attached> once = new ArrayList<>();
    mounts.forEach((recorder, paths) -> once.add(new Attached(recorder, paths)));
    return List.copyOf(once);
  }

  /** Whether an event is meant for it. */
  public boolean hears(Recorded event) {
    return mounts.stream().anyMatch(event::under);
  }

  /** Announces a journal record. Returns what the recorder threw, for the others to hear. */
  public Recorded.@Nullable Failure announce(RunState before, List<Recorded> coming) {
    return coming.isEmpty()
        ? null
        : guarded(coming.get(0).moment(), () -> recorder.onRecord(before, coming));
  }

  /**
   * Tells an event that is meant for it. Returns what the recorder threw, for the others to hear.
   */
  public Recorded.@Nullable Failure tell(Recorded event) {
    return hears(event) ? guarded(event.moment(), () -> recorder.onEvent(event)) : null;
  }

  private Recorded.@Nullable Failure guarded(Moment moment, Runnable telling) {
    try {
      telling.run();
      return null;
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      String message = Objects.requireNonNullElse(e.getMessage(), e.getClass().getSimpleName());
      return new Recorded.Failure(
          moment, null, Texts.shortened(message, DETAIL), Failures.detail(e), name());
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
