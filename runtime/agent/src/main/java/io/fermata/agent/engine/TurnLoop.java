package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Compaction;
import io.fermata.agent.FlowCall;
import io.fermata.agent.Handoff;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelError;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.History;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Advances a thread until it waits for an effect or a person, or rests. It decides by emitting
 * events and performs nothing.
 */
final class TurnLoop {
  /** How many calls in a row may fail with the same error. */
  private static final int SAME_ERRORS = 8;

  /** How many replies in a row may be empty. */
  private static final int EMPTY_REPLIES = 3;

  private final Agents agents;
  private final long now;
  private final List<ThreadEvent> events = new ArrayList<>();
  private final List<Throwable> thrown = new ArrayList<>();
  private ThreadState state;

  TurnLoop(Agents agents, ThreadState state, long now) {
    this.agents = agents;
    this.state = state;
    this.now = now;
  }

  ThreadState state() {
    return state;
  }

  List<ThreadEvent> events() {
    return List.copyOf(events);
  }

  /** What the author's code threw meanwhile, for the log. */
  List<Throwable> thrown() {
    return List.copyOf(thrown);
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

  Agent agent() {
    return agents.get(state.agent());
  }

  /** Advances until it must wait. */
  void advance() {
    while (decideNext()) {
      // each round makes one decision, and the next one starts from its events
    }
  }

  /** Makes one decision; false if there is none to make. */
  private boolean decideNext() {
    if (!state.exists() || !state.greeted() || state.compacting() > 0) {
      return false;
    }
    for (StepFrame frame : List.copyOf(state.frames().values())) {
      if (frame.stage() == StepFrame.Stage.OPENED) {
        beginSubPrompt(frame);
        return true;
      } else if (frame.stage() == StepFrame.Stage.CALLING && startsCall(frame)) {
        return true;
      } else if (frame.stage() == StepFrame.Stage.CALLING && frame.calls().isEmpty()) {
        endStep(frame);
        return true;
      }
    }
    if (state.top() != null) {
      return !state.inbox().isEmpty() && admits() && detaches();
    }
    if (!state.inbox().isEmpty() && admits()) {
      return take();
    }
    if (!state.waiting().isEmpty() && !held()) {
      makeWaiting();
      return true;
    }
    return state.turn().running() ? turn() : wakesByForce();
  }

  // --- messages from outside -------------------------------------------------------------------

  /** Whether a client stopped it, so that everything waits for the next message. */
  private boolean held() {
    TurnState turn = state.turn();
    return turn.stopped() && StopCode.ABORTED_BY_USER.equals(turn.code());
  }

  /** Whether waiting messages may be added: code must handle each before the next. */
  private boolean admits() {
    TurnState turn = state.turn();
    boolean codeIsDue = turn.running() && agent().side(next()) instanceof Participant.Code;
    return !held() && !codeIsDue;
  }

  /** Who acts next. */
  private Side next() {
    TurnState turn = state.turn();
    Side forced = turn.forced();
    return forced == null ? turn.side() : forced;
  }

  /** The next message to add; null for none. */
  static @Nullable Message due(ThreadState state, Agents agents) {
    TurnLoop loop = new TurnLoop(agents, state, 0);
    boolean between =
        state.exists() && state.greeted() && state.compacting() == 0 && state.top() == null;
    return between && !state.inbox().isEmpty() && loop.admits() ? state.inbox().get(0) : null;
  }

  /** The hooks for a message from outside: those of the side that will answer it. */
  static HookRunner hooks(Agents agents, ThreadState state, Message message) {
    Agent agent = agents.get(state.agent());
    Participant participant = agent.side(Side.answering(message.role()));
    Prompt prompt = participant instanceof Participant.Speaker speaker ? speaker.prompt() : null;
    return HookRunner.of(agents, agent, prompt);
  }

  private boolean take() {
    Message message = state.inbox().get(0);
    if (hooks(agents, state, message).seesMessages()) {
      return false;
    }
    take(message);
    return true;
  }

  /**
   * Adds a message to the conversation; the side that it addresses acts next. Of several messages,
   * the first decides, and they count as one turn of the person.
   */
  void take(Message message) {
    boolean first = !state.turn().running();
    boolean decided = state.turn().addressed();
    boolean remark = message.role() == Role.SYSTEM;
    Side to = Side.answering(message.role());
    Side from = to.other();
    emit(new ThreadEvent.Taken(message));
    if (remark && agent().side(to) instanceof Participant.Code) {
      return;
    }
    if (!decided) {
      boolean person = agent().side(from) instanceof Participant.Person && !remark;
      emit(new ThreadEvent.SideTurned(from, to, person));
    }
    if (first) {
      wake();
    }
  }

  /** Adopts the window of the agent's current definition. */
  void widen() {
    int window = agents.window(agent());
    if (window != state.history().window()) {
      emit(new ThreadEvent.Widened(window));
    }
  }

  private void wake() {
    widen();
    emit(new ThreadEvent.Woke("f" + state.received() + "-" + state.steps().count(), now));
  }

  private boolean wakesByForce() {
    if (state.turn().forced() == null || held()) {
      return false;
    }
    wake();
    return true;
  }

  void proceed(@Nullable Side side) {
    if (side != null) {
      emit(new ThreadEvent.Forced(side));
    }
    wake();
  }

  // --- while calls wait ------------------------------------------------------------------------

  /**
   * Lets the conversation continue where a step waits for nothing but people, moments and signals:
   * the first call that does leaves the step with a preliminary result, and its outcome is a
   * message of its own.
   */
  private boolean detaches() {
    StepFrame pauses = null;
    for (StepFrame frame : state.frames().values()) {
      if (frame.detached()) {
        continue;
      } else if (frame.stage() != StepFrame.Stage.CALLING) {
        return false;
      }
      for (CallState call : frame.calls()) {
        boolean subPrompt = call.phase() == CallState.Phase.DELEGATED && call.child() == null;
        boolean waits = call.phase() == CallState.Phase.WAITING;
        if (!call.over() && !pauses(call) && !subPrompt && !waits) {
          return false;
        }
      }
      pauses = pauses(frame.calls().get(0)) ? frame : pauses;
    }
    if (pauses == null) {
      return false;
    }
    detach(pauses, pauses.calls().get(0));
    return true;
  }

  /** Whether a call waits for people, here or in the child that works for it, or for its flow. */
  private boolean pauses(CallState call) {
    ChildThread child =
        call.phase() == CallState.Phase.DELEGATED && call.child() != null
            ? state.children().get(call.child())
            : null;
    return call.open()
        || call.phase() == CallState.Phase.PAUSED
        || (child != null && child.status() == ChildThread.Status.ASKING);
  }

  private void detach(StepFrame frame, CallState call) {
    Prompt prompt = ChangeRecorder.prompt(agent(), frame);
    String name = call.call().name();
    ToolResult interim =
        switch (call.phase()) {
          case APPROVING ->
              interim(
                  "waiting_for_approval",
                  "A person is asked to approve this call: " + asked(call),
                  "been made");
          case PAUSED -> interim("waiting", "It waits " + asked(call) + ".", "ended");
          default -> interim("waiting_for_answer", "A person is asked: " + asked(call), "ended");
        };
    Message message =
        ToolCalls.result(frame, call, interim, List.of())
            .placed(frame.resultId(call), now * 1000, frame.depth(), frame.parentId());
    List<CallState> behind = frame.calls().subList(1, frame.calls().size());
    emit(new ThreadEvent.CallDetached(call.key(), agent().name(), message, now));
    for (CallState next : behind) {
      boolean follows = prompt == null || !prompt.parallel() || next.queued();
      if (follows && next.phase() == CallState.Phase.WAITING) {
        returned(
            Objects.requireNonNull(state.frameOf(next.key())),
            next,
            ToolResult.error(
                "not_made",
                "It was not made, as the call of %s before it still waits. Call it again if it is wanted now"
                    .formatted(name)));
      }
    }
  }

  private static ToolResult interim(String code, String why, String not) {
    String text =
        "%s The call has not %s yet; a later message reports its outcome. Do not repeat it, and do not say that it is done.";
    return new ToolResult(false, text.formatted(why, not), code, null, List.of());
  }

  /** What is waited for. */
  private static String asked(CallState call) {
    JsonNode question = call.question();
    if (question == null) {
      return "in the thread " + call.child() + ".";
    }
    return CallState.words(question);
  }

  /** The outcome of a call that left its step is a message of the other side. */
  private void endDetached(StepFrame frame) {
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (frame.made().isEmpty()) {
      return;
    }
    StepFrame.Made first = frame.made().get(0);
    StringBuilder text = new StringBuilder();
    text.append(
        "The call of %s that has waited (%s) has ended:\n%s"
            .formatted(first.call().name(), first.call().id(), first.text()));
    for (StepFrame.Made made : frame.made().subList(1, frame.made().size())) {
      text.append("\n- ").append(made.call().name()).append(": ").append(made.text());
    }
    Message message =
        Message.of(frame.side().other().role(), Bounds.shortened(text.toString()))
            .asSilent()
            .placed("m-u" + (state.received() + 1), now * 1000, 0, null);
    emit(new ThreadEvent.Received(null, message, now));
  }

  // --- turns -----------------------------------------------------------------------------------

  /** Lets the side act whose turn it is. */
  private boolean turn() {
    Side forced = state.turn().forced();
    Side side = next();
    Participant participant = agent().side(side);
    if (participant instanceof Participant.Person) {
      stop(
          null, forced == null ? StopCode.AWAITING_HUMAN : StopCode.FORCED_HUMAN_TURN, null, false);
    } else if (participant instanceof Participant.Code && state.sandboxed()) {
      stop(side, StopCode.SANDBOXED, code(side), false);
    } else if (participant instanceof Participant.Code) {
      emit(new ThreadEvent.TurnBegan(side, answered(side), state.steps().count() + 1, 1, now));
    } else {
      step(side, (Participant.Speaker) participant);
    }
    return true;
  }

  private static String code(Side side) {
    return "the code of side " + side;
  }

  /** In a sandbox no code takes a turn, nor one that it had begun before. */
  void stopCodeInSandbox() {
    StepFrame top = state.top();
    if (state.sandboxed() && top != null && top.stage() == StepFrame.Stage.HANDLING) {
      stop(top.side(), StopCode.SANDBOXED, code(top.side()), false);
    }
  }

  /** The message that code on a side is to answer. */
  private String answered(Side side) {
    List<Message> messages = state.history().messages();
    for (int i = messages.size() - 1; i >= 0; i--) {
      if (messages.get(i).role() == side.other().role()) {
        return messages.get(i).id();
      }
    }
    return "";
  }

  private void step(Side side, Participant.Speaker speaker) {
    TurnState turn = state.turn();
    if (speaker.maxSteps() > 0 && turn.steps(side) >= speaker.maxSteps()) {
      stop(side, StopCode.MAX_SIDE_STEPS, "%d steps".formatted(turn.steps(side)), false);
    } else if (turn.steps() >= Math.max(agent().maxSteps(), speaker.maxSteps())) {
      stop(side, StopCode.MAX_TOTAL_STEPS, "%d steps".formatted(turn.steps()), false);
    } else if (agents.overspent(state) != null) {
      stop(side, StopCode.BUDGET_SPENT, state.usage().words(), false);
    } else if (needsSummary()) {
      emit(new ThreadEvent.Compacting(1, now));
    } else {
      beginStep(StepFrame.TOP, side, speaker.prompt().name());
    }
  }

  private boolean needsSummary() {
    Compaction compaction = agent().compaction();
    return compaction != null
        && state.history().since() >= compaction.after() + compaction.keep()
        && state.history().old(compaction.keep()) > 0;
  }

  private void beginStep(String frame, Side side, String prompt) {
    long step = state.steps().count() + 1;
    emit(new ThreadEvent.StepBegan(frame, side, prompt, step, 1, "m-s" + step, now));
  }

  private void beginSubPrompt(StepFrame frame) {
    if (agents.overspent(state) != null) {
      failSubPrompt(frame, "The budget of the thread is spent: " + state.usage().words());
    } else {
      beginStep(frame.path(), frame.side(), Objects.requireNonNull(frame.prompt()));
    }
  }

  // --- calls -----------------------------------------------------------------------------------

  /** Starts the next call of a step, if it may start now. */
  private boolean startsCall(StepFrame frame) {
    Prompt prompt = ChangeRecorder.prompt(agents.of(state, frame), frame);
    boolean parallel = prompt != null && prompt.parallel();
    List<CallState> before = new ArrayList<>();
    for (CallState call : frame.calls()) {
      boolean free = parallel && !call.queued();
      if (!before.isEmpty() && !free) {
        return false;
      }
      if (call.phase() == CallState.Phase.WAITING && !waitsForChild(prompt, call, before)) {
        start(frame, prompt, call);
        return true;
      }
      if (!call.over()) {
        before.add(call);
      }
    }
    return false;
  }

  /**
   * Whether a call needs, or may need, a child that works for an earlier call. A child handles one
   * call at a time, and the number of children is known only when the earlier calls have theirs.
   */
  private boolean waitsForChild(@Nullable Prompt prompt, CallState call, List<CallState> before) {
    return ToolCalls.offered(agent(), prompt, call.call().name(), call.queued())
            instanceof SubAgent relation
        && (relation.blocking() || relation.maxInstances() > 0)
        && before.stream()
            .filter(other -> other.call().name().equals(call.call().name()))
            .anyMatch(other -> other.child() == null || shared(relation, call, other));
  }

  private static boolean shared(SubAgent relation, CallState call, CallState other) {
    String reference =
        ChangeRecorder.object(ToolCalls.arguments(call.call())).path("reference").textValue();
    return reference == null ? relation.maxInstances() == 1 : reference.equals(other.child());
  }

  private void start(StepFrame frame, @Nullable Prompt prompt, CallState call) {
    if (state.turn().stopWanted()) {
      returned(
          frame, call, ToolResult.error("stopped", "The thread was stopped before it was made"));
      return;
    }
    Agent by = agents.of(state, frame);
    Offered offered = ToolCalls.offered(by, prompt, call.call().name(), call.queued());
    ToolResult refusal = refusal(frame, prompt, offered, call);
    if (refusal != null || offered == null) {
      returned(frame, call, Objects.requireNonNull(refusal));
      return;
    }
    if (state.sandboxed() && !(offered instanceof SubPrompt) && !(offered instanceof Handoff)) {
      stopCallsInSandbox(frame);
      return;
    }
    if (asksFirst(offered, frame, call)) {
      return;
    }
    boolean watched = HookRunner.of(agents, by, prompt).has(Hook.ToolCallStarted.class);
    if (offered instanceof SubPrompt sub && !watched) {
      open(frame, sub, call);
      return;
    }
    emit(new ThreadEvent.CallBegan(call.key(), call.attempt() + 1, now));
  }

  /** A sandbox makes no calls: the thread rests, and says which it would have made. */
  private void stopCallsInSandbox(StepFrame frame) {
    String wanted =
        frame.calls().stream()
            .filter(call -> !call.over())
            .map(call -> call.call().name() + " " + call.call().function().arguments())
            .collect(Collectors.joining("; "));
    ToolResult result =
        ToolResult.error(StopCode.SANDBOXED, "It was not made, as the thread is in a sandbox");
    ThreadProgram.endCalls(this, state, result, now);
    stop(frame.side(), StopCode.SANDBOXED, Bounds.shortened(wanted), false);
  }

  private static @Nullable ToolResult refusal(
      StepFrame frame, @Nullable Prompt prompt, @Nullable Offered offered, CallState call) {
    if (offered instanceof SubPrompt && frame.depth() >= Bounds.DEPTH) {
      return ToolResult.error(
          "too_deep", "Prompts call each other at most " + Bounds.DEPTH + " levels deep");
    }
    return call.attempt() == 0 ? ToolCalls.refusal(prompt, offered, call.call()) : null;
  }

  /** Asks a person to approve the call if its tool requires that. */
  private boolean asksFirst(Offered offered, StepFrame frame, CallState call) {
    return !call.approved() && !call.begun() && asks(offered, frame, call);
  }

  /**
   * Asks in a fork what its agent demands of the calls that begin again. An approval of its source
   * holds if it was given to the same question; the agent may be another one, or have changed.
   */
  void asksAgain() {
    for (StepFrame frame : List.copyOf(state.frames().values())) {
      Agent by = agents.of(state, frame);
      Prompt prompt = ChangeRecorder.prompt(by, frame);
      for (CallState call : frame.calls()) {
        Offered offered = ToolCalls.offered(by, prompt, call.call().name(), call.queued());
        boolean begins = call.phase() == CallState.Phase.WAITING && !state.sandboxed();
        boolean passed = begins && (call.begun() || call.approved());
        if (offered != null
            && (passed || call.phase() == CallState.Phase.APPROVING)
            && refusal(frame, prompt, offered, call) == null) {
          asks(offered, frame, call);
        }
      }
    }
  }

  /** Asks for an approval other than the one that the call has. */
  private boolean asks(Offered offered, StepFrame frame, CallState call) {
    Function<? super ObjectNode, @Nullable String> approval = approval(offered);
    if (approval == null) {
      return false;
    }
    ObjectNode arguments = ChangeRecorder.object(ToolCalls.arguments(call.call()));
    String question;
    try {
      question = approval.apply(arguments);
    } catch (Throwable e) { // an Error in author code must not end the thread
      thrown.add(e);
      returned(
          frame,
          call,
          ToolResult.error(
              "approval_failed",
              "The approval check of the call failed: " + AuthorFailures.reason(e)));
      return true;
    }
    if (question == null || question.equals(call.approval())) {
      return false;
    }
    ObjectNode asked = Json.object().put("question", question).put("tool", offered.name());
    asked.set("arguments", arguments);
    emit(new ThreadEvent.CallAsked(call.key(), true, asked, now));
    return true;
  }

  private static @Nullable Function<? super ObjectNode, @Nullable String> approval(
      Offered offered) {
    if (offered instanceof Tool tool) {
      return tool.approval();
    }
    return offered instanceof FlowCall flow ? flow.approval() : null;
  }

  /** A sub-prompt answers the call, a level deeper. */
  void open(StepFrame frame, SubPrompt sub, CallState call) {
    ObjectNode arguments = ChangeRecorder.object(ToolCalls.arguments(call.call()));
    String argument = sub.userMessage() == null ? onlyText(arguments) : sub.userMessage();
    JsonNode one = argument == null ? null : arguments.get(argument);
    String words =
        one == null ? Json.text(arguments) : one.isTextual() ? one.textValue() : Json.text(one);
    String parentId = "m-" + call.key();
    Message asked =
        Message.of(frame.side().other().role(), words)
            .placed(parentId + ".in", now * 1000, frame.depth() + 1, parentId);
    emit(new ThreadEvent.CallDelegated(call.key(), ""));
    emit(
        new ThreadEvent.FrameOpened(
            call.key(),
            sub.prompt().name(),
            frame.side(),
            frame.depth() + 1,
            parentId,
            null,
            List.of(asked)));
  }

  /** The name of the only argument of a call. */
  private static @Nullable String onlyText(ObjectNode arguments) {
    return arguments.size() == 1 && arguments.has("message") ? "message" : null;
  }

  /** A call returned; its hooks run first, if there are any. */
  void returned(StepFrame frame, CallState call, ToolResult result) {
    Agent by = agents.of(state, frame);
    HookRunner hooks = HookRunner.of(agents, by, ChangeRecorder.prompt(by, frame));
    if (hooks.seesResults() || !result.attachments().isEmpty()) {
      emit(new ThreadEvent.CallReturned(call.key(), result));
      return;
    }
    Message message =
        ToolCalls.result(frame, call, result, List.of())
            .placed(frame.resultId(call), now * 1000, frame.depth(), frame.parentId());
    emit(new ThreadEvent.CallEnded(call.key(), message, result.code(), now));
  }

  // --- the end of a step -----------------------------------------------------------------------

  /** Decides what follows when all calls of a step have ended. */
  private void endStep(StepFrame frame) {
    if (frame.detached()) {
      endDetached(frame);
    } else if (!frame.top()) {
      endSubPrompt(frame);
    } else if (frame.step() == 0) {
      emit(new ThreadEvent.FrameClosed(frame.path()));
      if (state.turn().stopWanted() && state.turn().running()) {
        stopWanted();
      }
    } else if (agent().side(frame.side()) instanceof Participant.Speaker speaker) {
      endTopStep(frame, speaker);
    } else {
      emit(new ThreadEvent.FrameClosed(frame.path()));
      String reason = "No model is on side " + frame.side() + " any more";
      stop(frame.side(), StopCode.STEP_ERROR, reason, false);
    }
  }

  private void endTopStep(StepFrame frame, Participant.Speaker speaker) {
    Side side = frame.side();
    if (state.turn().streak().empty() >= EMPTY_REPLIES) {
      String reason = "The model replied with nothing %d times in a row".formatted(EMPTY_REPLIES);
      failStep(frame, ModelError.EMPTY.wireName(), reason, List.of());
      stop(side, StopCode.STEP_ERROR, reason, false);
      return;
    }
    Handoff handoff = handoff(frame, speaker.prompt());
    if (handoff != null && !state.waiting().isEmpty() && !state.turn().stopWanted()) {
      state.waiting().forEach(call -> emit(new ThreadEvent.Queued(frame.path(), call)));
      return;
    }
    publishStatus(frame, speaker.sessionStatus());
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (endsSession(frame, speaker)) {
      return;
    }
    if (state.turn().stopWanted()) {
      stopWanted();
      return;
    }
    if (state.turn().streak().sameError() >= SAME_ERRORS) {
      breakCircuit(side);
      return;
    }
    boolean stopTool = called(frame, speaker.stopTool(), false);
    boolean responded =
        speaker.stopsOnResponse() && frame.made().isEmpty() && !ThreadFold.blank(frame.text());
    Side forced = state.turn().forced();
    boolean done = stopTool || responded || (speaker.hasNoStopCondition() && saidSomething(frame));
    if (handoff != null) {
      handOver(frame, handoff);
    } else if (forced != null) {
      forced(side, forced, done);
    } else if (done) {
      turnOver(side, stopTool ? StopCode.STOP_TOOL : StopCode.STOP_ON_RESPONSE);
    }
  }

  private static boolean saidSomething(StepFrame frame) {
    return !frame.made().isEmpty() || !ThreadFold.blank(frame.text());
  }

  /** Ends the turn of a side: the other side acts, or the thread pauses for the person there. */
  private void turnOver(Side side, String code) {
    emit(new ThreadEvent.SideTurned(side, side.other(), true));
    if (!endsByTurns(side) && agent().side(side.other()) instanceof Participant.Person) {
      stop(side, code, null, false);
    }
  }

  /** Ends the step of a side; author code has decided who acts next. */
  private void forced(Side side, Side forced, boolean turnIsOver) {
    emit(new ThreadEvent.SideTurned(side, forced, turnIsOver));
    if (!endsByTurns(side)) {
      emit(new ThreadEvent.Forced(forced));
    }
  }

  /** Whether the session has ended because each side has had its turns. */
  private boolean endsByTurns(Side side) {
    int cap = agent().maxSessionTurns();
    int turns = Math.min(state.turn().turnsA(), state.turn().turnsB());
    boolean ends = cap > 0 && turns >= cap;
    if (ends) {
      stop(side, StopCode.MAX_SESSION_TURNS, turns + " turns of each side", true);
    }
    return ends;
  }

  /** Whether a tool has ended the session. */
  private boolean endsSession(StepFrame frame, Participant.Speaker speaker) {
    Participant.Ending fail = speaker.sessionFail();
    Participant.Ending end = speaker.sessionStop();
    if (fail != null && called(frame, fail.tool(), true)) {
      stop(frame.side(), StopCode.SESSION_FAIL, messageOf(frame, fail), true);
      return true;
    } else if (end != null && called(frame, end.tool(), true)) {
      stop(frame.side(), StopCode.SESSION_STOP, messageOf(frame, end), true);
      return true;
    }
    return false;
  }

  private void publishStatus(StepFrame frame, Participant.@Nullable Ending status) {
    if (status != null && called(frame, status.tool(), true)) {
      String text = messageOf(frame, status);
      emit(new ThreadEvent.StatusSet(text == null ? status.tool() : text));
    }
  }

  private static boolean called(StepFrame frame, @Nullable String tool, boolean well) {
    return tool != null
        && frame.made().stream()
            .anyMatch(made -> made.call().name().equals(tool) && (!well || made.succeeded()));
  }

  /** The message of a tool that ends a session: its argument, or its result. */
  private static @Nullable String messageOf(StepFrame frame, Participant.Ending ending) {
    String text = null;
    for (StepFrame.Made made : frame.made()) {
      if (made.call().name().equals(ending.tool()) && made.succeeded()) {
        String property = ending.messageProperty();
        JsonNode value =
            property == null
                ? null
                : ChangeRecorder.object(ToolCalls.arguments(made.call())).get(property);
        text =
            value == null ? made.text() : value.isTextual() ? value.textValue() : Json.text(value);
      }
    }
    return text;
  }

  private static @Nullable Handoff handoff(StepFrame frame, Prompt prompt) {
    Handoff last = null;
    for (StepFrame.Made made : frame.made()) {
      Offered offered = ToolCalls.offered(prompt, made.call().name());
      if (offered instanceof Handoff handoff && made.succeeded()) {
        last = handoff;
      }
    }
    return last;
  }

  private void handOver(StepFrame frame, Handoff handoff) {
    Agent next = agents.get(handoff.agent());
    emit(new ThreadEvent.HandedOver(next.name(), agents.window(next)));
    for (StepFrame.Made made : frame.made()) {
      String words =
          ChangeRecorder.object(ToolCalls.arguments(made.call())).path("message").textValue();
      if (made.call().name().equals(handoff.name()) && !ThreadFold.blank(words)) {
        Message message =
            Message.user(String.valueOf(words))
                .asSilent()
                .placed("m-s" + frame.step() + ".handoff", now * 1000, 0, null);
        emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
      }
    }
  }

  private void stopWanted() {
    TurnState.StopRequest request = Objects.requireNonNull(state.turn().stopRequest());
    stop(request.by(), StopCode.STATE_STOP_SESSION, request.reason(), true);
  }

  private void breakCircuit(Side side) {
    String words =
        "I've stopped because the same error came back %d times in a row: %s"
            .formatted(SAME_ERRORS, state.turn().streak().error());
    Message message =
        Message.of(side.role(), words)
            .placed("m-s" + state.steps().count() + ".stop", now * 1000, 0, null);
    emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    stop(side, StopCode.REPEATED_TOOL_ERROR, state.turn().streak().error(), false);
  }

  /** Turns the text and calls of a sub-prompt into the result of its call. */
  private void endSubPrompt(StepFrame frame) {
    StepFrame above = state.frameOf(frame.path());
    CallState call = above == null ? null : above.call(frame.path());
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (above == null || call == null) {
      return;
    }
    Prompt prompt = ChangeRecorder.prompt(agent(), above);
    Offered offered = ToolCalls.offered(agent(), prompt, call.call().name(), true);
    if (offered instanceof SubPrompt sub) {
      returned(above, call, result(sub, frame));
    } else {
      returned(above, call, ToolResult.error("The prompt is no longer there"));
    }
  }

  private static ToolResult result(SubPrompt sub, StepFrame frame) {
    List<String> lines = new ArrayList<>();
    long errors = frame.made().stream().filter(StepFrame.Made::failed).count();
    if (sub.text() && !ThreadFold.blank(frame.text())) {
      lines.add(String.valueOf(frame.text()));
    }
    List<String> executions = new ArrayList<>();
    for (StepFrame.Made made : frame.made()) {
      if (made.failed() ? sub.errors() : sub.toolCalls()) {
        executions.add("- " + made.call().name() + ": " + made.text());
      }
    }
    if (!executions.isEmpty()) {
      lines.add("Tool Executions:");
      lines.addAll(executions);
    }
    String text = String.join("\n", lines);
    return errors == 0 || !sub.errors()
        ? ToolResult.success(text)
        : ToolResult.error(
            "sub_prompt_failed",
            "Sub-prompt failed with %d error(s)%s"
                .formatted(errors, text.isEmpty() ? "" : "\n" + text));
  }

  /** No model replied; at top level, a message for clients states why. */
  void failStep(StepFrame frame, String code, String reason, List<ModelAttempt> attempts) {
    ObjectNode error = Json.object();
    error.putObject("error").put("code", code).put("message", reason);
    Message message =
        Message.of(frame.side().role(), null)
            .placed(String.valueOf(frame.messageId()), now * 1000, 0, null)
            .withStatus(Message.Status.FAILED)
            .from("s" + frame.step())
            .withMetadata(error);
    Message shown = frame.top() ? state.history().timed(message, null) : null;
    emit(new ThreadEvent.StepFailed(frame.path(), code, reason, attempts, shown, now));
  }

  /** Fails a sub-prompt whose model did not reply. */
  void failSubPrompt(StepFrame frame, String reason) {
    StepFrame above = state.frameOf(frame.path());
    CallState call = above == null ? null : above.call(frame.path());
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (above != null && call != null) {
      returned(above, call, ToolResult.error("sub_prompt_failed", reason));
    }
  }

  /** Ends the turn of code. */
  void endHandling(Side side, boolean spoke) {
    Side forced = state.turn().forced();
    if (state.turn().stopWanted()) {
      stopWanted();
    } else if (forced != null) {
      forced(side, forced, spoke);
    } else if (spoke) {
      turnOver(side, StopCode.STOP_ON_RESPONSE);
    } else if (state.top() == null) {
      stop(side, StopCode.HANDLER_IDLE, null, false);
    }
  }

  // --- rest ------------------------------------------------------------------------------------

  void stop(@Nullable Side by, String code, @Nullable String detail, boolean session) {
    ThreadEvent.Parent parent = state.begun().parent();
    emit(new ThreadEvent.Stopped(by, code, detail, session, now));
    if (parent != null) {
      boolean failed = StopCode.failed(code);
      emit(new ThreadEvent.ReportPending(state.reported() + 1, failed, report(code, detail)));
    }
  }

  /** Reports to the parent when the thread starts or stops waiting for a person. */
  void reportStatus(ThreadState before) {
    boolean reported = state.reported() > before.reported();
    boolean asks = state.asks();
    if (!state.exists()
        || state.begun().parent() == null
        || asks == before.asks()
        || (reported && !asks)) {
      return;
    }
    ChildThread.Status status = asks ? ChildThread.Status.ASKING : ChildThread.Status.RUNNING;
    emit(new ThreadEvent.ReportPending(state.reported() + 1, false, "", status));
  }

  /** The report to a parent: the result of the session, or the last message. */
  private String report(String code, @Nullable String detail) {
    boolean ending = code.equals(StopCode.SESSION_STOP) || code.equals(StopCode.SESSION_FAIL);
    if (ending && detail != null) {
      return detail;
    }
    List<Message> messages = state.history().messages();
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

  /** Calls without a step get their own message. */
  private void makeWaiting() {
    List<RequestedCall> calls = state.waiting();
    Side side = acting();
    Message message =
        Message.of(side.role(), null)
            .asSilent()
            .placed("m-" + calls.get(0).id() + ".calls", now * 1000, 0, null);
    emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    emit(new ThreadEvent.FrameOpened(StepFrame.TOP, null, side, 0, null, message.id(), List.of()));
    calls.forEach(call -> emit(new ThreadEvent.Queued(StepFrame.TOP, call)));
  }

  /** The side whose model sees calls that no model requested. */
  private Side acting() {
    boolean onlyB =
        !(agent().side(Side.A) instanceof Participant.Speaker)
            && agent().side(Side.B) instanceof Participant.Speaker;
    return onlyB ? Side.B : Side.A;
  }

  /** Withdraws the work elsewhere for a call that was ended. */
  void abandon(StepFrame frame, CallState call) {
    if (state.sandboxed()) {
      return;
    }
    Agent by = agents.of(state, frame);
    Prompt prompt = ChangeRecorder.prompt(by, frame);
    Offered offered = ToolCalls.offered(by, prompt, call.call().name(), call.queued());
    if (offered instanceof FlowCall && call.attempt() > 0) {
      emit(new ThreadEvent.CallAbandoned(call.key(), offered.name(), null, null));
    } else if (call.child() != null) {
      emit(new ThreadEvent.CallAbandoned(call.key(), null, call.child(), null));
    } else if (offered instanceof SubAgent relation && call.attempt() > 0) {
      leaveDelegated(relation, call);
    }
  }

  /** The call was being delegated to a child, which may have received it. */
  private void leaveDelegated(SubAgent relation, CallState call) {
    ObjectNode arguments = ChangeRecorder.object(ToolCalls.arguments(call.call()));
    String child = ToolCalls.reference(relation, arguments, state.children().values());
    if (child == null) {
      emit(new ThreadEvent.CallAbandoned(call.key(), null, null, relation.agent()));
    } else if (relation.blocking() && state.children().containsKey(child)) {
      emit(new ThreadEvent.CallAbandoned(call.key(), null, child, null));
    }
  }
}
