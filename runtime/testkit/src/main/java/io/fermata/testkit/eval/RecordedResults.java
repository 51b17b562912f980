package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.Offered;
import io.fermata.agent.engine.SourceJournal;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.SourceResult;
import io.fermata.agent.state.SourceResults;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.JournalEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What the calls of a recorded thread did and returned, before any hook. A call that is made again
 * gets its results in their order, the last of them from then on.
 */
final class RecordedResults {
  private final List<Ended> rest;
  private final List<Ended> used;

  /** What the trial has of what the recording's calls added. */
  private final Map<String, String> ids = new ConcurrentHashMap<>();

  /** A call that has ended. */
  private record Ended(RequestedCall call, SourceResult.Work work) {
    /** Whether a handler would have got the same. */
    boolean is(Offered tool, ObjectNode arguments) {
      return call.name().equals(tool.name())
          && arguments(call) instanceof ObjectNode sent
          && Json.same(tool.arguments().meant(sent), arguments);
    }
  }

  /** What a model sent as arguments; a text if it is not JSON. */
  static JsonNode arguments(RequestedCall call) {
    String text = call.function().arguments();
    try {
      return text.isBlank() ? Json.object() : Json.parse(text);
    } catch (IllegalArgumentException e) {
      return Json.tree(text);
    }
  }

  private RecordedResults(List<Ended> before, List<Ended> after) {
    used = before;
    rest = after;
  }

  /**
   * @param position how many events a trial begins with; the calls that ended later come first
   */
  static RecordedResults of(ThreadJournal journal, int position) {
    List<ThreadEvent> events = journal.events();
    Map<String, RequestedCall> requested = new JournaledEvents(events).requested();
    SourceResults known =
        SourceJournal.whole(journal.entries().stream().map(JournalEntry::events).toList());
    return new RecordedResults(
        ended(events.subList(0, position), requested, known),
        ended(events.subList(position, events.size()), requested, known));
  }

  private static List<Ended> ended(
      List<ThreadEvent> events, Map<String, RequestedCall> requested, SourceResults known) {
    List<Ended> ended = new ArrayList<>();
    for (ThreadEvent each : events) {
      if (each instanceof ThreadEvent.CallEnded end) {
        RequestedCall call = requested.get(end.call());
        String key = SourceResults.key(ThreadEffect.Kind.CALL, end.call());
        if (call != null && known.byEffect().get(key) instanceof SourceResult.Work work) {
          ended.add(new Ended(call, work));
        }
      }
    }
    return ended;
  }

  /** Does to the trial what a call did to the recorded thread. */
  void repeat(SourceResult.Work work, FlowState flow) {
    SourceJournal.repeat(work, flow, ids);
  }

  /** What a call does and returns next; null if the recording has no such call. */
  synchronized SourceResult.@Nullable Work next(Offered tool, ObjectNode arguments) {
    for (int i = 0; i < rest.size(); i++) {
      if (rest.get(i).is(tool, arguments)) {
        Ended next = rest.remove(i);
        used.add(next);
        return next.work();
      }
    }
    for (int i = used.size() - 1; i >= 0; i--) {
      if (used.get(i).is(tool, arguments)) {
        return used.get(i).work();
      }
    }
    return null;
  }
}
