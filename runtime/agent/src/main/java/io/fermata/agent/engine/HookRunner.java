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
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ChildThread;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Calls the hooks of a prompt or agent. One that throws changes nothing and is recorded in the
 * journal.
 */
final class HookRunner {
  static final HookRunner NONE = new HookRunner(List.of());

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

  /** One call of a hook. */
  private interface Attempt<T> {
    T call() throws Exception;
  }

  /** Changes of a hook that throws or returns null are rolled back. */
  private static <T> T attempt(
      RecordingFlowState flow, Hook hook, T otherwise, Attempt<T> attempt) {
    ChangeRecorder.Mark mark = flow.recorder().mark();
    String reason;
    try {
      T result = attempt.call();
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
    flow.recorder().backTo(mark);
    flow.recorder().failed(hook, reason);
    return otherwise;
  }

  private static final Object SEEN = new Object();

  /** A call of a hook without a result. */
  private interface Observation {
    void take() throws Exception;
  }

  private static void seen(RecordingFlowState flow, Hook hook, Observation observation) {
    attempt(
        flow,
        hook,
        SEEN,
        () -> {
          observation.take();
          return SEEN;
        });
  }

  void threadCreated(RecordingFlowState flow) {
    for (Hook hook : hooks) {
      if (hook instanceof Hook.AfterThreadCreated h) {
        seen(flow, h, () -> h.function().see(flow, flow.thread().metadata()));
      }
    }
  }

  void subagentCreated(RecordingFlowState flow, ChildThread child) {
    for (Hook hook : hooks) {
      if (hook instanceof Hook.AfterSubagentCreated h) {
        seen(flow, h, () -> h.function().see(flow, child));
      }
    }
  }

  String systemMessage(RecordingFlowState flow, String text) {
    String now = text;
    for (Hook hook : hooks) {
      if (hook instanceof Hook.AfterSystemMessage h) {
        String before = now;
        now = attempt(flow, h, before, () -> h.function().change(flow, before));
      }
    }
    return now;
  }

  List<Message> filter(RecordingFlowState flow, List<Message> messages) {
    List<Message> now = messages;
    for (Hook hook : hooks) {
      if (hook instanceof Hook.FilterMessages h) {
        List<Message> before = now;
        now = attempt(flow, h, before, () -> h.function().change(flow, before));
      }
    }
    return now;
  }

  /**
   * @throws BlockedException if the model must not be called
   */
  List<ChatMessage> prefilter(RecordingFlowState flow, List<ChatMessage> messages) {
    List<ChatMessage> now = messages;
    for (Hook hook : hooks) {
      if (hook instanceof Hook.PrefilterLlmHistory h) {
        List<ChatMessage> before = now;
        now = attempt(flow, h, before, () -> h.function().change(flow, before));
      }
    }
    return now;
  }

  Message beforeCreate(RecordingFlowState flow, Message message) {
    Message now = message;
    for (Hook hook : hooks) {
      if (hook instanceof Hook.BeforeCreateMessage h) {
        Message before = now;
        now = attempt(flow, h, before, () -> h.function().change(flow, before));
      }
    }
    return now;
  }

  void afterCreate(RecordingFlowState flow, Message message) {
    for (Hook hook : hooks) {
      if (hook instanceof Hook.AfterCreateMessage h) {
        seen(flow, h, () -> h.function().see(flow, message));
      }
    }
  }

  MessageUpdate beforeUpdate(RecordingFlowState flow, String id, MessageUpdate update) {
    MessageUpdate now = update;
    for (Hook hook : hooks) {
      if (hook instanceof Hook.BeforeUpdateMessage h) {
        MessageUpdate before = now;
        now = attempt(flow, h, before, () -> h.function().change(flow, id, before));
      }
    }
    return now;
  }

  void afterUpdate(RecordingFlowState flow, Message message) {
    for (Hook hook : hooks) {
      if (hook instanceof Hook.AfterUpdateMessage h) {
        seen(flow, h, () -> h.function().see(flow, message));
      }
    }
  }

  void callStarted(RecordingFlowState flow, RequestedCall call, ObjectNode arguments) {
    for (Hook hook : hooks) {
      if (hook instanceof Hook.ToolCallStarted h) {
        seen(flow, h, () -> h.function().see(flow, call, arguments));
      }
    }
  }

  void callDone(RecordingFlowState flow, RequestedCall call, ToolResult result) {
    for (Hook hook : hooks) {
      if (hook instanceof Hook.ToolCallDone h) {
        seen(flow, h, () -> h.function().see(flow, call, result));
      }
    }
  }

  /** The result of a finished call; null if a hook removes it. */
  @Nullable ToolResult callEnded(RecordingFlowState flow, RequestedCall call, ToolResult result) {
    ToolResult now = result;
    for (Hook hook : hooks) {
      Hook.ResultVeto veto = veto(hook, now.failed());
      if (veto != null) {
        now = vetoed(flow, hook, veto, call, now);
        if (now == null) {
          return null;
        }
      }
    }
    for (Hook hook : hooks) {
      if (hook instanceof Hook.BeforeStoreToolResult h) {
        ToolResult before = now;
        now = attempt(flow, h, before, () -> h.function().change(flow, call, before));
      }
    }
    return now;
  }

  private static Hook.@Nullable ResultVeto veto(Hook hook, boolean failed) {
    if (failed) {
      return hook instanceof Hook.AfterToolCallFailure h ? h.function() : null;
    }
    return hook instanceof Hook.AfterToolCallSuccess h ? h.function() : null;
  }

  private static @Nullable ToolResult vetoed(
      RecordingFlowState flow,
      Hook hook,
      Hook.ResultVeto veto,
      RequestedCall call,
      ToolResult result) {
    ToolResult[] struck = new ToolResult[1];
    boolean[] isStruck = new boolean[1];
    attempt(
        flow,
        hook,
        SEEN,
        () -> {
          struck[0] = veto.change(flow, call, result);
          isStruck[0] = struck[0] == null;
          return SEEN;
        });
    return isStruck[0] ? null : struck[0] == null ? result : struck[0];
  }
}
