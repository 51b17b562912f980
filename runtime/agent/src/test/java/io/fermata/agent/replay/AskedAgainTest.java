package io.fermata.agent.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.CalledFlow;
import io.fermata.agent.Conversation;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.Scripted;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Change;
import io.fermata.flow.replay.JournalEntry;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What models are asked is made again and compared with what they were asked. */
class AskedAgainTest {
  private record Order(String number) {}

  private static final Tool LOOK_UP = tool("look_up", "Finds an order");
  private static final Tool REFUND = tool("refund", "Pays back");
  private static final byte[] PNG = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

  private static Tool tool(String name, String description) {
    return Tool.of(name, description, Order.class, (flow, args) -> "Order " + args.number());
  }

  private static Prompt talk(Scripted model) {
    return Prompt.of("talk", model.model()).text("Talk.").tools(LOOK_UP);
  }

  private static Agent desk(UnaryOperator<Prompt> prompt, Hook... hooks) {
    return Agent.aiHuman("desk", prompt.apply(talk(new Scripted()))).hooks(hooks);
  }

  /** Two turns: the model looks an order up and says so, and then says goodbye. */
  private static ThreadJournal recorded(UnaryOperator<Prompt> prompt, Hook... hooks) {
    Scripted model =
        new Scripted().call("look_up", Map.of("number", "B-1")).say("It is here.").say("Bye.");
    return Conversation.with(Agent.aiHuman("desk", prompt.apply(talk(model))).hooks(hooks))
        .say("Where is B-1?")
        .say("Thanks.")
        .recorded();
  }

  private static ThreadJournal recorded() {
    return recorded(prompt -> prompt);
  }

  private static ThreadDivergence divergence(ThreadJournal journal, Agent now) {
    ThreadDivergence divergence =
        Objects.requireNonNull(ThreadReplay.of(List.of(now), journal).divergence());
    assertThat(divergence.ofRequest()).isTrue();
    return divergence;
  }

  private static List<RequestDigest> requests(ThreadJournal journal) {
    return journal.events().stream()
        .filter(ThreadEvent.StepEnded.class::isInstance)
        .map(event -> Objects.requireNonNull(((ThreadEvent.StepEnded) event).log().asked()))
        .toList();
  }

  @Test
  void otherInstructionsAreNamedAtTheFirstStepThatAsksWithThem() {
    ThreadJournal journal = recorded();

    ThreadDivergence divergence =
        divergence(journal, desk(prompt -> prompt.withText("Talk nicely.")));

    assertThat(divergence.entry().seq())
        .isEqualTo(
            journal.entries().stream()
                .filter(e -> e.events().stream().anyMatch(ThreadEvent.StepEnded.class::isInstance))
                .findFirst()
                .orElseThrow()
                .seq());
    assertThat(divergence.text())
        .isEqualTo(
            """
            The present code asks a model otherwise than it was recorded, in %s, at agent desk, step 1 of side A, prompt talk.
            Instructions: not those that were recorded
            If the change is wanted, export the thread again, or accept it where it is a test. If not: look at the texts of the prompt and the hooks that change them; a hook that reads a clock, or anything else outside the thread, asks otherwise each time."""
                .formatted(divergence.entry().title()));
    assertThat(divergence.change())
        .isEqualTo(new Change(Change.Kind.REQUEST, "talk", "instructions"));
  }

  @Test
  void anotherWindowIsNamedAtTheFirstStepInWhichItShowsOtherMessages() {
    ThreadDivergence narrower = divergence(recorded(), desk(prompt -> prompt.window(1)));
    ThreadDivergence wider =
        divergence(recorded(prompt -> prompt.window(1)), desk(prompt -> prompt));

    assertThat(narrower.where()).isEqualTo("agent desk, step 3 of side A, prompt talk");
    assertThat(narrower.text())
        .contains("\nMessages:     1 message now, 5 recorded\n", "look at the window of the prompt")
        .doesNotContain("Instructions:", "Tools:");
    assertThat(wider.where()).isEqualTo(narrower.where());
    assertThat(wider.text()).contains("\nMessages:     5 messages now, 1 recorded\n");
  }

