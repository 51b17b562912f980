package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.Agent;
import io.fermata.agent.CalledFlow;
import io.fermata.agent.Compaction;
import io.fermata.agent.Conversation;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.RandomAgents;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.World;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A fork that takes what its source got from outside, until it asks a model something else. */
class ReplayingForkTest {
  private record Nothing() {}

  private final List<String> ran = new ArrayList<>();
  private final Scripted model = new Scripted();

  private Tool tool(String name) {
    return Tool.of(
        name,
        "Does " + name,
        (flow, args) -> {
          ran.add(name);
          flow.storage().put(name, Json.tree("done"));
          flow.files().write("/" + name, "text of " + name);
          return name + " done";
        });
  }

  private Agent desk(String text, Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model.model()).text(text).tools(tools));
  }

  /** Calls two tools, one after the other, and then speaks of what came of them. */
  private AiMessage next(ChatRequest request) {
    return request.messages().get(request.messages().size() - 1)
            instanceof ToolExecutionResultMessage result
        ? result.toolName().equals("one")
            ? AiMessage.from(model.wants("two", Map.of()))
            : AiMessage.from("Both: " + result.text())
        : AiMessage.from(model.wants("one", Map.of()));
  }

  @Test
  void fromEveryEntryItEndsAsItsSourceAndPerformsNothing() {
    Agent agent =
        desk("Help.", tool("one"), tool("two"))
            .hooks(
                Hook.beforeCreateMessage(
                    "polish",
                    (flow, message) ->
                        message.content() == null
                            ? message
                            : message.withContent(message.content() + "!")));
    model.always(this::next);
    Conversation source = Conversation.with(agent).say("Go");
    int asked = model.requests().size();
    ran.clear();

    for (int i = 2; i <= source.records(); i++) {
      Conversation fork = source.replaying(i).run();

      assertThat(fork.lines()).as("forked at %d", i).isEqualTo(source.lines());
      assertThat(fork.state().usage()).isEqualTo(source.state().usage());
      assertThat(fork.state().stored().storage()).isEqualTo(source.state().stored().storage());
      assertThat(fork.state().stored().files().keySet())
          .isEqualTo(source.state().stored().files().keySet());
      assertThat(fork.code()).isEqualTo(source.code());
      fork.crash();
      fork.requireSame(agent);
    }
    assertThat(ran).isEmpty();
    assertThat(model.requests()).hasSize(asked);
  }

  @Test
  void itTakesEachOfTheSummariesThatItsSourceMadeInOneTurn() {
    Scripted summarizer = Scripted.saying("The first.", "The second.", "The third.");
    Agent agent =
        Agent.aiHuman("desk", Prompt.of("support", model.model()).window(4))
            .compaction(Compaction.by(summarizer.model().contextTokens(1_000), 6, 2));
    Message[] earlier =
        IntStream.rangeClosed(1, 60)
            .mapToObj(i -> Message.user("number %d %s".formatted(i, "x".repeat(200))))
            .toArray(Message[]::new);
    model.say("Done.");
    Conversation source = Conversation.of(agent).create(earlier).run();
    int created = source.records();
    source.say("Hi");
    int asked = summarizer.requests().size();

    Conversation fork = source.replaying(created + 1).run();

    assertThat(asked).isGreaterThan(1);
    assertThat(summarizer.requests()).hasSize(asked);
    assertThat(fork.events(ThreadEvent.Compacted.class))
        .extracting(ThreadEvent.Compacted::summary, ThreadEvent.Compacted::upTo)
        .isEqualTo(
            source.events(ThreadEvent.Compacted.class).stream()
                .map(made -> Assertions.tuple(made.summary(), made.upTo()))
                .toList());
    fork.requireSame(agent);
  }

  @Test
  void aModelThatIsAskedSomethingElseIsAskedAndFromThereOnEverythingIsPerformed() {
    Agent source = desk("Help.", tool("one"), tool("two"));
    model.always(this::next);
    Conversation talk = Conversation.with(source).say("Go");
    Agent other = desk("Help politely.", tool("one"), tool("two"));
    talk.replace(other);

    for (int i = 2; i <= talk.records(); i++) {
      ThreadState then = talk.folded(i);
      ran.clear();
      int before = model.requests().size();
      Conversation fork = talk.replaying(i).run();

      long steps = talk.state().steps().count() - ended(then);
      assertThat(model.requests()).as("forked at %d", i).hasSize(before + (int) steps);
      assertThat(fork.lines()).isEqualTo(talk.lines());
      fork.requireSame(other);
    }
  }

  private static long ended(ThreadState state) {
    boolean thinks =
        state.frames().values().stream()
            .anyMatch(frame -> frame.stage() == StepFrame.Stage.THINKING);
    return state.steps().count() - (thinks ? 1 : 0);
  }

  @Test
  void anotherMessageInPlaceOfTheOneThatCameIsAnsweredByTheModel() {
    Agent agent = desk("Help.", tool("one"), tool("two"));
    model.always(this::next);
    Conversation source = Conversation.with(agent).say("Go");
    ran.clear();

    source.fork(1, ForkOrigin.Mode.REPLAY_EFFECTS, null, Message.user("Go at once")).run();
    assertThat(ran).containsExactly("one", "two");
    ran.clear();

    Conversation same =
        source.fork(1, ForkOrigin.Mode.REPLAY_EFFECTS, null, Message.user("Go")).run();
    assertThat(ran).isEmpty();
    assertThat(same.lines()).isEqualTo(source.lines());
  }

  @Test
  void flowsAndSubAgentsAreNotCalled() {
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()));
    Agent agent =
        desk("Help.", CalledFlow.of("book", "Books"), SubAgent.of("worker", "Works").asBlocking());
    model.call("book").call("worker", Map.of("message", "dig")).say("Done.");
    Conversation source = Conversation.with(agent, worker);
    source.world().flow = args -> World.result("booked");
    source.say("Go").report("child-s2.0", 1, false, "a hole").run();

    Conversation fork = source.replaying(2).run();

    assertThat(fork.lines()).isEqualTo(source.lines());
    assertThat(fork.world().flowCalls).isEmpty();
    assertThat(fork.world().delegated).isEmpty();
    fork.requireSame(agent, worker);
  }

  @Test
  void whatHooksMadeOfTheReferenceOfASubAgentIsMadeOnce() {
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()));
    Agent agent =
        desk("Help.", SubAgent.of("worker", "Works"))
            .hooks(
                Hook.toolCallStarted(
                    "count",
                    (flow, call, arguments) -> flow.injectMessage(Message.assistant("Begins."))),
                Hook.afterToolCallSuccess(
                    "quote", (flow, call, result) -> result.withText("Quote: " + result.text())));
    model.call("worker", Map.of("message", "dig")).say("Begun.");
    Conversation source = Conversation.with(agent, worker).say("Go");
    int asked = model.requests().size();

    Conversation fork = source.replaying(2).run();

    assertThat(source.lines()).contains("worker: Quote: Reference: child-s1.0");
    assertThat(fork.lines()).isEqualTo(source.lines());
    assertThat(model.requests()).hasSize(asked);
    assertThat(fork.world().delegated).isEmpty();
    fork.requireSame(agent, worker);
  }

  @Test
  void anErrorWithLargeFilesIsTakenAsItWas() {
    Tool scan =
        Tool.of(
            "scan",
            "Scans",
            (flow, args) -> {
              ran.add("scan");
              byte[] pages = "page ".repeat(60_000).getBytes(StandardCharsets.UTF_8);
              return ToolResult.error("blurred", "The scan is blurred.")
                  .attach(
                      new Attachment("scan.txt", "text/plain", pages),
                      new Attachment("empty.txt", "text/plain", new byte[0]));
            });
    Agent agent = desk("Help.", scan);
    model.call("scan").say("Scan it again.");
    Conversation source = Conversation.with(agent).say("Go");
    ran.clear();

    Conversation fork = source.replaying(2).run();

    assertThat(ran).isEmpty();
    assertThat(fork.lines()).isEqualTo(source.lines());
    assertThat(fork.events(ThreadEvent.FileWritten.class))
        .extracting(ThreadEvent.FileWritten::path, file -> file.data().length)
        .containsExactly(
            Assertions.tuple("/attachments/s1.0/scan.txt", 300_000),
            Assertions.tuple("/attachments/s1.0/empty.txt", 0));
    assertThat(fork.events(ThreadEvent.ToolReturned.class))
        .isEqualTo(source.events(ThreadEvent.ToolReturned.class));
    fork.requireSame(agent);
  }

  @Test
  void aCallThatWasEndedByAStopIsMade() {
    Agent agent = desk("Help.", tool("one"));
    model.call("one").say("Done.");
    Conversation source = Conversation.with(agent).post("Go").step().stop();
    source.run();
    ran.clear();

    Conversation fork = source.replaying(2).run();

    assertThat(ran).containsExactly("one");
    assertThat(fork.lines()).endsWith("assistant: Done.");
  }

  @Test
  void aDenialAfterTheEntryIsAskedAgainAndTheApprovedCallIsMade() {
    Hook seesResults =
        Hook.afterToolCallFailure(
            "quote", (flow, call, result) -> result.withText("Quote: " + result.text()));
    for (List<Hook> hooks : List.of(List.<Hook>of(), List.of(seesResults))) {
      Agent agent = desk("Help.", tool("one").approval("May I?")).hooks(hooks.toArray(Hook[]::new));
      model.call("one").say("All right.").say("Done.");
      Conversation source = Conversation.with(agent).say("Go");
      int asked = source.records();
      source.deny("s1.0", "too dear").run();
      ran.clear();

      Conversation fork = source.replaying(asked).approve("s1.0").run();

      assertThat(ran).as("with %d hooks", hooks.size()).containsExactly("one");
      assertThat(fork.lines()).contains("one: one done").endsWith("assistant: Done.");
      fork.requireSame(agent);
    }
  }

  @Test
  void aCallThatAMessageKeptTheSourceFromMakingIsMade() {
    Agent agent = desk("Help.", tool("one").approval("May I?"), tool("two"));
    model.calls("one", "two").say("Later.").say("Both.");
    Conversation source = Conversation.with(agent).say("Go");
    int asked = source.records();
    source.say("Wait");
    ran.clear();

    Conversation fork = source.replaying(asked).approve("s1.0").run();

    assertThat(ran).containsExactly("one", "two");
    assertThat(fork.lines()).endsWith("assistant: Both.");
  }

  @Test
  void aCallThatItsStepLeftBehindHasItsResult() {
    Agent agent = desk("Help.", CalledFlow.of("book", "Books"));
    model.call("book").say("It waits.").say("Booked.");
    Conversation source = Conversation.with(agent);
    source.world().flow =
        args -> new Outside.FlowOutcome.Asking(Json.object().put("question", "Which day?"));
    source.world().flowAnswer = answers -> World.result("booked");
    source.say("Go").say("And now?");
    int waits = source.records();
    source.answer("s1.0", "a1", Json.object().put("day", "Monday")).run();
    int asked = model.requests().size();

    Conversation fork = source.replaying(waits).run();

    assertThat(source.last().content()).isEqualTo("Booked.");
    assertThat(fork.lines()).isEqualTo(source.lines());
    assertThat(fork.world().flowCalls).isEmpty();
    assertThat(model.requests()).hasSize(asked);
    fork.requireSame(agent);
  }

  @Test
  void aCallThatItsStepLeftBehindIsApprovedAgainAndHasItsResult() {
    Agent agent = desk("Help.", tool("one").approval("May I?"));
    model.call("one").say("It waits.").say("Done.");
    Conversation source = Conversation.with(agent).say("Go").say("And now?");
    int waits = source.records();
    source.approve("s1.0").run();
    ran.clear();

    Conversation fork = source.replaying(waits).run();
    assertThat(fork.state().open()).hasSize(1);
    fork.approve("s1.0").run();

    assertThat(ran).isEmpty();
    assertThat(fork.lines()).isEqualTo(source.lines());
    fork.requireSame(agent);
  }

  @Test
  void scheduledWorkDoesToTheThreadWhatItDid() {
    ScheduledHandler remind =
        ScheduledHandler.of(
            "remind",
            "Reminds",
            Nothing.class,
            (flow, args) -> {
              ran.add("remind");
              flow.storage().put("reminded", Json.tree(true));
            });
    Tool plan =
        Tool.of(
            "plan",
            "Plans",
            (flow, args) -> {
              flow.scheduleEffect("remind", Map.of(), Duration.ofDays(1));
              return "planned";
            });
    Agent agent = desk("Help.", plan).effects(remind);
    model.call("plan").say("Planned.");
    Conversation source = Conversation.with(agent).say("Go");
    int planned = source.records();
    source.pass(Duration.ofDays(2));
    ran.clear();

    Conversation fork = source.replaying(planned).pass(Duration.ofDays(2));

    assertThat(ran).isEmpty();
    assertThat(fork.state().stored().storage()).containsKey("reminded");
    fork.requireSame(agent);
  }

  @Test
  void codeOfASideThatAnswersTheSameMessageTakesItsTurnAsItDid() {
    Agent agent =
        Agent.of(
            "echo",
            Participant.code(
                (flow, message) -> {
                  ran.add("code");
                  flow.injectMessage(Message.assistant("Heard " + message.content()));
                }),
            Participant.person());
    Conversation source = Conversation.with(agent).post("Hi");
    int begins = source.records();
    source.run();
    ran.clear();

    Conversation fork = source.replaying(begins).run();
    assertThat(ran).isEmpty();
    assertThat(fork.lines()).isEqualTo(source.lines());

    source.fork(1, ForkOrigin.Mode.REPLAY_EFFECTS, null, Message.user("Hello")).run();
    assertThat(ran).containsExactly("code");
  }

  @Test
  @Tag("slow")
  void whateverHappenedAModelIsAskedOnlyWhatItsSourceDidNotAskIt() {
    PropertyTest.forEverySeed(
        120,
        seed -> {
          Agent[] agent = new RandomAgents(seed, false).next();
          Conversation source = new Walk(seed, false, agent).order(new Random(seed)).end();
          int entry = 1 + new Random(seed).nextInt(source.records());
          if (source.folded(entry).deleted()) {
            return;
          }
          Conversation fork = source.replaying(entry);
          for (int i = 0; i < 5_000 && !fork.ready().isEmpty(); i++) {
            fork.step();
          }
          assertThat(fork.ready()).isEmpty();
          fork.crash().requireSame(agent);
        });
  }
}
