package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.ChatMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.BlockedException;
import io.fermata.agent.CancelledException;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ChildThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Calls the hooks of a prompt or agent. One that throws changes nothing and is recorded in the
 * journal.
 */
final class HookRunner {
  private final List<Hook> hooks;

  HookRunner(List<Hook> hooks) {
    this.hooks = List.copyOf(hooks);
  }

  /** The hooks of a prompt, or of the agent for null. */
  static HookRunner of(Agents agents, Agent agent, @Nullable Prompt prompt) {
    boolean own = prompt != null && !prompt.hooks().isEmpty();
    List<Hook> hooks = new ArrayList<>();
    List<Hook> after = new ArrayList<>();
    for (SubAgent relation : agent.offered(SubAgent.class)) {
      for (Agent.ParentHook wanted : agents.get(relation.agent()).parentHooks()) {
        List<Hook> place = wanted.before() ? hooks : after;
        if (!place.contains(wanted.hook())) {
          place.add(wanted.hook());
        }
      }
    }
    hooks.addAll(own && prompt != null ? prompt.hooks() : agent.hooks());
    hooks.addAll(after);
    return new HookRunner(hooks);
  }

  boolean has(Class<? extends Hook> point) {
    return hooks.stream().anyMatch(point::isInstance);
  }

  /** Whether a message from outside concerns any of them. */
  boolean seesMessages() {
    return has(Hook.BeforeCreateMessage.class) || has(Hook.AfterCreateMessage.class);
  }

  /** Whether the result of a call concerns any of them. */
  boolean seesResults() {
    return seesMessages()
        || has(Hook.ToolCallDone.class)
        || has(Hook.AfterToolCallSuccess.class)
        || has(Hook.AfterToolCallFailure.class)
        || has(Hook.BeforeStoreToolResult.class);
  }

  /** One call of a hook, with the state that it is handed. */
  private interface Attempt<T> {
    T call(RecordingFlowState own) throws Exception;
  }

  /** Changes of a hook that throws or returns null are taken back. */
  private static <T> T attempt(
      RecordingFlowState flow, Hook hook, T otherwise, Attempt<T> attempt) {
    ChangeRecorder.HookCall call = flow.recorder().began(hook, flow.hookCall());
    String reason;
    try {
      T result = attempt.call(flow.during(call));
      if (result != null) {
        return result;
      }
      reason = "returned null";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancelledException(e);
    } catch (Throwable e) {
      if (e instanceof BlockedException blocked && hook instanceof Hook.PrefilterLlmHistory) {
        throw blocked;
      }
      reason = AuthorFailures.reason(e);
    }
    flow.recorder().failed(call, reason);
    return otherwise;
  }

  /** What a hook that changes nothing returns. */
  private static final Object SEEN = new Object();

  private interface Seeing<H> {
    void see(H hook, RecordingFlowState own) throws Exception;
  }

  private interface Changing<H, T> {
    T change(H hook, RecordingFlowState own, T before) throws Exception;
  }

  /** Calls the hooks of a kind in order. */
  private <H extends Hook> void seen(RecordingFlowState flow, Class<H> kind, Seeing<H> seeing) {
    for (Hook hook : hooks) {
      if (kind.isInstance(hook)) {
        attempt(
            flow,
            hook,
            SEEN,
            own -> {
              seeing.see(kind.cast(hook), own);
              return SEEN;
            });
      }
    }
  }

  /** Calls the hooks of a kind in order, each with what the previous one returned. */
  private <H extends Hook, T> T changed(
      RecordingFlowState flow, Class<H> kind, T first, Changing<H, T> changing) {
    T now = first;
    for (Hook hook : hooks) {
      if (kind.isInstance(hook)) {
        T before = now;
        now = attempt(flow, hook, before, own -> changing.change(kind.cast(hook), own, before));
      }
    }
    return now;
  }

  void threadCreated(RecordingFlowState flow) {
    seen(flow, Hook.AfterThreadCreated.class, (h, own) -> h.function().see(own, flow.thread()));
  }

  void subagentCreated(RecordingFlowState flow, ChildThread child) {
    seen(flow, Hook.AfterSubagentCreated.class, (h, own) -> h.function().see(own, child));
  }

  String systemMessage(RecordingFlowState flow, String text) {
    return changed(
        flow, Hook.AfterSystemMessage.class, text, (h, own, t) -> h.function().change(own, t));
  }

  List<Message> filter(RecordingFlowState flow, List<Message> messages) {
    return changed(
        flow, Hook.FilterMessages.class, messages, (h, own, m) -> h.function().change(own, m));
  }

  /**
   * @throws BlockedException if the model must not be called
   */
  List<ChatMessage> prefilter(RecordingFlowState flow, List<ChatMessage> messages) {
    return changed(
        flow, Hook.PrefilterLlmHistory.class, messages, (h, own, m) -> h.function().change(own, m));
  }

  Message beforeCreate(RecordingFlowState flow, Message message) {
    return changed(
        flow,
        Hook.BeforeCreateMessage.class,
        message,
        (h, own, m) -> fitting(m, h.function().change(own, m)));
  }

  /** What a hook makes of a message; metadata of its own is bounded as that of any other. */
  private static Message fitting(Message before, Message changed) {
    if (changed != null && !Objects.equals(changed.metadata(), before.metadata())) {
      Bounds.requireData("metadata of the message", changed.metadata());
    }
    return changed;
  }

  void afterCreate(RecordingFlowState flow, Message message) {
    seen(flow, Hook.AfterCreateMessage.class, (h, own) -> h.function().see(own, message));
  }

  MessageUpdate beforeUpdate(RecordingFlowState flow, String id, MessageUpdate update) {
    return changed(
        flow,
        Hook.BeforeUpdateMessage.class,
        update,
        (h, own, u) -> h.function().change(own, id, u));
  }

  void afterUpdate(RecordingFlowState flow, Message message) {
    seen(flow, Hook.AfterUpdateMessage.class, (h, own) -> h.function().see(own, message));
  }

  void callStarted(RecordingFlowState flow, RequestedCall call, ObjectNode arguments) {
    seen(
        flow,
        Hook.ToolCallStarted.class,
        (h, own) -> h.function().see(own, call, arguments.deepCopy()));
  }

  void callDone(RecordingFlowState flow, RequestedCall call, ToolResult result) {
    seen(flow, Hook.ToolCallDone.class, (h, own) -> h.function().see(own, call, result));
  }

  /** The result of a finished call; null if a hook removes it. */
  @Nullable ToolResult callEnded(RecordingFlowState flow, RequestedCall call, ToolResult result) {
    ToolResult now = result;
    for (Hook hook : hooks) {
      Hook.ResultVeto veto = veto(hook, now.failed());
      if (veto != null) {
        ToolResult before = now;
        Optional<ToolResult> left =
            attempt(
                flow,
                hook,
                Optional.of(before),
                own -> Optional.ofNullable(veto.change(own, call, before)));
        if (left.isEmpty()) {
          return null;
        }
        now = left.get();
      }
    }
    return changed(
        flow,
        Hook.BeforeStoreToolResult.class,
        now,
        (h, own, stored) -> h.function().change(own, call, stored));
  }

  private static Hook.@Nullable ResultVeto veto(Hook hook, boolean failed) {
    if (failed) {
      return hook instanceof Hook.AfterToolCallFailure h ? h.function() : null;
    }
    return hook instanceof Hook.AfterToolCallSuccess h ? h.function() : null;
  }
}
