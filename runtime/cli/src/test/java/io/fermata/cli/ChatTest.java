package io.fermata.cli;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.Agent;
import io.fermata.agent.Budget;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.Questions;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

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
      replying(
          last ->
              last instanceof ToolExecutionResultMessage booked
                  ? AiMessage.from("Booked: " + booked.text())
                  : call("book", "{}"));

  private static Flow<Table> asking(Consumer<Questions<Table>> questions) {
    return Flow.of("book", Table.class)
        .description("Books a table.")
        .ask("what", questions)
        .edge(START, "what")
        .edge("what", END)
        .compile();
  }

  /** What is on the screen after these lines. */
  private static String chat(Flow<?> flow, String... lines) throws Exception {
    HostBuilder builder = Fermata.host();
    flow.displayTools()
        .forEach(name -> builder.display(DisplayTool.of(name, name, name, "<p>" + name)));
    return chat(builder, waiter(WAITER, FlowTool.of("book", "Books a table.", flow)), lines);
  }

  private static Agent waiter(ChatModel model, Offered... tools) {
    return waiter(Model.of("none", model), tools);
  }

  private static Agent waiter(Model model, Offered... tools) {
    return Agent.aiHuman("waiter", Prompt.of("waiter", model).text("Book.").tools(tools));
  }

  private static String chat(HostBuilder builder, Agent waiter, String... lines) throws Exception {
    StringWriter screen = new StringWriter();
    BufferedReader in = new BufferedReader(new StringReader(String.join("\n", lines) + "\n"));
    try (Fermata host = builder.store(Store.memory()).agent(waiter).start()) {
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

  /** A model that decides by the last message. */
  private static ChatModel replying(Function<ChatMessage, AiMessage> reply) {
    return new ChatModel() {
      @Override
      public ChatResponse doChat(ChatRequest request) {
        List<ChatMessage> messages = request.messages();
        return ChatResponse.builder()
            .aiMessage(reply.apply(messages.get(messages.size() - 1)))
            .tokenUsage(new TokenUsage(5, 5))
            .build();
      }
    };
  }

  private static AiMessage call(String tool, String arguments) {
    return AiMessage.from(
        ToolExecutionRequest.builder().id("1").name(tool).arguments(arguments).build());
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

  record Outlay(@Nullable Boolean approved) {}

  @Test
  void whatIsTypedForAQuestionThatWasAnsweredElsewhereIsNotTakenForTheNextOne() throws Exception {
    Flow<Outlay> flow =
        Flow.of("book", Outlay.class)
            .description("Has expenses approved.")
            .ask("decide", q -> q.question("approved", "Is the next expense approved?"))
            .edge(START, "decide")
            .decide(
                "decide", d -> d.when(Condition.visits("decide").lt(2)).to("decide").otherwise(END))
            .compile();
    StringWriter screen = new StringWriter();
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .agent(waiter(WAITER, FlowTool.of("book", "Books.", flow)))
            .start()) {
      Threads threads = host.threads();
      String id =
          now(threads.create(
                  new Threads.NewThread("ann", "waiter", null, Set.of(), Map.of(), List.of())))
              .threadId();
      BufferedReader in =
          new BufferedReader(new StringReader("hi\nno\nno\n")) {
            private boolean answered;

            @Override
            public @Nullable String readLine() throws IOException {
              String line = super.readLine();
              if ("no".equals(line) && !answered) {
                answered = true;
                Threads.Question open = now(threads.get("ann", id)).questions().get(0);
                ObjectNode yes = Json.object().put("approved", true);
                now(
                    threads.answer(
                        "ann",
                        id,
                        new Threads.Answer(open.call(), open.id(), "elsewhere", null, yes, null)));
                now(threads.settled("ann", id, Duration.ofSeconds(30)));
              }
              return line;
            }
          };
      try (Chat chat = Chat.open(threads, "ann", id, in, new PrintWriter(screen))) {
        chat.run();
      }
    }

    assertThat(screen.toString())
        .containsSubsequence(
            "Is the next expense approved?",
            "! The question",
            "Is the next expense approved?",
            "Booked: {\"approved\":false}");
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
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

  @Test
  void anApprovalIsAskedForWithTheToolAndItsArguments() throws Exception {
    ObjectNode schema = Json.object().put("type", "object");
    Tool pay = Tool.of("pay", "Pays.", schema, (flow, args) -> "paid").approval("Pay it?");
    String arguments = "{'amount':5000,'to\\nto':'bob','note':'lunch\\r\\u001b[2Kamount: 5'}";
    ChatModel model =
        replying(
            last ->
                last instanceof ToolExecutionResultMessage
                    ? AiMessage.from("Done.")
                    : call("pay", arguments.replace('\'', '"')));

    assertThat(chat(Fermata.host(), waiter(model, pay), "lunch", "perhaps", "y"))
        .containsSubsequence(
            "Pay it?\npay\namount: 5000\n\"to\\nto\": \"bob\"\n",
            "note: \"lunch\\r\\u001B[2Kamount: 5\"\n[y, or n and why] ",
            "Pay it?\npay\n",
            "Done.");
  }

  @Test
  void whatAModelSaysMovesNoCursorAndHidesNothing() throws Exception {
    String said = "Paid 5000\r\u001b[2KPaid 5\u202e.\n\tThat is \u0007all \ud83d\ude00";

    assertThat(chat(Fermata.host(), waiter(replying(last -> AiMessage.from(said))), "hi"))
        .contains("Paid 5000\\u000d\\u001b[2KPaid 5\\u202e.\n\tThat is \\u0007all 😀")
        .doesNotContain("\r", "\u001b", "\u202e", "\u0007");
  }

  @Test
  void whatIsStreamedMovesNoCursorAndKeepsCharactersThatCameInHalves() throws Exception {
    StreamingChatModel model =
        new StreamingChatModel() {
          @Override
          public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
            List.of("Fine \ud83d", "\ude00\u001b", "[2K").forEach(handler::onPartialResponse);
            handler.onCompleteResponse(
                ChatResponse.builder()
                    .aiMessage(AiMessage.from("Fine \ud83d\ude00\u001b[2K"))
                    .build());
          }
        };

    assertThat(chat(Fermata.host(), waiter(Model.of("none", model)), "hi"))
        .contains("Fine 😀\\u001b[2K")
        .doesNotContain("\u001b");
  }

  @Test
  void anAgentThatNoModelAnswersSaysWhy() throws Exception {
    ChatModel model =
        replying(
            last -> {
              throw new AuthenticationException("no key");
            });

    assertThat(chat(Fermata.host(), waiter(model), "hi", ""))
        .containsSubsequence("> ", "! step_error: ", "unauthorized", "> ")
        .containsOnlyOnce("! step_error");
  }

  @Test
  void anAgentThatHasSpentItsBudgetSaysSo() throws Exception {
    Agent waiter = waiter(replying(last -> AiMessage.from("Fine."))).budget(Budget.tokens(10));

    assertThat(chat(Fermata.host(), waiter, "hi", "once more", "and again"))
        .containsSubsequence("> ", "Fine.", "> ", "! budget_spent: ", "> ", "! budget_spent: ");
  }

  @Test
  void aReplyIsFollowedByNoReasonToStop() throws Exception {
    assertThat(chat(Fermata.host(), waiter(replying(last -> AiMessage.from("Fine."))), "hi"))
        .doesNotContain("!");
  }

  private static FlowTool sleeping() {
    Flow<Table> flow =
        Flow.of("book", Table.class)
            .description("Books a table.")
            .sleep("think", Duration.ofDays(1))
            .edge(START, "think")
            .edge("think", END)
            .compile();
    return FlowTool.of("book", "Books a table.", flow);
  }

  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aFlowThatSleepsIsNamedOnceAndAPersonGoesOnTalking() throws Exception {
    ChatModel model =
        replying(
            last ->
                last instanceof UserMessage said && said.singleText().equals("Well?")
                    ? AiMessage.from("Not before tomorrow.")
                    : call("book", "{}"));
    Agent waiter = waiter(model, sleeping());

    assertThat(chat(Fermata.host(), waiter, "hi", "", "Well?"))
        .containsSubsequence("[book]", "[book waits until 2", "> > ", "Not before tomorrow.", "> ")
        .containsOnlyOnce("waits until");
  }

  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aPersonGoesOnTalkingAlsoIfTheyAnsweredWhileAFlowSleeps() throws Exception {
    Tool pay = Tool.of("pay", "Pays.", (flows, args) -> "paid").approval("Pay it?");
    ChatModel model =
        replying(
            last ->
                last instanceof UserMessage said && said.singleText().equals("Well?")
                    ? AiMessage.from("Not before tomorrow.")
                    : AiMessage.from(
                        ToolExecutionRequest.builder().id("1").name("book").arguments("{}").build(),
                        ToolExecutionRequest.builder()
                            .id("2")
                            .name("pay")
                            .arguments("{}")
                            .build()));
    Prompt prompt =
        Prompt.of("waiter", Model.of("none", model))
            .text("Book.")
            .tools(sleeping(), pay)
            .parallelToolCalls();

    assertThat(chat(Fermata.host(), Agent.aiHuman("waiter", prompt), "hi", "y", "Well?"))
        .containsSubsequence("Pay it?", "[y, or n and why] ", "> ", "Not before tomorrow.", "> ")
        .containsOnlyOnce("waits until");
  }
}
