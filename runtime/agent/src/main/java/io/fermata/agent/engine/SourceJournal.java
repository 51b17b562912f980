package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.SourceResult;
import io.fermata.agent.state.SourceResults;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds in the journal of a thread what another one takes instead of performing it. */
public final class SourceJournal {
  /** Calls that were ended from outside, and returned nothing. */
  private static final Set<String> ENDED_EARLY =
      Set.of(CallState.STOPPED, StopCode.STEP_ERROR, StopCode.SANDBOXED);

  private final Map<String, SourceResult> found = new LinkedHashMap<>();
  private boolean whole;
  private ThreadState state = ThreadState.NONE;

  private SourceJournal() {}

  /**
   * What happened after some entries.
   *
   * @param journal the events of each entry
   * @param entries how many of them the fork has
   */
  public static SourceResults after(List<List<ThreadEvent>> journal, int entries) {
    SourceJournal source = new SourceJournal();
    for (int i = 0; i < journal.size(); i++) {
      source.read(journal.get(i), i >= entries);
    }
    return new SourceResults(source.found);
  }

  /**
   * All that happened, for a thread that asks nobody and waits for nothing: also what calls came to
   * after their steps, or were ended with from outside. What was too large to be kept beside what
   * hooks made of it is as they made it.
   *
   * @param journal the events of each entry
   */
  public static SourceResults whole(List<List<ThreadEvent>> journal) {
    SourceJournal source = new SourceJournal();
    source.whole = true;
    journal.forEach(events -> source.read(events, true));
    return new SourceResults(source.found);
  }

  /**
   * Does to a thread what a call did to another one. What it added gets ids of its own, as it may
   * be added more than once; sub-agents are left out, as they report to the other thread.
   *
   * @param ids those ids, by the ones in the other thread: a later call may change what this one
   *     adds, the latest of it if it is added more than once
   */
  public static void repeat(SourceResult.Work work, FlowState flow, Map<String, String> ids) {
    if (!(flow instanceof RecordingFlowState recording)) {
      throw new IllegalArgumentException("This is not the state of a call: " + flow);
    }
    recording.repeat(work.changes(), ids);
  }

  // --- what an effect is to do ------------------------------------------------------------------

  static int wanted(RequestedCall call) {
    return RequestChecksum.of(call.name() + " " + call.function().arguments());
  }

  static int wanted(String effect, JsonNode arguments) {
    return RequestChecksum.of(effect + " " + Json.text(arguments));
  }

  /**
   * @param message the message that code of a side answers
   */
  static int wanted(@Nullable Message message) {
    return RequestChecksum.of(String.valueOf(message == null ? null : message.content()));
  }

  // --- the journal ------------------------------------------------------------------------------

  /** What an effect was to do is known until the event that ends it is applied. */
  private void read(List<ThreadEvent> events, boolean after) {
    for (int i = 0; i < events.size(); i++) {
      if (after) {
        ends(events, i);
      }
      state = ThreadFold.apply(state, events.get(i), 0, i);
    }
  }

  private void ends(List<ThreadEvent> events, int at) {
    ThreadEvent event = events.get(at);
    if (event instanceof ThreadEvent.StepEnded e) {
      replied(e, before(events, at));
    } else if (event instanceof ThreadEvent.CallReturned e) {
      if (!ThreadProgram.unknown().equals(e.result())) {
        worked(e.call(), List.of(), e.result());
      }
    } else if (event instanceof ThreadEvent.CallEnded e) {
      ended(e, before(events, at));
    } else if (event instanceof ThreadEvent.EffectEnded e && e.error() == null) {
      ScheduledEffect effect = state.effects().get(e.id());
      if (effect != null) {
        int what = wanted(effect.effect(), effect.arguments());
        found(ThreadEffect.Kind.DEFERRED, e.id(), what, before(events, at), null);
      }
    } else if (event instanceof ThreadEvent.Compacted e
        && e.summary() != null
        && e.upTo() != null) {
      String id = WantedEffects.summary(state.steps().count(), state.history().upTo());
      found.put(
          SourceResults.key(ThreadEffect.Kind.COMPACT, id),
          new SourceResult.Summary(e.summary(), e.upTo(), String.valueOf(e.model()), e.usage()));
    } else if (event instanceof ThreadEvent.FrameClosed e && e.frame().equals(StepFrame.TOP)) {
      handled(following(events, at), at + 1 < events.size() ? events.get(at + 1) : null);
    }
  }

  private void replied(ThreadEvent.StepEnded step, List<ThreadEvent.Change> before) {
    RequestDigest asked = step.log().asked();
    if (asked == null) {
      return;
    }
    ThreadEvent.StepLog log = step.log();
    found.put(
        SourceResults.key(ThreadEffect.Kind.STEP, log.id()),
        new SourceResult.Reply(
            asked,
            RecordedEffect.text(step, before),
            step.calls(),
            log.model(),
            log.finish(),
            log.usage(),
            log.reasoning()));
  }

  private void ended(ThreadEvent.CallEnded call, List<ThreadEvent.Change> before) {
    boolean early = call.code() != null && ENDED_EARLY.contains(call.code());
    if (!whole && early) {
      return;
    }
    RecordedEffect.Ending ending =
        RecordedEffect.worked(call.call(), call.message(), call.code(), before);
    if (ending instanceof RecordedEffect.Made made && made.given().returned() != null) {
      worked(call.call(), made.given().work(), made.given().returned());
    } else if (whole && ending instanceof RecordedEffect.Unknown unknown) {
      worked(
          call.call(),
          unknown.work(),
          OriginalResults.of(call.call(), call.message(), call.code(), before));
    }
  }

  /** A call without an attempt was denied or refused, which people and the fork decide again. */
  private void worked(String key, List<ThreadEvent.Change> work, ToolResult returned) {
    CallState call = state.call(key);
    if (call != null && (whole || call.attempt() > 0)) {
      found(ThreadEffect.Kind.CALL, key, wanted(call.call()), work, returned);
    }
  }

  private void handled(List<ThreadEvent.Change> changes, @Nullable ThreadEvent next) {
    StepFrame frame = state.top();
    boolean failed =
        next instanceof ThreadEvent.Stopped stopped && stopped.code().equals(StopCode.STEP_ERROR);
    if (frame != null && frame.stage() == StepFrame.Stage.HANDLING && !failed) {
      Message message = state.history().message(String.valueOf(frame.messageId()));
      found(ThreadEffect.Kind.HANDLE, "t" + frame.step(), wanted(message), changes, null);
    }
  }

  /** The first result counts: what follows is what hooks made of it. */
  private void found(
      ThreadEffect.Kind kind,
      String id,
      int what,
      List<ThreadEvent.Change> changes,
      @Nullable ToolResult returned) {
    found.putIfAbsent(SourceResults.key(kind, id), new SourceResult.Work(what, changes, returned));
  }

  private static List<ThreadEvent.Change> before(List<ThreadEvent> events, int at) {
    List<ThreadEvent.Change> changes = new ArrayList<>();
    for (int i = at - 1; i >= 0 && events.get(i) instanceof ThreadEvent.Change change; i--) {
      changes.add(change);
    }
    Collections.reverse(changes);
    return changes;
  }

  private static List<ThreadEvent.Change> following(List<ThreadEvent> events, int at) {
    List<ThreadEvent.Change> changes = new ArrayList<>();
    for (int i = at + 1;
        i < events.size() && events.get(i) instanceof ThreadEvent.Change change;
        i++) {
      changes.add(change);
    }
    return changes;
  }
}
