package io.fermata.session;

import io.fermata.flow.Attached;
import io.fermata.flow.Event;
import io.fermata.flow.Flow;
import io.fermata.flow.Recorded;
import io.fermata.flow.Recording;
import io.fermata.flow.RunState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Puts what one session has journaled before the recorders that listen to it. */
final class Watch {
  private final String session;
  private final Audience audience;
  private List<Attached> listeners = List.of();
  private @Nullable Flow<?> flow;
  private @Nullable Recording recording;

  Watch(String session, Audience audience) {
    this.session = session;
    this.audience = audience;
  }

  /**
   * Tells what has been journaled.
   *
   * @param by the flow that the events are of
   * @param before the state before them
   */
  void tell(Flow<?> by, RunState before, long seq, long at, List<Event> events) {
    if (flow != by) {
      flow = by;
      listeners = audience.of(by);
      recording = null;
    }
    if (listeners.isEmpty()) {
      return;
    }
    if (recording == null) {
      recording = Recording.from(before, by, session, List.of());
    }
    RunState known = recording.state();
    List<Recorded> came = recording.record(seq, at, events);
    if (!came.isEmpty()) {
      audience.tell(listeners, known, came);
    }
  }
}
