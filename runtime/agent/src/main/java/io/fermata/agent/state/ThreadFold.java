package io.fermata.agent.state;

import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Reasoning;
import io.fermata.flow.cases.Cases;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Applies events to a thread's state. */
public final class ThreadFold {
  /** How many finished effects a thread remembers. */
  private static final int REMEMBERED_EFFECTS = 50;

  /** How often a summary is asked for before the older messages are shown as they are. */
  private static final int SUMMARIES = 3;

  private static final Pattern NUMBER = Pattern.compile("\\d+");

  private static final Cases<ThreadState, ThreadEvent> EVENTS =
      Cases.<ThreadState, ThreadEvent>of(ThreadEvent.class)
          .gives(ThreadEvent.Created.class, (s, e) -> created(e))
          .gives(ThreadEvent.ForkedFrom.class, ThreadFold::forked)
          .gives(ThreadEvent.Greeted.class, (s, e) -> s.with(s.lifecycle().asGreeted()))
          .gives(ThreadEvent.Widened.class, (s, e) -> s.with(s.history().widened(e.window())))
          .gives(ThreadEvent.Deleted.class, (s, e) -> deleted(s))
          .gives(ThreadEvent.Received.class, ThreadFold::received)
          .gives(ThreadEvent.Taken.class, ThreadFold::taken)
          .gives(ThreadEvent.Released.class, (s, e) -> s.with(s.turn().released()))
          .gives(
              ThreadEvent.Woke.class,
              (s, e) -> s.with(s.turn().woken(e.flowId(), s.history().count())))
          .gives(ThreadEvent.SideTurned.class, ThreadFold::sideTurned)
          .gives(ThreadEvent.HandedOver.class, ThreadFold::handedOver)
          .gives(ThreadEvent.Stopped.class, ThreadFold::stopped)
          .gives(ThreadEvent.Compacting.class, (s, e) -> s.with(s.steps().compacting(e.attempt())))
          .gives(ThreadEvent.Compacted.class, ThreadFold::compacted)
          .gives(ThreadEvent.TurnBegan.class, ThreadFold::turnBegan)
          .gives(ThreadEvent.StepBegan.class, ThreadFold::stepBegan)
          .gives(ThreadEvent.StepEnded.class, ThreadFold::stepEnded)
          .gives(ThreadEvent.StepFailed.class, ThreadFold::stepFailed)
          .gives(ThreadEvent.FrameOpened.class, ThreadFold::frameOpened)
          .gives(ThreadEvent.FrameClosed.class, (s, e) -> s.with(s.steps().without(e.frame())))
          .gives(ThreadEvent.CallBegan.class, (s, e) -> call(s, e, c -> c.running(e.attempt())))
          .gives(ThreadEvent.CallFailed.class, (s, e) -> call(s, e, c -> c.retrying(e.retryAt())))
          .gives(
              ThreadEvent.CallWaits.class,
              (s, e) -> call(s, e, c -> c.waiting(e.until(), e.waitsFor(), e.begun())))
          .gives(
              ThreadEvent.CallAsked.class,
              (s, e) -> call(s, e, c -> c.asked(e.approval(), e.question())))
          .gives(ThreadEvent.CallAnswered.class, ThreadFold::callAnswered)
          .gives(
              ThreadEvent.CallDelegated.class,
              (s, e) -> call(s, e, c -> c.delegated(e.threadId().isEmpty() ? null : e.threadId())))
          .gives(ThreadEvent.CallReturned.class, (s, e) -> call(s, e, c -> c.returned(e.result())))
          .gives(ThreadEvent.CallEnded.class, ThreadFold::callEnded)
          .gives(ThreadEvent.CallDetached.class, ThreadFold::callDetached)
          .gives(ThreadEvent.CallRemoved.class, ThreadFold::callRemoved)
          .gives(ThreadEvent.CallAbandoned.class, (s, e) -> s.with(s.relations().abandoning(e)))
          .gives(
              ThreadEvent.CallWithdrawn.class, (s, e) -> s.with(s.relations().withdrawn(e.call())))
          .gives(ThreadEvent.EffectBegan.class, ThreadFold::effectBegan)
          .gives(ThreadEvent.EffectDelayed.class, ThreadFold::effectDelayed)
          .gives(ThreadEvent.EffectEnded.class, ThreadFold::effectEnded)
          .gives(ThreadEvent.ChildReported.class, ThreadFold::childReported)
          .gives(
              ThreadEvent.ChildStatusChanged.class,
              (s, e) -> child(s, e.threadId(), e.status(), e.report()))
          .gives(ThreadEvent.ChildSpent.class, ThreadFold::childSpent)
          .gives(
              ThreadEvent.ChildDeleted.class,
              (s, e) -> s.with(s.relations().withoutChild(e.threadId())))
          .gives(ThreadEvent.ReportPending.class, (s, e) -> s.with(s.relations().withReport(e)))
          .gives(ThreadEvent.Reported.class, (s, e) -> s.with(s.relations().reported(e.report())))
          .gives(
              ThreadEvent.DeliveryFailed.class,
              (s, e) -> delivery(s, e.what(), e.attempt(), e.due()))
          .gives(
              ThreadEvent.DeliveryBegan.class, (s, e) -> delivery(s, e.what(), e.attempt(), null))
          .gives(ThreadEvent.Said.class, ThreadFold::said)
          .gives(ThreadEvent.Updated.class, ThreadFold::updated)
          .gives(ThreadEvent.Queued.class, ThreadFold::queued)
          .gives(ThreadEvent.Forced.class, (s, e) -> s.with(s.turn().forced(e.side())))
          .gives(ThreadEvent.StopWanted.class, ThreadFold::stopWanted)
          .gives(
              ThreadEvent.ContextSet.class,
              (s, e) -> s.with(s.stored().inContext(e.key(), e.value())))
          .gives(ThreadEvent.Stored.class, (s, e) -> s.with(s.stored().stored(e.key(), e.value())))
          .gives(ThreadEvent.EnvSet.class, (s, e) -> s.with(s.stored().inEnv(e.key(), e.value())))
          .gives(ThreadEvent.Tagged.class, (s, e) -> s.with(s.stored().tagged(e.tags())))
          .gives(ThreadEvent.StatusSet.class, (s, e) -> s.with(s.stored().withStatus(e.text())))
          .gives(
              ThreadEvent.FileRemoved.class, (s, e) -> s.with(s.stored().withFile(e.path(), null)))
          .gives(ThreadEvent.FileMoved.class, ThreadFold::fileMoved)
          .gives(ThreadEvent.Scheduled.class, ThreadFold::scheduled)
          .gives(ThreadEvent.Unscheduled.class, (s, e) -> unscheduled(s, e.id()))
          .gives(ThreadEvent.ChildCreated.class, (s, e) -> s.with(s.relations().with(e.child())))
          .gives(ThreadEvent.ChildResumed.class, ThreadFold::childResumed)
          .ignores(ThreadEvent.Emitted.class)
          .ignores(ThreadEvent.HookFailed.class)
          .ignores(ThreadEvent.ModelReplied.class)
          .ignores(ThreadEvent.ToolReturned.class)
          // What it means depends on where in the journal it is: see apply.
          .ignores(ThreadEvent.FileWritten.class)
          .whole();

