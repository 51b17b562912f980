package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.replay.RunJournal;
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
    List<Entry<Event>> all = new ArrayList<>(steps);
    all.add(Entry.of(0, at, Entry.Origin.HOST, List.copyOf(last)));
    return () -> narrative(flow, all);
  }

  private static String narrative(Flow<?> flow, List<Entry<Event>> steps) {
    Narrative narrative = Narrative.forClients(1);
    new RunJournal(flow.id(), "", steps.stream().map(Entry::ofRun).toList())
        .publish(flow, narrative);
    return narrative.text();
  }
}
