package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a model is shown of a conversation. */
class RequestTest {
  private static final Tool LOOK = Tool.of("look", "Looks.", (flow, args) -> "seen");

  private final Scripted model = new Scripted();

  private Prompt support(Offered... tools) {
    return Prompt.of("support", model.model()).tools(tools);
  }

  @Test
  void theInstructionsAreTextsOtherPromptsAndTheEnvironment() {
    Prompt house = Prompt.of("house", model.model()).text("Be kind.").env("lang");
    model.say("Hello.");

    Conversation.with(
            Agent.aiHuman("desk", support().text("You help.").include(house).env("missing")))
        .say("Hi");

    assertThat(model.lastRequest())
        .containsExactly("system: You help.\n\nBe kind.\n\nen", "user: Hi");
  }

  @Test
  void theToolsGoWithTheRequestUnlessThePromptForbidsThem() {
    model.say("Hello.").say("Hello.");
    Conversation.with(Agent.aiHuman("desk", support(LOOK).toolChoice(ToolChoice.REQUIRED)))
        .say("Hi");
    assertThat(model.requests().get(0).toolSpecifications()).hasSize(1);
    assertThat(model.requests().get(0).toolChoice()).isEqualTo(ToolChoice.REQUIRED);

    Conversation.with(Agent.aiHuman("desk", support(LOOK).toolChoice(ToolChoice.NONE))).say("Hi");
    assertThat(model.requests().get(1).toolSpecifications()).isEmpty();
  }

  @Test
  void theToolsOfAPromptAreConvertedOnceForAllItsRequests() {
    model.call("look").say("Seen.").say("Hello.");
    Conversation.with(Agent.aiHuman("desk", support(LOOK))).say("one").say("two");

    assertThat(model.requests())
        .hasSize(3)
        .allSatisfy(
            request ->
                assertThat(request.toolSpecifications().get(0))
                    .isSameAs(model.requests().get(0).toolSpecifications().get(0)));
  }

