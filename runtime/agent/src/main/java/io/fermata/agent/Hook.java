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
 * An extension point in an agent's execution, which observes or changes data.
 *
 * <p>The hooks of a point are called in the order of the prompt's list, or the agent's if the
 * prompt has none, each with the result of the previous one. One that throws changes nothing: its
 * input is passed on, and the thread's journal records the hook and the reason. Changes through its
 * {@link FlowState} are journaled with the event that it was called for.
 *
 * <pre>{@code
 * Hook mask = Hook.beforeCreateMessage("mask", (flow, m) -> m.withContent(masked(m.content())));
 * }</pre>
 */
public sealed interface Hook {
  /** The hook's name in the journal. */
  String id();

  /** Observes. A stage that it begins is not waited for. */
  @FunctionalInterface
  interface Watch<T> {
    void see(FlowState flow, T what) throws Exception;
  }

  /** Changes data. */
  @FunctionalInterface
  interface Change<T> {
    T change(FlowState flow, T what) throws Exception;
  }

  /** Observes a call of a tool. */
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

  /** Changes an update of a message. */
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

  /** When the thread has created a child thread for another agent. */
  static Hook afterSubagentCreated(String id, Watch<ChildThread> function) {
    return new AfterSubagentCreated(id, function);
  }

  /** Changes the system message. */
  static Hook afterSystemMessage(String id, Change<String> function) {
    return new AfterSystemMessage(id, function);
  }

  /** Changes the messages for a model; the thread keeps the originals. */
  static Hook filterMessages(String id, Change<List<Message>> function) {
    return new FilterMessages(id, function);
  }

  /** Changes the request to the model. A {@link BlockedException} prevents the call. */
  static Hook prefilterLlmHistory(String id, Change<List<ChatMessage>> function) {
    return new PrefilterLlmHistory(id, function);
  }

  /** Changes a message before it is stored; until then nothing of a reply is streamed. */
  static Hook beforeCreateMessage(String id, Change<Message> function) {
    return new BeforeCreateMessage(id, function);
  }

  /** A message was stored. */
  static Hook afterCreateMessage(String id, Watch<Message> function) {
    return new AfterCreateMessage(id, function);
  }

  /** Changes an update of a message. */
  static Hook beforeUpdateMessage(String id, UpdateChange function) {
    return new BeforeUpdateMessage(id, function);
  }

  /** A message was updated. */
  static Hook afterUpdateMessage(String id, Watch<Message> function) {
    return new AfterUpdateMessage(id, function);
  }

  /** Changes the result of a call before it is stored and shown to the model. */
  static Hook beforeStoreToolResult(String id, ResultChange function) {
    return new BeforeStoreToolResult(id, function);
  }

  /** A call succeeded. */
  static Hook afterToolCallSuccess(String id, ResultVeto function) {
    return new AfterToolCallSuccess(id, function);
  }

  /** A call failed. */
  static Hook afterToolCallFailure(String id, ResultVeto function) {
    return new AfterToolCallFailure(id, function);
  }

  /** A call starts, with its arguments. */
  static Hook toolCallStarted(String id, CallWatch<ObjectNode> function) {
    return new ToolCallStarted(id, function);
  }

  /** A call that started has ended, successfully or not. */
  static Hook toolCallDone(String id, CallWatch<ToolResult> function) {
    return new ToolCallDone(id, function);
  }
}