  private ThreadFold() {}

  public static ThreadState apply(ThreadState state, ThreadEvent event, long seq, int index) {
    ThreadState after =
        event instanceof ThreadEvent.FileWritten written
            ? fileWritten(state, written, seq, index)
            : EVENTS.after(state, event);
    return after.lifecycle().results() == null ? after : after.with(after.lifecycle().after(event));
  }

  private static ThreadState created(ThreadEvent.Created created) {
    return ThreadState.NONE
        .with(Lifecycle.of(created))
        .with(History.empty(created.window()))
        .with(ThreadStorage.begun(created.env(), created.tags()));
  }

  /** What is scheduled keeps its distance from now. */
  private static ThreadState forked(ThreadState state, ThreadEvent.ForkedFrom event) {
    Map<String, ScheduledEffect> effects = new LinkedHashMap<>(state.effects());
    long later = event.at() - event.fork().entryAt();
    effects.replaceAll((id, effect) -> effect.over() ? effect : effect.renewed(later));
    return state
        .with(state.lifecycle().forked(event))
        .with(state.history().widened(event.window()))
        .with(state.steps().renewed(event.fork().sandbox()))
        .withEffects(effects)
        .with(Relations.NONE);
  }

  private static ThreadState deleted(ThreadState state) {
    return ThreadState.NONE.with(state.lifecycle().asDeleted()).with(state.relations().deleted());
  }

