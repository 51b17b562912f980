package io.fermata.agent.message;

import static io.fermata.agent.Conversation.kind;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.fermata.agent.Agent;
import io.fermata.agent.CalledFlow;
import io.fermata.agent.Conversation;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.World;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a process that dies leaves behind, and how its thread goes on. */
class CrashTest {
  private final List<String> ran = new ArrayList<>();
  private final Scripted model = new Scripted();

  private Tool tool(String name) {
    return Tool.of(
        name,
        "Does " + name,
        (flow, args) -> {
          ran.add(name);
          return name + " done";
        });
  }

  private Prompt prompt(Offered... tools) {
    return Prompt.of("support", model.model()).tools(tools);
  }

  private Conversation talk(Offered... tools) {
    return Conversation.with(Agent.aiHuman("desk", prompt(tools)));
  }

  private static Predicate<ThreadEffect> call(String key) {
    return effect -> effect.kind() == ThreadEffect.Kind.CALL && effect.id().equals(key);
  }

  /** The first moment that the thread waits for has come. */
  private static Conversation fire(Conversation talk) {
    ThreadEffect timer =
        talk.wanted().stream().filter(ThreadEffect::timer).findFirst().orElseThrow();
    return talk.accept(new ThreadInput.EffectDue(timer, Objects.requireNonNull(timer.due())));
  }