  /** Providers refuse a picture whose bytes differ from its type, in this request and the next. */
  @ParameterizedTest
  @CsvSource({
    "image/png,       89504E470D0A1A0A,         image/png",
    "IMAGE/PNG; q=1,  89504E470D0A1A0A00000000, image/png",
    "image/jpg,       FFD8FFE0,                 image/jpeg",
    "image/webp,      524946460400000057454250, image/webp",
    "image/png,       FFD8FFE000104A4649460001, image/jpeg",
    "image/webp,      89504E470D0A1A0A,         image/png"
  })
  void aPictureThatEveryProviderTakesIsShownBesideItsPathAsWhatItsBytesAre(
      String type, String bytes, String sent) {
    byte[] picture = HexFormat.of().parseHex(bytes);
    model.say("A cat.");
    Conversation.with(Agent.aiHuman("desk", support()))
        .post(null, Message.user("See"), new Attachment("cat", type, picture))
        .run();

    UserMessage shown = (UserMessage) model.requests().get(0).messages().get(0);
    assertThat(shown.contents())
        .containsExactly(
            TextContent.from("See\nAttachment: /attachments/m-u1/cat"),
            ImageContent.from(Base64.getEncoder().encodeToString(picture), sent));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "image/png",
        "image/gif",
        "image/heic",
        "image/svg+xml",
        "image/tiff",
        "image/avif",
        "text/plain"
      })
  void ofAnyOtherFileAModelReadsThePath(String type) {
    model.say("I see.");
    Conversation.with(Agent.aiHuman("desk", support()))
        .post(
            null,
            Message.user("See"),
            new Attachment("cat", type, "GIF89a, or a page".getBytes(StandardCharsets.UTF_8)),
            new Attachment("empty.png", "image/png", new byte[0]))
        .run();

    assertThat(model.lastRequest())
        .containsExactly(
            "user: See\nAttachment: /attachments/m-u1/cat\nAttachment: /attachments/m-u1/empty.png");
  }

  @ParameterizedTest
  @ValueSource(strings = {"image/gif", "image/heic", "image/tiff", "image/pngs", "text/plain"})
  void aFileThatIsDeclaredAsNoPictureThatIsShownIsNotRead(String type) {
    byte[] png = HexFormat.of().parseHex("89504E470D0A1A0A");
    model.say("I see.");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", support()))
            .post(
                null,
                Message.user("See"),
                new Attachment("cat", type, png),
                new Attachment("dog", "image/png", png))
            .run();

    assertThat(talk.world().filesRead).containsExactly("/attachments/m-u1/dog");
  }

  /** Servers write schemas of older drafts, too, whose definitions are elsewhere. */
  @ParameterizedTest
  @ValueSource(strings = {"$defs", "definitions"})
  void whatTheSchemaOfAToolRefersToGoesWithTheRequest(String definitions) throws Exception {
    String reference = "{\"$ref\":\"#/" + definitions + "/%s\"}";
    String schema =
        """
        {"type":"object","description":"Looks.","properties":{"filter":%s},"%s":{
          "Filter":{"type":"object","properties":{"price":%s}},
          "Price":{"type":"integer"}}}
        """
            .formatted(reference.formatted("Filter"), definitions, reference.formatted("Price"));
    Tool look =
        Tool.of(
            "look", "Looks.", (ObjectNode) new ObjectMapper().readTree(schema), (flow, a) -> "");
    model.say("Hello.");

    Conversation.with(Agent.aiHuman("desk", support(look))).say("Hi");

    JsonObjectSchema sent = model.requests().get(0).toolSpecifications().get(0).parameters();
    assertThat(sent.description()).isEqualTo("Looks.");
    assertThat(sent.properties().get("filter"))
        .isEqualTo(JsonRawSchema.from("{\"$ref\":\"#/$defs/Filter\"}"));
    assertThat(sent.definitions())
        .containsOnly(
            Map.entry(
                "Filter",
                JsonRawSchema.from(
                    "{\"type\":\"object\",\"properties\":{\"price\":{\"$ref\":\"#/$defs/Price\"}}}")),
            Map.entry("Price", JsonRawSchema.from("{\"type\":\"integer\"}")));
  }

  @Test
  void theResultsOfToolsOfEarlierTurnsAreShownUnlessThePromptLeavesThemOut() {
    model.sayAndCall("A moment.", "look", Map.of()).say("There.").call("look").say("Again.");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", support(LOOK).includePastTools(false)));

    talk.say("one").say("two");

    assertThat(model.lastRequest())
        .containsExactly(
            "user: one",
            "assistant: A moment.",
            "assistant: There.",
            "user: two",
            "assistant: [look]",
            "result of look: seen");
  }

  @Test
  void aMessageThatAToolInjectsDoesNotHideTheResultOfTheTool() {
    Tool chat =
        Tool.of(
            "look",
            "Looks.",
            (flow, args) -> {
              flow.injectMessage(Message.user("It rains."));
              return "seen";
            });
    model.call("look").say("There.");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", support(chat).includePastTools(false)));

    talk.say("one");

    assertThat(model.lastRequest())
        .containsExactly(
            "user: one", "assistant: [look]", "result of look: seen", "user: It rains.");
  }

  /** A conversation in which the numbers up to one were said. */
  private static Conversation counted(Agent desk, int upTo) {
    Conversation talk = Conversation.with(desk);
    for (int i = 1; i <= upTo; i++) {
      talk.say("number " + i);
    }
    return talk;
  }

  @Test
  void aModelSeesTheLatestMessagesOfItsWindow() {
    model.always(request -> AiMessage.from("ok"));
    Conversation talk = counted(Agent.aiHuman("desk", support().window(3)), 40);

    assertThat(model.lastRequest())
        .containsExactly("user: number 39", "assistant: ok", "user: number 40");
    assertThat(talk.messages().size()).isLessThan(40);
    assertThat(talk.allMessages()).hasSize(80);
  }

  @Test
  void aModelSeesEveryMessageOfAWindowWithoutBound() {
    model.always(request -> AiMessage.from("ok"));
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", support().window(Integer.MAX_VALUE)));

    talk.say("number 1").crash().say("number 2");

    assertThat(model.lastRequest())
        .containsExactly("user: number 1", "assistant: ok", "user: number 2");
  }

  @Test
  void aWindowNeverBeginsWithAResultWhoseCallIsNotInIt() {
    model.call("look").say("There.").say("Again.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support(LOOK).window(3)));

    talk.say("one").say("two");

    assertThat(model.lastRequest())
        .containsExactly("user: (The conversation so far:)", "assistant: There.", "user: two");
  }

  @Test
  void aCallThatNoProviderTakesIsShownAsOneThatEveryProviderTakes() {
    model
        .then(
            request ->
                AiMessage.from(
                    wanted("multi_tool_use.parallel", "{}"),
                    wanted("", "{}"),
                    wanted("x".repeat(65), "{}"),
                    wanted("look", "{\"order\":\"B-"),
                    wanted("look", "[1]"),
                    wanted("look", "")))
        .say("There.");
    Agent desk = Agent.aiHuman("desk", support(LOOK));
    Conversation talk = Conversation.with(desk).say("one");

    List<ToolExecutionRequest> shown =
        ((AiMessage) model.requests().get(1).messages().get(1)).toolExecutionRequests();
    assertThat(shown)
        .extracting(ToolExecutionRequest::name)
        .containsExactly("multi_tool_use_parallel", "_", "x".repeat(64), "look", "look", "look");
    assertThat(shown).extracting(ToolExecutionRequest::arguments).containsOnly("{}");
    assertThat(model.lastRequest())
        .anyMatch(line -> line.contains("There is no tool multi_tool_use.parallel"))
        .anyMatch(line -> line.contains("The arguments of look are not a JSON object"));
    talk.requireSame(desk);
  }

  private static ToolExecutionRequest wanted(String name, String arguments) {
    return ToolExecutionRequest.builder().name(name).arguments(arguments).build();
  }

  @Test
  void aCallWhoseResultIsMissingIsReported() {
    Hook forget =
        Hook.filterMessages(
            "forget",
            (flow, messages) ->
                messages.stream().filter(message -> message.role() != Role.TOOL).toList());
    model.call("look").say("There.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support(LOOK)).hooks(forget));

    talk.say("one");

    assertThat(model.lastRequest()).hasSize(3);
    assertThat(model.lastRequest().get(2)).startsWith("result of look: The call was interrupted");
  }

  @Test
  void modelsThatUseTheSameIdsAgainAreShownEachResultAtItsCall() {
    int[] times = {0};
    Tool count = Tool.of("look", "Looks.", (flow, args) -> "seen " + ++times[0]);
    for (int i = 0; i < 2; i++) {
      model.then(
          request ->
              AiMessage.from(
                  ToolExecutionRequest.builder()
                      .id("call_0")
                      .name("look")
                      .arguments("{}")
                      .build()));
    }
    model.say("There.");

    Conversation.with(Agent.aiHuman("desk", support(count))).say("one");

    assertThat(model.lastRequest())
        .containsExactly(
            "user: one",
            "assistant: [look]",
            "result of look: seen 1",
            "assistant: [look]",
            "result of look: seen 2");
  }

  // --- compaction ------------------------------------------------------------------------------

  private Conversation compacting(Scripted summarizer) {
    return Conversation.with(compacting(Compaction.by(summarizer.model(), 6, 2)));
  }

  private Agent compacting(Compaction compaction) {
    model.always(request -> AiMessage.from("ok"));
    return Agent.aiHuman("desk", support().text("You help.")).compaction(compaction);
  }

  @Test
  void aConversationThatDoesNotFitIntoTheContextOfItsModelContinuesWithWhatFits() {
    Tool huge = Tool.of("huge", "Huge", (flow, args) -> "y".repeat(Bounds.TEXT));
    model.call("huge").say("ok").say("ok").say("ok");
    Agent desk =
        Agent.aiHuman(
            "desk", Prompt.of("support", model.model().contextTokens(10_000)).tools(huge));
    Conversation talk = Conversation.with(desk).say("Go");
    talk.say("x".repeat(Bounds.TEXT)).say("And now?");

    for (List<String> request : List.of(model.request(1), model.request(2), model.request(3))) {
      assertThat(request.stream().mapToInt(String::length).sum()).isLessThan(4 * 10_000);
    }
    assertThat(model.request(1).get(0)).isEqualTo("user: Go");
    assertThat(model.request(1).get(2)).endsWith("(shortened, 262144 characters in all)");
    assertThat(model.lastRequest()).endsWith("assistant: ok", "user: And now?");
    assertThat(talk.messages().get(2).content()).hasSize(Bounds.TEXT);
    talk.requireSame(desk);
  }

  @Test
  void theTextToSummarizeIsBoundedToo() {
    Scripted summarizer = Scripted.saying("They counted to three.");
    Conversation talk = compacting(summarizer);
    talk.say("number 1").say("x".repeat(Bounds.TEXT)).say("x".repeat(Bounds.TEXT));
    for (int i = 4; i <= 5; i++) {
      talk.say("number " + i);
    }

    assertThat(summarizer.request(0).get(1))
        .contains("person: number 1\n", "person: xxx", "support: ok")
        .hasSizeLessThan(Bounds.TEXT);
    assertThat(talk.state().history().summary()).isEqualTo("They counted to three.");
  }

  @Test
  void aRequestForASummaryHasTheBeginningsOfAllMessagesInTheContextOfItsModel() {
    Scripted summarizer = Scripted.saying("They counted. " + "s".repeat(9_000), "On they counted.");
    Agent desk = compacting(Compaction.by(summarizer.model().contextTokens(1_000), 6, 2));
    Conversation talk = Conversation.with(desk);
    for (int i = 1; i <= 8; i++) {
      talk.say("数字" + i + "数".repeat(620));
    }

    assertThat(summarizer.request(0).get(1))
        .contains("person: 数字1", "person: 数字2", "person: 数字3", "person: 数字4")
        .doesNotContain("characters in all");
    assertThat(summarizer.request(1).get(1))
        .contains("They counted.", "person: 数字5", "person: 数字6", "person: 数字7")
        .doesNotContain("characters in all");
    assertThat(summarizer.requests()).hasSize(2);
    talk.requireSame(desk);
  }

  @Test
  void messagesThatDoNotFitIntoASummaryAreLeftToTheNextOne() {
    Scripted summarizer = Scripted.saying("They counted to two.", "They counted to three.");
    Model small = summarizer.model().contextTokens(100);
    Agent desk = compacting(Compaction.by(small, 6, 2).instruction("Sum up."));
    Conversation talk = Conversation.with(desk);
    for (int i = 1; i <= 5; i++) {
      talk.say("number " + i + "x".repeat(200));
    }

    assertThat(summarizer.request(0).get(1))
        .contains("number 1", "number 2")
        .doesNotContain("number 3");
    assertThat(model.lastRequest().get(0)).endsWith("They counted to two.");
    assertThat(model.lastRequest())
        .anyMatch(line -> line.startsWith("user: number 3"))
        .noneMatch(line -> line.startsWith("user: number 2"));

    talk.say("number 6");
    assertThat(summarizer.request(1).get(1))
        .contains("They counted to two.", "number 3")
        .doesNotContain("number 2");
    talk.requireSame(desk);
  }

  @Test
  void summariesOfAThreadThatHadNoneBeginWithItsOldestMessages() {
    Scripted summarizer = Scripted.saying("They counted.", "They went on.");
    Message[] earlier =
        IntStream.rangeClosed(1, 4_400)
            .mapToObj(i -> Message.user("number " + i + "."))
            .toArray(Message[]::new);
    Conversation talk = Conversation.of(Agent.aiHuman("desk", support())).create(earlier).run();
    talk.replace(compacting(Compaction.by(summarizer.model(), 6, 2)));

    talk.say("Hi");

    assertThat(summarizer.request(0).get(1))
        .contains("number 1.", "number 4096.")
        .doesNotContain("number 4097.");
    assertThat(summarizer.request(1).get(1))
        .contains("They counted.", "number 4097.", "number 4399.")
        .doesNotContain("number 4096.", "number 4400.");
    assertThat(talk.state().history().summary()).isEqualTo("They went on.");
  }

  @Test
  void theOlderPartOfALongConversationIsSummarized() {
    Scripted summarizer = Scripted.saying("They counted to three.", "They counted to six.");
    Conversation talk = compacting(summarizer);
    for (int i = 1; i <= 5; i++) {
      talk.say("number " + i);
    }

    assertThat(summarizer.requests()).hasSize(1);
    assertThat(talk.events(ThreadEvent.Compacted.class)).hasSize(1);
    assertThat(summarizer.request(0).get(1)).contains("person: number 1", "support: ok");
    assertThat(model.lastRequest().get(0))
        .startsWith("system: You help.")
        .endsWith("They counted to three.");
    assertThat(model.lastRequest())
        .endsWith("user: (The conversation so far:)", "assistant: ok", "user: number 5")
        .hasSize(4);
    assertThat(talk.allMessages()).hasSize(10);

    talk.crash();
    for (int i = 6; i <= 8; i++) {
      talk.say("number " + i);
    }
    assertThat(summarizer.request(1).get(1))
        .contains("They counted to three.", "number 6")
        .doesNotContain("number 1");
    assertThat(model.lastRequest().get(0)).endsWith("They counted to six.");
    assertThat(talk.state().usage().inputTokens()).isEqualTo(10 * (8 + 2));
  }

  @Test
  void aCompactionThatIsNeverDueSummarizesNothing() {
    Scripted summarizer = Scripted.saying("They counted.");
    Compaction never = Compaction.by(summarizer.model(), Integer.MAX_VALUE, 2);
    Conversation talk = Conversation.with(compacting(never));

    talk.say("number 1").say("number 2").say("number 3");

    assertThat(summarizer.requests()).isEmpty();
    assertThat(model.lastRequest()).hasSize(6);
  }

  @Test
  void aSummaryThatCannotBeMadeStopsNothing() {
    Scripted summarizer = new Scripted().always(request -> AiMessage.from(" "));
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk, 6);

    assertThat(summarizer.requests()).hasSize(3);
    assertThat(talk.state().usage().inputTokens()).as("are paid for").isEqualTo(10 * (6 + 3));
    talk.requireSame(desk);
    assertThat(talk.lines()).endsWith("user: number 6", "assistant: ok");
    assertThat(model.lastRequest()).hasSize(12);
  }

  @Test
  void aSummaryThatTheOutputLimitCutOffIsMadeAgain() {
    Scripted summarizer = new Scripted().cutOff(AiMessage.from("They counted to")).say("Counted.");
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk, 6);

    assertThat(summarizer.requests()).hasSize(2);
    assertThat(talk.state().history().summary()).isEqualTo("Counted.");
    talk.requireSame(desk);
  }

  @Test
  void aSummaryThatCameBackEmptyIsNotAskedForAgainOnceTheBudgetIsSpent() {
    Scripted summarizer = new Scripted().always(request -> AiMessage.from(" "));
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk.budget(Budget.tokens(5 * 15)), 5);

    assertThat(summarizer.requests()).hasSize(1);
    assertThat(model.requests()).hasSize(4);
    assertThat(talk.code()).isEqualTo(StopCode.BUDGET_SPENT);

    talk.replace(desk).say("Go on");
    assertThat(summarizer.requests()).as("asked for anew").hasSize(1 + 3);
    assertThat(talk.last().content()).isEqualTo("ok");
  }

  @Test
  void aSummaryThatNoModelRepliesWithIsAskedForThreeTimes() {
    Scripted summarizer =
        new Scripted()
            .always(
                request -> {
                  throw new IllegalStateException("away");
                });
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk, 6);

    assertThat(talk.events(ThreadEvent.Compacting.class))
        .extracting(ThreadEvent.Compacting::attempt)
        .containsExactly(1, 2, 3);
    assertThat(talk.last().content()).isEqualTo("ok");
    talk.requireSame(desk);
  }

  @Test
  void aSummaryThatWasInterruptedIsAskedForAgain() {
    Scripted summarizer = Scripted.saying("Lost.", "In short.");
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk, 4);

    talk.post("number 5").crashDuring(Conversation.kind(ThreadEffect.Kind.COMPACT)).run();

    assertThat(summarizer.requests()).hasSize(2);
    assertThat(model.lastRequest().get(0)).endsWith("In short.");
    talk.requireSame(desk);
  }

  @Test
  void aSummaryThatHasFailedMayBeInterruptedAsOftenAsAnother() {
    Scripted summarizer = Scripted.saying(" ", "Lost.", "Lost.", "Lost.", "Lost.", "In short.");
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk, 4);

    talk.post("number 5").step();
    assertThat(talk.state().steps().failedSummaries()).isEqualTo(1);
    for (int i = 0; i < 4; i++) {
      talk.crashDuring(Conversation.kind(ThreadEffect.Kind.COMPACT));
    }
    talk.run();

    assertThat(summarizer.requests()).hasSize(6);
    assertThat(model.lastRequest().get(0)).endsWith("In short.");
    talk.requireSame(desk);
  }

  @Test
  void aSummaryThatIsInterruptedFiveTimesIsPostponed() {
    Scripted summarizer = Scripted.saying("Lost.", "Lost.", "Lost.", "Lost.", "Lost.", "In short.");
    Agent desk = compacting(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = counted(desk, 4);

    talk.post("number 5");
    for (int i = 0; i < 5; i++) {
      talk.crashDuring(Conversation.kind(ThreadEffect.Kind.COMPACT));
    }
    talk.run();
    assertThat(summarizer.requests()).hasSize(5);
    assertThat(talk.last().content()).isEqualTo("ok");
    assertThat(model.lastRequest()).hasSize(10);

    talk.say("number 6").say("number 7").say("number 8").say("number 9");
    assertThat(model.lastRequest().get(0)).endsWith("In short.");
    talk.requireSame(desk);
  }

  @Test
  void messagesThatArriveDuringASummaryWaitForItsEnd() {
    Scripted summarizer = new Scripted();
    Conversation talk = compacting(summarizer);
    summarizer.then(
        request -> {
          talk.post("meanwhile");
          return AiMessage.from("In short.");
        });
    for (int i = 1; i <= 5; i++) {
      talk.say("number " + i);
    }

    assertThat(model.lastRequest()).endsWith("user: number 5", "user: meanwhile");
  }

  // --- where a request begins and ends ---------------------------------------------------------

  /** Some providers refuse a request that begins or ends with words or calls of their model. */
  private void assertItBeginsAndEndsWithTheOtherSide() {
    for (int i = 0; i < model.requests().size(); i++) {
      List<String> asked =
          model.request(i).stream().filter(line -> !line.startsWith("system:")).toList();
      assertThat(asked.get(0)).startsWith("user:");
      assertThat(asked.get(asked.size() - 1)).doesNotStartWith("assistant:");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void aRequestBeginsAndEndsWithTheOtherSideWhereverItsWindowIsCut(int window) {
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", support(LOOK).text("You help.").window(window)));
    for (int i = 1; i <= 20; i++) {
      model.call("look").sayAndCall("Wait.", "look", Map.of()).say("There.");

      talk.say("number " + i);
    }

    assertThat(model.requests()).hasSize(60);
    assertItBeginsAndEndsWithTheOtherSide();
    assertThat(model.lastRequest()).contains("user: number 20");
  }

  @Test
  void aSideThatSpeaksAfterItsOwnWordsIsAskedToContinue() {
    Tool done = Tool.of("done", "Ends.", (flow, args) -> "done");
    Agent desk =
        Agent.of(
            "desk",
            Participant.prompt(support(done)).stopOnResponse(false).stopTool("done"),
            Participant.person());
    model.say("First.").say("Second.").call("done").say("Third.").call("done");
    Conversation talk = Conversation.with(desk);

    talk.say("Go").proceed(Side.A).run();

    assertThat(model.requests()).hasSize(5);
    assertThat(model.request(1)).containsExactly("user: Go", "assistant: First.", "user: Go on.");
    assertThat(model.request(2))
        .containsExactly("user: Go", "assistant: First.", "assistant: Second.", "user: Go on.");
    assertItBeginsAndEndsWithTheOtherSide();
  }

  @Test
  void aSideThatSpeaksFirstIsAskedToo() {
    model.say("Welcome.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support().text("You help.")));

    talk.proceed(Side.A).run();

    assertThat(model.lastRequest()).containsExactly("system: You help.", "user: Go on.");
  }

  // --- what is shown while it is said ----------------------------------------------------------

  @Test
  void subscribersGetWhatAModelSaysUnderTheIdOfTheMessageItBecomes() {
    model.say("Hello.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support()));

    talk.say("Hi");

    assertThat(talk.world().deltas)
        .containsExactly(new MessageDelta(talk.last().id(), "text", "Hello."));
  }

  @Test
  void nothingOfAReplyIsStreamedThatAHookMayChangeBeforeItIsAMessage() {
    Scripted down = new Scripted().fail(new IllegalStateException("down"));
    model.say("The card 4111.");
    Hook mask =
        Hook.beforeCreateMessage(
            "mask",
            (flow, m) -> m.withContent(String.valueOf(m.content()).replace("4111", "****")));
    Prompt prompt = Prompt.of("support", down.model().fallback(model.model()));
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt).hooks(mask));

    talk.say("Hi");

    assertThat(talk.lines()).endsWith("assistant: The card ****.");
    assertThat(talk.world().deltas).isEmpty();
  }

  @Test
  void aStepIsLoggedWithItsModelAndWhatItUsed() {
    model.call("look").say("There.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support(LOOK)));

    talk.say("Hi");

    List<ThreadEvent.StepEnded> steps = talk.events(ThreadEvent.StepEnded.class);
    assertThat(steps).extracting(step -> step.log().model()).containsOnly("scripted");
    assertThat(steps).extracting(step -> step.log().id()).containsExactly("s1", "s2");
    assertThat(talk.last().logId()).isEqualTo("s2");
    assertThat(steps.get(0).log().usage().outputTokens()).isEqualTo(5);
    assertThat(talk.state().usage().outputTokens()).isEqualTo(10);
  }

  @Test
  void anEffectDueDuringATurnRunsBesideIt() {
    List<String> order = new ArrayList<>();
    ScheduledHandler tick =
        ScheduledHandler.of("tick", "Ticks.", (flow, args) -> order.add("tick"));
    Tool schedule =
        Tool.of(
            "look",
            "Looks.",
            (flow, args) -> {
              flow.scheduleEffect("tick", Map.of(), Duration.ofSeconds(1));
              return "ok";
            });
    model
        .call("look")
        .then(
            request -> {
              order.add("model");
              return AiMessage.from("Done.");
            });
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support(schedule)).effects(tick));
    talk.post("Hi").runUntil(effect -> effect.key().startsWith("STEP/s2"));

    talk.lastFirst().pass(Duration.ofSeconds(2));

    assertThat(order).containsExactly("tick", "model");
    assertThat(talk.lines()).endsWith("assistant: Done.");
  }
}
