package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Compaction;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelError;
import io.fermata.agent.state.CallState;
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
import org.jspecify.annotations.Nullable;

/**
 * Advances a thread until it waits for an effect or a person, or rests. It decides by emitting
 * events and performs nothing.
 */
final class TurnLoop extends DecidedEvents {
  /** How many calls in a row may fail with the same error. */
  private static final int SAME_ERRORS = 8;

  /** How many replies in a row may be empty. */
  private static final int EMPTY_REPLIES = 3;

  private final CallDecisions calls;

  TurnLoop(Agents agents, ThreadState state, long now) {
    super(agents, state, now);
    this.calls = new CallDecisions(agents, this, now);
  }

  CallDecisions calls() {
    return calls;
  }

  /** Advances until it must wait. */
  void advance() {
    while (decideNext()) {
      // each round makes one decision, and the next one starts from its events
    }
  }

  /** Makes one decision; false if there is none to make. */
  private boolean decideNext() {
    if (!state().exists() || !state().greeted() || state().compacting() > 0) {
      return false;
    }
    for (StepFrame frame : List.copyOf(state().frames().values())) {
      if (frame.stage() == StepFrame.Stage.OPENED) {
        beginSubPrompt(frame);
        return true;
      } else if (frame.stage() == StepFrame.Stage.CALLING && calls.startsCall(frame)) {
        return true;
      } else if (frame.stage() == StepFrame.Stage.CALLING && frame.calls().isEmpty()) {
        endStep(frame);
        return true;
      }
    }
    if (state().top() != null) {
      return !state().inbox().isEmpty() && admits() && calls.detaches();
    }
    if (!state().inbox().isEmpty() && admits()) {
      return take();
    }
    if (!state().waiting().isEmpty() && !state().turn().held()) {
      calls.makeWaiting();
      return true;
    }
    return state().turn().running() ? turn() : wakesByForce();
  }

  // --- messages from outside
  // -----------------------------------------------------------------------

  /** Whether waiting messages may be added: code must handle each before the next. */
  private boolean admits() {
    TurnState turn = state().turn();
    boolean codeIsDue = turn.running() && agent().side(next()) instanceof Participant.Code;
    return !turn.held() && !codeIsDue;
  }