  private static ObjectNode object(String json) {
    try {
      return (ObjectNode) Conversation.JOURNAL.readTree(json);
    } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  // --- tools -----------------------------------------------------------------------------------

  /** A model that refuses the calls of this conversation without what it replied with them. */
  private static ChatModel signing(String model, AtomicInteger asked) {
    return new ChatModel() {
      @Override
      public ChatResponse doChat(ChatRequest request) {
        List<AiMessage> own = new ArrayList<>();
        for (ChatMessage message : request.messages()) {
          if (message instanceof UserMessage) {
            own.clear();
          } else if (message instanceof AiMessage said && said.hasToolExecutionRequests()) {
            own.add(said);
          }
        }
        int number = asked.incrementAndGet();
        for (AiMessage said : own) {
          String id = said.toolExecutionRequests().get(0).id();
          if (!signed(model, id).equals(said)) {
            throw new InvalidRequestException("The thinking of " + id + " is missing: " + said);
          }
        }
        return ChatResponse.builder()
            .aiMessage(
                number % 3 == 0
                    ? AiMessage.from("Done.")
                    : signed(model, "c" + number).toBuilder()
                        .attributes(attributes(model, "c" + number, new Object()))
                        .build())
            .build();
      }
    };
  }

  private static AiMessage signed(String model, String id) {
    return AiMessage.builder()
        .thinking(model + " thinks before " + id)
        .toolExecutionRequests(
            List.of(ToolExecutionRequest.builder().id(id).name("one").arguments("{}").build()))
        .attributes(attributes(model, id, null))
        .build();
  }

  private static Map<String, Object> attributes(
      String model, String id, @Nullable Object notOfJson) {
    Map<String, Object> all = new HashMap<>();
    all.put("thinking_signature", model + " signs " + id);
    all.put("redacted_thinking", List.of("r1", "r2"));
    if (notOfJson != null) {
      all.put("client", notOfJson);
    }
    return all;
  }

  @Test
  void whatAProviderWantsBackWithACallGoesBackWithItsResultAlsoAfterACrash() {
    Model signing = Model.of("signing", signing("signing", new AtomicInteger())).attempts(1);
    Agent desk = Agent.aiHuman("desk", Prompt.of("support", signing).tools(tool("one")));
    Conversation talk = Conversation.with(desk);

    talk.post("Go").runUntil(call("s1.0")).crash().runUntil(call("s2.0")).crash().run();

    assertThat(talk.state().turn().detail()).isNull();
    assertThat(talk.lines())
        .containsExactly(
            "user: Go",
            "assistant: [one]",
            "one: one done",
            "assistant: [one]",
            "one: one done",
            "assistant: Done.");
    assertThat(talk.state().history().reasoning()).containsOnlyKeys("m-s1", "m-s2");
    talk.requireSame(desk);
    Conversation fork = talk.replaying(2).run();
    assertThat(fork.lines()).isEqualTo(talk.lines());
    assertThat(fork.state().history().reasoning()).isEqualTo(talk.state().history().reasoning());

    talk.post("Again").runUntil(call("s4.0"));

    assertThat(talk.state().history().reasoning()).containsOnlyKeys("m-s4");
    assertThat(talk.run().lines()).endsWith("assistant: Done.");
  }

  @Test
  void whatAProviderWantsBackGoesToNoOtherModel() {
    AtomicInteger asked = new AtomicInteger();
    List<AiMessage> received = new ArrayList<>();
    ChatModel failing =
        new ChatModel() {
          private final ChatModel first = signing("signing", asked);

          @Override
          public ChatResponse doChat(ChatRequest request) {
            if (asked.get() == 1) {
              throw new InvalidRequestException("not now");
            }
            return first.chat(request);
          }
        };
    model.then(
        request -> {
          received.add((AiMessage) request.messages().get(1));
          return AiMessage.from("Done.");
        });
    Model both = Model.of("signing", failing).attempts(1).fallback(model.model());
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", Prompt.of("support", both).tools(tool("one"))));

    talk.say("Go");

    assertThat(talk.lines()).endsWith("assistant: Done.");
    assertThat(received.get(0).thinking()).isNull();
    assertThat(received.get(0).attributes()).isEmpty();
    assertThat(received.get(0).hasToolExecutionRequests()).isTrue();
  }

  @Test
  void aCrashBetweenTheSecondAndTheThirdToolOfATurnResumesAtTheThird() {
    model.calls("one", "two", "three").say("All three.");
    Conversation talk = talk(tool("one"), tool("two"), tool("three"));

    talk.post("Go").runUntil(call("s1.2")).crash().run();

    assertThat(ran).containsExactly("one", "two", "three");
    assertThat(talk.lines())
        .containsExactly(
            "user: Go",
            "assistant: [one, two, three]",
            "one: one done",
            "two: two done",
            "three: three done",
            "assistant: All three.");
  }

  @Test
  void aCallThatWasCutOffIsMadeAgainUnderTheSameKey() {
    List<String> keys = new ArrayList<>();
    Tool pay =
        Tool.of(
            "pay",
            "Pays",
            (flow, args) -> {
              keys.add(flow.idempotencyKey() + " " + flow.attempt());
              flow.storage().put("paid", keys.size());
              return "paid";
            });
    model.call("pay").say("Paid.");
    Conversation talk = talk(pay);

    talk.post("Pay").crashDuring(call("s1.0")).run();

    assertThat(keys).containsExactly("t1/s1.0 1", "t1/s1.0 2");
    assertThat(talk.events(ThreadEvent.Stored.class)).hasSize(1);
    assertThat(talk.lines()).filteredOn(line -> line.startsWith("pay")).hasSize(1);
  }

  @Test
  void aToolThatMayRunOnceIsNotCalledAgainAndTheModelLearnsThatTheOutcomeIsUnknown() {
    model.call("one").say("I will look.");
    Conversation talk = talk(tool("one").once().retry(5, Duration.ofSeconds(1)));

    talk.post("Go").crashDuring(call("s1.0")).run();

    assertThat(ran).containsExactly("one");
    assertThat(model.lastRequest().get(2)).contains("may or may not have taken effect");
    assertThat(talk.events(ThreadEvent.CallEnded.class).get(0).code()).isEqualTo("outcome_unknown");
  }

  @Test
  void aRetryThatWaitsKeepsItsTimeOverACrash() {
    Tool flaky =
        Tool.of(
                "flaky",
                "Fails at first",
                (flow, args) -> {
                  ran.add("attempt " + flow.attempt());
                  if (flow.attempt() == 1) {
                    throw new IllegalStateException("not now");
                  }
                  return "well";
                })
            .retry(3, Duration.ofSeconds(30));
    model.call("flaky").say("Done.");
    Conversation talk = talk(flaky);
    talk.say("Go");
    Long due = talk.wanted().get(0).due();

    talk.crash().run();

    assertThat(talk.wanted()).extracting(ThreadEffect::due).containsExactly(due);
    assertThat(ran).containsExactly("attempt 1");
    talk.pass(Duration.ofSeconds(31));
    assertThat(ran).containsExactly("attempt 1", "attempt 2");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void parallelToolsThatWereCutOffAreMadeAgainAndThoseThatEndedAreNot() {
    model.calls("one", "two", "three").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman(
                "desk", prompt(tool("one"), tool("two"), tool("three")).parallelToolCalls()));
    talk.post("Go").runUntil(call("s1.1"));
    talk.perform(talk.ready().get(1));

    talk.crash().run();

    assertThat(ran).containsExactlyInAnyOrder("two", "one", "three");
    assertThat(talk.lines().subList(2, 5))
        .containsExactly("one: one done", "two: two done", "three: three done");
  }

  // --- models and code -------------------------------------------------------------------------

  @Test
  void aModelThatWasCutOffIsAskedAgainAndOneMessageResults() {
    model.say("lost").say("Hello.").say("Bye.");
    Conversation talk = talk();

    talk.post("Hi").crashDuring(kind(ThreadEffect.Kind.STEP)).run().say("Go");

    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: Hello.", "user: Go", "assistant: Bye.");
    assertThat(talk.messages()).extracting(Message::id).doesNotHaveDuplicates();
    assertThat(model.request(0)).isEqualTo(model.request(1));
  }

  @Test
  void codeThatWasCutOffIsHandedItsMessageAgainAndSpeaksOnce() {
    Agent echo =
        Agent.of(
            "echo",
            Participant.code(
                (flow, message) -> {
                  ran.add(message.content() + " " + flow.attempt());
                  flow.injectMessage(Message.assistant("You said " + message.content()));
                }),
            Participant.person());
    Conversation talk = Conversation.with(echo);

    talk.post("hi").crashDuring(kind(ThreadEffect.Kind.HANDLE)).run();

    assertThat(ran).containsExactly("hi 1", "hi 2");
    assertThat(talk.lines()).containsExactly("user: hi", "assistant: You said hi");
  }

  @Test
  void codeThatAnswersTheSameMessageAgainSaysNothingUnderTheSameId() {
    Agent echo =
        Agent.of(
            "echo",
            Participant.code((flow, message) -> flow.injectMessage(Message.assistant("again"))),
            Participant.person());
    Conversation talk = Conversation.with(echo);

    talk.say("hi").proceed(Side.A).run();

    assertThat(talk.messages()).hasSize(3).extracting(Message::id).doesNotHaveDuplicates();
  }

  @Test
  void aSubPromptThatWasCutOffIsAskedAgain() {
    Scripted helper = Scripted.saying("lost", "42");
    Prompt sub = Prompt.of("helper", helper.model()).toolDescription("Helps");
    model.call("helper", Map.of("message", "sum")).say("It is 42.");
    Conversation talk = talk(sub.asTool());

    talk.post("Go")
        .runUntil(effect -> effect.id().equals("s2"))
        .crashDuring(kind(ThreadEffect.Kind.STEP))
        .run();

    assertThat(talk.lines())
        .containsExactly("user: Go", "assistant: [helper]", "helper: 42", "assistant: It is 42.");
    assertThat(talk.allMessages()).extracting(Message::id).doesNotHaveDuplicates();
  }

  // --- effects that were put off ---------------------------------------------------------------

  private ScheduledHandler remind() {
    return ScheduledHandler.of(
        "remind",
        "Reminds",
        (flow, args) -> {
          ran.add("remind " + flow.attempt());
          flow.injectMessage(Message.assistant("Reminder"));
        });
  }

  private static Tool schedules(Duration delay) {
    return Tool.of(
        "later",
        "Puts something off",
        (flow, args) -> flow.scheduleEffect("remind", Map.of(), delay));
  }

  @Test
  void anEffectThatIsDueDuringALongTurnRunsAtOnceBesideTheTurn() {
    model.calls("later").calls("slow").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(schedules(Duration.ofSeconds(1)), tool("slow")))
                .effects(remind()));
    talk.post("Go").runUntil(call("s2.0"));
    ThreadEffect slow = talk.ready().get(0);

