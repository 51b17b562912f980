package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agents;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Handoff;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.SubAgent;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides about the calls of steps: which start, which ask a person first, which leave their step
 * as they wait for people, and how they end.
 */
final class CallDecisions {
  private final Agents agents;
  private final DecidedEvents decided;
  private final long now;

  CallDecisions(Agents agents, DecidedEvents decided, long now) {
    this.agents = agents;
    this.decided = decided;
    this.now = now;
  }

  private CallSite site(StepFrame frame) {
    return CallSite.of(agents, decided.state(), frame);
  }

  /** Starts the next call of a step, if it may start now. */
  boolean startsCall(StepFrame frame) {
    CallSite site = site(frame);
    List<CallState> before = new ArrayList<>();
    for (CallState call : frame.calls()) {
      boolean free = site.parallel() && !call.queued();
      if (!before.isEmpty() && !free) {
        return false;
      }
      if (call.phase() == CallState.Phase.WAITING
          && !site.lacks(call)
          && !waits(site, call, before)) {
        start(site, call);
        return true;
      }
      if (!call.over()) {
        before.add(call);
      }
    }
    return false;
  }

  private boolean waits(CallSite site, CallState call, List<CallState> before) {
    return waitsForChild(site, call, before)
        || waitsForWithdrawal(site, call)
        || waitsForHandoff(site, call, before);
  }

  /**
   * Whether a call needs, or may need, a child that works for an earlier call of its step. A child
   * handles one call at a time, and the number of children is known only when the calls that have
   * begun, also in other steps, have theirs.
   */
  private boolean waitsForChild(CallSite site, CallState call, List<CallState> before) {
    Stream<CallState> begun =
        decided.state().frames().values().stream()
            .filter(other -> !other.path().equals(site.frame().path()))
            .flatMap(other -> other.calls().stream())
            .filter(CallState::performed)
            .filter(other -> other.child() == null);
    return site.offered(call) instanceof SubAgent relation
        && (relation.blocking() || relation.maxInstances() > 0)
        && Stream.concat(before.stream(), begun)
            .filter(other -> other.call().name().equals(call.call().name()))
            .anyMatch(other -> other.child() == null || shared(relation, call, other));
  }

  private static boolean shared(SubAgent relation, CallState call, CallState other) {
    String reference = ToolCalls.reference(call);
    return reference == null ? relation.maxInstances() == 1 : reference.equals(other.child());
  }

  /**
   * Whether the child of a call is yet to stop, which would end the work for this call, too. A stop
   * that failed once may take weeks, so that no call waits for it.
   */
  private boolean waitsForWithdrawal(CallSite site, CallState call) {
    if (decided.state().abandonedCalls().isEmpty()
        || !(site.offered(call) instanceof SubAgent relation)) {
      return false;
    }
    String child = ToolCalls.reference(relation, call, decided.state());
    return child != null && withdrawals(child).anyMatch(left -> !failed(left));
  }

  /** The ended calls for which a child is yet to stop. */
  private Stream<ThreadEvent.CallAbandoned> withdrawals(String child) {
    return decided.state().abandonedCalls().stream().filter(left -> child.equals(left.child()));
  }

  private boolean failed(ThreadEvent.CallAbandoned left) {
    String delivery = ThreadEffect.delivery(ThreadEffect.Kind.WITHDRAW, left.call());
    return decided.state().relations().deliveries().containsKey(delivery);
  }

  /** Whether a call is to hand the thread over, as an earlier one of its step may yet do. */
  private static boolean waitsForHandoff(CallSite site, CallState call, List<CallState> before) {
    return site.handsOver(call.call().name())
        && before.stream().anyMatch(other -> site.handsOver(other.call().name()));
  }

  private void start(CallSite site, CallState call) {
    StepFrame frame = site.frame();
    boolean made = call.attempt() > 0 || frame.detached();
    if (decided.state().turn().stopWanted() && !made) {
      returned(
          frame,
          call,
          ToolResult.error(CallState.STOPPED, "The thread was stopped before it was made"));
      return;
    }
    Offered offered = site.offered(call);
    ToolResult refusal = refusal(site, offered, call);
    refusal = refusal == null ? busy(offered, call) : refusal;
    if (refusal != null || offered == null) {
      returned(frame, call, Objects.requireNonNull(refusal));
      return;
    }
    if (decided.state().sandboxed()
        && !(offered instanceof SubPrompt)
        && !(offered instanceof Handoff)) {
      stopCallsInSandbox(frame);
      return;
    }
    if (asksFirst(offered, frame, call)) {
      return;
    }
    boolean watched = site.hooks(agents).has(Hook.ToolCallStarted.class);
    if (offered instanceof SubPrompt sub && !watched) {
      open(frame, sub, call);
      return;
    }
    decided.emit(new ThreadEvent.CallBegan(call.key(), call.attempt() + 1, now));
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
    end(result);
    decided.stop(frame.side(), StopCode.SANDBOXED, Bounds.shortened(wanted), false);
  }