  /** Who acts next. */
  private Side next() {
    TurnState turn = state().turn();
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
    Message message = state().inbox().get(0);
    if (hooks(agents, state(), message).seesMessages()) {
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
    boolean first = !state().turn().running();
    boolean decided = state().turn().addressed();
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
    if (window != state().history().window()) {
      emit(new ThreadEvent.Widened(window));
    }
  }

  private void wake() {
    widen();
    emit(new ThreadEvent.Woke("f" + state().received() + "-" + state().steps().count(), now));
  }

  private boolean wakesByForce() {
    if (state().turn().forced() == null || state().turn().held()) {
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

  // --- turns
  // ---------------------------------------------------------------------------------------

  /** Lets the side act whose turn it is. */
  private boolean turn() {
    Side forced = state().turn().forced();
    Side side = next();
    Participant participant = agent().side(side);
    if (participant instanceof Participant.Person) {
      stop(
          null, forced == null ? StopCode.AWAITING_HUMAN : StopCode.FORCED_HUMAN_TURN, null, false);
    } else if (participant instanceof Participant.Code && state().sandboxed()) {
      stop(side, StopCode.SANDBOXED, code(side), false);
    } else if (participant instanceof Participant.Code) {
      emit(new ThreadEvent.TurnBegan(side, answered(side), state().steps().count() + 1, 1, now));
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
    StepFrame top = state().top();
    if (state().sandboxed() && top != null && top.stage() == StepFrame.Stage.HANDLING) {
      stop(top.side(), StopCode.SANDBOXED, code(top.side()), false);
    }
  }

  /** The message that code on a side is to answer. */
  private String answered(Side side) {
    List<Message> messages = state().history().messages();
    for (int i = messages.size() - 1; i >= 0; i--) {
      if (messages.get(i).role() == side.other().role()) {
        return messages.get(i).id();
      }
    }
    return "";
  }

  private void step(Side side, Participant.Speaker speaker) {
    TurnState turn = state().turn();
    if (speaker.maxSteps() > 0 && turn.steps(side) >= speaker.maxSteps()) {
      stop(side, StopCode.MAX_SIDE_STEPS, "%s steps".formatted(turn.steps(side)), false);
    } else if (turn.steps() >= agent().maxSteps()) {
      stop(side, StopCode.MAX_TOTAL_STEPS, "%s steps".formatted(turn.steps()), false);
    } else if (agents.overspent(state()) != null) {
      stop(side, StopCode.BUDGET_SPENT, state().usage().words(), false);
    } else if (needsSummary()) {
      emit(new ThreadEvent.Compacting(state().steps().failedSummaries() + 1, now));
    } else {
      beginStep(StepFrame.TOP, side, speaker.prompt().name());
    }
  }

  private boolean needsSummary() {
    Compaction compaction = agent().compaction();
    return compaction != null
        && state().history().since() >= compaction.due()
        && state().history().old(compaction.keep()) > 0;
  }

  private void beginStep(String frame, Side side, String prompt) {
    long step = state().steps().count() + 1;
    emit(new ThreadEvent.StepBegan(frame, side, prompt, step, 1, "m-s" + step, now));
  }

  private void beginSubPrompt(StepFrame frame) {
    if (agents.overspent(state()) != null) {
      failSubPrompt(frame, "The budget of the thread is spent: " + state().usage().words());
    } else if (state().turn().running() && state().turn().steps() >= agent().maxSteps()) {
      failSubPrompt(frame, "Models were called %s times".formatted(state().turn().steps()));
    } else {
      beginStep(frame.path(), frame.side(), Objects.requireNonNull(frame.prompt()));
    }
  }

  // --- the end of a step
  // ---------------------------------------------------------------------------

  /** Decides what follows when all calls of a step have ended. */
  private void endStep(StepFrame frame) {
    if (frame.detached()) {
      endDetached(frame);
    } else if (!frame.top()) {
      endSubPrompt(frame);
    } else if (frame.step() == 0) {
      emit(new ThreadEvent.FrameClosed(frame.path()));
      TurnState.StopRequest request = state().turn().stopRequest();
      if (request != null) {
        stop(request);
      }
    } else if (agent().side(frame.side()) instanceof Participant.Speaker speaker) {
      endTopStep(frame, speaker);
    } else {
      emit(new ThreadEvent.FrameClosed(frame.path()));
      String reason = "No model is on side " + frame.side() + " any more";
      stop(frame.side(), StopCode.STEP_ERROR, reason, false);
    }
  }

  /** Reports the outcome of a call that left its step, and ends the session if the call does. */
  private void endDetached(StepFrame frame) {
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (frame.made().isEmpty()) {
      return;
    }
    Participant.Speaker speaker = asked(frame);
    if (speaker != null) {
      publishStatus(frame, speaker.sessionStatus());
    }
    TurnState.StopRequest ending = speaker == null ? null : ending(frame, speaker);
    Message outcome = CallDecisions.outcome(frame);
    if (ending == null) {
      String id = "m-u" + (state().received() + 1);
      emit(new ThreadEvent.Received(null, outcome.placed(id, now * 1000, 0, null), now, true));
      return;
    }
    Message last = outcome.placed("m-" + frame.path() + ".end", now * 1000, 0, null);
    emit(new ThreadEvent.Said(StepFrame.TOP, last, null));
    if (state().top() == null) {
      stop(ending);
    } else {
      emit(new ThreadEvent.StopWanted(ending.by(), ending.code(), ending.reason()));
    }
  }

  /** The side whose step asked for a call that left it; null for a sub-prompt, or for no model. */
  private Participant.@Nullable Speaker asked(StepFrame frame) {
    boolean ofTopStep = frame.depth() == 1 && frame.prompt() != null;
    return ofTopStep
            && agents.of(state(), frame).side(frame.side()) instanceof Participant.Speaker speaker
        ? speaker
        : null;
  }

  private void endTopStep(StepFrame frame, Participant.Speaker speaker) {
    Side side = frame.side();
    if (state().turn().streak().empty() >= EMPTY_REPLIES) {
      String reason = "The model replied with nothing %s times in a row".formatted(EMPTY_REPLIES);
      failStep(frame, ModelError.EMPTY.wireName(), reason, List.of());
      stop(side, StopCode.STEP_ERROR, reason, false);
      return;
    }
    StepFrame.Made handoff = handoff(frame, speaker.prompt());
    if (handoff != null && !state().waiting().isEmpty() && !state().turn().stopWanted()) {
      state().waiting().forEach(call -> emit(new ThreadEvent.Queued(frame.path(), call)));
      return;
    }
    publishStatus(frame, speaker.sessionStatus());
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (handoff != null) {
      handOver(frame, speaker.prompt(), handoff);
    }
    TurnState.StopRequest ending = ending(frame, speaker);
    if (ending == null) {
      ending = state().turn().stopRequest();
    }
    if (ending != null) {
      stop(ending);
      return;
    }
    if (state().turn().streak().sameError() >= SAME_ERRORS) {
      breakCircuit(side);
      return;
    }
    if (handoff == null) {
      endTurn(frame, speaker);
    }
  }

  /** Decides who acts after a step that ended neither the session nor the work of its agent. */
  private void endTurn(StepFrame frame, Participant.Speaker speaker) {
    boolean stopTool =
        frame.made().stream()
            .filter(made -> !made.pending() && !made.cutOff())
            .anyMatch(made -> made.call().name().equals(speaker.stopTool()));
    boolean responded =
        speaker.stopsOnResponse() && frame.made().isEmpty() && !ThreadFold.blank(frame.text());
    Side forced = state().turn().forced();
    boolean done = stopTool || responded || (speaker.hasNoStopCondition() && saidSomething(frame));
    if (forced != null) {
      forced(frame.side(), forced, done);
    } else if (done) {
      turnOver(frame.side(), stopTool ? StopCode.STOP_TOOL : StopCode.STOP_ON_RESPONSE);
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
    int turns = Math.min(state().turn().turnsA(), state().turn().turnsB());
    boolean ends = cap > 0 && turns >= cap;
    if (ends) {
      stop(side, StopCode.MAX_SESSION_TURNS, turns + " turns of each side", true);
    }
    return ends;
  }

  /** How a tool has ended the session; null if none has. */
  private static TurnState.@Nullable StopRequest ending(
      StepFrame frame, Participant.Speaker speaker) {
    Participant.Ending fail = speaker.sessionFail();
    Participant.Ending end = speaker.sessionStop();
    if (fail != null && succeeded(frame, fail)) {
      return new TurnState.StopRequest(frame.side(), StopCode.SESSION_FAIL, messageOf(frame, fail));
    }
    return end != null && succeeded(frame, end)
        ? new TurnState.StopRequest(frame.side(), StopCode.SESSION_STOP, messageOf(frame, end))
        : null;
  }

  private void publishStatus(StepFrame frame, Participant.@Nullable Ending status) {
    if (status != null && succeeded(frame, status)) {
      String text = messageOf(frame, status);
      emit(new ThreadEvent.StatusSet(text == null ? status.tool() : text));
    }
  }

  private static boolean succeeded(StepFrame frame, Participant.Ending ending) {
    return frame.made().stream()
        .anyMatch(made -> made.call().name().equals(ending.tool()) && made.succeeded());
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

  /** The call that hands the thread over; null for none. */
  private static StepFrame.@Nullable Made handoff(StepFrame frame, Prompt prompt) {
    for (StepFrame.Made made : frame.made()) {
      if (made.succeeded() && ToolCalls.offered(prompt, made.call().name()) instanceof Handoff) {
        return made;
      }
    }
    return null;
  }

  private void handOver(StepFrame frame, Prompt prompt, StepFrame.Made made) {
    Handoff handoff =
        (Handoff) Objects.requireNonNull(ToolCalls.offered(prompt, made.call().name()));
    Agent next = agents.get(handoff.agent());
    emit(new ThreadEvent.HandedOver(next.name(), agents.window(next)));
    String words =
        ChangeRecorder.object(ToolCalls.arguments(made.call())).path("message").textValue();
    if (!ThreadFold.blank(words)) {
      Message message =
          Message.user(String.valueOf(words))
              .asSilent()
              .placed("m-s" + frame.step() + ".handoff", now * 1000, 0, null);
      emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    }
  }

  private void breakCircuit(Side side) {
    String words =
        "I've stopped because the same error came back %s times in a row: %s"
            .formatted(SAME_ERRORS, state().turn().streak().error());
    Message message =
        Message.of(side.role(), words)
            .placed("m-s" + state().steps().count() + ".stop", now * 1000, 0, null);
    emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    stop(side, StopCode.REPEATED_TOOL_ERROR, state().turn().streak().error(), false);
  }

  /** Turns the text and calls of a sub-prompt into the result of its call. */
  private void endSubPrompt(StepFrame frame) {
    StepFrame above = state().frameOf(frame.path());
    CallState call = above == null ? null : above.call(frame.path());
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (above == null || call == null) {
      return;
    }
    Prompt prompt = ChangeRecorder.prompt(agent(), above);
    Offered offered = ToolCalls.offered(agent(), prompt, call.call().name(), true);
    if (offered instanceof SubPrompt sub) {
      calls.returned(above, call, result(sub, frame));
    } else {
      calls.returned(above, call, ToolResult.error("The prompt is no longer there"));
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
            "Sub-prompt failed with %s error(s)%s"
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
    Message shown = frame.top() ? state().history().timed(message, null) : null;
    emit(new ThreadEvent.StepFailed(frame.path(), code, reason, attempts, shown, now));
  }

  /** Fails a sub-prompt whose model did not reply. */
  void failSubPrompt(StepFrame frame, String reason) {
    StepFrame above = state().frameOf(frame.path());
    CallState call = above == null ? null : above.call(frame.path());
    emit(new ThreadEvent.FrameClosed(frame.path()));
    if (above != null && call != null) {
      calls.returned(above, call, ToolResult.error("sub_prompt_failed", reason));
    }
  }

  /** Ends the turn of code. */
  void endHandling(Side side, boolean spoke) {
    Side forced = state().turn().forced();
    TurnState.StopRequest request = state().turn().stopRequest();
    if (request != null) {
      stop(request);
    } else if (forced != null) {
      forced(side, forced, spoke);
    } else if (spoke) {
      turnOver(side, StopCode.STOP_ON_RESPONSE);
    } else if (state().top() == null) {
      stop(side, StopCode.HANDLER_IDLE, null, false);
    }
  }
}