  private static ThreadState received(ThreadState state, ThreadEvent.Received event) {
    List<String> files = state.stored().digests(event.message().attachments());
    return state.with(state.mailbox().received(event, files));
  }

  private static ThreadState taken(ThreadState state, ThreadEvent.Taken taken) {
    String id = taken.message().id();
    boolean decides = taken.message().role() != Role.SYSTEM;
    return state
        .with(state.mailbox().without(id))
        .with(state.history().plus(taken.message(), null))
        .with(decides ? state.turn().spokenTo() : state.turn());
  }

  private static ThreadState sideTurned(ThreadState state, ThreadEvent.SideTurned turned) {
    TurnState turn = turned.counts() ? state.turn().counted(turned.from()) : state.turn();
    boolean begins = !turn.running() || turn.side() != turned.to();
    return state
        .with(begins ? state.history().turned() : state.history())
        .with(turn.turnedTo(turned.to()));
  }

  private static ThreadState handedOver(ThreadState state, ThreadEvent.HandedOver over) {
    return state
        .with(state.lifecycle().handedOver(over.agent()))
        .with(state.history().widened(over.window()))
        .with(state.turn().turnedTo(Side.A));
  }

  private static ThreadState stopped(ThreadState state, ThreadEvent.Stopped stopped) {
    TurnState.Rest why = new TurnState.Rest(stopped.by(), stopped.code(), stopped.detail());
    return state.with(state.turn().resting(why, stopped.session())).with(state.steps().stopped());
  }

  private static ThreadState compacted(ThreadState state, ThreadEvent.Compacted compacted) {
    String summary = compacted.summary();
    String upTo = compacted.upTo();
    int failed = state.steps().failedSummaries() + 1;
    boolean again = summary == null && failed < SUMMARIES && !state.steps().compactingIsCutOff();
    ThreadState after =
        state
            .with(state.steps().compacted(again ? failed : 0))
            .with(state.usage().plus(compacted.usage()));
    if (summary != null && upTo != null) {
      return after.with(state.history().compacted(summary, upTo));
    }
    return again ? after : after.with(state.history().notCompacted());
  }

  // --- steps -----------------------------------------------------------------------------------

  private static ThreadState turnBegan(ThreadState state, ThreadEvent.TurnBegan began) {
    StepFrame frame =
        StepFrame.of(StepFrame.Level.top(null, began.side()), StepFrame.Stage.HANDLING)
            .attempting(StepFrame.Stage.HANDLING, began.attempt(), began.step(), began.messageId());
    return state
        .with(state.steps().counted(began.step()).with(frame))
        .with(state.turn().acting(began.side()));
  }

  private static ThreadState frameOpened(ThreadState state, ThreadEvent.FrameOpened opened) {
    StepFrame.Level level =
        new StepFrame.Level(
            opened.frame(),
            opened.prompt(),
            opened.side(),
            opened.depth(),
            opened.parentId(),
            null);
    StepFrame.Stage stage =
        opened.prompt() == null ? StepFrame.Stage.CALLING : StepFrame.Stage.OPENED;
    return state.with(
        StepFrame.of(level, stage).replyingTo(opened.messageId()).saying(opened.said()));
  }

