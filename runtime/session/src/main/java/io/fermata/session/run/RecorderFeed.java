package io.fermata.session.run;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.record.RunObserver;
import io.fermata.session.actor.Audience;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts what one session has journaled before the recorders that listen to it. */
final class RecorderFeed {
  private static final Logger LOG = LoggerFactory.getLogger(RecorderFeed.class);

  private final String session;
  private final Audience audience;
  private List<AttachedRecorder> listeners = List.of();
  private @Nullable Flow<?> flow;
  private @Nullable RunObserver recording;

  RecorderFeed(String session, Audience audience) {
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
      recording = RunObserver.from(before, by, session, List.of());
    }
    ObservedEntry entry = observed(recording, seq, at, events);
    if (entry != null && !entry.observations().isEmpty()) {
      audience.tell(session, listeners, entry);
    }
  }

  /** Watching never stops a session: what cannot be told is left out. */
  private @Nullable ObservedEntry observed(RunObserver by, long seq, long at, List<Event> events) {
    try {
      return by.record(seq, at, events);
    } catch (RuntimeException e) {
      LOG.error("Record {} of {} could not be told to recorders", seq, session, e);
      recording = null;
      return null;
    }
  }
}
