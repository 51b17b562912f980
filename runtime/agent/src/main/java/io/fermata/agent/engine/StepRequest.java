package io.fermata.agent.engine;

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ToolChoice;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the model of a step is asked.
 *
 * @param digest what a replay makes again of it: without the variables of the host in its
 *     instructions, and without what hooks made that had seen some
 */
record StepRequest(ChatRequest chat, RequestDigest digest) {
  private static final String SAY_SOMETHING =
      "Your last reply was empty. Reply with text, or call a tool.";

  /**
   * Calls the hooks that change requests.
   *
   * @param state the thread as it was before them
   */
  static StepRequest of(
      Prompt prompt,
      OfferedTools tools,
      StepFrame frame,
      ThreadState state,
      ChangeRecorder recorder,
      RecordingFlowState flow)
      throws InterruptedException {
    HookRunner hooks = recorder.hooks();
    String written = ModelRequest.instructions(prompt, recorder::env);
    boolean hosted = recorder.hasReadHost();
    String instructions = hooks.systemMessage(flow, written);
    boolean hostedByHook = recorder.hasReadHost();
    List<Message> shown = hooks.filter(flow, shown(prompt, frame, state));
    List<ChatMessage> messages =
        new ArrayList<>(
            new ModelRequest(frame.side(), prompt.includesPastTools(), recorder).of(shown));
    if (state.turn().streak().empty() > 0) {
      messages.add(UserMessage.from(SAY_SOMETHING));
    }
    Parts parts = new Parts(system(instructions, prompt, frame, state), messages);
    List<ChatMessage> chat = hooks.prefilter(flow, parts.chat());
    boolean hostedMessages = recorder.hasReadHost();
    ChatRequest.Builder request = ChatRequest.builder().messages(chat);
    if (!tools.specifications().isEmpty()) {
      request.toolSpecifications(tools.specifications()).toolChoice(prompt.toolChoice());
    }

    boolean rewritten = hooks.has(Hook.PrefilterLlmHistory.class);
    boolean reworded = hosted && hooks.has(Hook.AfterSystemMessage.class);
    boolean seen = rewritten && (hosted || hostedByHook || hostedMessages);
    if (rewritten) {
      parts = Parts.of(chat);
    } else if (hosted && !reworded) {
      parts =
          new Parts(
              system(ModelRequest.instructions(prompt, recorder::ownEnv), prompt, frame, state),
              messages);
    }
    return new StepRequest(
        request.build(),
        new RequestDigest(
            seen || reworded || hostedByHook ? null : (Integer) RequestChecksum.of(parts.system()),
            seen || hostedMessages ? null : RequestChecksum.ofMessages(parts.messages()),
            tools.digest()));
  }

  /** The tools of a prompt, which are the same in all its requests. */
  record OfferedTools(List<ToolSpecification> specifications, RequestDigest.Part digest) {
    static OfferedTools of(Prompt prompt) {
      List<Offered> tools = prompt.toolChoice() == ToolChoice.NONE ? List.of() : prompt.tools();
      return new OfferedTools(
          ModelRequest.tools(tools), RequestChecksum.ofTools(tools, prompt.toolChoice()));
    }
  }

  /** The instructions of a request, which may be empty, and the messages after them. */
  private record Parts(String system, List<ChatMessage> messages) {
    static Parts of(List<ChatMessage> chat) {
      return !chat.isEmpty() && chat.get(0) instanceof SystemMessage system
          ? new Parts(system.text(), chat.subList(1, chat.size()))
          : new Parts("", chat);
    }

    List<ChatMessage> chat() {
      List<ChatMessage> chat = new ArrayList<>();
      if (!system.isBlank()) {
        chat.add(SystemMessage.from(system));
      }
      chat.addAll(messages);
      return List.copyOf(chat);
    }
  }

  private static String system(
      String instructions, Prompt prompt, StepFrame frame, ThreadState state) {
    boolean chats = frame.top() || prompt.includesChat();
    String summary = chats ? ModelRequest.summary(state.history()) : null;
    return summary == null ? instructions : instructions + "\n\n" + summary;
  }

  private static List<Message> shown(Prompt prompt, StepFrame frame, ThreadState state) {
    if (frame.top()) {
      return state.history().tail(prompt.window());
    }
    List<Message> shown = new ArrayList<>();
    if (prompt.includesChat()) {
      String asking = asking(state);
      state.history().tail(prompt.window()).stream()
          .takeWhile(message -> !message.id().equals(asking))
          .forEach(shown::add);
    }
    shown.addAll(frame.said());
    return shown;
  }

  /** The message whose calls are being made; a sub-prompt sees the conversation before it. */
  private static @Nullable String asking(ThreadState state) {
    StepFrame top = state.top();
    return top == null ? null : top.messageId();
  }
}
