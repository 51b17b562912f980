package io.fermata.session.run;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.SessionPort.Situation;
import io.fermata.session.actor.SessionPort.Written;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.Replaced;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.RunPhases;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionState;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Creates the entries and replies of a flow's runs. Pure.
 *
 * @param tool whether the flow is a tool of agents
 */
record RunEntries(RunReplies replies, Retention retention, boolean tool) {
  private static final Set<RunState.Status> ENDED_BY_ITSELF =
      Set.of(RunState.Status.COMPLETED, RunState.Status.FAILED);

  /** The entries to persist before effects start. */
  Written<Event> working(Situation<RunState, Event> at) {
    return new Written<>(working(at, List.of()), null);
  }

  /** The same, with calls that wait behind those that are driven. */
  private List<Entry<Event>> working(Situation<RunState, Event> at, List<String> behind) {
    List<Entry<Event>> entries = begun(at);
    entries.add(step(at, entries.size(), both(begins(at), behind), null, Entry.Wake.NOW));
    return entries;
  }

  /** The entries before a call gets the reply that the work it waited behind continues. */
  List<Entry<Event>> behind(Situation<RunState, Event> at, Waiting call) {
    boolean works = at.current() != null || at.ahead().works();
    return works && at.ahead().running() && hasUnknown(at, call.ownIds())
        ? working(at, call.ownIds())
        : List.of();
  }

  /** The reply to a call that does not wait for the work; a caller that accepts tasks gets one. */
  Written<Event> acknowledged(Situation<RunState, Event> at, Waiting call) {
    if (call.call.mode() == ReplyMode.STARTS) {
      return detached(at, call);
    }
    List<Entry<Event>> entries = begun(at);
    boolean task = call.takesTasks() && !isTask(at);
    boolean hasEvents = at.hasEvents();
    boolean writes = hasEvents || task || hasUnknown(at, call.ownIds());
    long seq = at.seq() + entries.size() + (writes ? 1 : 0);
    RunReply reply =
        replies.replacing(replaced(at), replies.stillWorking(at.ahead(), seq, call.takesTasks()));
    if (writes) {
      Entry<Event> step =
          step(at, entries.size(), call.ownIds(), hasEvents ? reply : null, Entry.Wake.NOW);
      entries.add(task ? step.asTask() : step);
    }
    return new Written<>(entries, reply);
  }

  /** The work continues without its call, which fetches the outcome when it is repeated. */
  Written<Event> detached(Situation<RunState, Event> at, Waiting call) {
    boolean task = call.takesTasks() && !isTask(at);
    boolean writes = at.hasEvents() || task || hasUnknown(at, at.callIds());
    List<Entry<Event>> entries = writes ? working(at, List.of()) : new ArrayList<>();
    if (task) {
      int last = entries.size() - 1;
      entries.set(last, entries.get(last).asTask());
    }
    long seq = at.seq() + entries.size();
    RunReply reply = replies.stillWorking(at.ahead(), seq, call.takesTasks());
    return new Written<>(entries, replies.replacing(replaced(at), reply));
  }

  /** Whether the current run of the session is a task. */
  static boolean isTask(Situation<RunState, Event> at) {
    return at.state().task() && at.state().program().runId().equals(at.ahead().runId());
  }

  /** The run waits or has finished. */
  Written<Event> settled(Situation<RunState, Event> at, Outcome outcome, List<StepEffect> beside) {
    Waiting current = at.current();
    boolean ended = !at.ahead().running();
    List<Entry<Event>> entries = begun(at);
    boolean takesTask = current != null && waits(outcome) && current.takesTasks();
    boolean task = takesTask && !isTask(at);
    boolean answers = !open(at).isEmpty() || (!ended && hasUnknown(at, at.callIds()));
    int written = at.hasEvents() ? entries.size() + (ended ? 2 : 1) : task || answers ? 1 : 0;
    RunReply stands =
        replies.of(
            body(at, outcome),
            at.ahead(),
            current == null ? List.of() : current.visited(),
            at.seq() + written);
    RunReply reply = replies.replacing(replaced(at), stands).asTask(takesTask);
    if (written > 0) {
      boolean replies = !ended && (at.hasEvents() || answers);
      List<String> calls = ended ? List.of() : all(at);
      Entry<Event> step = step(at, entries.size(), calls, replies ? reply : null, wake(beside));
      entries.add(task ? step.asTask() : step);
    }
    if (at.hasEvents() && ended) {
      entries.add(ended(at, entries.size(), reply, unclaimed(at, outcome)));
    }
    return new Written<>(entries, reply);
  }

  /** When a run resumes by itself that has paused; null if it waits for a call. */
  static Entry.@Nullable Wake wake(List<StepEffect> beside) {
    boolean reminding = beside.stream().anyMatch(effect -> !effect.timer());
    return reminding ? Entry.Wake.NOW : Entry.Wake.at(RunPhases.wakeAt(beside));
  }

  /** A call fetches the outcome of a run that ended while no client waited. */
  Written<Event> claimed(Situation<RunState, Event> at, Outcome outcome) {
    RunReply reply = replies.of(outcome, at.state().program(), at.seq() + 1);
    return new Written<>(List.of(ended(at, 0, reply, null)), reply);
  }

  private static ObjectNode body(Situation<RunState, Event> at, Outcome outcome) {
    return cancels(at) ? OutcomeJson.cancelled() : OutcomeJson.body(outcome);
  }

  /** Whether the call being driven has cancelled the run. */
  private static boolean cancels(Situation<RunState, Event> at) {
    Waiting current = at.current();
    return at.ahead().status() == RunState.Status.CANCELLED
        && current != null
        && current.call.request() instanceof Request.OfRun request
        && request.action() == CallAction.CANCEL;
  }

