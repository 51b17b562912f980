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

  /** The calls that models requested or code queued, by key, in order: a model may reuse ids. */
  Map<String, RequestedCall> requested() {
    Map<String, RequestedCall> calls = new LinkedHashMap<>();
    for (ThreadEvent each : all) {
      if (each instanceof ThreadEvent.StepEnded ended) {
        for (int i = 0; i < ended.calls().size(); i++) {
          calls.put(ended.key(i), ended.calls().get(i));
        }
      } else if (each instanceof ThreadEvent.Queued queued) {
        calls.put(queued.call().id(), queued.call());
      }
    }
    return calls;
  }

  private Map<String, Message> results() {
    Map<String, Message> results = new LinkedHashMap<>();
    for (ThreadEvent each : all) {
      if (each instanceof ThreadEvent.CallEnded ended) {
        results.put(ended.call(), ended.message());
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
            (key, call) -> {
              Message result = results.get(key);
              JsonNode arguments = RecordedResults.arguments(call);
              String text = result == null ? "" : String.valueOf(result.content());
              calls.add(
                  new EvalCall(call.name(), arguments, text, result != null && result.failed()));
            });
    return calls;
  }
}
