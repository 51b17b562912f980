package io.fermata.agent.replay;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.replay.JournalEntry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What led to what in a thread, back to the messages that began a turn. A step of a model answers
 * what was said and what calls returned since the step before; a call rests on the step that
 * requested it, and its result on what people decided about it.
 */
final class ThreadCauses {
  private static final int MOST = 100;
  private static final String TOP = "";

  private final ThreadAccount account;
  private final Map<String, Happening> named = new LinkedHashMap<>();
  private final Map<String, Call> calls = new HashMap<>();

  /** What the next step of a frame will answer. */
  private final Map<String, List<Happening>> unanswered = new HashMap<>();

  /** What the step in progress of a frame answers. */
  private final Map<String, Step> steps = new HashMap<>();

  /** The attempts of calls that have begun. */
  private final Map<String, Happening> attempts = new HashMap<>();

  private final Map<String, Happening> scheduled = new HashMap<>();
  private JournalEntry<ThreadEvent> entry = JournalEntry.encrypted(0);
  private @Nullable Happening stopped;

  /** The turn of a side that code has. */
  private @Nullable Happening turn;

  /** What author's code ran for that changed the thread. */
  private @Nullable Happening subject;

  /** Something that happened, and why. */
  private record Happening(long entry, String text, List<Happening> reasons) {}

  /** A step in progress: what it answers, and where it is. */
  private record Step(Happening begun, List<Happening> answers, String where) {}

  /** A call: the frame whose step it belongs to, and what happened to it. */
  private record Call(String frame, List<Happening> happened) {}

  private ThreadCauses(ThreadAccount account) {
    this.account = account;
  }

  private static ThreadCauses of(ThreadJournal journal, ThreadAccount account) {
    ThreadCauses causes = new ThreadCauses(account);
    for (JournalEntry<ThreadEvent> each : journal.entries()) {
      causes.entry = each;
      causes.subject = causes.subject(each.events());
      each.events().forEach(causes::add);
    }
    return causes;
  }

  /** Why a thread stands where it does. */
  static ThreadCause standing(ThreadJournal journal, ThreadAccount account) {
    ThreadCauses causes = of(journal, account);
    ThreadState state = journal.state();
    List<Happening> reasons = new ArrayList<>();
    Happening rests = state.turn().stopped() ? causes.stopped : null;
    if (rests != null) {
      reasons.add(rests);
    }
    state.frames().values().forEach(frame -> reasons.addAll(causes.inProgress(frame)));
    return causes.tree(
        rests != null && reasons.size() == 1
            ? rests
            : new Happening(causes.entry.seq(), account.standing(journal), reasons));
  }

  private List<Happening> inProgress(StepFrame frame) {
    List<Happening> all = new ArrayList<>();
    Step step = steps.get(frame.path());
    if (frame.stage() == StepFrame.Stage.THINKING && step != null) {
      all.add(step.begun());
    } else if (frame.stage() == StepFrame.Stage.HANDLING && turn != null) {
      all.add(turn);
    }
    for (CallState call : frame.calls()) {
      Call known = call.over() ? null : calls.get(call.key());
      all.addAll(known == null ? List.of() : known.happened());
    }
    return all;
  }

  /**
   * Why something is so.
   *
   * @throws IllegalArgumentException if the journal has nothing of that name
   */
  static ThreadCause of(ThreadJournal journal, ThreadAccount account, String what) {
    ThreadCauses causes = of(journal, account);
    Happening found = causes.named.get(what);
    if (found == null) {
      String next =
          Nearest.to(what, causes.named.keySet())
              .map(near -> "did you mean " + near + "?")
              .orElse("its narrative has the keys of its calls");
      throw new IllegalArgumentException(
          "The journal of thread %s has no call, message or variable %s; %s"
              .formatted(journal.threadId(), what, next));
    }
    return causes.tree(found);
  }

  // --- the tree -------------------------------------------------------------------------------

  private ThreadCause tree(Happening root) {
    return tree(root, Collections.newSetFromMap(new IdentityHashMap<>()));
  }

