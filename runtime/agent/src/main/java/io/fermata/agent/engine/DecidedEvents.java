package io.fermata.agent.engine;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.History;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The events that an input leads to, applied to the thread as they are decided. */
abstract class DecidedEvents {
  final Agents agents;
  final long now;

  private final List<ThreadEvent> events = new ArrayList<>();
  private final List<Throwable> thrown = new ArrayList<>();
  private ThreadState state;

  DecidedEvents(Agents agents, ThreadState state, long now) {
    this.agents = agents;
    this.state = state;
    this.now = now;
  }

  /** The thread after all events so far. */
  ThreadState state() {
    return state;
  }

  Agent agent() {
    return agents.get(state.agent());
  }

  List<ThreadEvent> events() {
    return List.copyOf(events);
  }

  /** What the author's code threw meanwhile, for the log. */
  List<Throwable> thrown() {
    return List.copyOf(thrown);
  }

  void threw(Throwable failure) {
    thrown.add(failure);
  }

  void emit(ThreadEvent event) {
    ThreadEvent timed = timed(event);
    state = ThreadFold.apply(state, timed, 0, events.size());
    events.add(timed);
  }

  /** Assigns messages the times that they will have in the conversation. */
  private ThreadEvent timed(ThreadEvent event) {
    History history = state.history();
    if (event instanceof ThreadEvent.Taken taken) {
      return new ThreadEvent.Taken(history.timed(taken.message(), null));
    } else if (event instanceof ThreadEvent.Said said && said.message().depth() == 0) {
      Message message = history.timed(said.message(), said.before());
      return new ThreadEvent.Said(said.frame(), message, said.before());
    } else if (event instanceof ThreadEvent.StepEnded ended && ended.message().depth() == 0) {
      Message message = history.timed(ended.message(), null);
      return new ThreadEvent.StepEnded(ended.frame(), message, ended.calls(), ended.log());
    } else if (event instanceof ThreadEvent.CallDetached left && isNext(left.call())) {
      Message message = history.timed(left.message(), null);
      return new ThreadEvent.CallDetached(left.call(), left.agent(), message, left.at());
    } else if (event instanceof ThreadEvent.CallEnded ended && isNext(ended.call())) {
      Message message = history.timed(ended.message(), null);
      return new ThreadEvent.CallEnded(ended.call(), message, ended.code(), ended.at());
    }
    return event;
  }

  /** Whether the result of a call is added to the conversation at once. */
  private boolean isNext(String call) {
    StepFrame top = state.top();
    return top != null && !top.calls().isEmpty() && top.calls().get(0).key().equals(call);
  }

  /** A tool that has ended the session ends it however the step in progress ends. */
  void stop(@Nullable Side by, String code, @Nullable String detail, boolean session) {
    TurnState.StopRequest request = state.turn().stopRequest();
    boolean replaceable = !session && !code.equals(StopCode.ABORTED_BY_USER);
    if (replaceable && request != null && StopCode.endsSession(request.code())) {
      stop(request);
    } else {
      stopped(by, code, detail, session);
    }
  }

  void stop(TurnState.StopRequest request) {
    stopped(request.by(), request.code(), request.reason(), true);
  }

  private void stopped(@Nullable Side by, String code, @Nullable String detail, boolean session) {
    ThreadEvent.Parent parent = state.begun().parent();
    emit(new ThreadEvent.Stopped(by, code, detail, session, now));
    if (parent != null) {
      emit(
          new ThreadEvent.ReportPending(
              state.reported() + 1,
              StopCode.failed(code),
              report(code, detail),
              null,
              state.latestCall()));
    }
  }

  /** Reports to the parent when the thread starts or stops waiting. */
  void reportStatus(ThreadState before) {
    if (!state.exists() || state.begun().parent() == null) {
      return;
    }
    boolean reported = state.reported() > before.reported();
    ChildThread.Status status = state.statusForParent();
    if (status == before.statusForParent() || (reported && status == ChildThread.Status.RUNNING)) {
      return;
    }
    emit(new ThreadEvent.ReportPending(state.reported() + 1, false, "", status, null));
  }

  /** The report to a parent: the result of the session, or the last message of the execution. */
  private String report(String code, @Nullable String detail) {
    if (StopCode.endsSession(code) && detail != null) {
      return detail;
    }
    List<Message> messages = state.history().after(state.turn().begun());
    for (int i = messages.size() - 1; i >= 0 && !StopCode.failed(code); i--) {
      Message message = messages.get(i);
      if (message.role() == Role.ASSISTANT && !ThreadFold.blank(message.content())) {
        return String.valueOf(message.content());
      }
    }
    return detail == null ? code : code + ": " + detail;
  }

  /** Applies the changes that author code made. */
  void absorb(List<ThreadEvent.Change> changes) {
    for (ThreadEvent.Change change : changes) {
      emit(change instanceof ThreadEvent.Queued queued ? placed(queued) : change);
    }
  }

  /** A call follows those of its step, or waits if the step makes none. */
  private ThreadEvent.Queued placed(ThreadEvent.Queued queued) {
    StepFrame frame = queued.frame() == null ? null : state.frames().get(queued.frame());
    return frame != null && frame.stage() == StepFrame.Stage.CALLING
        ? queued
        : new ThreadEvent.Queued(null, queued.call());
  }
}
