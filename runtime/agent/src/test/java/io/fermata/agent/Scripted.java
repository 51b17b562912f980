package io.fermata.agent;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Json;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A model that says what a test wrote down, and remembers what it was asked. */
public final class Scripted implements ChatModel {
  private final Deque<Function<ChatRequest, AiMessage>> script = new ArrayDeque<>();
  private final List<ChatRequest> requests = new ArrayList<>();
  private @Nullable Function<ChatRequest, AiMessage> always;
  private FinishReason finish = FinishReason.STOP;
  private int calls;

  /** One that says these things, one after the other. */
  public static Scripted saying(String... texts) {
    Scripted model = new Scripted();
    for (String text : texts) {
      model.say(text);
    }
    return model;
  }

  public Scripted say(String text) {
    return then(request -> AiMessage.from(text));
  }

  /** Says nothing and calls nothing. */
  public Scripted silence() {
    return then(request -> AiMessage.from(""));
  }

  public Scripted call(String tool, Map<String, ?> arguments) {
    return then(request -> AiMessage.from(wants(tool, arguments)));
  }

  public Scripted call(String tool) {
    return call(tool, Map.of());
  }

  /** Says something and calls a tool. */
  public Scripted sayAndCall(String text, String tool, Map<String, ?> arguments) {
    return then(request -> AiMessage.from(text, List.of(wants(tool, arguments))));
  }

  /** Calls several tools in one reply, without arguments. */
  public Scripted calls(String... tools) {
    return then(
        request -> {
          List<ToolExecutionRequest> all = new ArrayList<>();
          for (String tool : tools) {
            all.add(wants(tool, Map.of()));
          }
          return AiMessage.from(all);
        });
  }

  /** Reaches its output limit here. */
  public Scripted cutOff(AiMessage reply) {
    return then(
        request -> {
          finish = FinishReason.LENGTH;
          return reply;
        });
  }

  public Scripted fail(RuntimeException thrown) {
    return then(
        request -> {
          throw thrown;
        });
  }

  public Scripted then(Function<ChatRequest, AiMessage> reply) {
    script.add(reply);
    return this;
  }

  /** What it says when the script is over. */
  public Scripted always(Function<ChatRequest, AiMessage> reply) {
    always = reply;
    return this;
  }

  public ToolExecutionRequest wants(String tool, Map<String, ?> arguments) {
    return ToolExecutionRequest.builder()
        .id("c" + ++calls)
        .name(tool)
        .arguments(Json.text(Json.tree(arguments)))
        .build();
  }

  public Model model() {
    return Model.of("scripted", this).attempts(1);
  }

  @Override
  public ChatResponse doChat(ChatRequest request) {
    requests.add(request);
    requireEnds(request);
    Function<ChatRequest, AiMessage> next = script.isEmpty() ? always : script.poll();
    if (next == null) {
      throw new IllegalStateException("The script is over, and is asked " + received(request));
    }
    finish = FinishReason.STOP;
    return ChatResponse.builder()
        .aiMessage(next.apply(request))
        .tokenUsage(new TokenUsage(10, 5))
        .finishReason(finish)
        .build();
  }

  /** Some providers refuse a request that begins or ends with the words of their model. */
  private static void requireEnds(ChatRequest request) {
    List<ChatMessage> talk =
        request.messages().stream().filter(each -> !(each instanceof SystemMessage)).toList();
    if (talk.isEmpty()
        || talk.get(0) instanceof AiMessage
        || talk.get(talk.size() - 1) instanceof AiMessage) {
      throw new AssertionError("A provider refuses this request: " + received(request));
    }
  }

  // --- what it was asked -----------------------------------------------------------------------

  public List<ChatRequest> requests() {
    return requests;
  }

  /** The messages of one request, a line each: {@code user: hi}. */
  public List<String> request(int number) {
    return received(requests.get(number));
  }

  public List<String> lastRequest() {
    return request(requests.size() - 1);
  }

  static List<String> received(ChatRequest request) {
    return request.messages().stream().map(Scripted::line).toList();
  }

  private static String line(ChatMessage message) {
    if (message instanceof SystemMessage system) {
      return "system: " + system.text();
    } else if (message instanceof UserMessage user) {
      return "user: "
          + user.contents().stream()
              .map(content -> content instanceof TextContent text ? text.text() : "(picture)")
              .collect(Collectors.joining(" "));
    } else if (message instanceof AiMessage ai) {
      String text = ai.text() == null ? "" : " " + ai.text();
      String calls =
          ai.hasToolExecutionRequests()
              ? ai.toolExecutionRequests().stream()
                  .map(ToolExecutionRequest::name)
                  .collect(Collectors.joining(", ", " [", "]"))
              : "";
      return "assistant:" + text + calls;
    }
    ToolExecutionResultMessage result = (ToolExecutionResultMessage) message;
    return "result of " + result.toolName() + ": " + result.text();
  }
}