  private ThreadCause tree(Happening one, Set<Happening> shown) {
    shown.add(one);
    List<ThreadCause> reasons = new ArrayList<>();
    for (Happening reason : one.reasons()) {
      if (shown.contains(reason)) {
        reasons.add(new ThreadCause(reason.entry(), reason.text() + ", as above", List.of()));
      } else if (shown.size() == MOST) {
        reasons.add(new ThreadCause(reason.entry(), "what led to it is left out here", List.of()));
        break;
      } else {
        reasons.add(tree(reason, shown));
      }
    }
    return new ThreadCause(one.entry(), one.text(), reasons);
  }

  // --- from events ----------------------------------------------------------------------------

  /** What the entry is the result of; an entry has its changes before that. */
  private @Nullable Happening subject(List<ThreadEvent> events) {
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.ToolReturned e) {
        return attempts.get(e.call());
      } else if (event instanceof ThreadEvent.CallReturned e) {
        return attempts.get(e.call());
      } else if (event instanceof ThreadEvent.CallEnded e) {
        return attempts.get(e.call());
      } else if (event instanceof ThreadEvent.StepEnded e && steps.containsKey(e.frame())) {
        return steps.get(e.frame()).begun();
      } else if (event instanceof ThreadEvent.EffectEnded e) {
        return scheduled.get(e.id());
      } else if (event instanceof ThreadEvent.Taken e) {
        return named.get(e.message().id());
      }
    }
    return turn;
  }

  private void add(ThreadEvent event) {
    if (event instanceof ThreadEvent.Received e) {
      named.put(e.message().id(), happened(event, because(subject)));
    } else if (event instanceof ThreadEvent.Taken e) {
      Happening received = named.get(e.message().id());
      answerable(TOP, received == null ? happened(event, List.of()) : received);
    } else if (event instanceof ThreadEvent.ChildReported) {
      subject = happened(event, List.of());
    } else if (event instanceof ThreadEvent.Woke && !unanswered.containsKey(TOP)) {
      answerable(TOP, happened("the thread is woken", because(subject)));
    } else if (event instanceof ThreadEvent.SideTurned) {
      turn = null;
    } else if (event instanceof ThreadEvent.Stopped) {
      turn = null;
      stopped = happened(event, answered(TOP));
    } else if (event instanceof ThreadEvent.HandedOver) {
      answerable(TOP, happened(event, answered(TOP)));
    } else if (event instanceof ThreadEvent.Change change) {
      changed(change);
    } else if (!step(event)) {
      call(event);
    }
  }

  private static List<Happening> because(@Nullable Happening reason) {
    return reason == null ? List.of() : List.of(reason);
  }

  private boolean step(ThreadEvent event) {
    if (event instanceof ThreadEvent.StepBegan e) {
      Step before = steps.get(e.frame());
      List<Happening> answers =
          e.attempt() > 1 && before != null ? before.answers() : answered(e.frame());
      Happening begun = happened(event, answers);
      String where = ", step %s of side %s, prompt %s".formatted(e.step(), e.side(), e.prompt());
      steps.put(e.frame(), new Step(begun, answers, where));
      named.put(e.messageId(), begun);
    } else if (event instanceof ThreadEvent.TurnBegan) {
      turn = happened(event, answered(TOP));
      answerable(TOP, turn);
    } else if (event instanceof ThreadEvent.StepEnded e) {
      Step step = steps.get(e.frame());
      Happening ended =
          step == null
              ? happened(event, List.of())
              : happened(account.of(event) + step.where(), step.answers());
      named.put(e.message().id(), ended);
      subject = ended;
      for (int i = 0; i < e.calls().size(); i++) {
        requested(e.key(i), e.calls().get(i), e.frame(), ended);
      }
      if (e.calls().isEmpty()) {
        answerable(e.frame(), ended);
      }
    } else if (event instanceof ThreadEvent.StepFailed e) {
      Step step = steps.get(e.frame());
      String where = step == null ? "" : step.where();
      answerable(
          e.frame(),
          happened(account.of(event) + where, step == null ? List.of() : step.answers()));
    } else {
      return false;
    }
    return true;
  }

  private void requested(String key, RequestedCall call, String frame, Happening by) {
    calls.put(key, new Call(frame, new ArrayList<>(List.of(by))));
    named.put(key, by);
    named.put(call.id(), by);
  }

  private void call(ThreadEvent event) {
    if (event instanceof ThreadEvent.CallBegan e) {
      Call call = calls.get(e.call());
      attempts.put(
          e.call(), happened(event, call == null ? List.of() : List.copyOf(call.happened())));
    } else if (event instanceof ThreadEvent.CallFailed e) {
      happened(e.call(), event);
    } else if (event instanceof ThreadEvent.CallAsked e) {
      happened(e.call(), event);
    } else if (event instanceof ThreadEvent.CallAnswered e) {
      happened(e.call(), event);
    } else if (event instanceof ThreadEvent.CallWaits e && e.waitsFor() != null) {
      happened(e.call(), event);
    } else if (event instanceof ThreadEvent.CallDelegated e) {
      Call call = calls.get(e.call());
      if (e.threadId().isEmpty() && call != null) {
        unanswered.put(e.call(), new ArrayList<>(call.happened()));
      } else {
        happened(e.call(), event);
      }
    } else if (event instanceof ThreadEvent.CallRemoved e) {
      ended(e.call(), event, null);
    } else if (event instanceof ThreadEvent.CallDetached e) {
      ended(e.call(), event, e.message());
    } else if (event instanceof ThreadEvent.CallEnded e) {
      ended(e.call(), event, e.message());
    }
  }

  private void happened(String key, ThreadEvent event) {
    Call call = calls.get(key);
    if (call != null) {
      call.happened().add(happened(event, List.of()));
    }
  }

  private void ended(String key, ThreadEvent event, @Nullable Message message) {
    Call call = calls.get(key);
    List<Happening> reasons = new ArrayList<>(call == null ? List.of() : call.happened());
    reasons.addAll(answered(key));
    Happening ended = happened(event, reasons);
    subject = ended;
    calls.computeIfPresent(key, (k, v) -> new Call(v.frame(), new ArrayList<>(List.of(ended))));
    answerable(call == null ? TOP : call.frame(), ended);
    named.put(key, ended);
    if (message != null) {
      named.put(message.id(), ended);
      String id = message.toolCallId();
      if (id != null) {
        named.put(id, ended);
      }
    }
  }

  private void changed(ThreadEvent.Change change) {
    List<Happening> reasons = because(subject);
    if (change instanceof ThreadEvent.Said e) {
      Happening said = happened(change, reasons);
      named.put(e.message().id(), said);
      answerable(e.frame(), said);
    } else if (change instanceof ThreadEvent.Queued e) {
      requested(
          e.call().id(), e.call(), e.frame() == null ? TOP : e.frame(), happened(change, reasons));
    } else if (change instanceof ThreadEvent.StopWanted) {
      answerable(TOP, happened(change, reasons));
    } else if (change instanceof ThreadEvent.Scheduled e) {
      scheduled.put(e.id(), happened(change, reasons));
    } else if (change instanceof ThreadEvent.Stored e) {
      named.put("storage." + e.key(), happened(change, reasons));
    } else if (change instanceof ThreadEvent.ContextSet e) {
      named.put("context." + e.key(), happened(change, reasons));
    } else if (change instanceof ThreadEvent.EnvSet e) {
      named.put("env." + e.key(), happened(change, reasons));
    }
  }

  private Happening happened(ThreadEvent event, List<Happening> reasons) {
    return happened(account.of(event), reasons);
  }

  private Happening happened(String text, List<Happening> reasons) {
    String where = " (entry %s, %s)".formatted(entry.seq(), entry.cause());
    return new Happening(entry.seq(), text + where, reasons);
  }

  private void answerable(String frame, Happening what) {
    unanswered.computeIfAbsent(frame, each -> new ArrayList<>()).add(what);
  }

  private List<Happening> answered(String frame) {
    List<Happening> all = unanswered.remove(frame);
    return all == null ? List.of() : all;
  }
}