  private static ThreadState stepBegan(ThreadState state, ThreadEvent.StepBegan began) {
    StepFrame opened = state.frames().get(began.frame());
    StepFrame frame =
        opened == null
            ? StepFrame.of(
                StepFrame.Level.top(began.prompt(), began.side()), StepFrame.Stage.THINKING)
            : opened;
    StepFrame asking =
        frame.attempting(
            StepFrame.Stage.THINKING, began.attempt(), began.step(), began.messageId());
    ThreadState after = state.with(state.steps().counted(began.step()).with(asking));
    if (began.attempt() > 1) {
      return after;
    }
    TurnState turn = after.turn();
    return after.with(frame.top() ? turn.stepped(began.side()) : turn.steppedInside());
  }

  private static ThreadState stepEnded(ThreadState state, ThreadEvent.StepEnded ended) {
    StepFrame frame = state.frames().get(ended.frame());
    if (frame == null) {
      return state;
    }
    List<CallState> calls = new ArrayList<>();
    for (RequestedCall call : ended.calls()) {
      int place = calls.size();
      calls.add(
          CallState.of(new CallState.Request(ended.key(place), call, false, ended.cutOff(place))));
    }
    Message message = ended.message();
    StepFrame answered = frame.answered(message.content(), calls);
    ThreadState after = state.with(state.usage().plus(ended.log().usage()));
    boolean nothing = ended.saysNothing();
    if (frame.top()) {
      return (nothing ? after : after.with(plus(after.history(), message, ended.log().reasoning())))
          .with(answered)
          .with(after.turn().said(nothing));
    }
    List<Message> said = new ArrayList<>(frame.said());
    said.add(message);
    return after.with(answered.saying(said));
  }

  private static History plus(History history, Message message, @Nullable Reasoning reasoning) {
    History more = history.plus(message, null);
    return reasoning == null ? more : more.reasoned(message.id(), reasoning);
  }

  public static boolean blank(@Nullable String text) {
    return text == null || text.isBlank();
  }

  private static ThreadState stepFailed(ThreadState state, ThreadEvent.StepFailed failed) {
    Message message = failed.message();
    return message == null
        ? state
        : state
            .with(state.history().plus(message, null))
            .with(state.steps().without(StepFrame.TOP));
  }

  // --- calls -----------------------------------------------------------------------------------

  private interface Change {
    CallState of(CallState call);
  }

  private static ThreadState call(ThreadState state, ThreadEvent.OfCall event, Change change) {
    StepFrame frame = state.frameOf(event.call());
    CallState call = frame == null ? null : frame.call(event.call());
    return frame == null || call == null ? state : state.with(frame.with(change.of(call)));
  }

  private static ThreadState callAnswered(ThreadState state, ThreadEvent.CallAnswered answered) {
    CallState.Answer answer =
        new CallState.Answer(
            answered.answerId(),
            answered.approved(),
            answered.answers(),
            answered.reason(),
            answered.by(),
            null);
    return call(state, answered, call -> call.answered(answer))
        .with(state.mailbox().answered(answered));
  }

  private static ThreadState callEnded(ThreadState state, ThreadEvent.CallEnded ended) {
    Message message = ended.message();
    CallState over = state.call(ended.call());
    TurnState turn =
        over != null && over.prevented(ended.code())
            ? state.turn()
            : state.turn().called(message.failed() ? normalized(message.content()) : null);
    ThreadState after = call(state.with(turn), ended, call -> call.ended(message));
    return flushed(after, ended.call());
  }

