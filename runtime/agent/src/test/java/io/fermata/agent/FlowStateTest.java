package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.sun.management.ThreadMXBean;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.engine.Rig;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.history.MessagePage;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What tools, hooks and effects know of their thread, and what they can do to it. */
@Tag("slow")
class FlowStateTest {
  private record Note(String text) {}

  /** What a test has a tool do. */
  private interface Work {
    @Nullable Object of(FlowState flow) throws Exception;
  }

  private final List<String> noted = new ArrayList<>();
  private final List<Object> seen = new ArrayList<>();
  private final Tool note =
      Tool.of(
          "note",
          "Notes.",
          Note.class,
          (flow, args) -> {
            noted.add(args.text());
            return "noted " + args.text();
          });
  private final Scripted model = new Scripted();

  private static Tool work(Work work) {
    return Tool.of("work", "Works.", (flow, args) -> work.of(flow));
  }

  private Agent agent(Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(note).tools(tools));
  }

  /** A conversation in which the model calls the tool {@code work} and says "Done." */
  private Conversation working(Work work) {
    model.call("work").say("Done.");
    return Conversation.with(agent(work(work))).say("Hi");
  }

  // --- what it knows ---------------------------------------------------------------------------

  @Test
  void itKnowsTheThreadAndWhereItIs() {
    Conversation talk =
        working(
            flow -> {
              seen.add(flow.threadId());
              seen.add(flow.agentConfig().name());
              seen.add(flow.currentSide());
              seen.add(flow.turnCount());
              seen.add(flow.stepCount(Side.A));
              seen.add(flow.stepCount(Side.B));
              seen.add(flow.stopped());
              seen.add(flow.thread().principal());
              seen.add(flow.thread().tags());
              seen.add(flow.thread().threadId());
              seen.add(flow.messageHistory().size());
              return null;
            });

    assertThat(seen)
        .containsExactly("t1", "desk", Side.A, 1, 1, 0, false, "ann", Set.of("new"), "t1", 2);
    assertThat(talk.lines()).contains("work: Tool executed successfully");
  }

  @Test
  void anExecutionHasAnIdAndTheNextOneAnother() {
    model.call("work").say("Done.").call("work").say("Done.");
    Conversation talk = Conversation.with(agent(work(flow -> seen.add(flow.flowId()))));

    talk.say("one").say("two");

    assertThat(seen).hasSize(2).doesNotHaveDuplicates();
  }

  @Test
  void theQueueShowsWhatIsLeftOfTheStep() {
    Tool look =
        work(
            flow -> {
              FlowState.Sequence sequence = flow.sequence();
              seen.add(sequence.queue().stream().map(RequestedCall::name).toList());
              seen.add(sequence.isHandling());
              return "ok";
            });
    model.calls("work", "note").say("Done.");

    Conversation.with(agent(look)).say("Hi");

    assertThat(seen).containsExactly(List.of("work", "note"), true);
  }

  // --- tools -----------------------------------------------------------------------------------

  @Test
  void theModelSeesTheCallThatAToolQueuedAndItsResult() {
    Conversation talk = working(flow -> flow.queueTool("note", Map.of("text", "tea")).name());

    assertThat(noted).containsExactly("tea");
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [work, note]",
            "work: note",
            "note: noted tea",
            "assistant: Done.");
    assertThat(model.lastRequest())
        .containsExactly(
            "user: Hi",
            "assistant: [work, note]",
            "result of work: note",
            "result of note: noted tea");
  }

  @Test
  void queuedCallsAreMadeInTheOrderInWhichTheyWereQueuedAfterThoseOfTheStep() {
    Tool first =
        work(
            flow -> {
              flow.queueTool("note", Map.of("text", "one"));
              flow.queueTool("note", Map.of("text", "two"));
              return "ok";
            });
    model
        .then(
            request ->
                AiMessage.from(
                    List.of(
                        model.wants("work", Map.of()),
                        model.wants("note", Map.of("text", "declared")))))
        .say("Done.");

    Conversation.with(agent(first)).say("Hi");

    assertThat(noted).containsExactly("declared", "one", "two");
  }

  @Test
  void aToolThatNoModelIsOfferedOnThisSideCanBeQueued() {
    Tool hidden = Tool.of("hidden", "Hidden.", (flow, args) -> "done");
    Prompt other = Prompt.of("other", model.model()).toolDescription("Other.").tools(hidden);
    model.call("work").say("Done.");

    Conversation talk =
        Conversation.with(
            agent(other.asTool(), work(flow -> flow.queueTool("hidden", Map.of()).name())));
    talk.say("Hi");

    assertThat(talk.lines()).contains("hidden: done");
  }

  @Test
  void argumentsThatDoNotFitCannotBeQueued() {
    Conversation talk = working(flow -> flow.queueTool("note", Map.of("txt", 1)));

    assertThat(noted).isEmpty();
    assertThat(talk.lines().get(2)).contains("work failed", "text");
  }

  @Test
  void aHookCanQueueACallBeforeTheModelIsAsked() {
    Hook greet =
        Hook.afterCreateMessage(
            "note it",
            (flow, message) -> {
              if (message.role() == Role.USER) {
                flow.queueTool("note", Map.of("text", "heard"));
              }
            });
    model.say("Hello.");
    Conversation talk = Conversation.with(agent().hooks(greet));

    talk.say("Hi");

    assertThat(model.lastRequest())
        .containsExactly("user: Hi", "assistant: [note]", "result of note: noted heard");
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi", "assistant (silent): [note]", "note: noted heard", "assistant: Hello.");
  }

  @Test
  void anEffectCanQueueACallInAThreadAtRestAndTheModelSeesItLater() {
    ScheduledHandler later =
        ScheduledHandler.of(
            "later", "Later.", (flow, args) -> flow.queueTool("note", Map.of("text", "night")));
    model.call("work").say("Done.").say("Good morning.");
    Conversation talk =
        Conversation.with(
            agent(work(flow -> flow.scheduleEffect("later", Map.of(), Duration.ofHours(1))))
                .effects(later));
    talk.say("Hi");
    int requests = model.requests().size();

    talk.pass(Duration.ofHours(2));
    assertThat(noted).containsExactly("night");
    assertThat(model.requests()).hasSize(requests);
    assertThat(talk.state().turn().running()).isFalse();
    assertThat(talk.state().frames()).isEmpty();

    talk.crash().say("Morning");
    assertThat(model.lastRequest())
        .containsSubsequence("assistant: [note]", "result of note: noted night", "user: Morning");
  }

  record Limits(Map<String, Integer> by) {}

  @Test
  void nullInAMapOfAnEffectIsAbsentWhenItIsDue() {
    ScheduledHandler later =
        ScheduledHandler.of(
            "later", "Later.", Limits.class, (flow, limits) -> noted.add(limits.toString()));
    model.call("work").say("Done.");
    Conversation talk =
        Conversation.with(
            agent(
                    work(
                        flow ->
                            flow.scheduleEffect(
                                "later",
                                Map.of("by", Collections.singletonMap("a", null)),
                                Duration.ofHours(1))))
                .effects(later));

    talk.say("Hi").pass(Duration.ofHours(2));

    assertThat(noted).containsExactly("Limits[by={}]");
  }

  @Test
  void aCallThatAnEffectQueuesWhileTheModelIsAskedIsSeenByTheModel() {
    ScheduledHandler later =
        ScheduledHandler.of(
            "later", "Later.", (flow, args) -> flow.queueTool("note", Map.of("text", "now")));
    model.call("work").say("Done.").say("Bye.");
    Conversation talk =
        Conversation.with(
            agent(work(flow -> flow.scheduleEffect("later", Map.of(), Duration.ZERO)))
                .effects(later));
    talk.post("Hi").runUntil(effect -> effect.key().startsWith("STEP/s2"));
    talk.accept(
        new ThreadInput.EffectDue(
            talk.wanted().stream().filter(ThreadEffect::timer).findFirst().orElseThrow(),
            talk.now()));
    talk.lastFirst().run();

    talk.say("Bye");

    assertThat(noted).containsExactly("now");
    assertThat(model.lastRequest())
        .containsSubsequence("assistant: [note]", "result of note: noted now");
  }

  @Test
  void aCallThatWaitsInAThreadStoppedFromOutsideWaitsForTheNextMessage() {
    ScheduledHandler later =
        ScheduledHandler.of(
            "later", "Later.", (flow, args) -> flow.queueTool("note", Map.of("text", "now")));
    Conversation[] talk = new Conversation[1];
    model
        .call("work")
        .then(
            request -> {
              talk[0].stop();
              return AiMessage.from("Too late.");
            })
        .say("Hello again.");
    talk[0] =
        Conversation.with(
            agent(work(flow -> flow.scheduleEffect("later", Map.of(), Duration.ofHours(1))))
                .effects(later));
    talk[0].say("Hi").pass(Duration.ofHours(2));
    assertThat(noted).isEmpty();

    talk[0].say("Go on");
    assertThat(noted).containsExactly("now");
  }

  /** What a test does while its warnings about changes are collected. */
  private static List<String> warned(Runnable done) {
    Logger logger = (Logger) LoggerFactory.getLogger("io.fermata.agent.engine.ChangeRecorder");
    ListAppender<ILoggingEvent> appender = new ListAppender<>();
    appender.start();
    logger.setLevel(Level.WARN);
    logger.setAdditive(false);
    logger.addAppender(appender);
    try {
      done.run();
    } finally {
      logger.detachAppender(appender);
      logger.setAdditive(true);
    }
    return appender.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Test
  void whatAHandlerWritesAfterItHasReturnedIsRefusedAndReported() {
    List<FlowState> kept = new ArrayList<>();
    ScheduledHandler later = ScheduledHandler.of("later", "Later.", (flow, args) -> kept.add(flow));
    model.call("work").say("Done.");
    Conversation.with(
            agent(work(flow -> flow.scheduleEffect("later", Map.of(), Duration.ofHours(1))))
                .effects(later))
        .say("Hi")
        .pass(Duration.ofHours(2));
    Conversation.with(
            Agent.of(
                "echo", Participant.code((flow, message) -> kept.add(flow)), Participant.person()))
        .say("Hi");
    Conversation.with(
        agent().hooks(Hook.afterThreadCreated("watch", (flow, thread) -> kept.add(flow))));
    working(flow -> kept.add(flow));
    assertThat(kept).hasSize(4);

    for (FlowState flow : kept) {
      List<String> warnings =
          warned(
              () -> {
                assertThatThrownBy(() -> flow.storage().put("note", "late"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is over");
                assertThatThrownBy(() -> flow.injectMessage(Message.assistant("Late")))
                    .isInstanceOf(IllegalStateException.class);
              });

      assertThat(warnings).hasSize(1);
      assertThat(warnings.get(0)).startsWith("Thread t1: ").contains("is over", "would be lost");
      assertThat(flow.storage().get("note")).isNull();
    }
  }

  @Test
  void anInvokedToolReturnsItsResultAndLeavesNoTrace() {
    Conversation talk =
        working(flow -> "it " + flow.invokeTool("note", Map.of("text", "tea")).text());

    assertThat(noted).containsExactly("tea");
    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: [work]", "work: it noted tea", "assistant: Done.");
  }

  @Test
  void eachInvokedToolHasAKeyOfItsOwnWhichIsTheSameWhenItIsRepeated() {
    List<String> keys = new ArrayList<>();
    Tool pay = Tool.of("pay", "Pays.", (flow, args) -> keys.add(flow.idempotencyKey()));
    Tool both =
        Tool.of(
            "both",
            "Pays twice.",
            (flow, args) -> flow.invokeTool("pay", Map.of()).failed() ? 0 : keys.size());
    Tool pays =
        work(
            flow -> {
              keys.add(flow.idempotencyKey());
              flow.invokeTool("pay", Map.of());
              flow.invokeTool("both", Map.of());
              return flow.idempotencyKey();
            });
    Hook again =
        Hook.toolCallDone("again", (flow, call, result) -> flow.invokeTool("pay", Map.of()));
    model.call("work").say("Done.");

    Conversation.with(agent(pay, both, pays).hooks(again))
        .post("Hi")
        .crashDuring(effect -> effect.kind() == ThreadEffect.Kind.CALL)
        .run();

    assertThat(keys.subList(0, 4)).doesNotHaveDuplicates().startsWith("t1/s1.0");
    assertThat(keys.subList(4, 8)).isEqualTo(keys.subList(0, 4));
    assertThat(keys).hasSize(8);
  }

  @Test
  void aToolThatMayRunOnceCannotBeInvokedAsWhatInvokesItIsRepeated() {
    List<String> paid = new ArrayList<>();
    Tool pay = Tool.of("pay", "Pays.", (flow, args) -> paid.add("paid")).once();
    model.call("work").say("Done.");

    Conversation talk =
        Conversation.with(agent(pay, work(flow -> flow.invokeTool("pay", Map.of())))).say("Hi");

    assertThat(paid).isEmpty();
    assertThat(talk.messages().get(2).content()).contains("may run only once", "queueTool");
  }

  @Test
  void resultsOfCallsSideBySideAreListedInTheOrderOfTheCallsWhateverEndsFirst() {
    model.calls("one", "two", "three").say("Done.");
    Prompt prompt =
        Prompt.of("support", model.model())
            .tools(
                Tool.of("one", "1", (flow, args) -> 1),
                Tool.of(
                    "two",
                    "2",
                    (flow, args) -> {
                      flow.injectMessage(Message.system("two is made"));
                      return 2;
                    }),
                Tool.of("three", "3", (flow, args) -> 3))
            .parallelToolCalls();
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt)).lastFirst();

    talk.say("Hi");

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [one, two, three]",
            "system: two is made",
            "one: 1",
            "two: 2",
            "three: 3",
            "assistant: Done.");
    assertThat(talk.allMessages()).isEqualTo(talk.messages());
    assertThat(talk.messages()).extracting(Message::createdAt).isSorted().doesNotHaveDuplicates();
  }

  // --- messages --------------------------------------------------------------------------------

  @Test
  void anInjectedMessageIsShownAfterTheResultsOfTheCallsItCameBetween() {
    Conversation talk =
        working(
            flow -> {
              flow.injectMessage(Message.user("By the way, it rains."));
              seen.add(flow.messageHistory().size());
              return "ok";
            });

    assertThat(seen).containsExactly(3);
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [work]",
            "user: By the way, it rains.",
            "work: ok",
            "assistant: Done.");
    assertThat(model.lastRequest())
        .containsExactly(
            "user: Hi", "assistant: [work]", "result of work: ok", "user: By the way, it rains.");
  }

  @Test
  void aMessageCanBePutBeforeAnother() {
    Conversation talk =
        working(
            flow -> {
              String first = flow.messageHistory().get(0).id();
              flow.injectMessage(Message.system("Be kind."), first);
              return "ok";
            });

    assertThat(talk.lines())
        .containsExactly(
            "system: Be kind.", "user: Hi", "assistant: [work]", "work: ok", "assistant: Done.");
    assertThat(talk.messages()).extracting(Message::createdAt).isSorted();
    assertThat(talk.allMessages()).isEqualTo(talk.messages());
  }

  @Test
  void aSilentMessageIsShownToTheModelAndNotListed() {
    List<List<Message>> listed = new ArrayList<>();
    Conversation talk =
        working(
            flow -> {
              flow.injectMessage(Message.user("She is a regular.").asSilent());
              listed.add(flow.getMessages(10, 0));
              listed.add(flow.getMessages(10, 0, 0, true));
              return "ok";
            });

    assertThat(model.lastRequest()).contains("user: She is a regular.");
    assertThat(listed.get(0)).extracting(Message::silent).containsOnly(false);
    assertThat(listed.get(1)).hasSize(3);
    assertThat(talk.lines()).contains("user (silent): She is a regular.");
  }

  @Test
  void aMessageCanBeChanged() {
    Conversation talk =
        working(
            flow -> {
              String first = flow.messageHistory().get(0).id();
              flow.updateMessage(first, MessageUpdate.content("Hello"));
              seen.add(flow.messageHistory().get(0).content());
              seen.add(flow.reloadHistory().get(0).content());
              return "ok";
            });

    assertThat(seen).containsExactly("Hello", "Hello");
    assertThat(talk.lines()).startsWith("user: Hello");
    assertThat(talk.allMessages().get(0).content()).isEqualTo("Hello");
    assertThat(model.lastRequest()).startsWith("user: Hello");
  }

  private Conversation longOne(int turns, Work work) {
    Prompt prompt = Prompt.of("support", model.model()).tools(work(work)).window(4);
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt));
    model.always(request -> AiMessage.from("ok"));
    for (int i = 1; i <= turns; i++) {
      talk.say("number " + i);
    }
    model.call("work");
    return talk.say("last");
  }

  private static List<String> contents(List<Message> messages) {
    return messages.stream().map(m -> String.valueOf(m.content())).toList();
  }

  @Test
  void messagesAreListedPageByPageThroughTheWholeThread() {
    List<List<Message>> pages = new ArrayList<>();
    longOne(
        30,
        flow -> {
          pages.add(flow.getMessages(3, 0));
          pages.add(flow.getMessages(2, 40));
          pages.add(flow.getMessages(100, 60));
          pages.add(flow.getMessages(100, 100));
          return "ok";
        });

    assertThat(contents(pages.get(0))).containsExactly("null", "last", "ok");
    assertThat(contents(pages.get(1))).containsExactly("ok", "number 11");
    assertThat(contents(pages.get(2))).containsExactly("ok", "number 1");
    assertThat(pages.get(3)).isEmpty();
  }

  @Test
  void aBoundedPageHasAtLeastOneMessageAndNamesTheNextOne() {
    Conversation talk = longOne(3, flow -> "ok");
    List<String> read = new ArrayList<>();
    String before = null;
    do {
      MessagePage page = new MessagePage(100, 1, message -> true, message -> false);
      talk.read(new HistoryReader(before, 0, page));
      assertThat(page.messages()).hasSize(1);
      read.addAll(contents(page.messages()));
      before = page.next();
    } while (before != null);

    assertThat(read).hasSize(talk.allMessages().size()).endsWith("ok", "number 1");
  }

  @Test
  void aPageBeyondTheWindowHasWhatTheToolItselfSaid() {
    List<List<Message>> pages = new ArrayList<>();
    longOne(
        30,
        flow -> {
          flow.injectMessage(Message.system("just said"));
          pages.add(flow.getMessages(100, 0));
          return "ok";
        });

    assertThat(pages.get(0)).hasSize(63);
    assertThat(pages.get(0).get(0).content()).isEqualTo("just said");
  }

  @Test
  void pagesAreFullThoughManyMessagesAreSilent() {
    List<List<Message>> pages = new ArrayList<>();
    ScheduledHandler murmur =
        ScheduledHandler.of(
            "murmur",
            "Murmurs.",
            (flow, args) -> {
              for (int i = 0; i < 200; i++) {
                flow.injectMessage(Message.user("psst").asSilent());
              }
            });
    Prompt prompt =
        Prompt.of("support", model.model())
            .tools(
                work(
                    flow -> {
                      if (flow.scheduledEffects().isEmpty()) {
                        flow.scheduleEffect("murmur", Map.of(), Duration.ofHours(1));
                      } else {
                        pages.add(flow.getMessages(4, 0));
                      }
                      return "ok";
                    }))
            .window(4);
    model.call("work").say("Done.").call("work").say("Done.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt).effects(murmur));

    talk.say("one").pass(Duration.ofHours(2)).say("two");

    assertThat(contents(pages.get(0))).containsExactly("null", "two", "Done.", "ok");
  }

  @Test
  void theWholeHistoryCanBeReadBack() {
    Conversation talk =
        longOne(
            30,
            flow -> {
              seen.add(flow.messageHistory().size());
              seen.add(flow.reloadHistory().size());
              flow.injectMessage(Message.system("just said"));
              seen.add(flow.messageHistory().size());
              return "ok";
            });

    assertThat((int) seen.get(0)).isLessThan(30);
    assertThat(seen.subList(1, 3)).containsExactly(62, 63);
    assertThat(talk.messages().size()).isLessThan(30);
    assertThat(talk.state().history().count()).isEqualTo(65);
  }

  // --- what is kept ----------------------------------------------------------------------------

  @Test
  void whatItKeepsIsThereAfterARestartForTheNextTool() {
    model.call("work").say("Done.").call("work").say("Done.");
    Conversation talk =
        Conversation.with(
            agent(
                work(
                    flow -> {
                      seen.add(String.valueOf(flow.storage().get("n")));
                      seen.add(String.valueOf(flow.context().get("mood")));
                      seen.add(String.valueOf(flow.env("lang")));
                      seen.add(flow.thread().tags());
                      seen.add(flow.files().list("/"));
                      flow.storage().put("n", 7);
                      flow.storage().put("gone", 1);
                      flow.storage().delete("gone");
                      flow.context("mood", "good");
                      flow.setEnv("lang", "de");
                      flow.setTags(Set.of("vip"));
                      flow.setStatus("working");
                      flow.files().write("/a/b.txt", "tea");
                      return flow.storage().list("");
                    })));

    talk.say("one").crash().say("two");

    assertThat(seen)
        .containsExactly(
            "null",
            "null",
            "en",
            Set.of("new"),
            List.of(),
            "7",
            "\"good\"",
            "de",
            Set.of("vip"),
            List.of("/a/b.txt"));
    assertThat(talk.state().stored().status()).isEqualTo("working");
  }

  @Test
  void filesAreReadMovedFoundAndSearched() {
    model.call("work").say("Done.").call("work").say("Done.");
    Conversation talk =
        Conversation.with(
            agent(
                work(
                    flow -> {
                      ThreadFiles files = flow.files();
                      if (!files.exists("/notes/tea.txt")) {
                        files.write("/notes/tea.txt", "first");
                        files.write("/notes/tea.txt", "Earl\nGrey");
                        seen.add(files.readText("notes/tea.txt"));
                        files.write("/picture.png", "image/png", new byte[] {1, 2});
                        return "written";
                      }
                      seen.add(files.readText("/notes/tea.txt"));
                      seen.add(files.read("/picture.png").length);
                      seen.add(files.grep("Gr.y", "/notes").get(0).line());
                      files.move("/notes/tea.txt", "/drinks/tea.txt");
                      seen.add(files.readText("/drinks/tea.txt"));
                      seen.add(files.find("/**.txt"));
                      seen.add(files.find("/*.png"));
                      files.delete("/picture.png");
                      seen.add(files.list("/"));
                      return "moved";
                    })));

    talk.say("one").crash().say("two");

    assertThat(seen)
        .containsExactly(
            "Earl\nGrey",
            "Earl\nGrey",
            2,
            2,
            "Earl\nGrey",
            List.of("/drinks/tea.txt"),
            List.of("/picture.png"),
            List.of("/drinks/tea.txt"));
    assertThat(talk.state().stored().files()).containsOnlyKeys("/drinks/tea.txt");
  }

  @Test
  void theEnvironmentIsTheThreadsOwnThenTheAgentsThenTheHosts() {
    Tool look =
        work(
            flow -> {
              seen.add(String.valueOf(flow.env("lang")));
              seen.add(String.valueOf(flow.env("city")));
              seen.add(String.valueOf(flow.env("planet")));
              seen.add(String.valueOf(flow.env("galaxy")));
              return "ok";
            });
    model.call("work").say("Done.");
    Conversation talk = Conversation.with(agent(look).env("lang", "fr").env("city", "Bonn"));
    talk.world().env.put("city", "Rome");
    talk.world().env.put("planet", "Earth");

    talk.say("Hi");

    assertThat(seen).containsExactly("en", "Bonn", "Earth", "null");
  }

  @Test
  void anEventIsJournaledWithTheResultOfTheTool() {
    Conversation talk =
        working(
            flow -> {
              flow.emitEvent("progress", Map.of("done", 1));
              return "ok";
            });

    assertThat(talk.events(ThreadEvent.Emitted.class))
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.type()).isEqualTo("progress");
              assertThat(String.valueOf(event.data())).isEqualTo("{\"done\":1}");
            });
    for (int i = 1; i <= talk.records(); i++) {
      List<ThreadEvent> record = talk.record(i);
      boolean emits = record.stream().anyMatch(ThreadEvent.Emitted.class::isInstance);
      assertThat(record.stream().anyMatch(ThreadEvent.CallEnded.class::isInstance))
          .isEqualTo(emits);
    }
  }

  @Test
  void aToolThatFailsHasChangedNothing() {
    Conversation talk =
        working(
            flow -> {
              flow.storage().put("n", 7);
              flow.injectMessage(Message.user("never"));
              flow.queueTool("note", Map.of("text", "never"));
              flow.stop();
              throw new IllegalStateException("after all, no");
            });

    assertThat(talk.state().stored().storage()).isEmpty();
    assertThat(noted).isEmpty();
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [work]",
            "work failed: Failed to execute tool: after all, no",
            "assistant: Done.");
  }

  @Test
  void whatDoesNotFitIsRefusedAndTheRestStays() {
    Conversation talk =
        working(
            flow -> {
              flow.storage().put("small", 1);
              assertThatThrownBy(() -> flow.storage().put("big", "x".repeat(Bounds.STORAGE)))
                  .hasMessageContaining("big")
                  .hasMessageContaining("files");
              assertThatThrownBy(() -> flow.files().write("/a/../b", "x"))
                  .hasMessageContaining("path");
              assertThatThrownBy(() -> flow.files().write("/big", "x/y", new byte[Bounds.FILE + 1]))
                  .hasMessageContaining("bytes");
              return "ok";
            });

    assertThat(talk.state().stored().storage()).containsOnlyKeys("small");
    assertThat(talk.state().stored().files()).isEmpty();
  }

  @Test
  void whatIsReplacedOrDeletedMakesRoom() {
    FlowState flow = new Rig("s1.0").flow();
    String most = "x".repeat(Bounds.STORAGE - 100);

    flow.storage().put("a", most);
    flow.storage().put("a", most);
    assertThatThrownBy(() -> flow.context("b", most)).hasMessageContaining("b does not fit");
    flow.storage().delete("a");
    flow.context("b", most);
    flow.context("b", null);
    flow.context("a", most);
    assertThatThrownBy(() -> flow.storage().put("a", most)).hasMessageContaining("a does not fit");
  }

  @Test
  void whatParallelCallsTookBeyondTheBoundCanShrink() {
    Tool grows =
        Tool.of(
            "grows",
            "Grows.",
            (flow, args) -> {
              flow.context(flow.idempotencyKey(), "x".repeat(Bounds.STORAGE - 100));
              return "grown";
            });
    Tool shrinks =
        work(
            flow -> {
              List<String> keys = List.copyOf(flow.context().keySet());
              flow.context(keys.get(0), null);
              flow.context(keys.get(1), "less");
              assertThatThrownBy(() -> flow.context("more", "x".repeat(100)))
                  .hasMessageContaining("more does not fit");
              flow.context(keys.get(2), null);
              return "shrunk";
            });
    model.calls("grows", "grows", "grows", "grows").call("work").say("Done.");
    Prompt prompt = Prompt.of("support", model.model()).tools(grows, shrinks).parallelToolCalls();

    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt)).say("Hi");

    assertThat(talk.lines()).contains("work: shrunk");
    assertThat(talk.state().stored().size()).isBetween(1L, (long) Bounds.STORAGE);
  }

  @Test
  void aValueThatWasReadIsACopy() {
    FlowState flow = new Rig("s1.0").flow();
    flow.storage().put("log", List.of("tea"));
    flow.context("log", List.of("tea"));

    array(flow.storage().get("log")).add("milk");
    array(flow.context().get("log")).add("milk");

    assertThat(flow.storage().get("log")).hasToString("[\"tea\"]");
    assertThat(flow.context().get("log")).hasToString("[\"tea\"]");
  }

  @Test
  void whatAToolMakesOfWhatItReadsDoesNotChangeTheThread() {
    ScheduledHandler later =
        ScheduledHandler.of("later", "Later.", (flow, args) -> seen.add(args.put("own", 1)));
    Tool tool =
        work(
            flow -> {
              flow.scheduleEffect("later", Map.of(), Duration.ofHours(1));
              object(flow.messageHistory().get(0).metadata()).put("own", 1);
              object(flow.scheduledEffects().get(0).arguments()).put("own", 1);
              assertThatThrownBy(() -> flow.thread().tags().clear())
                  .isInstanceOf(UnsupportedOperationException.class);
              seen.add(flow.messageHistory().get(0).body().metadata());
              seen.add(flow.scheduledEffects().get(0).arguments());
              return null;
            });
    model.call("work").say("Done.");
    Conversation talk = Conversation.with(agent(tool).effects(later));
    talk.post(null, Message.user("Hi").withMetadata(Json.object().put("from", "web"))).run();
    ScheduledEffect scheduled = talk.state().effects().values().iterator().next();

    talk.pass(Duration.ofHours(2));

    assertThat(seen).hasToString("[{\"from\":\"web\"}, {}, {\"own\":1}]");
    assertThat(scheduled.arguments()).isEmpty();
  }

  @Test
  void theMessagesOfAThreadThatWasReadBackCannotBeTakenOutOfItEither() throws Exception {
    Conversation talk = Conversation.with(agent()).post("Hi");
    ThreadState back =
        Conversation.JOURNAL.readValue(
            Conversation.JOURNAL.writeValueAsString(talk.state()), ThreadState.class);

    assertThatThrownBy(() -> back.history().tail(10).clear())
        .isInstanceOf(UnsupportedOperationException.class);
  }

  private static ObjectNode object(@Nullable JsonNode value) {
    return (ObjectNode) Objects.requireNonNull(value);
  }

  private static ArrayNode array(@Nullable JsonNode value) {
    return (ArrayNode) Objects.requireNonNull(value);
  }

  @Test
  void aValueThatIsReadAndStoredLongerCountsAsLonger() {
    FlowState flow = new Rig("s1.0").flow();
    String part = "x".repeat(Bounds.STORAGE / 4);
    flow.storage().put("log", List.of());
    for (int i = 0; i < 3; i++) {
      flow.storage().put("log", array(flow.storage().get("log")).add(part));
    }
    ArrayNode whole = array(flow.storage().get("log")).add(part);

    assertThatThrownBy(() -> flow.storage().put("log", whole))
        .hasMessageContaining("log does not fit");
    assertThat(flow.storage().get("log")).hasSize(3);
  }

  @Test
  void tenTimesTheKeysAreStoredForTenTimesTheCost() {
    assertThat((double) allocated(stores(3_000)) / allocated(stores(300))).isLessThan(15);
  }

  /** The bytes that work allocates. */
  private static long allocated(Runnable work) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    work.run();
    long before = threads.getCurrentThreadAllocatedBytes();
    work.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  private static Runnable stores(int keys) {
    return () -> {
      FlowState flow = new Rig("s1.0").flow();
      for (int i = 0; i < keys; i++) {
        flow.storage().put("stored " + i, i);
        flow.context("known " + i, i);
      }
      for (int i = 0; i < keys; i++) {
        flow.storage().delete("stored " + i);
      }
    };
  }

  @Test
  void aHookThatThrowsCostsAsMuchAsOneThatReturnsHoweverManyMessagesTheToolHasSaid() {
    assertThat((double) allocated(says(1_000, true)) / allocated(says(1_000, false))).isLessThan(3);
  }

  private static Runnable says(int messages, boolean throwing) {
    Hook hook =
        Hook.beforeCreateMessage(
            "hook",
            (flow, message) -> {
              flow.setStatus("seen");
              if (throwing) {
                throw new IllegalStateException("oops");
              }
              return message;
            });
    return () -> {
      FlowState flow = new Rig("s1.0", hook).flow();
      for (int i = 0; i < messages; i++) {
        flow.injectMessage(Message.assistant("Hello"));
      }
    };
  }

  @Test
  void workIsNotScheduledForATimeThatAJournalCannotCount() {
    List<Duration> waits =
        List.of(Duration.ofMillis(Long.MAX_VALUE), ChronoUnit.FOREVER.getDuration());
    List<String> refused = new ArrayList<>();
    model.call("work").say("Done.");
    Offered work =
        work(
            flow -> {
              for (Duration wait : waits) {
                assertThatThrownBy(() -> flow.scheduleEffect("later", Map.of(), wait))
                    .hasMessageContaining(wait + "; give it at most 365000 days");
                refused.add(wait.toString());
              }
              return "ok";
            });
    ScheduledHandler later = ScheduledHandler.of("later", "Later.", (flow, args) -> {});

    Conversation talk = Conversation.with(agent(work).effects(later)).say("Hi");

    assertThat(refused).hasSize(2);
    assertThat(talk.state().effects()).isEmpty();
  }

  @Test
  void anAttachmentOfAMessageIsAFileOfTheThread() {
    model.call("work").say("Done.");
    Conversation talk =
        Conversation.with(
            agent(
                work(
                    flow ->
                        flow.files().readText(flow.messageHistory().get(0).attachments().get(0)))));

    talk.post(
            "k1",
            Message.user("See this"),
            new Attachment("list.txt", "text/plain", "tea".getBytes(StandardCharsets.UTF_8)))
        .run();

    assertThat(talk.lines()).contains("work: tea");
    assertThat(model.request(0).get(0)).contains("See this", "list.txt");
  }

  @Test
  void attachmentsWithOneNameAreNumbered() {
    model.call("work").say("Done.");
    Conversation talk =
        Conversation.with(
            agent(
                work(
                    flow -> {
                      List<String> texts = new ArrayList<>();
                      for (String path : flow.messageHistory().get(0).attachments()) {
                        texts.add(flow.files().readText(path));
                      }
                      return String.join(", ", texts);
                    })));

    talk.post(
            "k1",
            Message.user("See these"),
            text("report.pdf", "one"),
            text("report.pdf", "two"),
            text("report-2.pdf", "three"),
            text("notes", "four"),
            text("notes ", "five"))
        .run();

    assertThat(talk.messages().get(0).attachments())
        .containsExactly(
            "/attachments/m-u1/report.pdf",
            "/attachments/m-u1/report-3.pdf",
            "/attachments/m-u1/report-2.pdf",
            "/attachments/m-u1/notes",
            "/attachments/m-u1/notes-2");
    assertThat(talk.lines()).contains("work: one, two, three, four, five");
  }

  private static Attachment text(String name, String text) {
    return new Attachment(name, "text/plain", text.getBytes(StandardCharsets.UTF_8));
  }

  // --- half of a surrogate pair, which no encoding can write -------------------------------------

  private static final String HALF = "\ud83d";
  private static final String FACE = "\ud83d\ude00";

  @Test
  void halfOfASurrogatePairIsReplacedWhateverATextIsFor() {
    Hook reword =
        Hook.beforeCreateMessage("reword", (flow, m) -> m.withContent(m.content() + HALF));
    Tool work =
        work(
            flow -> {
              flow.injectMessage(
                  Message.assistant(HALF).withName(HALF).withMetadata(TextNode.valueOf(HALF)));
              flow.updateMessage(
                  flow.messageHistory().get(0).id(), MessageUpdate.content("Hi" + HALF));
              flow.storage().put("k" + HALF, Map.of(HALF, List.of(HALF)));
              flow.context("k" + HALF, HALF);
              flow.files().write("/" + HALF, "text/" + HALF, new byte[0]);
              flow.files().move("/" + HALF, "/a" + HALF);
              flow.setEnv(HALF, HALF);
              flow.setTags(List.of(HALF));
              flow.setStatus(HALF);
              flow.emitEvent(HALF, TextNode.valueOf(HALF));
              flow.queueTool("note", new Note(HALF));
              seen.add(flow.storage().get("k" + HALF));
              return new ToolResult(false, FACE + HALF, HALF, TextNode.valueOf(HALF), List.of())
                  .attach(new Attachment(HALF, "text/" + HALF, new byte[0]));
            });
    model.call("work").say("Done.");

    Conversation talk = Conversation.with(agent(work).hooks(reword)).say("Hi");

    assertThat(seen).hasToString("[{\"\ufffd\":[\"\ufffd\"]}]");
    assertThat(noted).containsExactly("\ufffd");
    assertThat(talk.state().stored().context()).containsOnlyKeys("k\ufffd");
    assertThat(talk.lines())
        .anyMatch(line -> line.startsWith("work: " + FACE + "\ufffd\nAttachment path: "));
  }

  @Test
  void halfOfASurrogatePairInAReasonToStopIsReplaced() {
    Conversation talk =
        working(
            flow -> {
              flow.stop("Enough" + HALF);
              return null;
            });

    assertThat(talk.events(ThreadEvent.Stopped.class).get(0).detail()).isEqualTo("Enough\ufffd");
  }

  @Test
  void halfOfASurrogatePairInTheQuestionOfAnApprovalIsReplaced() {
    model.call("note", Map.of("text", "Hi")).say("Done.");
    Tool asking = note.approval(args -> "Note it?" + HALF);
    Agent agent = Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(asking));

    Conversation talk = Conversation.with(agent).say("Hi");

    assertThat(talk.events(ThreadEvent.CallAsked.class).get(0).question().path("question"))
        .hasToString("\"Note it?\ufffd\"");
    talk.approve("s1.0").run();
    assertThat(noted).containsExactly("Hi");
    talk.requireSame(agent);
  }

  @Test
  void halfOfASurrogatePairInAReplyIsReplacedAlsoWhereItIsEscaped() {
    String escaped = "{\"text\":\"\\ud83d, " + HALF + "\"}";
    model
        .then(
            request ->
                AiMessage.from(
                    HALF,
                    List.of(
                        ToolExecutionRequest.builder()
                            .id(HALF)
                            .name("note")
                            .arguments(escaped)
                            .build())))
        .say("Done.");
    Tool asking = note.approval(args -> "Note " + args.path("text").textValue() + "?");
    Agent agent = Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(asking));

    Conversation talk = Conversation.with(agent).say("Hi").approve("s1.0").run();

    assertThat(noted).containsExactly("\ufffd, \ufffd");
    assertThat(talk.lines()).contains("assistant: \ufffd [note]", "note: noted \ufffd, \ufffd");
    talk.requireSame(agent);
  }

  @Test
  void noTextIsCutInTheMiddleOfACharacter() {
    for (int shift = 0; shift < 2; shift++) {
      String pad = "x".repeat(shift);
      Conversation talk = working(flow -> pad + FACE.repeat(Bounds.TEXT / 2 + 1));
      assertThat(talk.lines().get(2)).endsWith(" characters in all)").doesNotContain("\ufffd");
      Conversation failed =
          working(
              flow -> {
                throw new IllegalStateException(pad + FACE.repeat(1_001));
              });
      assertThat(failed.lines().get(2)).endsWith(FACE + "…").doesNotContain("\ufffd");
    }
  }
}
