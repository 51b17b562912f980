package io.fermata.bench.load;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.session.admin.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** Agents whose models answer at once, and turns with them to measure. */
final class Talk {
  /** The model answers: one step per turn. */
  static final String PLAIN = "load_plain";

  /** The model calls a tool and then answers: two steps and a call per turn. */
  static final String TOOL = "load_tool";

  private static final String PRINCIPAL = "load";
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final String WORDS = "lorem ipsum dolor sit amet ".repeat(19).substring(0, 500);

  private Talk() {}

  static Agent plain() {
    return Agent.aiHuman(PLAIN, Prompt.of("plain", model(Talk::answer)).text("You answer."));
  }

  static Agent withTool() {
    Tool count = Tool.of("count", "Counts.", (flow, args) -> flow.turnCount());
    Prompt prompt = Prompt.of("tool", model(Talk::callFirst)).text("You count.").tools(count);
    return Agent.aiHuman(TOOL, prompt);
  }

  private interface Answering {
    AiMessage to(ChatRequest request);
  }

  private static Model model(Answering answering) {
    return Model.of(
        "scripted",
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return ChatResponse.builder().aiMessage(answering.to(request)).build();
          }
        });
  }

  private static AiMessage answer(ChatRequest request) {
    return AiMessage.from("I have read " + request.messages().size() + " messages.");
  }

  private static AiMessage callFirst(ChatRequest request) {
    boolean asked = request.messages().get(request.messages().size() - 1) instanceof UserMessage;
    return asked
        ? AiMessage.from(
            ToolExecutionRequest.builder().id("c").name("count").arguments("{}").build())
        : answer(request);
  }

  /** Creates a thread with this many messages. */
  static String thread(Threads threads, String agent, int history) throws Exception {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < history; i++) {
      messages.add(i % 2 == 0 ? Message.user(WORDS) : Message.assistant(WORDS));
    }
    return now(threads.create(
            new Threads.NewThread(PRINCIPAL, agent, null, Set.of(), Map.of(), messages)))
        .threadId();
  }

  /** Runs a turn: posts a message and waits until its answer is in the journal. */
  static Threads.View turn(Threads threads, String threadId) throws Exception {
    now(
        threads.post(
            PRINCIPAL,
            threadId,
            new Threads.NewMessage(Message.user("How many?"), List.of(), null)));
    Threads.View view = now(threads.settled(PRINCIPAL, threadId, TIMEOUT));
    if (view.status() != Threads.Status.RESTING || !"stop_on_response".equals(view.code())) {
      throw new IllegalStateException("The turn ended with " + view);
    }
    return view;
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
  }
}