  @Test
  void aHookThatShowsTheModelOtherWordsIsNoticedAlthoughTheThreadIsTheSame() {
    Hook polite =
        Hook.filterMessages(
            "polite",
            (flow, rows) ->
                rows.stream()
                    .map(m -> "Thanks.".equals(m.content()) ? m.withContent("Thank you.") : m)
                    .toList());

    ThreadDivergence divergence = divergence(recorded(), desk(prompt -> prompt, polite));

    assertThat(divergence.where()).isEqualTo("agent desk, step 3 of side A, prompt talk");
    assertThat(divergence.text())
        .contains("\nMessages:     5 messages as were recorded, but not the same\n");
  }

  @Test
  void aToolThatIsNewGoneOrDescribedOtherwiseIsNoticedAtTheFirstStep() {
    ThreadDivergence added = divergence(recorded(), desk(prompt -> prompt.tools(REFUND)));
    ThreadDivergence removed =
        divergence(recorded(prompt -> prompt.tools(REFUND)), desk(prompt -> prompt));
    ThreadDivergence reworded =
        divergence(
            recorded(), desk(prompt -> prompt.withTools(tool -> tool("look_up", "Finds it"))));

    assertThat(added.where()).isEqualTo("agent desk, step 1 of side A, prompt talk");
    assertThat(added.text()).contains("\nTools:        2 tools now, 1 recorded: look_up, refund\n");
    assertThat(removed.text()).contains("\nTools:        1 tool now, 2 recorded: look_up\n");
    assertThat(reworded.text())
        .contains("\nTools:        1 tool as were recorded, but not the same: look_up\n")
        .contains("look at the names, descriptions and arguments of the tools");
  }

  @Test
  void theDecisionsAfterAnotherRequestAreComparedWithTheRepliesThatThereWere() {
    Agent reworded = desk(prompt -> prompt.withText("Talk nicely."));

    ThreadReplay asking = ThreadReplay.of(List.of(reworded), recorded());
    ThreadReplay stopping = ThreadReplay.of(List.of(reworded.maxSteps(1)), recorded());

    assertThat(asking.divergences()).hasSize(1);
    assertThat(asking.decided()).isEqualTo(recorded().entries().size());
    assertThat(stopping.divergences())
        .extracting(ThreadDivergence::ofRequest)
        .containsExactly(true, false);
    assertThatThrownBy(stopping::requireSame)
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Instructions: not those that were recorded")
        .hasMessageContaining("Now:      the thread rests: max_total_steps");
  }

  @Test
  void anotherRequestDoesNotHideThatItsReplyBecomesAnotherMessage() {
    ThreadJournal journal = recorded(prompt -> prompt, goodbye("Goodbye."));

    ThreadReplay replay =
        ThreadReplay.of(List.of(desk(prompt -> prompt.window(1), goodbye("So long."))), journal);

    assertThat(replay.divergences())
        .extracting(ThreadDivergence::ofRequest)
        .containsExactly(true, false);
    assertThat(replay.divergences().get(1).entry()).isEqualTo(replay.divergences().get(0).entry());
    assertThat(replay.divergences().get(1).text())
        .contains("Recorded: the model scripted replied \"Goodbye.\"")
        .contains("Now:      the model scripted replied \"So long.\"");
  }

  private static Hook goodbye(String text) {
    return Hook.beforeCreateMessage(
        "goodbye", (flow, m) -> "Bye.".equals(m.content()) ? m.withContent(text) : m);
  }

  @Test
  void theStepOfASubPromptIsNamed() {
    Scripted top = new Scripted().call("helper", Map.of("message", "Help!")).say("Helped.");
    ThreadJournal journal =
        Conversation.with(helped(top, Scripted.saying("Done."), "Help.")).say("Hi").recorded();

    ThreadDivergence divergence =
        divergence(journal, helped(new Scripted(), new Scripted(), "Help well."));

    assertThat(divergence.where()).isEqualTo("agent desk, step 2 of side A, prompt helper");
    assertThat(divergence.text()).contains("Instructions: not those");
  }

  private static Agent helped(Scripted top, Scripted inner, String text) {
    Prompt helper = Prompt.of("helper", inner.model()).text(text).toolDescription("Helps");
    return Agent.aiHuman("desk", Prompt.of("talk", top.model()).tools(helper.asTool()));
  }