  private static ThreadState callDetached(ThreadState state, ThreadEvent.CallDetached detached) {
    StepFrame frame = state.frameOf(detached.call());
    CallState call = frame == null ? null : frame.call(detached.call());
    if (frame == null || call == null) {
      return state;
    }
    StepFrame.Level level =
        new StepFrame.Level(
            call.key() + StepFrame.LATE,
            frame.prompt(),
            frame.side(),
            frame.depth() + 1,
            detached.message().id(),
            detached.agent());
    StepFrame alone = StepFrame.of(level, StepFrame.Stage.CALLING).withCalls(List.of(call));
    ThreadState after = call(state, detached, each -> each.detached(detached.message()));
    return flushed(after, call.key()).with(alone);
  }

  /** The model sees nothing of it and may insist, as it may with a call that fails. */
  private static ThreadState callRemoved(ThreadState state, ThreadEvent.CallRemoved removed) {
    CallState call = state.call(removed.call());
    if (call == null) {
      return state;
    }
    String reason = normalized("A hook removed the call of " + call.call().name());
    ThreadState after = state.with(state.turn().called(reason));
    return flushed(call(after, removed, struck -> struck.ended(null)), removed.call());
  }

  private static String normalized(@Nullable String words) {
    String text = words == null ? "" : words.strip().toLowerCase(Locale.ROOT);
    return NUMBER.matcher(text).replaceAll("#");
  }

  /** Moves finished calls at the front of a frame into the conversation, in order. */
  private static ThreadState flushed(ThreadState state, String key) {
    StepFrame frame = state.frameOf(key);
    if (frame == null) {
      return state;
    }
    List<StepFrame.Made> made = new ArrayList<>();
    List<Message> results = new ArrayList<>();
    List<String> struck = new ArrayList<>();
    int over = 0;
    while (over < frame.calls().size() && frame.calls().get(over).over()) {
      CallState call = frame.calls().get(over++);
      Message message = call.message();
      if (message == null) {
        struck.add(call.call().id());
      } else {
        results.add(message);
        made.add(
            new StepFrame.Made(
                call.call(),
                message.failed(),
                message.content(),
                call.queued(),
                call.cutOff(),
                call.phase() == CallState.Phase.DETACHED));
      }
    }
    StepFrame rest = frame.without(over, made);
    return frame.top()
        ? flushedToHistory(state.with(rest), rest, results, struck)
        : state.with(rest.saying(withResults(rest, results, struck)));
  }

  private static List<Message> withResults(
      StepFrame frame, List<Message> results, List<String> struck) {
    List<Message> said = new ArrayList<>(frame.said());
    said.replaceAll(m -> m.id().equals(frame.messageId()) ? without(m, struck) : m);
    said.addAll(results);
    return said;
  }

  private static ThreadState flushedToHistory(
      ThreadState state, StepFrame frame, List<Message> results, List<String> struck) {
    History history = state.history();
    String asking = frame.messageId();
    if (asking != null && !struck.isEmpty()) {
      history = history.changed(asking, message -> without(message, struck));
      Message left = history.message(asking);
      if (left != null && left.toolCalls().isEmpty() && blank(left.content())) {
        history = history.without(asking);
      }
    }
    for (Message message : results) {
      history = history.plus(message, null);
    }
    return state.with(history);
  }

  private static Message without(Message message, List<String> struck) {
    return struck.isEmpty()
        ? message
        : message.withToolCalls(
            message.toolCalls().stream().filter(call -> !struck.contains(call.id())).toList());
  }

  // --- changes by author code -----------------------------------------------------------------

  private static ThreadState said(ThreadState state, ThreadEvent.Said said) {
    StepFrame frame = state.frames().get(said.frame());
    if (frame == null || frame.top()) {
      Message message = said.message();
      return state
          .with(state.history().plus(message, said.before()))
          .with(
              ThreadInput.Create.isInitial(message)
                  ? state.lifecycle().opened(message)
                  : state.lifecycle());
    }
    List<Message> all = new ArrayList<>(frame.said());
    all.add(said.message());
    return state.with(frame.saying(all));
  }

