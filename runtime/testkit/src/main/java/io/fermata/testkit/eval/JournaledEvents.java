package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The events of a thread, from its journal. */
record JournaledEvents(List<Happened> all) {
  /** More messages than any thread has, so that a fold keeps all of them. */
  private static final int ALL = 1_000_000;

  /** One event, and where it is in the journal. */
  record Happened(long offset, int index, ThreadEvent event) {}

  JournaledEvents {
    all = List.copyOf(all);
  }

  static JournaledEvents of(ThreadJournal journal) {
    List<Happened> all = new ArrayList<>();
    for (ThreadJournal.Entry entry : journal.entries()) {
      for (int i = 0; i < entry.events().size(); i++) {
        all.add(new Happened(entry.seq(), i, entry.events().get(i)));
      }
    }
    return new JournaledEvents(all);
  }

  /** The first of them, up to but without one. */
  JournaledEvents before(int position) {
    return new JournaledEvents(all.subList(0, position));
  }

  JournaledEvents from(int position) {
    return new JournaledEvents(all.subList(position, all.size()));
  }

  /** The state of the thread after them, with all its messages. */
  ThreadState state() {
    ThreadState state = ThreadState.NONE;
    for (Happened each : all) {
      state = ThreadFold.apply(state, widened(each.event()), each.offset(), each.index());
    }
    return state;
  }

  private static ThreadEvent widened(ThreadEvent event) {
    if (event instanceof ThreadEvent.Created created) {
      return new ThreadEvent.Created(
          created.threadId(),
          created.agent(),
          created.principal(),
          created.tags(),
          created.env(),
          created.parent(),
          ALL,
          created.at());
    } else if (event instanceof ThreadEvent.Widened) {
      return new ThreadEvent.Widened(ALL);
    } else if (event instanceof ThreadEvent.HandedOver over) {
      return new ThreadEvent.HandedOver(over.agent(), ALL);
    }
    return event;
  }

  /** How often a model replied. */
  int steps() {
    return (int) all.stream().filter(each -> each.event() instanceof ThreadEvent.StepEnded).count();
  }

  /** The calls that models requested or code queued, by id, in order. */
  private Map<String, RequestedCall> requested() {
    Map<String, RequestedCall> calls = new LinkedHashMap<>();
    for (Happened each : all) {
      if (each.event() instanceof ThreadEvent.StepEnded ended) {
        ended.calls().forEach(call -> calls.put(call.id(), call));
      } else if (each.event() instanceof ThreadEvent.Queued queued) {
        calls.put(queued.call().id(), queued.call());
      }
    }
    return calls;
  }

  private Map<String, Message> results() {
    Map<String, Message> results = new LinkedHashMap<>();
    for (Happened each : all) {
      if (each.event() instanceof ThreadEvent.CallEnded ended
          && ended.message().toolCallId() != null) {
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