  private static @Nullable ToolResult refusal(
      CallSite site, @Nullable Offered offered, CallState call) {
    if (offered instanceof SubPrompt && site.frame().depth() >= Bounds.DEPTH) {
      return ToolResult.error(
          "too_deep", "Prompts call each other at most " + Bounds.DEPTH + " levels deep");
    }
    String stays = offered instanceof Handoff handoff ? stays(site, handoff, call) : null;
    if (stays != null) {
      return ToolResult.error("not_handed_over", "The thread was not handed over: " + stays);
    }
    return call.attempt() == 0 ? ToolCalls.refusal(site.prompt(), offered, call.call()) : null;
  }

  /** Why a call does not hand the thread over; null if it does, at the end of its step. */
  private static @Nullable String stays(CallSite site, Handoff handoff, CallState call) {
    StepFrame frame = site.frame();
    if (!frame.top()) {
      return "a sub-prompt cannot do that, only the prompt of a side that offers %s."
          .formatted(handoff.name());
    } else if (!site.handsOver(handoff.name())) {
      return "only a step of a prompt that offers %s can do that. Let its model call it, or queue it in such a step."
          .formatted(handoff.name());
    }
    boolean made =
        frame.made().stream()
            .anyMatch(other -> other.succeeded() && site.handsOver(other.call().name()));
    boolean ended =
        frame.calls().stream()
            .takeWhile(other -> !other.key().equals(call.key()))
            .anyMatch(other -> site.handsOver(other.call().name()) && succeeded(other));
    return made || ended ? "an earlier call of the step has done that already." : null;
  }

  private static boolean succeeded(CallState call) {
    Message result = call.message();
    return result != null && !result.failed();
  }

  /**
   * The error of a call to a child that works for a call of another step, or has not stopped for
   * one that was ended; null for none.
   */
  private @Nullable ToolResult busy(@Nullable Offered offered, CallState call) {
    if (!(offered instanceof SubAgent relation) || !relation.blocking()) {
      return null;
    }
    String child = ToolCalls.reference(relation, call, decided.state());
    ChildThread working = child == null ? null : decided.state().children().get(child);
    if (working == null || !working.relation().equals(relation.name())) {
      return null;
    } else if (decided.state().delegatedTo(working.threadId()) != null) {
      return busy(working, "still works for an earlier call; do not call it before that has ended");
    }
    return withdrawals(working.threadId()).findAny().isEmpty()
        ? null
        : busy(working, "has not stopped for a call that was ended; call it later");
  }

  private static ToolResult busy(ChildThread child, String why) {
    return ToolResult.error(
        "busy_reference",
        "The %s with the reference %s %s".formatted(child.relation(), child.threadId(), why));
  }

  /** Asks a person to approve the call if its tool requires that. */
  private boolean asksFirst(Offered offered, StepFrame frame, CallState call) {
    return !call.approved() && !call.begun() && asks(offered, frame, call);
  }