    talk.order(ready -> ready.stream().filter(e -> !e.equals(slow)).findFirst().orElse(slow))
        .runUntil(call("s2.0"));
    fire(talk);
    talk.perform(
        talk.ready().stream().filter(kind(ThreadEffect.Kind.DEFERRED)).findFirst().orElseThrow());

    assertThat(ran).containsExactly("remind 1");
    assertThat(talk.ready()).containsExactly(slow);
    talk.run();
    assertThat(ran).containsExactly("remind 1", "slow");
    assertThat(talk.lines()).endsWith("assistant: Reminder", "slow: slow done", "assistant: Done.");
    assertThat(model.lastRequest())
        .containsSubsequence("assistant: [slow]", "result of slow: slow done");
  }

  @Test
  void anEffectThatWasCutOffRunsAgainAndWhatItDidHappensOnce() {
    model.call("later").say("Later.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(schedules(Duration.ofHours(1)))).effects(remind()));
    talk.say("Go").crash().run();
    assertThat(ran).isEmpty();
    fire(talk);

    talk.crashDuring(kind(ThreadEffect.Kind.DEFERRED)).run();

    assertThat(ran).containsExactly("remind 1", "remind 2");
    assertThat(talk.lines()).filteredOn("assistant: Reminder"::equals).hasSize(1);
    assertThat(talk.state().effects().values())
        .extracting(ScheduledEffect::status)
        .containsExactly(ScheduledEffect.Status.COMPLETED);
  }

  @Test
  void anEffectThatMayRunOnceAndWasCutOffIsOver() {
    model.call("later").say("Later.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(schedules(Duration.ZERO))).effects(remind().once()));
    talk.say("Go");
    fire(talk);

    talk.crashDuring(kind(ThreadEffect.Kind.DEFERRED)).run();

    assertThat(ran).containsExactly("remind 1");
    ScheduledEffect over = talk.state().effects().values().iterator().next();
    assertThat(over.status()).isEqualTo(ScheduledEffect.Status.FAILED);
    assertThat(over.error()).contains("outcome is unknown");
  }

  @Test
  void anEffectThatMayRunOnceAndTakesTooLongIsOver() {
    model.call("later").say("Later.");
    Agent desk =
        Agent.aiHuman("desk", prompt(schedules(Duration.ZERO)))
            .effects(remind().once().retry(3, Duration.ofSeconds(1)));
    Conversation talk = Conversation.with(desk).say("Go");
    fire(talk);
    ThreadEffect running = talk.ready().get(0);

    talk.accept(new ThreadInput.EffectEnded(running, talk.program().timedOut(running), talk.now()));
    talk.pass(Duration.ofHours(1)).crash().run();

    assertThat(ran).isEmpty();
    ScheduledEffect over = talk.state().effects().values().iterator().next();
    assertThat(over.status()).isEqualTo(ScheduledEffect.Status.FAILED);
    assertThat(over.error()).contains("outcome is unknown");
    talk.requireSame(desk);
  }

  @Test
  void anEffectThatMayRunOnceIsRetriedIfItFailed() {
    model.call("later").say("Later.");
    ScheduledHandler breaks =
        ScheduledHandler.of(
            "remind",
            "Reminds",
            (flow, args) -> {
              ran.add("remind " + flow.attempt());
              throw new IllegalStateException("no paper");
            });
    Agent desk =
        Agent.aiHuman("desk", prompt(schedules(Duration.ZERO)))
            .effects(breaks.once().retry(2, Duration.ofSeconds(1)));
    Conversation talk = Conversation.with(desk).say("Go");

    talk.pass(Duration.ofSeconds(1)).pass(Duration.ofSeconds(2));

    assertThat(ran).containsExactly("remind 1", "remind 2");
    assertThat(talk.state().effects().values())
        .extracting(ScheduledEffect::error)
        .containsExactly("no paper");
    talk.requireSame(desk);
  }

  @Test
  void anEffectThatHasBegunCannotBeTakenBackByOneWhoSawItWaiting() {
    Tool back =
        Tool.of(
            "back",
            "Takes it back",
            (flow, args) -> flow.removeScheduledEffect(flow.scheduledEffects().get(0).id()));
    model.calls("later").calls("back").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(schedules(Duration.ofHours(1)), back)).effects(remind()));
    talk.post("Go").runUntil(call("s2.0"));
    fire(talk);

    talk.run();

    assertThat(ran).containsExactly("remind 1");
    assertThat(talk.events(ThreadEvent.EffectEnded.class)).hasSize(1);
    assertThat(talk.lines()).contains("assistant: Reminder");
  }

  @Test
  void anEffectThatPutsItselfOffAgainAndAgainKeepsItsNameShort() {
    ScheduledHandler tick =
        ScheduledHandler.of(
            "tick",
            "Ticks",
            (flow, args) -> flow.scheduleEffect("tick", Map.of(), Duration.ofMinutes(1)));
    Tool start =
        Tool.of(
            "start",
            "Starts",
            (flow, args) -> flow.scheduleEffect("tick", Map.of(), Duration.ofMinutes(1)));
    model.call("start").say("Started.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt(start)).effects(tick));
    talk.say("Go");

    for (int i = 0; i < 60; i++) {
      talk.pass(Duration.ofMinutes(1));
    }

    assertThat(talk.events(ThreadEvent.Scheduled.class)).hasSizeGreaterThan(50);
    assertThat(talk.events(ThreadEvent.Scheduled.class))
        .extracting(ThreadEvent.Scheduled::id)
        .doesNotHaveDuplicates()
        .allMatch(id -> id.length() <= 40);
  }

  // --- people ----------------------------------------------------------------------------------

  @Test
  void anOpenApprovalIsOpenAfterACrash() {
    model.call("one").say("Done.");
    Conversation talk = talk(tool("one").approval("May I?"));

    talk.say("Go").crash().run();

    assertThat(talk.state().open())
        .extracting(call -> Objects.requireNonNull(call.question()).path("question").textValue())
        .containsExactly("May I?");
    talk.approve("s1.0").crash().run();
    assertThat(ran).containsExactly("one");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aFlowThatAsksStillAsksAfterACrashAndIsAnsweredOnce() {
    FlowTool quote = CalledFlow.of("quote", "Makes a quote");
    model.call("quote").say("Quoted.");
    Conversation talk = talk(quote);
    talk.world().flow = args -> new Outside.FlowOutcome.Asking(object("{\"field\":\"email\"}"));
    talk.world().flowAnswer = answers -> World.result("mail " + answers.path("email").asText());

    talk.say("Go").crash().run();
    assertThat(talk.state().open().get(0).question()).isEqualTo(object("{\"field\":\"email\"}"));
    talk.answer("s1.0", "a7", Json.object().put("email", "a@b.c")).crashDuring(call("s1.0")).run();

    assertThat(talk.world().flowCalls)
        .containsExactly(
            "quote s1.0 {}",
            "quote s1.0 a7 {\"email\":\"a@b.c\"}",
            "quote s1.0 a7 {\"email\":\"a@b.c\"}");
    assertThat(talk.lines())
        .containsExactly(
            "user: Go", "assistant: [quote]", "quote: mail a@b.c", "assistant: Quoted.");
  }

  @Test
  void aFlowThatAPersonHasApprovedIsNotApprovedAgainWhenItAsks() {
    FlowTool refund =
        CalledFlow.of("refund", "Pays back")
            .approval(args -> "Pay back " + args.path("order").asText() + "?");
    model.call("refund", Map.of("order", "B-1")).say("Paid back.");
    Conversation talk = talk(refund);
    talk.world().flow = args -> new Outside.FlowOutcome.Asking(object("{\"field\":\"reason\"}"));

    talk.say("Go").crash().run();
    assertThat(talk.world().flowCalls).isEmpty();
    assertThat(Objects.requireNonNull(talk.state().open().get(0).question()).path("question"))
        .hasToString("\"Pay back B-1?\"");
    talk.approve("s1.0").crash().run();
    assertThat(talk.state().open().get(0).question()).isEqualTo(object("{\"field\":\"reason\"}"));
    talk.answer("s1.0", "a7", Json.object().put("reason", "torn")).crash().run();

    assertThat(talk.world().flowCalls)
        .containsExactly("refund s1.0 {\"order\":\"B-1\"}", "refund s1.0 a7 {\"reason\":\"torn\"}");
    assertThat(talk.last().content()).isEqualTo("Paid back.");
  }

  // --- children --------------------------------------------------------------------------------

  private static final Agent WORKER =
      Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()));

  private Conversation parent(SubAgent relation) {
    return Conversation.with(Agent.aiHuman("desk", prompt(relation)), WORKER);
  }

  @Test
  void aCallThatWaitsForAChildWaitsForItAfterACrash() {
    model.call("worker", Map.of("message", "dig")).say("Dug.");
    Conversation talk = parent(SubAgent.of("worker", "Works").asBlocking());

    talk.post("Go").crashDuring(call("s1.0")).run().crash().run();
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");
    talk.report("child-s1.0", 1, false, "a hole").crash().run();

    assertThat(talk.lines())
        .containsExactly(
            "user: Go",
            "assistant: [worker]",
            "worker: Reference: child-s1.0\na hole",
            "assistant: Dug.");
  }

  @Test
  void aReportThatIsRepeatedBecauseItsAcknowledgementWasLostCountsOnce() {
    model.call("worker", Map.of("message", "dig")).say("Begun.").say("Noted.");
    Conversation talk = parent(SubAgent.of("worker", "Works"));
    talk.say("Go");

    talk.report("child-s1.0", 1, false, "a hole").crash().run();
    talk.report("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.refusal()).isNull();
    assertThat(talk.lines())
        .filteredOn(line -> line.contains("a hole"))
        .containsExactly(
            "user (silent): Subagent (reference: child-s1.0) has returned the following result:\n"
                + "a hole");
    assertThat(talk.last().content()).isEqualTo("Noted.");
  }

  @Test
  void aThreadThatDiedBeforeItsParentKnewNotifiesItAgain() {
    model.say("Found it.");
    Conversation talk = Conversation.child(Agent.aiHuman("desk", prompt()));

    talk.post("Find it").crashDuring(kind(ThreadEffect.Kind.REPORT)).run();

    assertThat(talk.world().reports).containsExactly("1: Found it.", "1: Found it.");
    assertThat(talk.state().reports()).isEmpty();
  }

  // --- messages --------------------------------------------------------------------------------

  @Test
  void aMessageThatIsPostedAgainCountsOnceAlsoAfterACrash() {
    model.say("Hello.");
    Conversation talk = talk();

    talk.post("k1", Message.user("Hi")).post("k1", Message.user("Hi")).crash();
    talk.post("k1", Message.user("Hi")).run().crash().post("k1", Message.user("Hi")).run();

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Hello.");
  }

  @Test
  void aMessageThatCameDuringTheTurnIsNotLost() {
    model
        .then(
            request -> {
              return AiMessage.from("First.");
            })
        .say("Second.");
    Conversation talk = talk();
    talk.post("one").runUntil(kind(ThreadEffect.Kind.STEP)).post("two");

    talk.crash().run();

    assertThat(talk.lines())
        .containsExactly("user: one", "assistant: First.", "user: two", "assistant: Second.");
  }

  @Test
  void theResultOfAQueuedToolIsVisibleToTheModelOverACrash() {
    Tool queues =
        Tool.of("queues", "Queues another", (flow, args) -> flow.queueTool("one", Map.of()).id());
    model.call("queues").say("Done.");
    Conversation talk = talk(queues, tool("one"));

    talk.post("Go").crashDuring(call("s1.0")).crashDuring(call("s1.0.q1")).run();

    assertThat(ran).containsExactly("one", "one");
    assertThat(model.lastRequest())
        .containsExactly(
            "user: Go",
            "assistant: [queues, one]",
            "result of queues: s1.0.q1",
            "result of one: one done");
  }

  @Test
  void aMessageThatWasChangedStaysChanged() {
    Tool edits =
        Tool.of(
            "edits",
            "Edits",
            (flow, args) -> {
              Message first = flow.messageHistory().get(0);
              flow.updateMessage(first.id(), MessageUpdate.content("Hello"));
              return "edited";
            });
    model.call("edits").say("Done.");
    Conversation talk = talk(edits);

    talk.post("Hi").crashDuring(call("s1.0")).run().crash();

    assertThat(talk.lines().get(0)).isEqualTo("user: Hello");
    assertThat(model.lastRequest().get(0)).isEqualTo("user: Hello");
  }

  // --- hooks -----------------------------------------------------------------------------------

  @Test
  void hooksThatWereCutOffAreCalledAgainAndWhatTheyDidHappensOnce() {
    Hook count =
        Hook.afterCreateMessage(
            "count",
            (flow, message) -> {
              ran.add(String.valueOf(message.content()));
              flow.emitEvent("counted", message.id());
            });
    model.say("lost").say("Hello.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt()).hooks(count));

    talk.post("Hi").crashDuring(kind(ThreadEffect.Kind.RECEIVE));
    talk.crashDuring(kind(ThreadEffect.Kind.STEP)).run();

    assertThat(ran).containsExactly("Hi", "Hi", "lost", "Hello.");
    assertThat(talk.events(ThreadEvent.Emitted.class)).hasSize(2);
  }

  @Test
  void theHooksForANewThreadAreCalledAgainWhenTheyWereCutOff() {
    Hook welcome =
        Hook.afterThreadCreated(
            "welcome",
            (flow, thread) -> {
              ran.add(thread.threadId());
              flow.injectMessage(Message.assistant("Welcome."));
            });
    Conversation talk = Conversation.of(Agent.aiHuman("desk", prompt()).hooks(welcome)).create();

    talk.crashDuring(kind(ThreadEffect.Kind.GREET)).run().crash().run();

    assertThat(ran).containsExactly("t1", "t1");
    assertThat(talk.lines()).containsExactly("assistant: Welcome.");
  }

  @Test
  void aResultThatHooksHadYetToSeeIsShownToThemAfterACrash() {
    Hook mark =
        Hook.beforeStoreToolResult("mark", (flow, call, result) -> result.withText("marked"));
    model.call("nothing").say("Done.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt(tool("one"))).hooks(mark));

    talk.post("Go").crashDuring(kind(ThreadEffect.Kind.STORE)).run();

    assertThat(talk.lines().get(2)).isEqualTo("nothing failed: Failed to execute tool: marked");
  }

  // --- what works beside a turn ----------------------------------------------------------------

  @Test
  void aToolThatIsQueuedWhileTheModelIsAskedIsCalledAfterTheStepAndShown() {
    ScheduledHandler queues =
        ScheduledHandler.of("remind", "Queues", (flow, args) -> flow.queueTool("one", Map.of()));
    model.calls("later").say("Said.").say("Seen.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(schedules(Duration.ofSeconds(1)), tool("one")))
                .effects(queues));
    talk.post("Go").runUntil(effect -> effect.id().equals("s2"));
    fire(talk).lastFirst().run().crash();

    assertThat(ran).containsExactly("one");
    assertThat(talk.lines())
        .endsWith("assistant: Said.", "assistant (silent): [one]", "one: one done");
    talk.say("And?");
    assertThat(model.lastRequest())
        .endsWith("assistant: [one]", "result of one: one done", "user: And?");
  }

  @Test
  void aToolThatIsQueuedWhileCodeHasTheTurnDoesNotTakeTheTurnAway() {
    ScheduledHandler queues =
        ScheduledHandler.of("remind", "Queues", (flow, args) -> flow.queueTool("one", Map.of()));
    Agent agent =
        Agent.of(
                "desk",
                Participant.code(
                    (flow, message) -> {
                      flow.scheduleEffect("remind", Map.of(), Duration.ZERO);
                      flow.injectMessage(Message.assistant("Code: " + message.content()));
                    }),
                Participant.prompt(prompt(tool("one"))))
            .effects(queues);
    model.always(request -> AiMessage.from("Model"));
    Conversation talk = Conversation.with(agent.maxSessionTurns(2));
    talk.post("Go").perform(talk.ready().get(0)).runUntil(kind(ThreadEffect.Kind.HANDLE));
    fire(talk).lastFirst().run();

    assertThat(ran).contains("one");
    assertThat(talk.lines().stream().filter(line -> line.startsWith("assistant: Code")).count())
        .isEqualTo(2);
    talk.crash();
  }

  // --- other builds, and what is cut off again and again ---------------------------------------

  @Test
  void aLargerWindowReachesAThreadThatRests() {
    model.say("Hello.").say("Bye.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt().window(2))).say("Hi");

    talk.replace(Agent.aiHuman("desk", prompt().window(9))).say("Go");

    assertThat(talk.state().history().window()).isEqualTo(9);
  }

  @Test
  void aResultIsKeptThoughCodeTookThePlaceOfTheModelMeanwhile() {
    model.call("one");
    Conversation talk = talk(tool("one"));
    talk.post("Go").runUntil(call("s1.0"));
    ThreadEffect one = talk.ready().get(0);

    talk.replace(Agent.of("desk", Participant.code((flow, message) -> {}), Participant.person()));
    talk.accept(
        new ThreadInput.EffectEnded(
            one,
            new ThreadInput.Called(result("one done"), null, List.of(), List.of()),
            talk.now()));

    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(talk.lines()).endsWith("one: one done");
    assertThat(talk.ready()).isEmpty();
  }

  private static Message result(String text) {
    RequestedCall call = RequestedCall.of("c1", "one", "{}");
    return Message.result(call, Side.A, text, false, List.of()).placed("m-s1.0", 1, 0, null);
  }

  @Test
  void anEndThatCannotBeTakenInStopsTheThreadAndIsNotTriedAgain() {
    model.call("one");
    Conversation talk = talk(tool("one"));
    talk.post("Go").runUntil(call("s1.0"));
    ThreadEvent.Change unreadable = new ThreadEvent.FileMoved("/a", "/b");

    talk.accept(
        new ThreadInput.EffectEnded(
            talk.ready().get(0),
            new ThreadInput.Called(null, null, Arrays.asList(unreadable, null), List.of()),
            talk.now()));

    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(talk.ready()).isEmpty();
  }

  @Test
  void aToolThatIsCutOffAgainAndAgainIsNotBegunForEver() {
    model.call("one").say("I will look.");
    Conversation talk = talk(tool("one")).post("Go");

    for (int i = 0; i < 5; i++) {
      talk.crashDuring(call("s1.0"));
    }
    talk.run();

    assertThat(ran).hasSize(5);
    assertThat(talk.events(ThreadEvent.CallEnded.class).get(0).code()).isEqualTo("outcome_unknown");
    assertThat(talk.last().content()).isEqualTo("I will look.");
  }

  @Test
  void aStepThatIsCutOffAgainAndAgainStopsTheThread() {
    model.always(request -> AiMessage.from("lost"));
    Conversation talk = talk().post("Go");

    for (int i = 0; i < 5; i++) {
      talk.crashDuring(kind(ThreadEffect.Kind.STEP));
    }
    talk.run();

    assertThat(model.requests()).hasSize(5);
    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
  }

  @Test
  void codeThatIsCutOffAgainAndAgainStopsTheThread() {
    Participant code = Participant.code((flow, message) -> ran.add("code"));
    Conversation talk = Conversation.with(Agent.of("desk", code, Participant.person())).post("Go");

    for (int i = 0; i < 5; i++) {
      talk.crashDuring(kind(ThreadEffect.Kind.HANDLE));
    }
    talk.run();

    assertThat(ran).hasSize(5);
    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
  }
}
