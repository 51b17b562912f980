package io.fermata.session.run;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.record.RunObserver;
import io.fermata.session.actor.Recorders;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Publishes the journaled events of one session to its recorders. */
final class RecorderFeed {
  private static final Logger LOG = LoggerFactory.getLogger(RecorderFeed.class);

  private final String session;
  private final Recorders recorders;
  private List<AttachedRecorder> listeners = List.of();
  private @Nullable Flow<?> flow;
  private @Nullable RunObserver recording;

  RecorderFeed(String session, Recorders recorders) {
    this.session = session;
    this.recorders = recorders;
  }

  /**
   * Publishes journaled events.
   *
   * @param by the flow of the events
   * @param before the state before them
   */
  void publish(Flow<?> by, RunState before, long seq, long at, List<Event> events) {
    if (flow != by) {
      flow = by;
      listeners = recorders.of(by);
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
      recorders.publish(session, listeners, entry);
    }
  }

  /** Recorders never stop a session: events that cannot be translated are skipped. */
  private @Nullable ObservedEntry observed(RunObserver by, long seq, long at, List<Event> events) {
    try {
      return by.record(seq, at, events);
    } catch (RuntimeException e) {
      LOG.error(
          "Entry {} of {} could not be published to recorders", seq, session, LoggedFailure.of(e));
      recording = null;
      return null;
    }
  }
}
