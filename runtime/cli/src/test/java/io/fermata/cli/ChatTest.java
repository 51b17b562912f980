package io.fermata.cli;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.Questions;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a person can say in a chat. */
class ChatTest {
  record Table(
      @Nullable Integer seats,
      @Nullable BigDecimal budget,
      @Nullable Boolean outside,
      @Nullable List<String> dishes,
      @Nullable Map<String, String> wishes,
      @Nullable Integer highchairs,
      @Nullable String name) {}

  /** Calls the flow, and then says what it returned. */
  private static final ChatModel WAITER =
      new ChatModel() {
        @Override
        public ChatResponse doChat(ChatRequest request) {
          List<ChatMessage> messages = request.messages();
          AiMessage says =
              messages.get(messages.size() - 1) instanceof ToolExecutionResultMessage booked
                  ? AiMessage.from("Booked: " + booked.text())
                  : AiMessage.from(
                      ToolExecutionRequest.builder().id("1").name("book").arguments("{}").build());
          return ChatResponse.builder().aiMessage(says).build();
        }
      };

  /** What is on the screen after these lines. */
  private static Flow<Table> asking(Consumer<Questions<Table>> questions) {
    return Flow.of("book", Table.class)
        .description("Books a table.")
        .ask("what", questions)
        .edge(START, "what")
        .edge("what", END)
        .compile();
  }

  private static String chat(Flow<?> flow, String... lines) throws Exception {
    FlowTool book = FlowTool.of("book", "Books a table.", flow);
    Agent waiter =
        Agent.aiHuman(
            "waiter", Prompt.of("waiter", Model.of("none", WAITER)).text("Book.").tools(book));
    StringWriter screen = new StringWriter();
    BufferedReader in = new BufferedReader(new StringReader(String.join("\n", lines) + "\n"));
    HostBuilder builder = Fermata.host().store(Store.memory()).agent(waiter);
    flow.displayTools()
        .forEach(name -> builder.display(DisplayTool.of(name, name, name, "<p>" + name)));
    try (Fermata host = builder.start()) {
      Threads threads = host.threads();
      String id =
          threads
              .create(new Threads.NewThread("ann", "waiter", null, Set.of(), Map.of(), List.of()))
              .toCompletableFuture()
              .join()
              .threadId();
      try (Chat chat = Chat.open(threads, "ann", id, in, new PrintWriter(screen))) {
        chat.run();
      }
    }
    return screen.toString();
  }

  @Test
  void anAnswerIsReadAsTheTypeOfItsQuestion() throws Exception {
    Flow<Table> flow =
        asking(
            q ->
                q.question("seats", "Seats?")
                    .question("budget", "Budget?")
                    .question("outside", "Outside?")
                    .question("dishes", "Dishes?")
                    .question("wishes", "Wishes?")
                    .question("name", "Name?"));

    assertThat(chat(flow, "hi", "4", "49.50", "yes", "[\"soup\"]", "{\"view\":\"sea\"}", "1984"))
        .contains(
            "Booked: {\"seats\":4,\"budget\":49.50,\"outside\":true,\"dishes\":[\"soup\"],"
                + "\"wishes\":{\"view\":\"sea\"},\"name\":\"1984\"}");
  }

