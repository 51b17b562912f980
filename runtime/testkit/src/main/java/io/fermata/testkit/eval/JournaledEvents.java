package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.state.ThreadEvent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The events of a thread, or of a part of it. */
record JournaledEvents(List<ThreadEvent> all) {

  /** How often a model replied. */
  int steps() {
    return (int) all.stream().filter(ThreadEvent.StepEnded.class::isInstance).count();
  }

  /** The calls that models requested or code queued, by id, in order. */
  private Map<String, RequestedCall> requested() {
    Map<String, RequestedCall> calls = new LinkedHashMap<>();
    for (ThreadEvent each : all) {
      if (each instanceof ThreadEvent.StepEnded ended) {
        ended.calls().forEach(call -> calls.put(call.id(), call));
      } else if (each instanceof ThreadEvent.Queued queued) {
        calls.put(queued.call().id(), queued.call());
      }
    }
    return calls;
  }

  private Map<String, Message> results() {
    Map<String, Message> results = new LinkedHashMap<>();
    for (ThreadEvent each : all) {
      if (each instanceof ThreadEvent.CallEnded ended && ended.message().toolCallId() != null) {
        results.put(String.valueOf(ended.message().toolCallId()), ended.message());
      }
    }
    return results;
  }

  /** The calls that were requested here. */
  List<EvalCall> calls() {
    Map<String, Message> results = results();
    List<EvalCall> calls = new ArrayList<>();
    requested()
        .forEach(
            (id, call) -> {
              Message result = results.get(id);
              JsonNode arguments = RecordedResults.arguments(call);
              String text = result == null ? "" : String.valueOf(result.content());
              calls.add(
                  new EvalCall(call.name(), arguments, text, result != null && result.failed()));
            });
    return calls;
  }

  /** The calls that have ended here, in the order in which they did. */
  List<RecordedResults.Ended> ended(JournaledEvents requestedIn) {
    Map<String, RequestedCall> requested = requestedIn.requested();
    List<RecordedResults.Ended> ended = new ArrayList<>();
    results()
        .forEach(
            (id, result) -> {
              RequestedCall call = requested.get(id);
              if (call != null) {
                ended.add(new RecordedResults.Ended(call, result));
              }
            });
    return ended;
  }
}
