package io.fermata.session.run;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.session.actor.SessionPort.Situation;
import io.fermata.session.journal.Entry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Supplier;

/** The latest entries of a tool's current run, for its narrative. */
final class RunNarrative {
  /** How many entries are kept: a run may be as long as it likes. */
  static final int KEPT = 200;

  private static final String LEFT_OUT = "… earlier steps are left out\n";

  private final Deque<Entry<Event>> latest = new ArrayDeque<>();

  /** The state of the run before these. */
  private RunState first = RunState.NONE;

  void add(Entry<Event> entry, RunState before) {
    if (entry.end() != null) {
      latest.clear();
      return;
    }
    first = latest.isEmpty() ? before : first;
    latest.add(entry);
    if (latest.size() > KEPT) {
      first = first.apply(latest.remove().events());
    }
  }

  /**
   * The narrative of the run, with its events that are not journaled yet. It is created on demand,
   * and says so if it does not begin where the run does.
   */
  Supplier<String> text(Flow<?> flow, Situation<RunState, Event> at) {
    // A session that was woken from its snapshot may have no entry after it.
    RunState before = latest.isEmpty() ? at.state().program() : first;
    List<Entry<Event>> entries = new ArrayList<>(latest);
    entries.add(at.entry());
    boolean whole = !before.runId().equals(at.ahead().runId());
    return () -> (whole ? "" : LEFT_OUT) + narrative(flow, before, entries);
  }

  private static String narrative(Flow<?> flow, RunState before, List<Entry<Event>> entries) {
    Narrative narrative = Narrative.forClients(1);
    Redaction secretly = Redaction.ofSecrets(List.of(flow));
    RunObserver observer =
        RunObserver.from(
            before, flow, "", List.of(AttachedRecorder.everywhere(secretly.over(narrative))));
    entries.forEach(entry -> observer.record(entry.seq(), entry.at(), entry.events()));
    return narrative.text();
  }
}