  /**
   * Asks in a fork what its agent demands of the calls that begin again. An approval of its source
   * holds if it was given to the same question; the agent may be another one, or have changed. A
   * call whose tool it does not know fails, also if it was approved.
   */
  void asksAgain() {
    for (StepFrame frame : List.copyOf(decided.state().frames().values())) {
      CallSite site = site(frame);
      for (CallState call : frame.calls()) {
        Offered offered = site.offered(call);
        boolean begins = call.phase() == CallState.Phase.WAITING && !decided.state().sandboxed();
        boolean passed = begins && (call.begun() || call.approved());
        if (offered != null
            && (passed || call.phase() == CallState.Phase.APPROVING)
            && refusal(site, offered, call) == null) {
          asks(offered, frame, call);
        } else if (call.phase() == CallState.Phase.WAITING && site.lacks(call)) {
          start(site, call);
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
    String given;
    try {
      given = approval.apply(arguments.deepCopy());
    } catch (Throwable e) { // an Error in author code must not end the thread
      decided.threw(e);
      returned(
          frame,
          call,
          ToolResult.error(
              "approval_failed",
              "The approval check of the call failed: " + AuthorFailures.reason(e)));
      return true;
    }
    String question = given == null ? null : Texts.sound(given);
    if (question == null || question.equals(call.approval())) {
      return false;
    }
    ObjectNode asked = Json.object().put("question", question).put("tool", offered.name());
    asked.set("arguments", arguments);
    decided.emit(new ThreadEvent.CallAsked(call.key(), true, asked, now));
    return true;
  }

  private static @Nullable Function<? super ObjectNode, @Nullable String> approval(
      Offered offered) {
    if (offered instanceof Tool tool) {
      return tool.approval();
    }
    return offered instanceof FlowTool flow ? flow.approval() : null;
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
    decided.emit(new ThreadEvent.CallDelegated(call.key(), ""));
    decided.emit(
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
    if (site(frame).hooks(agents).seesResults() || !result.attachments().isEmpty()) {
      decided.emit(new ThreadEvent.CallReturned(call.key(), result));
      return;
    }
    decided.emit(ToolCalls.over(frame, call, result, now));
  }

  /** Ends the calls that have not ended, those of the deepest steps first. */
  void end(ToolResult result) {
    List<StepFrame> deepestFirst = new ArrayList<>(decided.state().frames().values());
    deepestFirst.sort((a, b) -> b.depth() - a.depth());
    for (StepFrame frame : deepestFirst) {
      for (CallState call : frame.calls()) {
        if (!call.over()) {
          abandon(frame, call);
          decided.emit(ToolCalls.over(frame, call, result, now));
        }
      }
    }
  }

  /**
   * Withdraws the work elsewhere for a call that was ended. Where this release lacks the tool or
   * the agent, a flow that may be behind it is withdrawn by its name.
   */
  void abandon(StepFrame frame, CallState call) {
    ThreadState state = decided.state();
    if (state.sandboxed()) {
      return;
    }
    Offered offered = agents.find(state.agent()) == null ? null : site(frame).offered(call);
    boolean flow = offered instanceof FlowTool && call.attempt() > 0;
    if (flow || (offered == null && call.child() == null && call.underWay())) {
      decided.emit(new ThreadEvent.CallAbandoned(call.key(), call.call().name(), null, null));
    } else if (call.child() != null) {
      decided.emit(new ThreadEvent.CallAbandoned(call.key(), null, call.child(), null));
    } else if (offered instanceof SubAgent relation && call.attempt() > 0) {
      leaveDelegated(relation, call);
    }
  }

  /** The call was being delegated to a child, which may have received it. */
  private void leaveDelegated(SubAgent relation, CallState call) {
    String child = ToolCalls.reference(relation, call, decided.state());
    if (child == null) {
      decided.emit(new ThreadEvent.CallAbandoned(call.key(), null, null, relation.agent()));
    } else if (relation.blocking() && decided.state().children().containsKey(child)) {
      decided.emit(new ThreadEvent.CallAbandoned(call.key(), null, child, null));
    }
  }

  /** Calls without a step get their own message. */
  void makeWaiting() {
    List<RequestedCall> calls = decided.state().waiting();
    Side side = acting();
    Message message =
        Message.of(side.role(), null)
            .asSilent()
            .placed("m-" + calls.get(0).id() + ".calls", now * 1000, 0, null);
    decided.emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    decided.emit(
        new ThreadEvent.FrameOpened(StepFrame.TOP, null, side, 0, null, message.id(), List.of()));
    calls.forEach(call -> decided.emit(new ThreadEvent.Queued(StepFrame.TOP, call)));
  }

  /** The side whose model sees calls that no model requested. */
  private Side acting() {
    boolean onlyB =
        !(decided.agent().side(Side.A) instanceof Participant.Speaker)
            && decided.agent().side(Side.B) instanceof Participant.Speaker;
    return onlyB ? Side.B : Side.A;
  }

  // --- while calls wait ------------------------------------------------------------------------

  /**
   * Lets the conversation continue where a step waits for nothing but people, moments and signals:
   * the first call that does leaves the step with a preliminary result, and its outcome is a
   * message of its own.
   */
  boolean detaches() {
    StepFrame waiting = decided.state().waitingStep();
    if (waiting == null || decided.state().holdsMessages()) {
      return false;
    }
    detach(waiting, waiting.calls().get(0));
    return true;
  }

  private void detach(StepFrame frame, CallState call) {
    String name = call.call().name();
    ToolResult interim =
        switch (call.phase()) {
          case APPROVING ->
              interim(
                  "waiting_for_approval",
                  "A person is asked to approve this call: " + asked(call),
                  "been made");
          case PAUSED -> interim("waiting", "It waits " + asked(call) + ".", "ended");
          default ->
              decided.state().waitingIn().contains(call)
                  ? interim("waiting", "It waits " + asked(call), "ended")
                  : interim("waiting_for_answer", "A person is asked: " + asked(call), "ended");
        };
    Message message = ToolCalls.result(frame, call, interim, List.of(), now);
    boolean parallel = site(frame).parallel();
    List<CallState> behind = frame.calls().subList(1, frame.calls().size());
    decided.emit(new ThreadEvent.CallDetached(call.key(), decided.agent().name(), message, now));
    for (CallState next : behind) {
      boolean follows = !parallel || next.queued();
      if (follows && next.phase() == CallState.Phase.WAITING) {
        returned(
            Objects.requireNonNull(decided.state().frameOf(next.key())),
            next,
            ToolResult.error(
                CallState.NOT_MADE,
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
  static Message outcome(StepFrame frame) {
    StepFrame.Made first = frame.made().get(0);
    StringBuilder text = new StringBuilder();
    text.append(
        "The call of %s that has waited (%s) has ended:\n%s"
            .formatted(first.call().name(), first.call().id(), first.text()));
    for (StepFrame.Made made : frame.made().subList(1, frame.made().size())) {
      text.append("\n- ").append(made.call().name()).append(": ").append(made.text());
    }
    return Message.of(frame.side().other().role(), Bounds.shortened(text.toString())).asSilent();
  }
}
