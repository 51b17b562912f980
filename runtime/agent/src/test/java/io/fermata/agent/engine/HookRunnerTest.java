package io.fermata.agent.engine;

import static io.fermata.agent.Conversation.kind;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.BlockedException;
import io.fermata.agent.CalledFlow;
import io.fermata.agent.Conversation;
import io.fermata.agent.FlowState;
import io.fermata.agent.Hook;
import io.fermata.agent.InvalidAgentException;
import io.fermata.agent.Prompt;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** The fourteen places where an author looks on, or changes what passes. */
class HookRunnerTest {
  private final List<String> seen = new ArrayList<>();
  private final Scripted model = new Scripted();

  private final Tool works =
      Tool.of(
          "works",
          "Works",
          (flow, args) -> {
            seen.add("tool works");
            return "worked";
          });

  private final Tool fails =
      Tool.of(
          "fails",
          "Fails",
          (flow, args) -> {
            throw new IllegalStateException("broken");
          });

  private Prompt prompt(Hook... hooks) {
    return Prompt.of("support", model.model()).text("Help.").tools(works, fails).hooks(hooks);
  }

  private Conversation talk(Hook... hooks) {
    return Conversation.with(Agent.aiHuman("desk", prompt()).hooks(hooks));
  }

  private static Hook append(String id) {
    return Hook.beforeCreateMessage(
        id, (flow, message) -> message.withContent(message.content() + "+" + id));
  }

  private Hook watch(String id) {
    return Hook.afterCreateMessage(
        id, (flow, message) -> seen.add(id + " " + Conversation.line(message)));
  }

  // --- when, and with what ---------------------------------------------------------------------

  @Test
  void everyHookIsCalledAtItsMomentWithWhatItIsAbout() {
    Hook[] all = {
      Hook.afterThreadCreated("h1", (flow, thread) -> seen.add("created " + thread.agent())),
      Hook.afterSystemMessage("h3", (flow, text) -> noted("system " + text, text)),
      Hook.filterMessages("h4", (flow, rows) -> noted("filter " + rows.size(), rows)),
      Hook.prefilterLlmHistory(
          "h5", (flow, messages) -> noted("prefilter " + messages.size(), messages)),
      Hook.beforeCreateMessage(
          "h6", (flow, m) -> noted("before " + m.role() + " " + m.content(), m)),
      Hook.afterCreateMessage("h7", (flow, m) -> seen.add("after " + m.role() + " " + m.content())),
      Hook.beforeStoreToolResult("h8", (flow, call, r) -> noted("store " + r.text(), r)),
      Hook.afterToolCallSuccess("h9", (flow, call, r) -> noted("success " + call.name(), r)),
      Hook.afterToolCallFailure("h10", (flow, call, r) -> noted("failure " + call.name(), r)),
      Hook.toolCallStarted("h11", (flow, call, args) -> seen.add("started " + call.name() + args)),
      Hook.toolCallDone("h12", (flow, call, r) -> seen.add("done " + call.name() + " " + r.text())),
    };
    model.calls("works", "fails").say("Done.");

    talk(all).say("Hi");

    assertThat(seen)
        .containsExactly(
            "created desk",
            "before USER Hi",
            "after USER Hi",
            "system Help.",
            "filter 1",
            "prefilter 2",
            "before ASSISTANT null",
            "after ASSISTANT null",
            "started works{}",
            "tool works",
            "done works worked",
            "success works",
            "store worked",
            "before TOOL worked",
            "after TOOL worked",
            "started fails{}",
            "done fails broken",
            "failure fails",
            "store broken",
            "before TOOL Failed to execute tool: broken",
            "after TOOL Failed to execute tool: broken",
            "system Help.",
            "filter 4",
            "prefilter 5",
            "before ASSISTANT Done.",
            "after ASSISTANT Done.");
  }

  private <T> T noted(String what, T value) {
    seen.add(what);
    return value;
  }

