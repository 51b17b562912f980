package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.session.journal.Entry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The journal of a tool's current run, kept for its narrative. */
final class RunNarrative {
  private final List<Entry<Event>> steps = new ArrayList<>();

  /** The changes of the calling thread in these entries. */
  private final List<JsonNode> changes = new ArrayList<>();

  void add(Entry<Event> entry) {
    if (entry.end() == null) {
      steps.add(entry);
      changes.addAll(Event.changesOfCaller(entry.events()));
    } else {
      steps.clear();
      changes.clear();
    }
  }

  /** The changes that the run made to its calling thread. */
  List<JsonNode> changesOfCaller(List<Event> last) {
    List<JsonNode> all = new ArrayList<>(changes);
    all.addAll(Event.changesOfCaller(last));
    return all;
  }

  /** The name of the run's session; null until its start is journaled. */
  @Nullable String session() {
    return steps.isEmpty() ? null : steps.get(0).origin().session();
  }

  /**
   * The narrative of the run, including events that are not journaled yet. It is created on demand.
   */
  Supplier<String> text(Flow<?> flow, List<Event> last, long at) {
    List<Entry<Event>> journaled = List.copyOf(steps);
    List<Event> unjournaled = List.copyOf(last);
    return () -> narrative(flow, journaled, unjournaled, at);
  }

  private static String narrative(
      Flow<?> flow, List<Entry<Event>> steps, List<Event> last, long at) {
    Narrative narrative = Narrative.forClients(1);
    Recorder redacted = Redaction.ofSecrets(List.of(flow)).over(narrative);
    RunObserver recording =
        RunObserver.from(RunState.NONE, flow, "", List.of(AttachedRecorder.everywhere(redacted)));
    long seq = 0;
    for (Entry<Event> step : steps) {
      recording.record(++seq, step.at(), step.events());
    }
    recording.record(++seq, at, last);
    return narrative.text();
  }
}