  /** The message may wait for earlier calls, or belong to a sub-prompt. */
  private static ThreadState updated(ThreadState state, ThreadEvent.Updated updated) {
    String id = updated.messageId();
    ThreadState after = state.with(state.history().changed(id, updated.update()::of));
    for (StepFrame frame : state.frames().values()) {
      List<Message> said = new ArrayList<>(frame.said());
      said.replaceAll(m -> m.id().equals(id) ? updated.update().of(m) : m);
      List<CallState> calls = new ArrayList<>(frame.calls());
      calls.replaceAll(
          call -> {
            Message result = call.message();
            return result != null && result.id().equals(id)
                ? call.ended(updated.update().of(result))
                : call;
          });
      after = after.with(frame.saying(said).withCalls(calls));
    }
    return after;
  }

  /**
   * A thread at rest has nothing to stop, but its session may be ended beside a queued call. No
   * other stop replaces the end of a session.
   */
  private static ThreadState stopWanted(ThreadState state, ThreadEvent.StopWanted wanted) {
    TurnState.StopRequest before = state.turn().stopRequest();
    boolean heard =
        StopCode.endsSession(wanted.code())
            ? state.turn().running() || state.top() != null
            : state.turn().running() && (before == null || !StopCode.endsSession(before.code()));
    if (!heard) {
      return state;
    }
    TurnState.StopRequest request =
        new TurnState.StopRequest(wanted.by(), wanted.code(), wanted.reason());
    return state.with(state.turn().wantingStop(request));
  }

  private static ThreadState scheduled(ThreadState state, ThreadEvent.Scheduled scheduled) {
    ScheduledEffect effect =
        new ScheduledEffect(
            scheduled.id(),
            scheduled.agent(),
            scheduled.effect(),
            scheduled.arguments(),
            scheduled.due(),
            ScheduledEffect.Status.PENDING,
            0,
            null);
    return state.withEffects(ThreadState.put(state.effects(), effect.id(), effect));
  }

  /** Only effects that have not started can be removed. */
  private static ThreadState unscheduled(ThreadState state, String id) {
    ScheduledEffect effect = state.effects().get(id);
    return effect == null || effect.status() != ScheduledEffect.Status.PENDING
        ? state
        : state.withEffects(ThreadState.put(state.effects(), id, null));
  }

  private static ThreadState queued(ThreadState before, ThreadEvent.Queued queued) {
    StepFrame frame = queued.frame() == null ? null : before.frames().get(queued.frame());
    if (frame == null) {
      return before.with(before.steps().waiting(queued.call()));
    }
    ThreadState state = before.with(before.steps().notWaiting(queued.call()));
    List<CallState> calls = new ArrayList<>(frame.calls());
    calls.add(CallState.of(new CallState.Request(queued.call().id(), queued.call(), true, false)));
    StepFrame longer = frame.withCalls(calls);
    String asking = frame.messageId();
    if (asking == null) {
      return state.with(longer);
    }
    if (!frame.top()) {
      List<Message> said = new ArrayList<>(frame.said());
      said.replaceAll(m -> m.id().equals(asking) ? plus(m, queued.call()) : m);
      return state.with(longer.saying(said));
    }
    return state
        .with(longer)
        .with(state.history().changed(asking, message -> plus(message, queued.call())));
  }

  private static Message plus(Message message, RequestedCall call) {
    List<RequestedCall> calls = new ArrayList<>(message.toolCalls());
    calls.add(call);
    return message.withToolCalls(calls);
  }

  private static ThreadState fileWritten(
      ThreadState state, ThreadEvent.FileWritten written, long seq, int index) {
    Attachment bytes = new Attachment(written.path(), written.mimeType(), written.data());
    ThreadStorage.StoredFile file =
        new ThreadStorage.StoredFile(
            written.path(),
            written.mimeType(),
            written.data().length,
            written.at(),
            seq,
            index,
            bytes.digest());
    return state.with(state.stored().withFile(written.path(), file));
  }