  /** The calls of the run whose work continues without them. */
  private static List<String> open(Situation<RunState, Event> at) {
    return abandons(at) ? List.of() : at.state().calls().open();
  }

  /** The calls that wait for the run, and those whose work continues without them. */
  private static List<String> all(Situation<RunState, Event> at) {
    List<String> open = open(at);
    return open.isEmpty() ? at.callIds() : both(open, begins(at));
  }

  /** The calls that are driven and not yet journaled. */
  private static List<String> begins(Situation<RunState, Event> at) {
    List<String> open = open(at);
    return open.isEmpty()
        ? at.callIds()
        : at.callIds().stream().filter(callId -> !CallLog.has(open, callId)).toList();
  }

  private static List<String> both(List<String> ids, List<String> others) {
    return Stream.concat(ids.stream(), others.stream()).toList();
  }

  /**
   * Whether a call that its sender named is not in the journal. It is written although it changes
   * nothing, as it may arrive again when the run has moved on.
   */
  static boolean hasUnknown(Situation<RunState, Event> at, List<String> callIds) {
    CallLog calls = at.state().calls().at(at.now());
    return callIds.stream().anyMatch(callId -> CallLog.isNamed(callId) && !calls.knows(callId));
  }

  /** The run that the call being handled has ended by starting another. */
  private static @Nullable Replaced replaced(Situation<RunState, Event> at) {
    return abandons(at) ? Replaced.of(at.state().program()) : at.state().replaced();
  }

  private static boolean abandons(Situation<RunState, Event> at) {
    return at.hasEvents() && at.unjournaled().get(0) instanceof Event.Abandoned;
  }

  /** Whether a run continues by itself, by a timer or a signal. */
  private static boolean waits(Outcome outcome) {
    return outcome instanceof Outcome.Waiting;
  }

  private static Entry<Event> step(
      Situation<RunState, Event> at,
      int before,
      List<String> callIds,
      @Nullable RunReply reply,
      Entry.@Nullable Wake wake) {
    boolean starts = at.unjournaled().stream().anyMatch(Event.Started.class::isInstance);
    Entry.Origin origin = starts ? at.origin() : at.origin().withoutSession();
    return Entry.of(at.seq() + before + 1, at.now(), origin, List.copyOf(at.unjournaled()))
        .belongingTo(callIds, callIds.isEmpty() ? null : reply)
        .waking(wake);
  }

  /** Starts with the end of a run that another one replaces. */
  private List<Entry<Event>> begun(Situation<RunState, Event> at) {
    List<Entry<Event>> entries = new ArrayList<>(3);
    if (abandons(at)) {
      SessionState<RunState> state = at.state();
      RunState run = state.program();
      boolean task = state.task();
      RunEnd end =
          new RunEnd(
              run.runId(),
              run.version(),
              RunState.Status.ABANDONED,
              state.calls().at(at.now()).namesExcept(List.of()),
              null,
              retention.keptUntil(at.now()),
              knownUntil(at, task),
              task,
              state.tasksAt(at.now()));
      RunReply cancelled = RunReplies.withHandle(state, replies.cancelled(run, at.seq() + 1));
      entries.add(entry(at, 0).belongingTo(List.of(), task ? cancelled : null).ending(end));
    }
    return entries;
  }

  private static Entry<Event> entry(Situation<RunState, Event> at, int before) {
    return Entry.of(at.seq() + before + 1, at.now(), at.origin().withoutSession(), List.of());
  }

  private Entry<Event> ended(
      Situation<RunState, Event> at,
      int before,
      RunReply reply,
      RunEnd.@Nullable Unclaimed unclaimed) {
    SessionState<RunState> state = at.state();
    RunState run = at.ahead();
    Waiting current = at.current();
    // The calls whose run another one has cancelled are past: repeated, they get its end.
    List<String> answered = cancels(at) ? at.callIds() : all(at);
    boolean fetched =
        (tool || !retention.journal().isZero()) && current != null && current.fromClient();
    boolean task = isTask(at);
    boolean kept = !answered.isEmpty() || task || fetched;
    RunReply last = task ? RunReplies.withHandle(state, reply) : reply;
    RunEnd end =
        new RunEnd(
            run.runId(),
            run.version(),
            run.status(),
            state.calls().at(at.now()).namesExcept(answered),
            unclaimed,
            retention.keptUntil(at.now()),
            knownUntil(at, task),
            task,
            state.tasksAt(at.now()));
    return entry(at, before).belongingTo(answered, kept ? last : null).ending(end);
  }

  /** The outcome of a run that ends by itself while no client waits for it. */
  private static RunEnd.@Nullable Unclaimed unclaimed(
      Situation<RunState, Event> at, Outcome outcome) {
    Waiting current = at.current();
    boolean claimed = current != null && current.fromClient();
    return claimed || !ENDED_BY_ITSELF.contains(at.ahead().status())
        ? null
        : new RunEnd.Unclaimed(
            outcome instanceof Outcome.Complete complete ? complete.result() : null,
            at.ahead().reason());
  }

  /** The latest end contains the ends of earlier tasks. */
  private long knownUntil(Situation<RunState, Event> at, boolean task) {
    long own = task ? retention.taskKnownUntil(at.now()) : retention.knownUntil(at.now());
    List<RunEnd.TaskEnd> earlier = at.state().tasksAt(at.now());
    return earlier == null
        ? own
        : earlier.stream().mapToLong(RunEnd.TaskEnd::keptUntil).reduce(own, Math::max);
  }
}
