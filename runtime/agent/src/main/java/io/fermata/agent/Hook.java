package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.ChatMessage;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadMetadata;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A place in an agent's life where its author looks on, or changes what passes.
 *
 * <p>The hooks of a point are called in the order in which the prompt lists them, or the agent
 * where the prompt lists none, each with what the one before it returned. One that throws changes
 * nothing: what it was given goes on, and the thread's journal names the hook and the reason. What
 * a hook does through its {@link FlowState} is journaled with what it was called for.
 *
 * <pre>{@code
 * Hook mask = Hook.beforeCreateMessage("mask", (flow, m) -> m.withContent(masked(m.content())));
 * }</pre>
 */
public sealed interface Hook {
  /** The hook's name in the journal. */
  String id();

  /** Looks on. */
  @FunctionalInterface
  interface Watch<T> {
    void see(FlowState flow, T what) throws Exception;
  }

  /** Changes what passes. */
  @FunctionalInterface
  interface Change<T> {
    T change(FlowState flow, T what) throws Exception;
  }

  /** Sees a call of a tool. */
  @FunctionalInterface
  interface CallWatch<T> {
    void see(FlowState flow, RequestedCall call, T what) throws Exception;
  }

  /** Changes the result of a call, or keeps it. */
  @FunctionalInterface
  interface ResultChange {
    ToolResult change(FlowState flow, RequestedCall call, ToolResult result) throws Exception;
  }

  /** Changes the result of a call; null removes the call, as if it had not been requested. */
  @FunctionalInterface
  interface ResultVeto {
    @Nullable ToolResult change(FlowState flow, RequestedCall call, ToolResult result)
        throws Exception;
  }

  /** Changes what is about to change in a message. */
  @FunctionalInterface
  interface UpdateChange {
    MessageUpdate change(FlowState flow, String messageId, MessageUpdate update) throws Exception;
  }

  record AfterThreadCreated(String id, Watch<ThreadMetadata> function) implements Hook {}

  record AfterSubagentCreated(String id, Watch<ChildThread> function) implements Hook {}

  record AfterSystemMessage(String id, Change<String> function) implements Hook {}

  record FilterMessages(String id, Change<List<Message>> function) implements Hook {}

  record PrefilterLlmHistory(String id, Change<List<ChatMessage>> function) implements Hook {}

  record BeforeCreateMessage(String id, Change<Message> function) implements Hook {}

  record AfterCreateMessage(String id, Watch<Message> function) implements Hook {}

  record BeforeUpdateMessage(String id, UpdateChange function) implements Hook {}

  record AfterUpdateMessage(String id, Watch<Message> function) implements Hook {}

  record BeforeStoreToolResult(String id, ResultChange function) implements Hook {}

  record AfterToolCallSuccess(String id, ResultVeto function) implements Hook {}

  record AfterToolCallFailure(String id, ResultVeto function) implements Hook {}

  record ToolCallStarted(String id, CallWatch<ObjectNode> function) implements Hook {}

  record ToolCallDone(String id, CallWatch<ToolResult> function) implements Hook {}

  /** When a thread has been created. */
  static Hook afterThreadCreated(String id, Watch<ThreadMetadata> function) {
    return new AfterThreadCreated(id, function);
  }

  /** When the thread has created a thread of its own for another agent. */
  static Hook afterSubagentCreated(String id, Watch<ChildThread> function) {
    return new AfterSubagentCreated(id, function);
  }

  /** Changes the system message. */
  static Hook afterSystemMessage(String id, Change<String> function) {
    return new AfterSystemMessage(id, function);
  }

  /** The messages that a model is to see; the thread keeps them as they are. */
  static Hook filterMessages(String id, Change<List<Message>> function) {
    return new FilterMessages(id, function);
  }

  /** The request in the model's own terms. A {@link BlockedException} prevents the call. */
  static Hook prefilterLlmHistory(String id, Change<List<ChatMessage>> function) {
    return new PrefilterLlmHistory(id, function);
  }

  /** A message that is about to be kept. */
  static Hook beforeCreateMessage(String id, Change<Message> function) {
    return new BeforeCreateMessage(id, function);
  }

  /** A message that is kept. */
  static Hook afterCreateMessage(String id, Watch<Message> function) {
    return new AfterCreateMessage(id, function);
  }

  /** What is about to change in a message. */
  static Hook beforeUpdateMessage(String id, UpdateChange function) {
    return new BeforeUpdateMessage(id, function);
  }

  /** A message that has changed. */
  static Hook afterUpdateMessage(String id, Watch<Message> function) {
    return new AfterUpdateMessage(id, function);
  }

  /** Changes the result of a call before it is stored and shown to the model. */
  static Hook beforeStoreToolResult(String id, ResultChange function) {
    return new BeforeStoreToolResult(id, function);
  }

  /** A call that succeeded. */
  static Hook afterToolCallSuccess(String id, ResultVeto function) {
    return new AfterToolCallSuccess(id, function);
  }

  /** A call that failed. */
  static Hook afterToolCallFailure(String id, ResultVeto function) {
    return new AfterToolCallFailure(id, function);
  }

  /** A call begins; with its arguments. */
  static Hook toolCallStarted(String id, CallWatch<ObjectNode> function) {
    return new ToolCallStarted(id, function);
  }

  /** A call has ended, however. */
  static Hook toolCallDone(String id, CallWatch<ToolResult> function) {
    return new ToolCallDone(id, function);
  }
}