  // --- what no journal has ----------------------------------------------------------------------

  @Test
  void aVariableOfTheHostIsLeftOutOfTheInstructionsAndTheRestOfThemIsCompared() {
    UnaryOperator<Prompt> housed = prompt -> prompt.env("house");
    ThreadJournal journal = recorded(housed);

    assertThat(requests(journal)).doesNotHaveDuplicates().noneMatch(r -> r.instructions() == null);
    ThreadReplay.of(List.of(desk(housed)), journal).requireSame();
    assertThat(divergence(journal, desk(prompt -> prompt.withText("Talk nicely.").env("house"))))
        .asString()
        .contains("Instructions: not those");
    assertThat(requests(recorded()).get(0).instructions())
        .as("the digest has nothing of the variable")
        .isEqualTo(requests(journal).get(0).instructions());
  }

  @Test
  void whatAHookMakesOfAVariableOfTheHostIsNotComparedAndTheRestIs() {
    Hook tone = Hook.afterSystemMessage("tone", (flow, text) -> text + " At " + flow.env("house"));
    Hook rewrites = Hook.prefilterLlmHistory("rewrites", (flow, chat) -> chat);
    ThreadJournal journal = recorded(prompt -> prompt, tone);
    ThreadJournal rewritten = recorded(prompt -> prompt, tone, rewrites);

    ThreadReplay.of(List.of(desk(prompt -> prompt, tone)), journal).requireSame();
    ThreadReplay.of(List.of(desk(prompt -> prompt, tone, rewrites)), rewritten).requireSame();
    assertThat(requests(journal)).allMatch(r -> r.instructions() == null && r.messages() != null);
    assertThat(requests(rewritten)).allMatch(r -> r.instructions() == null && r.messages() == null);
    assertThat(divergence(journal, desk(prompt -> prompt.window(1), tone)).text())
        .contains("Messages:     1 message now, 5 recorded");
    assertThat(divergence(rewritten, desk(prompt -> prompt.tools(REFUND), tone, rewrites)).text())
        .contains("Tools:        2 tools now, 1 recorded");
  }

  @Test
  void picturesAreComparedAsTheJournalHasThem() {
    ThreadJournal journal =
        Conversation.with(Agent.aiHuman("desk", talk(Scripted.saying("A book."))))
            .post(null, Message.user("See"), new Attachment("cover.png", "image/png", PNG))
            .run()
            .recorded();

    ThreadReplay.of(List.of(desk(prompt -> prompt)), journal).requireSame();
    Hook blind =
        Hook.prefilterLlmHistory(
            "blind",
            (flow, chat) ->
                List.of(chat.get(0), dev.langchain4j.data.message.UserMessage.from("See")));
    assertThat(divergence(journal, desk(prompt -> prompt, blind)).text())
        .contains("Messages:     1 message as were recorded, but not the same");
  }

  @Test
  void toolsInAnotherOrderAndWithTheirSchemaWrittenOtherwiseAreTheSame() {
    Offered one = CalledFlow.of("pay", "Pays", schema("order", "reason"));
    Offered same = CalledFlow.of("pay", "Pays", schema("reason", "order"));
    ThreadJournal journal = recorded(prompt -> prompt.tools(REFUND, one));

    ThreadReplay.of(List.of(desk(prompt -> prompt.tools(same, REFUND))), journal).requireSame();
  }

  private static ObjectNode schema(String... fields) {
    ObjectNode schema = Json.object().put("type", "object");
    for (String field : fields) {
      schema.withObject("/properties").putObject(field).put("type", "string");
      schema.withArray("/required").add(field);
    }
    return schema;
  }

  @Test
  void aJournalThatDoesNotSayWhatWasAskedIsNotCompared() {
    List<JournalEntry<ThreadEvent>> entries =
        recorded().entries().stream().map(e -> e.with(silent(e.events()))).toList();

    ThreadReplay.of(
            List.of(desk(prompt -> prompt.withText("Talk nicely."))),
            new ThreadJournal("desk", "t1", entries))
        .requireSame();
  }

  private static List<ThreadEvent> silent(List<ThreadEvent> events) {
    return events.stream()
        .map(e -> e instanceof ThreadEvent.StepEnded ended ? ended.asking(null) : e)
        .toList();
  }
}