  @Test
  void aTextStaysATextWhereverTheSchemaAllowsOne() {
    for (String schema :
        List.of(
            "{'type':'string'}",
            "{'type':['string','null']}",
            "{'enum':['1984','1985',null]}",
            "{'anyOf':[{'type':'integer'},{'type':'string'}]}",
            "{'oneOf':[{'type':'null'},{'enum':['1984']},{'type':'object'}]}")) {
      assertThat(typed("1984", schema)).as(schema).isEqualTo("\"1984\"");
    }
    assertThat(typed("1984", "{'type':['integer','null']}")).isEqualTo("1984");
    assertThat(typed("yes", "{'anyOf':[{'type':'null'},{'type':'boolean'}]}")).isEqualTo("true");
    assertThat(typed("1984", "{'enum':[1984,1985]}")).isEqualTo("1984");
    assertThat(typed("1984", "{}")).isEqualTo("1984");
    assertThat(typed("soup", "{'anyOf':[{'type':'integer'},{}]}")).isEqualTo("\"soup\"");
    assertThat(typed("true", "{'enum':[true,'auto']}")).isEqualTo("true");
    assertThat(typed("[1984]", "{'type':['string','array']}")).isEqualTo("[1984]");
    assertThat(typed("[1984]", "{'type':['string','integer']}")).isEqualTo("\"[1984]\"");
    assertThatThrownBy(() -> typed("four", "{'type':['integer','null']}"))
        .hasMessage("a whole number, such as 12");
  }

  record Door(Optional<String> code) {}

  @Test
  void aTextThatMayBeMissingIsATextToo() throws Exception {
    Flow<Door> flow =
        Flow.of("book", Door.class)
            .description("Opens a door.")
            .ask("what", q -> q.question("code", "Code?"))
            .edge(START, "what")
            .edge("what", END)
            .compile();

    assertThat(chat(flow, "hi", "1984")).contains("Booked: {\"code\":\"1984\"}");
  }

  private static String typed(String text, String schema) {
    return Json.text(Chat.TypedAnswer.of(text, Json.parse(schema.replace('\'', '"'))));
  }

  @Test
  void aLineThatIsNotOfTheTypeIsAskedForAgainWithWhatIsExpected() throws Exception {
    Flow<Table> flow = asking(q -> q.question("seats", "Seats?").question("outside", "Outside?"));

    assertThat(chat(flow, "hi", "four", "", "4", "perhaps", "n"))
        .containsSubsequence(
            "Seats? ",
            "! Answer with a whole number, such as 12",
            "Seats? ",
            "! This question needs an answer",
            "Seats? ",
            "Outside? ",
            "! Answer with yes or no",
            "Outside? ",
            "Booked: {\"seats\":4,\"outside\":false}");
  }

  @Test
  void anAnswerThatTheFlowRefusesIsAskedForAgainWithTheReason() throws Exception {
    Flow<Table> flow = asking(q -> q.question("seats", "Seats?").question("dishes", "Dishes?"));

    assertThat(chat(flow, "hi", "4", "[1]", "4", "[\"soup\"]"))
        .containsSubsequence("! dishes.0 must be a text", "Seats? ", "Booked: ");
  }

  @Test
  void aBlankLineLeavesAnOptionalQuestionOpen() throws Exception {
    Flow<Table> flow =
        Flow.of("book", Table.class)
            .description("Books a table.")
            .ask(
                "what",
                q ->
                    q.question("highchairs", "Highchairs?", o -> o.optional())
                        .question("name", "Name?"))
            .ask("dishes", q -> q.question("dishes", "Dishes?", o -> o.optional()))
            .edge(START, "what")
            .edge("what", "dishes")
            .edge("dishes", END)
            .compile();

    assertThat(chat(flow, "hi", "", "Ann", "")).contains("Booked: {\"name\":\"Ann\"}");
  }

  @Test
  void aWidgetIsPassedOnceItIsReadAndOneWithAFieldIsAnswered() throws Exception {
    Flow<Table> flow =
        Flow.of("book", Table.class)
            .description("Books a table.")
            .widget("show_menu", w -> w.data(table -> Map.of("soup", 4)).displayOnly())
            .widget("show_plan", w -> w.data(table -> Map.of("free", 6)).field("seats"))
            .edge(START, "show_menu")
            .edge("show_menu", "show_plan")
            .edge("show_plan", END)
            .compile();

    assertThat(chat(flow, "hi", "", "4"))
        .containsSubsequence(
            "show_menu {\"soup\":4} [Enter to continue] ",
            "show_plan {\"free\":6} ",
            "Booked: {\"seats\":4}");
  }
}