  private static ThreadState fileMoved(ThreadState state, ThreadEvent.FileMoved moved) {
    ThreadStorage.StoredFile file = state.stored().files().get(moved.path());
    if (file == null) {
      return state;
    }
    return state.with(
        state.stored().withFile(moved.path(), null).withFile(moved.to(), file.movedTo(moved.to())));
  }

  // --- effects and family ----------------------------------------------------------------------

  private static ThreadState effectBegan(ThreadState state, ThreadEvent.EffectBegan began) {
    return effect(state, began.id(), ScheduledEffect.Status.RUNNING, began.attempt(), null, null);
  }

  private static ThreadState effectDelayed(ThreadState state, ThreadEvent.EffectDelayed late) {
    return effect(
        state,
        late.id(),
        ScheduledEffect.Status.PENDING,
        late.attempt(),
        late.due(),
        late.reason());
  }

  private static ThreadState effectEnded(ThreadState state, ThreadEvent.EffectEnded ended) {
    ScheduledEffect.Status status =
        ended.error() == null ? ScheduledEffect.Status.COMPLETED : ScheduledEffect.Status.FAILED;
    return forgetful(effect(state, ended.id(), status, null, null, ended.error()));
  }

  private static ThreadState effect(
      ThreadState state,
      String id,
      ScheduledEffect.Status status,
      @Nullable Integer attempt,
      @Nullable Long due,
      @Nullable String error) {
    ScheduledEffect effect = state.effects().get(id);
    if (effect == null) {
      return state;
    }
    ScheduledEffect now =
        effect.now(
            status,
            attempt == null ? effect.attempt() : attempt,
            due == null ? effect.due() : due,
            error);
    return state.withEffects(ThreadState.put(state.effects(), id, now));
  }

  private static ThreadState forgetful(ThreadState state) {
    long over = state.effects().values().stream().filter(ScheduledEffect::over).count();
    if (over <= REMEMBERED_EFFECTS) {
      return state;
    }
    Map<String, ScheduledEffect> rest = new LinkedHashMap<>(state.effects());
    Iterator<ScheduledEffect> oldestFirst = rest.values().iterator();
    while (oldestFirst.hasNext()) {
      if (oldestFirst.next().over()) {
        oldestFirst.remove();
        break;
      }
    }
    return state.withEffects(rest);
  }

  private static ThreadState childResumed(ThreadState state, ThreadEvent.ChildResumed resumed) {
    ChildThread child = state.children().get(resumed.threadId());
    return child == null
        ? state
        : state.with(state.relations().with(child.resumed(resumed.side())));
  }

  private static ThreadState childReported(ThreadState state, ThreadEvent.ChildReported reported) {
    ChildThread.Status rests =
        reported.failed() ? ChildThread.Status.FAILED : ChildThread.Status.IDLE;
    ChildThread.Status status = reported.working() ? ChildThread.Status.RUNNING : rests;
    return child(state, reported.threadId(), status, reported.report());
  }

  private static ThreadState child(
      ThreadState state, String threadId, ChildThread.Status status, long report) {
    ChildThread child = state.children().get(threadId);
    return child == null
        ? state
        : state.with(state.relations().with(child.now(status, String.valueOf(report))));
  }

  private static ThreadState childSpent(ThreadState state, ThreadEvent.ChildSpent spent) {
    ChildThread child = state.children().get(spent.threadId());
    return child == null
        ? state
        : state
            .with(state.relations().with(child.spent(spent.usage())))
            .with(state.usage().plus(spent.usage().minus(child.usage())));
  }

  private static ThreadState delivery(
      ThreadState state, String what, int attempt, @Nullable Long due) {
    return state.with(state.relations().delivery(what, new Relations.Delivery(attempt, due)));
  }
}