  @Test
  void aCallThatNeverStartsHasNoEndEither() {
    Hook started =
        Hook.toolCallStarted("started", (flow, call, args) -> seen.add("started " + call.name()));
    Hook done = Hook.toolCallDone("done", (flow, call, r) -> seen.add("done " + call.name()));
    Hook failure =
        Hook.afterToolCallFailure("failure", (flow, call, r) -> noted("failure " + call.name(), r));
    Tool asks = Tool.of("asks", "Asks", (flow, args) -> "asked").approval("May I?");
    model.calls("nope", "works").call("works", Map.of("extra", 1)).call("asks").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt().tools(asks)).hooks(started, done, failure));

    talk.say("Hi").deny("s3.0", null).run();

    assertThat(seen)
        .containsExactly(
            "failure nope",
            "started works",
            "tool works",
            "done works",
            "failure works",
            "failure asks");
  }

  @Test
  void updatesPassTheirHooks() {
    Tool edits =
        Tool.of(
            "edits",
            "Edits",
            (flow, args) ->
                flow.updateMessage(
                        flow.messageHistory().get(0).id(), MessageUpdate.content("edited"))
                    .content());
    Hook before =
        Hook.beforeUpdateMessage(
            "h13",
            (flow, id, update) ->
                noted("update " + id, MessageUpdate.content(update.content() + "!")));
    Hook after = Hook.afterUpdateMessage("h14", (flow, m) -> seen.add("updated " + m.content()));
    model.call("edits").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(edits))
                .hooks(before, after));

    talk.say("Hi");

    assertThat(seen).containsExactly("update m-u1", "updated edited!");
    assertThat(talk.lines()).startsWith("user: edited!").contains("edits: edited!");
  }

  @Test
  void anUpdateThatAnUpdateHookMakesPassesNoHooks() {
    Tool edits =
        Tool.of(
            "edits",
            "Edits",
            (flow, args) -> flow.updateMessage("m-u1", MessageUpdate.content("edited")).content());
    Hook again =
        Hook.afterUpdateMessage(
            "again",
            (flow, m) -> {
              seen.add(String.valueOf(m.content()));
              flow.updateMessage(m.id(), MessageUpdate.content(m.content() + "+"));
            });
    model.call("edits").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(edits)).hooks(again));

    talk.say("Hi");

    assertThat(seen).containsExactly("edited");
    assertThat(talk.lines()).startsWith("user: edited+");
    assertThat(talk.events(ThreadEvent.HookFailed.class)).isEmpty();
  }

  @Test
  void aHookSeesTheThreadThatTheAgentCreated() {
    Hook born = Hook.afterSubagentCreated("born", (flow, child) -> seen.add(child.threadId()));
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()));
    Conversation talk =
        Conversation.with(
            Agent.aiHuman(
                    "desk",
                    Prompt.of("support", model.model()).tools(SubAgent.of("worker", "Works")))
                .hooks(born),
            worker);

    talk.say("Go");

    assertThat(seen).containsExactly("child-s1.0");
  }

  @Test
  void aHookCannotGiveAMessageMoreMetadataThanAThreadAccepts() {
    Hook large =
        Hook.beforeCreateMessage(
            "large",
            (flow, m) -> m.withMetadata(Json.object().put("all", "x".repeat(Bounds.DATA))));
    model.say("Done.");

    Conversation talk = talk(large).say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Done.");
    assertThat(talk.messages()).extracting(Message::metadata).containsOnlyNulls();
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .allSatisfy(failed -> assertThat(failed.reason()).contains("metadata of the message"))
        .hasSize(2);
  }

  @Test
  void aHookMasksTheTextOfAResultHoweverMuchDataItHas() {
    ObjectNode most = Json.object().put("all", "");
    most.put("all", "x".repeat(Bounds.DATA - Json.text(most).length()));
    Tool cards =
        Tool.of(
            "cards",
            "Shows a card.",
            Json.object().put("type", "object"),
            (flow, args) -> ToolResult.success("4111-1111").withData(most));
    Hook mask =
        Hook.beforeCreateMessage(
            "mask",
            (flow, m) ->
                m.content() == null ? m : m.withContent(m.content().replace("4111-1111", "****")));
    model.call("cards", Map.of()).say("Done.");

    Conversation talk =
        Conversation.with(
                Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(cards)).hooks(mask))
            .say("Go");

    assertThat(talk.events(ThreadEvent.HookFailed.class)).isEmpty();
    assertThat(talk.messages().get(2).content()).isEqualTo("****");
    assertThat(String.valueOf(talk.messages().get(2).metadata())).hasSizeGreaterThan(Bounds.DATA);
  }

  @Test
  void aHookThatLooksOnCannotChangeWhatPasses() {
    Tool orders =
        Tool.of(
            "orders",
            "Orders.",
            Json.object().put("type", "object"),
            (flow, args) -> {
              seen.add("tool " + args);
              return ToolResult.success("done").withData(Json.object().put("cups", 2));
            });
    Hook started = Hook.toolCallStarted("started", (flow, call, args) -> args.put("cups", 9));
    Hook done =
        Hook.toolCallDone(
            "done",
            (flow, call, r) -> ((ObjectNode) Objects.requireNonNull(r.data())).put("cups", 9));
    model.call("orders", Map.of("cups", 2)).say("Done.");

    Conversation talk =
        Conversation.with(
                Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(orders))
                    .hooks(started, done))
            .say("Go");

    assertThat(seen).containsExactly("tool {\"cups\":2}");
    assertThat(talk.messages().get(2).metadata()).hasToString("{\"data\":{\"cups\":2}}");
  }

  @Test
  void whoDecidesWhetherAPersonApprovesCannotChangeWhatThePersonReads() {
    Tool asking =
        works.approval(
            args -> {
              ((ObjectNode) args).put("own", 1);
              return "Really?";
            });
    model.call("works");

    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(asking)))
            .say("Go");

    assertThat(talk.state().open().get(0).question())
        .hasToString("{\"question\":\"Really?\",\"tool\":\"works\",\"arguments\":{}}");
  }

  @Test
  void aSubPromptBeginsAndEndsAsACallToo() {
    Prompt helper = Prompt.of("helper", Scripted.saying("42").model()).toolDescription("Helps");
    Hook started =
        Hook.toolCallStarted("started", (flow, call, args) -> seen.add("started " + args));
    Hook done = Hook.toolCallDone("done", (flow, call, r) -> seen.add("done " + r.text()));
    model.call("helper", Map.of("message", "sum")).say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(helper.asTool()))
                .hooks(started, done));

    talk.say("Go").crash();

    assertThat(seen).containsExactly("started {\"message\":\"sum\"}", "done 42");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aFlowThatAsksBeginsOnceAndWhatTheHookDidIsKeptOnce() {
    Hook started =
        Hook.toolCallStarted("started", (flow, call, args) -> flow.injectMessage(note("started")));
    Hook done = Hook.toolCallDone("done", (flow, call, r) -> flow.injectMessage(note("done")));
    ObjectNode schema = Json.object().put("type", "object");
    model.call("quote").say("Quoted.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman(
                    "desk",
                    Prompt.of("support", model.model())
                        .tools(CalledFlow.of("quote", "Quotes", schema)))
                .hooks(started, done));
    talk.world().flow = args -> new Outside.FlowOutcome.Asking(Json.object());

    talk.say("Go").crash().answer("s1.0", "a1", Json.object()).run();

    assertThat(talk.messages()).extracting(Message::id).doesNotHaveDuplicates();
    assertThat(talk.lines()).filteredOn("assistant (silent): started"::equals).hasSize(1);
    assertThat(talk.lines()).filteredOn("assistant (silent): done"::equals).hasSize(1);
  }

  private static Message note(String text) {
    return Message.assistant(text).asSilent();
  }

  // --- chains and scopes -----------------------------------------------------------------------

  @Test
  void eachHookIsGivenWhatTheOneBeforeItReturned() {
    model.say("Hello");

    Conversation talk = talk(append("a"), append("b")).say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi+a+b", "assistant: Hello+a+b");
  }

  @Test
  void everyPointThatChangesSomethingIsAChain() {
    UnaryOperator<String> x = text -> text + "x";
    Hook[] hooks = {
      Hook.afterSystemMessage("s1", (flow, text) -> x.apply(text)),
      Hook.afterSystemMessage("s2", (flow, text) -> x.apply(text)),
      Hook.filterMessages("f1", (flow, rows) -> plus(rows, Message.user("f1 " + rows.size()))),
      Hook.filterMessages("f2", (flow, rows) -> plus(rows, Message.user("f2 " + rows.size()))),
      Hook.prefilterLlmHistory("p1", (flow, messages) -> plus(messages, UserMessage.from("p1"))),
      Hook.prefilterLlmHistory(
          "p2", (flow, messages) -> plus(messages, UserMessage.from("p2 " + messages.size()))),
    };
    model.say("Hello");

    Conversation talk = talk(hooks).say("Hi");

    assertThat(model.lastRequest())
        .containsExactly(
            "system: Help.xx", "user: Hi", "user: f1 1", "user: f2 2", "user: p1", "user: p2 5");
    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Hello");
  }

  private static <T> List<T> plus(List<T> list, T one) {
    List<T> all = new ArrayList<>(list);
    all.add(one);
    return all;
  }

  @Test
  void theHooksOfAPromptTakeThePlaceOfTheAgents() {
    model.say("Hello");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", prompt(watch("prompt"))).hooks(watch("agent")));

    talk.say("Hi");

    assertThat(seen).containsExactly("prompt user: Hi", "prompt assistant: Hello");
  }

  @Test
  void theHooksOfAnAgentHoldForAMessageFromOutsideWhereItsPromptListsNone() {
    model.say("Hello");

    talk(watch("agent")).say("Hi");

    assertThat(seen).containsExactly("agent user: Hi", "agent assistant: Hello");
  }

  @Test
  void theHooksThatASubAgentWantsOfItsParentsComeBeforeAndAfterTheirOwn() {
    Agent worker =
        Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()))
            .hookOfParentsAfter(watch("last"))
            .hookOfParentsBefore(watch("first"));
    model.say("Hello");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(watch("own")).tools(SubAgent.of("worker", "Works"))),
            worker);

    talk.say("Hi");

    assertThat(seen)
        .startsWith("first user: Hi", "own user: Hi", "last user: Hi", "first assistant: Hello");
  }

  @Test
  void aPromptCannotListAHookThatWouldNeverBeCalled() {
    Hook created = Hook.afterThreadCreated("greet", (flow, thread) -> {});

    assertThatThrownBy(() -> Agent.aiHuman("desk", prompt(created)))
        .isInstanceOf(InvalidAgentException.class)
        .hasMessageContaining("support")
        .hasMessageContaining("greet")
        .hasMessageContaining("list it with the agent");
  }

  @Test
  void aMessageIsAboutToBeCreatedOnce() {
    List<String> before = new ArrayList<>();
    Hook count =
        Hook.beforeCreateMessage(
            "count",
            (flow, message) -> {
              before.add(message.id());
              return message;
            });
    model.calls("works").say("Done.");
    Conversation talk = talk(count);

    talk.say("Hi");

    assertThat(before)
        .doesNotHaveDuplicates()
        .containsExactlyElementsOf(talk.messages().stream().map(Message::id).toList());
  }

  @Test
  void aHookChangesWhatAMessageSaysAndNotWhatItIs() {
    Hook rewrite =
        Hook.beforeCreateMessage("rewrite", (flow, message) -> Message.system("rewritten"));
    model.calls("works").say("Done.");
    Conversation talk = talk(rewrite);

    talk.say("Hi").crash();

    assertThat(talk.messages())
        .extracting(Message::role)
        .containsExactly(Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT);
    assertThat(talk.messages()).extracting(Message::content).containsOnly("rewritten");
    assertThat(model.lastRequest())
        .endsWith("assistant: rewritten [works]", "result of works: rewritten");
  }

  // --- null ------------------------------------------------------------------------------------

  private static Hook strike(String tool) {
    return Hook.afterToolCallSuccess(
        "strike", (flow, call, result) -> call.name().equals(tool) ? null : result);
  }

  @Test
  void nullForASuccessStrikesTheCallOutOfItsMessage() {
    model.calls("works", "other").say("Done.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt().tools(Tool.of("other", "Other", (flow, args) -> "x")))
                .hooks(strike("works")));

    talk.say("Hi").crash();

    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: [other]", "other: x", "assistant: Done.");
    assertThat(model.lastRequest()).noneMatch(line -> line.contains("works"));
  }

  @Test
  void aMessageWhoseOnlyCallIsStruckOutGoesIfItSaysNothing() {
    model.calls("works").say("Done.");

    Conversation talk = talk(strike("works")).say("Hi").crash();

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Done.");
    assertThat(talk.state().history().count()).isEqualTo(2);
  }

  @Test
  void aMessageWhoseOnlyCallIsStruckOutStaysIfItSaysSomething() {
    model.sayAndCall("Let me see.", "works", Map.of());

    Conversation talk = talk(strike("works")).say("Hi").crash();

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Let me see.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void nullForAFailureStrikesTheCallOutToo() {
    Hook hide = Hook.afterToolCallFailure("hide", (flow, call, result) -> null);
    model.calls("works", "fails").say("Done.");

    Conversation talk = talk(hide).say("Hi").crash();

    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: [works]", "works: worked", "assistant: Done.");
  }

  @Test
  @SuppressWarnings("NullAway")
  void nullElsewhereKeepsWhatWasThereAndIsReported() {
    Hook[] hooks = {
      Hook.afterSystemMessage("s", (flow, text) -> null),
      Hook.filterMessages("f", (flow, rows) -> null),
      Hook.prefilterLlmHistory("p", (flow, messages) -> null),
      Hook.beforeCreateMessage("b", (flow, message) -> null),
      Hook.beforeStoreToolResult("t", (flow, call, result) -> null),
    };
    model.calls("works").say("Done.");

    Conversation talk = talk(hooks).say("Hi");

    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: [works]", "works: worked", "assistant: Done.");
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .extracting(ThreadEvent.HookFailed::hook)
        .contains("s", "f", "p", "b", "t");
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .extracting(ThreadEvent.HookFailed::reason)
        .containsOnly("returned null");
  }

  // --- what goes wrong -------------------------------------------------------------------------

  @Test
  void aHookThatThrowsChangesNothingAndIsNamedInTheJournal() {
    Hook throwing =
        Hook.beforeCreateMessage(
            "bad",
            (flow, message) -> {
              flow.storage().put("half", "done");
              throw new IllegalStateException("oops");
            });
    model.say("Hello");

    Conversation talk = talk(throwing, append("b")).say("Hi").crash();

    assertThat(talk.lines()).containsExactly("user: Hi+b", "assistant: Hello+b");
    assertThat(talk.state().stored().storage()).isEmpty();
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .containsExactly(
            new ThreadEvent.HookFailed("bad", "BeforeCreateMessage", "oops"),
            new ThreadEvent.HookFailed("bad", "BeforeCreateMessage", "oops"));
  }

  @Test
  void noHookOfACallThatThrowsMakesTheToolRunAgain() {
    Hook[] hooks = {
      Hook.toolCallStarted("h1", (flow, call, args) -> thrown(args)),
      Hook.toolCallDone("h2", (flow, call, result) -> thrown(result)),
      Hook.afterToolCallSuccess("h3", (flow, call, result) -> thrown(result)),
      Hook.beforeStoreToolResult("h4", (flow, call, result) -> thrown(result)),
      Hook.beforeCreateMessage("h5", (flow, message) -> thrown(message)),
      Hook.afterCreateMessage("h6", (flow, message) -> thrown(message)),
    };
    model.calls("works").say("Done.");

    Conversation talk = talk(hooks).say("Hi");

    assertThat(seen).containsExactly("tool works");
    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: [works]", "works: worked", "assistant: Done.");
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .extracting(ThreadEvent.HookFailed::hook)
        .contains("h1", "h2", "h3", "h4", "h5", "h6");
  }

  private static <T> T thrown(T what) {
    throw new BlockedException("not here: " + what);
  }

  @Test
  void aHookThatBlocksStopsBeforeTheModelIsCalled() {
    Hook guard =
        Hook.prefilterLlmHistory(
            "guard",
            (flow, messages) -> {
              flow.emitEvent("guarded", null);
              throw new BlockedException("I cannot talk about that.");
            });

    Conversation talk = talk(guard).say("Hi").crash();

    assertThat(model.requests()).isEmpty();
    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: I cannot talk about that.");
    assertThat(talk.code()).isEqualTo(StopCode.HOOK_BLOCKED);
    assertThat(talk.events(ThreadEvent.Emitted.class)).hasSize(1);
  }

  @Test
  void aMessageInPlaceOfABlockedOnePassesTheHooks() {
    Hook guard =
        Hook.prefilterLlmHistory(
            "guard",
            (flow, messages) -> {
              throw new BlockedException("No.");
            });

    Conversation talk = talk(guard, append("a"), watch("w")).say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi+a", "assistant: No.+a");
    assertThat(seen).containsExactly("w user: Hi+a", "w assistant: No.+a");
  }

  // --- while other threads use the state -------------------------------------------------------

  /** A hook for messages that, of the first one, waits for the tool to have done something else. */
  private static final class Meanwhile {
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch done = new CountDownLatch(1);

    Hook masking(String id, boolean fails) {
      return Hook.beforeCreateMessage(
          id,
          (flow, message) -> {
            if ("first 4111".equals(message.content())) {
              flow.storage().put("seen", true);
              begun.countDown();
              done.await();
              if (fails) {
                throw new IllegalStateException("oops");
              }
            }
            return message.withContent(String.valueOf(message.content()).replace("4111", "…"));
          });
    }

    /** A tool that does something while the hook is called for the first message. */
    Tool tool(Consumer<FlowState> work) {
      return Tool.of(
          "busy",
          "Works in two threads",
          (flow, args) -> {
            CompletableFuture<Message> first =
                CompletableFuture.supplyAsync(
                    () -> flow.injectMessage(Message.assistant("first 4111")));
            begun.await();
            work.accept(flow);
            done.countDown();
            return "done after " + first.get().content();
          });
    }
  }

  @Test
  void aMessageThatAnotherThreadInjectsMeanwhilePassesItsHooksToo() {
    Meanwhile meanwhile = new Meanwhile();
    Tool busy = meanwhile.tool(flow -> flow.injectMessage(Message.assistant("second 4111")));
    model.call("busy").say("Done.");

    Conversation talk =
        Conversation.with(
                Agent.aiHuman("desk", prompt().tools(busy)).hooks(meanwhile.masking("mask", false)))
            .say("Hi")
            .crash();

    assertThat(talk.lines()).contains("assistant: first …", "assistant: second …");
  }

  @Test
  void aHookThatThrowsTakesBackOnlyWhatItDidItself() {
    Meanwhile meanwhile = new Meanwhile();
    Tool busy =
        meanwhile.tool(
            flow -> {
              flow.storage().put("kept", true);
              flow.injectMessage(Message.assistant("second 4111"));
            });
    model.call("busy").say("Done.");

    Conversation talk =
        Conversation.with(
                Agent.aiHuman("desk", prompt().tools(busy)).hooks(meanwhile.masking("mask", true)))
            .say("Hi")
            .crash();

    assertThat(talk.lines()).contains("assistant: first 4111", "assistant: second …");
    assertThat(talk.state().stored().storage()).containsOnlyKeys("kept");
    assertThat(talk.events(ThreadEvent.HookFailed.class)).hasSize(1);
  }

  @Test
  void aHookThatThrowsTakesBackWhatTheHooksOfItsMessagesDidToo() {
    Hook started =
        Hook.toolCallStarted(
            "started",
            (flow, call, args) -> {
              flow.storage().put("step " + flow.turnCount(), true);
              flow.injectMessage(Message.assistant("one"));
              flow.injectMessage(Message.assistant("two"));
              seen.addAll(flow.storage().list(""));
              if (flow.turnCount() == 1) {
                throw new IllegalStateException("oops");
              }
            });
    Hook before =
        Hook.beforeCreateMessage(
            "before",
            (flow, message) -> {
              flow.storage().put("said " + message.content(), true);
              if ("one".equals(message.content())) {
                throw new IllegalStateException("oops");
              }
              return message;
            });
    model.calls("works").calls("works").say("Done.");

    Conversation talk = talk(started, before).say("Hi").crash();

    assertThat(seen)
        .startsWith("said Hi", "said null", "said two", "step 1", "tool works")
        .endsWith("said Hi", "said null", "said two", "said worked", "step 2", "tool works");
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [works]",
            "works: worked",
            "assistant: [works]",
            "assistant: one",
            "assistant: two",
            "works: worked",
            "assistant: Done.");
    assertThat(talk.state().stored().storage()).containsKey("step 2").doesNotContainKey("step 1");
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .extracting(ThreadEvent.HookFailed::hook)
        .containsExactly("started", "before");
  }

  // --- what hooks do ---------------------------------------------------------------------------

  @Test
  void whatAnyHookDoesThroughItsStateIsJournaled() {
    Hook[] hooks = {
      Hook.afterThreadCreated("h1", (flow, thread) -> put(flow, "created")),
      Hook.afterSystemMessage("h3", (flow, text) -> put(flow, "system", text)),
      Hook.filterMessages("h4", (flow, rows) -> put(flow, "filter", rows)),
      Hook.prefilterLlmHistory("h5", (flow, messages) -> put(flow, "prefilter", messages)),
      Hook.beforeCreateMessage("h6", (flow, m) -> put(flow, "before " + m.role(), m)),
      Hook.afterCreateMessage("h7", (flow, m) -> put(flow, "after " + m.role())),
      Hook.beforeStoreToolResult("h8", (flow, call, r) -> put(flow, "store", r)),
      Hook.afterToolCallSuccess("h9", (flow, call, r) -> put(flow, "success", r)),
      Hook.afterToolCallFailure("h10", (flow, call, r) -> put(flow, "failure", r)),
      Hook.toolCallStarted("h11", (flow, call, args) -> put(flow, "started")),
      Hook.toolCallDone("h12", (flow, call, r) -> put(flow, "done")),
    };
    model.calls("works", "fails").say("Done.");

    Conversation talk = talk(hooks).say("Hi").crash();

    assertThat(talk.state().stored().storage().keySet())
        .containsExactlyInAnyOrder(
            "created",
            "system",
            "filter",
            "prefilter",
            "before USER",
            "before ASSISTANT",
            "before TOOL",
            "after USER",
            "after ASSISTANT",
            "after TOOL",
            "store",
            "success",
            "failure",
            "started",
            "done");
  }

  private static void put(FlowState flow, String key) {
    flow.storage().put(key, true);
  }

  private static <T> T put(FlowState flow, String key, T value) {
    put(flow, key);
    return value;
  }

  @Test
  void whatAHookSaysBeforeAMessageStandsBeforeItAndWhatItSaysAfterStandsAfter() {
    Hook before =
        Hook.filterMessages(
            "before",
            (flow, rows) -> {
              flow.injectMessage(note("before"));
              return rows;
            });
    Hook after =
        Hook.afterCreateMessage(
            "after",
            (flow, message) -> {
              if (!message.silent()) {
                flow.injectMessage(note("after " + message.content()));
              }
            });
    model.say("Hello");

    Conversation talk = talk(before, after).say("Hi").crash();

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant (silent): after Hi",
            "assistant (silent): before",
            "assistant: Hello",
            "assistant (silent): after Hello");
  }

  @Test
  void aHookCanChangeTheMessageThatHasJustBeenCreated() {
    Hook label =
        Hook.afterCreateMessage(
            "label",
            (flow, message) ->
                flow.updateMessage(message.id(), MessageUpdate.content("*" + message.content())));
    model.calls("works").say("Done.");

    Conversation talk = talk(label).say("Hi").crash();

    assertThat(talk.lines())
        .containsExactly(
            "user: *Hi", "assistant: *null [works]", "works: *worked", "assistant: *Done.");
    assertThat(talk.events(ThreadEvent.HookFailed.class)).isEmpty();
  }

  @Test
  void anUpdateThatAHookMakesHasTheBoundsOfAMessage() {
    Hook expand =
        Hook.afterCreateMessage(
            "expand",
            (flow, message) ->
                flow.updateMessage(
                    message.id(), MessageUpdate.content("x".repeat(Bounds.TEXT + 1))));
    Hook describe =
        Hook.beforeCreateMessage(
            "describe",
            (flow, message) -> {
              if (message.role() == Role.ASSISTANT) {
                flow.updateMessage(
                    "m-u1", new MessageUpdate(null, null, Json.tree("x".repeat(Bounds.DATA))));
              }
              return message;
            });
    model.say("Hello");

    Conversation talk = talk(expand, describe).say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Hello");
    assertThat(talk.messages()).extracting(Message::metadata).containsOnlyNulls();
    assertThat(talk.events(ThreadEvent.HookFailed.class))
        .extracting(ThreadEvent.HookFailed::reason)
        .satisfiesExactly(
            reason -> assertThat(reason).contains("longer than the " + Bounds.TEXT),
            reason -> assertThat(reason).contains("longer than the " + Bounds.DATA),
            reason -> assertThat(reason).contains("longer than the " + Bounds.TEXT));
  }

  @Test
  void aMessageThatHasJustBeenCreatedIsInTheWholeHistoryOnce() {
    Hook reads =
        Hook.afterCreateMessage(
            "reads",
            (flow, message) -> {
              List<Message> whole = flow.reloadHistory();
              seen.add(String.join(", ", whole.stream().map(Conversation::line).toList()));
              assertThat(flow.messageHistory()).isEqualTo(whole);
              assertThat(flow.getMessages(100, 0)).hasSameElementsAs(whole);
            });
    Prompt prompt = prompt().parallelToolCalls();
    model.calls("works", "fails").say("Done.");

    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", prompt).hooks(reads)).lastFirst().say("Hi");

    assertThat(talk.events(ThreadEvent.HookFailed.class)).isEmpty();
    assertThat(seen)
        .containsExactly(
            "user: Hi",
            "user: Hi, assistant: [works, fails]",
            "user: Hi, assistant: [works, fails]",
            "tool works",
            "user: Hi, assistant: [works, fails], works: worked",
            "user: Hi, assistant: [works, fails], works: worked,"
                + " fails failed: Failed to execute tool: broken, assistant: Done.");
  }

  @Test
  void aHookReadsTheFileThatAHookBeforeItHasWritten() {
    Hook writes =
        Hook.beforeCreateMessage(
            "writes",
            (flow, message) -> {
              flow.files().write("/a", "a of " + message.content());
              flow.files().write("/b", "b of " + message.content());
              return message.withContent("see the files");
            });
    Hook reads =
        Hook.afterCreateMessage(
            "reads",
            (flow, message) ->
                seen.add(flow.files().readText("/a") + ", " + flow.files().readText("/b")));
    model.say("Hello");

    Conversation talk = talk(writes, reads).say("Hi").crash();

    assertThat(seen).containsExactly("a of Hi, b of Hi", "a of Hello, b of Hello");
    assertThat(talk.events(ThreadEvent.HookFailed.class)).isEmpty();
  }

  @Test
  void filteringChangesWhatTheModelSeesAndNotWhatTheThreadKeeps() {
    Hook last =
        Hook.filterMessages("last", (flow, rows) -> rows.subList(rows.size() - 1, rows.size()));
    model.say("One").say("Two");

    Conversation talk = talk(last).say("first").say("second").crash();

    assertThat(model.lastRequest()).containsExactly("system: Help.", "user: second");
    assertThat(talk.lines())
        .containsExactly("user: first", "assistant: One", "user: second", "assistant: Two");
  }

  @Test
  void theRequestCanBeChangedInTheModelsOwnTerms() {
    Hook only =
        Hook.prefilterLlmHistory(
            "only",
            (flow, messages) ->
                List.<ChatMessage>of(SystemMessage.from("Be brief."), messages.get(1)));
    model.say("Hello");

    talk(only).say("Hi");

    assertThat(model.lastRequest()).containsExactly("system: Be brief.", "user: Hi");
  }

  @Test
  void aResultIsStoredAsItsHooksWantIt() {
    Hook success =
        Hook.afterToolCallSuccess("ok", (flow, call, r) -> r.withText(r.text() + " well"));
    Hook failure = Hook.afterToolCallFailure("no", (flow, call, r) -> ToolResult.success("mended"));
    Hook store = Hook.beforeStoreToolResult("store", (flow, call, r) -> r.withText(r.text() + "!"));
    model.calls("works", "fails").say("Done.");

    Conversation talk = talk(success, failure, store).say("Hi");

    assertThat(talk.lines()).contains("works: worked well!", "fails: mended!");
  }

  @Test
  void aCallThatIsRefusedEndsBeforeTheHooksAsWell() {
    Hook failure =
        Hook.afterToolCallFailure(
            "failure", (flow, call, r) -> noted("failure " + call.name() + " " + r.code(), r));
    model.calls("missing").say("Done.");

    Conversation talk = talk(failure).post("Hi").runUntil(kind(ThreadEffect.Kind.STORE)).run();

    assertThat(seen).containsExactly("failure missing unknown_tool");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }
}
