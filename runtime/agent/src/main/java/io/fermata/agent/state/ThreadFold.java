package io.fermata.agent.state;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
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

  private static final Pattern NUMBER = Pattern.compile("\\d+");

  private ThreadFold() {}

  public static ThreadState apply(ThreadState state, ThreadEvent event, long seq, int index) {
    ThreadState after = applied(state, event, seq, index);
    return after.lifecycle().results() == null ? after : after.with(after.lifecycle().after(event));
  }

  private static ThreadState applied(ThreadState state, ThreadEvent event, long seq, int index) {
    if (event instanceof ThreadEvent.Change change) {
      return changed(state, change, seq, index);
    } else if (event instanceof ThreadEvent.Created created) {
      return created(created);
    } else if (event instanceof ThreadEvent.ForkedFrom forked) {
      return forked(state, forked);
    } else if (event instanceof ThreadEvent.Greeted) {
      return state.with(state.lifecycle().asGreeted());
    } else if (event instanceof ThreadEvent.Widened widened) {
      return state.with(state.history().widened(widened.window()));
    } else if (event instanceof ThreadEvent.Deleted) {
      return deleted(state);
    } else if (event instanceof ThreadEvent.Received received) {
      return state.with(state.mailbox().received(received));
    } else if (event instanceof ThreadEvent.Taken taken) {
      return taken(state, taken);
    } else if (event instanceof ThreadEvent.Released) {
      return state.with(state.turn().released());
    } else if (event instanceof ThreadEvent.Woke woke) {
      return state.with(state.turn().woken(woke.flowId()));
    } else if (event instanceof ThreadEvent.SideTurned turned) {
      TurnState turn = turned.counts() ? state.turn().counted(turned.from()) : state.turn();
      boolean begins = !turn.running() || turn.side() != turned.to();
      return state
          .with(begins ? state.history().turned() : state.history())
          .with(turn.turnedTo(turned.to()));
    } else if (event instanceof ThreadEvent.HandedOver over) {
      return state
          .with(state.lifecycle().handedOver(over.agent()))
          .with(state.history().widened(over.window()))
          .with(state.turn().turnedTo(Side.A));
    } else if (event instanceof ThreadEvent.Stopped stopped) {
      TurnState.Rest why = new TurnState.Rest(stopped.by(), stopped.code(), stopped.detail());
      return state.with(state.turn().resting(why, stopped.session())).with(state.steps().stopped());
    } else if (event instanceof ThreadEvent.Compacting compacting) {
      return state.with(state.steps().compacting(compacting.attempt()));
    } else if (event instanceof ThreadEvent.Compacted compacted) {
      return compacted(state, compacted);
    }
    return stepsAndCalls(state, event);
  }

  private static ThreadState stepsAndCalls(ThreadState state, ThreadEvent event) {
    if (event instanceof ThreadEvent.TurnBegan began) {
      return turnBegan(state, began);
    } else if (event instanceof ThreadEvent.StepBegan began) {
      return stepBegan(state, began);
    } else if (event instanceof ThreadEvent.StepEnded ended) {
      return stepEnded(state, ended);
    } else if (event instanceof ThreadEvent.StepFailed failed) {
      return stepFailed(state, failed);
    } else if (event instanceof ThreadEvent.FrameOpened opened) {
      return frameOpened(state, opened);
    } else if (event instanceof ThreadEvent.FrameClosed closed) {
      return state.with(state.steps().without(closed.frame()));
    } else if (event instanceof ThreadEvent.CallBegan began) {
      return call(state, began.call(), call -> call.running(began.attempt()));
    } else if (event instanceof ThreadEvent.CallFailed failed) {
      return call(state, failed.call(), call -> call.retrying(failed.retryAt()));
    } else if (event instanceof ThreadEvent.CallWaits waits) {
      return call(state, waits.call(), call -> call.waiting(waits.until(), waits.waitsFor()));
    } else if (event instanceof ThreadEvent.CallAsked asked) {
      return call(state, asked.call(), call -> call.asked(asked.approval(), asked.question()));
    } else if (event instanceof ThreadEvent.CallAnswered answered) {
      CallState.Answer answer =
          new CallState.Answer(
              answered.answerId(),
              answered.approved(),
              answered.answers(),
              answered.reason(),
              answered.by(),
              null);
      return call(state, answered.call(), call -> call.answered(answer))
          .with(state.mailbox().answered(answered.answerId(), answered.call()));
    } else if (event instanceof ThreadEvent.CallDelegated delegated) {
      String child = delegated.threadId().isEmpty() ? null : delegated.threadId();
      return call(state, delegated.call(), call -> call.delegated(child));
    } else if (event instanceof ThreadEvent.CallReturned returned) {
      return call(state, returned.call(), call -> call.returned(returned.result()));
    } else if (event instanceof ThreadEvent.CallEnded ended) {
      return callEnded(state, ended);
    } else if (event instanceof ThreadEvent.CallDetached detached) {
      return callDetached(state, detached);
    } else if (event instanceof ThreadEvent.CallRemoved struck) {
      return callRemoved(state, struck);
    }
    return effectsAndFamily(state, event);
  }

  private static ThreadState effectsAndFamily(ThreadState state, ThreadEvent event) {
    if (event instanceof ThreadEvent.EffectBegan began) {
      return effect(state, began.id(), ScheduledEffect.Status.RUNNING, began.attempt(), null, null);
    } else if (event instanceof ThreadEvent.EffectDelayed late) {
      return effect(
          state,
          late.id(),
          ScheduledEffect.Status.PENDING,
          late.attempt(),
          late.due(),
          late.reason());
    } else if (event instanceof ThreadEvent.EffectEnded ended) {
      ScheduledEffect.Status status =
          ended.error() == null ? ScheduledEffect.Status.COMPLETED : ScheduledEffect.Status.FAILED;
      return forgetful(effect(state, ended.id(), status, null, null, ended.error()));
    } else if (event instanceof ThreadEvent.ChildReported reported) {
      return child(
          state,
          reported.threadId(),
          reported.failed() ? ChildThread.Status.FAILED : ChildThread.Status.IDLE,
          reported.report());
    } else if (event instanceof ThreadEvent.ChildStatusChanged changed) {
      return child(state, changed.threadId(), changed.status(), changed.report());
    } else if (event instanceof ThreadEvent.ChildSpent spent) {
      return spent(state, spent);
    } else if (event instanceof ThreadEvent.ChildDeleted gone) {
      return state.with(state.relations().withoutChild(gone.threadId()));
    } else if (event instanceof ThreadEvent.ReportPending pending) {
      return state.with(state.relations().withReport(pending));
    } else if (event instanceof ThreadEvent.CallAbandoned left) {
      return state.with(state.relations().abandoning(left));
    } else if (event instanceof ThreadEvent.CallWithdrawn back) {
      return state.with(state.relations().withdrawn(back.call()));
    } else if (event instanceof ThreadEvent.DeliveryFailed failed) {
      return delivery(state, failed.what(), new Relations.Delivery(failed.attempt(), failed.due()));
    } else if (event instanceof ThreadEvent.DeliveryBegan began) {
      return delivery(state, began.what(), new Relations.Delivery(began.attempt(), null));
    }
    ThreadEvent.Reported acknowledged = (ThreadEvent.Reported) event;
    return state.with(state.relations().reported(acknowledged.report()));
  }

  private static ThreadState child(
      ThreadState state, String threadId, ChildThread.Status status, long report) {
    ChildThread child = state.children().get(threadId);
    return child == null
        ? state
        : state.with(state.relations().with(child.now(status, String.valueOf(report))));
  }

  private static ThreadState spent(ThreadState state, ThreadEvent.ChildSpent spent) {
    ChildThread child = state.children().get(spent.threadId());
    return child == null
        ? state
        : state.with(
            draft -> {
              draft.relations = state.relations().with(child.spent(spent.usage()));
              draft.usage = state.usage().plus(spent.usage().minus(child.usage()));
            });
  }

  private static ThreadState delivery(
      ThreadState state, String what, Relations.@Nullable Delivery delivery) {
    return state.with(state.relations().delivery(what, delivery));
  }

  private static ThreadState changed(
      ThreadState state, ThreadEvent.Change change, long seq, int index) {
    if (change instanceof ThreadEvent.Said said) {
      return said(state, said);
    } else if (change instanceof ThreadEvent.Updated updated) {
      return updated(state, updated);
    } else if (change instanceof ThreadEvent.Queued queued) {
      return queued(state, queued);
    } else if (change instanceof ThreadEvent.Forced forced) {
      return state.with(state.turn().forced(forced.side()));
    } else if (change instanceof ThreadEvent.StopWanted wanted) {
      return state.with(state.turn().wantingStop(wanted.by(), wanted.reason()));
    } else if (change instanceof ThreadEvent.ContextSet set) {
      return state.with(state.stored().inContext(set.key(), set.value()));
    } else if (change instanceof ThreadEvent.Stored stored) {
      return state.with(state.stored().stored(stored.key(), stored.value()));
    } else if (change instanceof ThreadEvent.EnvSet set) {
      return state.with(state.stored().inEnv(set.key(), set.value()));
    } else if (change instanceof ThreadEvent.Tagged tagged) {
      return state.with(state.stored().tagged(tagged.tags()));
    } else if (change instanceof ThreadEvent.StatusSet set) {
      return state.with(state.stored().withStatus(set.text()));
    } else if (change instanceof ThreadEvent.FileWritten written) {
      return state.with(
          state
              .stored()
              .withFile(
                  written.path(),
                  new ThreadStorage.StoredFile(
                      written.path(),
                      written.mimeType(),
                      written.data().length,
                      written.at(),
                      seq,
                      index)));
    } else if (change instanceof ThreadEvent.FileRemoved removed) {
      return state.with(state.stored().withFile(removed.path(), null));
    } else if (change instanceof ThreadEvent.FileMoved moved) {
      return moved(state, moved);
    } else if (change instanceof ThreadEvent.Scheduled scheduled) {
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
    } else if (change instanceof ThreadEvent.Unscheduled gone) {
      return unscheduled(state, gone.id());
    } else if (change instanceof ThreadEvent.ChildCreated born) {
      return state.with(state.relations().with(born.child()));
    }
    return state;
  }

  private static ThreadState created(ThreadEvent.Created created) {
    return ThreadState.NONE.with(
        draft -> {
          draft.lifecycle = Lifecycle.of(created);
          draft.history = History.empty(created.window());
          draft.stored =
              new ThreadStorage(Map.of(), Map.of(), created.env(), created.tags(), Map.of(), null);
        });
  }

  /** What is scheduled keeps its distance from now. */
  private static ThreadState forked(ThreadState state, ThreadEvent.ForkedFrom event) {
    Map<String, ScheduledEffect> effects = new LinkedHashMap<>(state.effects());
    long later = event.at() - event.fork().entryAt();
    effects.replaceAll((id, effect) -> effect.over() ? effect : effect.renewed(later));
    return state.with(
        draft -> {
          draft.lifecycle = state.lifecycle().forked(event);
          draft.history = state.history().widened(event.window());
          draft.steps = state.steps().renewed(event.fork().sandbox());
          draft.effects = effects;
          draft.relations = Relations.NONE;
        });
  }

  private static ThreadState deleted(ThreadState state) {
    return ThreadState.NONE.with(
        draft -> {
          draft.lifecycle = state.lifecycle().asDeleted();
          draft.relations = state.relations().deleted();
        });
  }

  private static ThreadState taken(ThreadState state, ThreadEvent.Taken taken) {
    String id = taken.message().id();
    boolean decides = taken.message().role() != Role.SYSTEM;
    return state.with(
        draft -> {
          draft.mailbox = state.mailbox().without(id);
          draft.history = state.history().plus(taken.message(), null);
          draft.turn = decides ? state.turn().spokenTo() : state.turn();
        });
  }

  private static ThreadState compacted(ThreadState state, ThreadEvent.Compacted compacted) {
    String summary = compacted.summary();
    String upTo = compacted.upTo();
    return state.with(
        draft -> {
          draft.steps = state.steps().compacting(0);
          draft.usage = state.usage().plus(compacted.usage());
          draft.history =
              summary == null || upTo == null
                  ? state.history().notCompacted()
                  : state.history().compacted(summary, upTo);
        });
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
    boolean counts = began.attempt() == 1 && frame.top();
    ThreadState after = state.with(state.steps().counted(began.step()).with(asking));
    return counts ? after.with(after.turn().stepped(began.side())) : after;
  }

  private static ThreadState stepEnded(ThreadState state, ThreadEvent.StepEnded ended) {
    StepFrame frame = state.frames().get(ended.frame());
    if (frame == null) {
      return state;
    }
    List<CallState> calls = new ArrayList<>();
    for (RequestedCall call : ended.calls()) {
      calls.add(CallState.of(ended.key(calls.size()), call, false));
    }
    Message message = ended.message();
    StepFrame answered = frame.answered(message.content(), calls);
    ThreadState after = state.with(draft -> draft.usage = state.usage().plus(ended.log().usage()));
    boolean nothing = calls.isEmpty() && blank(message.content());
    if (frame.top()) {
      return (nothing ? after : after.with(after.history().plus(message, null)))
          .with(answered)
          .with(after.turn().said(nothing));
    }
    List<Message> said = new ArrayList<>(frame.said());
    said.add(message);
    return after.with(answered.saying(said));
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

  private static ThreadState call(ThreadState state, String key, Change change) {
    StepFrame frame = state.frameOf(key);
    CallState call = frame == null ? null : frame.call(key);
    return frame == null || call == null ? state : state.with(frame.with(change.of(call)));
  }

  private static ThreadState callEnded(ThreadState state, ThreadEvent.CallEnded ended) {
    Message message = ended.message();
    TurnState turn = state.turn().called(message.failed() ? normalized(message.content()) : null);
    ThreadState after = call(state.with(turn), ended.call(), call -> call.ended(message));
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
    ThreadState after = call(state, call.key(), each -> each.detached(detached.message()));
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
    return flushed(call(after, removed.call(), struck -> struck.ended(null)), removed.call());
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
      return state.with(state.history().plus(said.message(), said.before()));
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
    calls.add(CallState.of(queued.call().id(), queued.call(), true));
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

  private static ThreadState moved(ThreadState state, ThreadEvent.FileMoved moved) {
    ThreadStorage.StoredFile file = state.stored().files().get(moved.path());
    if (file == null) {
      return state;
    }
    ThreadStorage.StoredFile there =
        new ThreadStorage.StoredFile(
            moved.to(), file.mimeType(), file.size(), file.at(), file.seq(), file.index());
    return state.with(state.stored().withFile(moved.path(), null).withFile(moved.to(), there));
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
}
