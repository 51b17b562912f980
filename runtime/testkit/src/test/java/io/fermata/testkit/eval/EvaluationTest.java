package io.fermata.testkit.eval;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.testkit.ScriptedModel.last;
import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
import static io.fermata.testkit.ScriptedModel.lastUserContains;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import io.fermata.agent.Agent;
import io.fermata.agent.Budget;
import io.fermata.agent.FlowState;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Handoff;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelHttp;
import io.fermata.agent.model.Usage;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.SourceResult;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.Flow;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.schema.Describe;
import io.fermata.persistence.Store;
import io.fermata.session.ExportedJournal;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Threads;
import io.fermata.testkit.OpenAiStub;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.Turn;
import io.fermata.testkit.eval.EvalTrial.Outcome;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EvaluationTest {
  private record Order(@Describe("The order's number") String order) {}

  /** How often a tool really ran. */
  private final AtomicInteger performed = new AtomicInteger();

  private final AtomicInteger greeted = new AtomicInteger();

  private @TempDir Path folder;
  private Path export;

  // --- the agent, and a thread of it -----------------------------------------------------------

  private Agent desk(Model model) {
    Tool find =
        Tool.of(
            "find_order",
            "Finds an order.",
            Order.class,
            (flow, args) -> {
              performed.incrementAndGet();
              flow.storage().put("seen", args.order());
              flow.scheduleEffect("follow_up", Map.of(), Duration.ZERO);
              return "Order " + args.order() + " was delivered.";
            });
    Tool pay =
        Tool.of(
                "refund",
                "Pays an order back.",
                Order.class,
                (flow, args) -> {
                  performed.incrementAndGet();
                  return "Paid back.";
                })
            .approval("Pay it back?");
    return Agent.aiHuman(
            "desk",
            Prompt.of("support", model)
                .text("You are the support desk.")
                .env("tone")
                .tools(find, pay))
        .hooks(Hook.afterThreadCreated("greet", this::greet))
        .effects(
            ScheduledHandler.of(
                "follow_up", "Asks later.", (flow, args) -> performed.incrementAndGet()));
  }

  private void greet(FlowState flow, Object thread) {
    greeted.incrementAndGet();
    flow.injectMessage(Message.assistant("Welcome."));
  }

  /** Looks up what it is asked for, and says what comes back. */
  private static ScriptedModel looksUp() {
    return ScriptedModel.script()
        .when(lastUserContains("B-1"))
        .call("find_order", Map.of("order", "B-1"))
        .when(lastUserContains("B-2"))
        .call("find_order", Map.of("order", "B-2"))
        .when(lastIsResultOf("find_order"))
        .answer(request -> Turn.say("I looked: " + ScriptedModel.text(last(request))))
        .otherwise()
        .say("How can I help?");
  }

  @BeforeEach
  void recordsAThread() throws Exception {
    export =
        recorded(
            "order.jsonl",
            looksUp().model("recorded").price("1", "1", "1"),
            null,
            List.of("Hello", "Where is B-1?", "And B-1 again?"));
  }

  /**
   * A model that answers when the user has said everything.
   *
   * @param asked opens when it is asked
   * @param answers opens when it may answer
   */
  private record Slow(CountDownLatch asked, CountDownLatch answers) {}

  /**
   * Records a thread.
   *
   * @param slow the model whose reply the user does not await; null if each reply is awaited
   */
  private Path recorded(String name, Model model, @Nullable Slow slow, List<String> messages)
      throws Exception {
    return recorded(name, desk(model), slow, messages);
  }

  private Path recorded(String name, Agent agent, @Nullable Slow slow, List<String> messages)
      throws Exception {
    Path file = folder.resolve(name);
    try (Fermata host = Fermata.host().store(Store.memory()).agent(agent).start()) {
      Threads threads = host.threads();
      Threads.NewThread wanted =
          new Threads.NewThread(
              "ann", "desk", null, Set.of("vip"), Map.of("tone", "Be kind."), List.of());
      String thread = threads.create(wanted).toCompletableFuture().join().threadId();
      for (String said : messages) {
        threads
            .post("ann", thread, new Threads.NewMessage(Message.user(said), List.of(), null))
            .toCompletableFuture()
            .join();
        if (slow == null) {
          settled(threads, "ann", thread);
        } else {
          awaits(slow.asked());
        }
      }
      if (slow != null) {
        slow.answers().countDown();
      }
      settled(threads, "ann", thread);
      try (OutputStream out = Files.newOutputStream(file)) {
        host.journals().thread(thread).export(out).toCompletableFuture().join();
      }
    }
    performed.set(0);
    greeted.set(0);
    return file;
  }

  private static Threads.View settled(Threads threads, String principal, String thread) {
    return threads.settled(principal, thread, Duration.ofMinutes(1)).toCompletableFuture().join();
  }

  private Evaluation evaluation() {
    return Evaluation.of(desk(looksUp().model("scripted")));
  }

  // --- recorded threads ------------------------------------------------------------------------

  @Test
  void aRecordedThreadIsContinuedWithResultsOfItsJournalAndNothingIsPerformed() {
    EvalReport report =
        evaluation()
            .recorded(folder)
            .judge("looks it up", run -> run.called("find_order"))
            .judge("says it", run -> run.reply().equals("I looked: Order B-1 was delivered."))
            .judge("only the last message", run -> run.asked().equals(List.of("And B-1 again?")))
            .run();

    assertThat(report.table()).startsWith("case").contains("order.jsonl  as it is  1/1 100%");
    assertThat(report.passRate()).isEqualTo(1);
    assertThat(performed).hasValue(0);
    assertThat(greeted).hasValue(0);
  }

  @Test
  void aTrialBeginsWithWhatWasSaidAndStoredBeforeItsMessage() throws Exception {
    ScriptedModel model = looksUp();

    EvalReport report =
        Evaluation.of(desk(model.model("scripted")))
            .cases(EvalCase.recorded(export))
            .judge(
                "keeps what was stored",
                run ->
                    TextNode.valueOf("B-1").equals(run.state().stored().storage().get("seen"))
                        && run.state().stored().tags().contains("vip"))
            .run()
            .requirePassRate(1);

    String request = model.requests().get(0).messages().toString();
    assertThat(request)
        .contains("Be kind.", "Welcome.", "Hello", "Where is B-1?", "I looked", "And B-1 again?");
    assertThat(report.trials().get(0).calls()).isOne();
    assertThat(report.trials().get(0).steps()).isEqualTo(2);
  }

  @Test
  void aThreadIsForkedAtAnEarlierMessageAndItsUserSaysTheRestAgain() throws Exception {
    evaluation()
        .cases(EvalCase.recorded(export).from(2))
        .judge(
            "all that is left",
            run -> run.asked().equals(List.of("Where is B-1?", "And B-1 again?")))
        .judge("looks twice", run -> run.calls("find_order").size() == 2)
        .run()
        .requirePassRate(1);

    assertThatThrownBy(() -> EvalCase.recorded(export).from(4))
        .hasMessage("The case order.jsonl has no recorded message 4 of a user; it has 3");
  }

  @Test
  void aMessageThatWasReceivedDuringAStepIsSaidOnceAndTheStepIsNotRepeated() throws Exception {
    Slow slow = new Slow(new CountDownLatch(1), new CountDownLatch(1));
    ScriptedModel slowly =
        ScriptedModel.script()
            .when(lastUserContains("B-1"))
            .say("It is lost.")
            .otherwise()
            .answer(
                request -> {
                  slow.asked().countDown();
                  awaits(slow.answers());
                  return Turn.say("How can I help?");
                });
    Path hasty =
        recorded("hasty.jsonl", slowly.model("slow"), slow, List.of("Hello", "Where is B-1?"));
    ThreadJournal journal = ExportedJournal.read(hasty).thread();
    assertThat(entriesOf(journal, ThreadEvent.Received.class))
        .doesNotContainAnyElementsOf(entriesOf(journal, ThreadEvent.Taken.class).subList(1, 2));
    ScriptedModel model = looksUp();

    EvalReport report =
        Evaluation.of(desk(model.model("scripted")))
            .cases(EvalCase.recorded(hasty), EvalCase.recorded(hasty).from(1))
            .handler("find_order", (flow, args) -> "Order B-1 was found.")
            .judge("finds it", run -> run.reply().equals("I looked: Order B-1 was found."))
            .run()
            .requirePassRate(1);

    assertThat(model.requests().get(0).messages().toString())
        .containsOnlyOnce("How can I help?")
        .containsOnlyOnce("Where is B-1?");
    assertThat(report.trials()).extracting(EvalTrial::steps).containsExactly(2, 3);
    assertThat(report.trials().get(0).transcript())
        .startsWith("User: Where is B-1?")
        .doesNotContain("How can I help?");
  }

  private static List<Long> entriesOf(ThreadJournal journal, Class<? extends ThreadEvent> kind) {
    return journal.entries().stream()
        .filter(entry -> entry.events().stream().anyMatch(kind::isInstance))
        .map(JournalEntry::seq)
        .toList();
  }

  @Test
  void aTrialBeginsWithEachEntryAtItsPlaceAlsoThoseWithoutEvents() throws Exception {
    ThreadJournal journal = ExportedJournal.read(export).thread();
    List<JournalEntry<ThreadEvent>> entries = new ArrayList<>();
    for (JournalEntry<ThreadEvent> entry : journal.entries()) {
      entries.add(moved(entry, entries.size() + 1, entry.events()));
      entries.add(moved(entry, entries.size() + 1, List.of()));
    }
    ThreadJournal gaps = new ThreadJournal(journal.agent(), journal.threadId(), entries);

    ThreadJournal before = RecordedThread.of(gaps).fork(2).before();

    assertThat(before.entries())
        .hasSizeGreaterThan(2)
        .extracting(JournalEntry::seq)
        .containsExactlyElementsOf(
            LongStream.rangeClosed(1, before.entries().size()).boxed().toList());
  }

  private static JournalEntry<ThreadEvent> moved(
      JournalEntry<ThreadEvent> entry, long seq, List<ThreadEvent> events) {
    return new JournalEntry<>(seq, entry.at(), entry.by(), entry.principal(), events);
  }

  @Test
  void aMessageInTheFirstEntryBeginsATrial() throws Exception {
    ThreadJournal journal = ExportedJournal.read(export).thread();
    JournalEntry<ThreadEvent> first = journal.entries().get(0);
    ThreadJournal whole =
        new ThreadJournal(
            journal.agent(),
            journal.threadId(),
            List.of(
                new JournalEntry<>(
                    1, first.at(), first.by(), first.principal(), journal.events())));

    ThreadJournal before = RecordedThread.of(whole).fork(1).before();

    assertThat(before.events())
        .hasAtLeastOneElementOfType(ThreadEvent.Received.class)
        .doesNotHaveAnyElementsOfTypes(ThreadEvent.Taken.class);
    try (Fermata host =
        Fermata.host().store(Store.memory()).agent(desk(looksUp().model("scripted"))).start()) {
      Threads.NewFork live = Threads.NewFork.live();
      String fork =
          host.threads().fork("ann", before, live).toCompletableFuture().join().threadId();
      settled(host.threads(), "ann", fork);
      ThreadJournal after =
          host.journals().thread(fork).readWithSecrets().toCompletableFuture().join();
      assertThat(after.messages())
          .extracting(Message::content)
          .containsExactly("Welcome.", "Hello", "How can I help?");
    }
  }

  @Test
  void aTrialReportsWhatItUsedItselfAndABudgetCountsWhatTheRecordingHadSpent() throws Exception {
    long spent = ExportedJournal.read(export).thread().state().usage().outputTokens();
    Model free = ScriptedModel.script().otherwise().turn(tokens("Yes.", 10, 2)).model("free");
    Agent desk = desk(free);

    EvalReport report = Evaluation.of(desk).recorded(folder).judge("anything", run -> true).run();

    assertThat(report.trials().get(0).usage().outputTokens()).isEqualTo(2);
    assertThat(report.table()).containsPattern("as it is +1/1 100% +0 +1 +12 +\\$0\n");
    assertThat(only(Evaluation.of(desk.budget(Budget.tokens(spent))).recorded(folder)).steps())
        .isZero();
  }

  @Test
  void anApprovalThatWasLeftOpenInTheRecordingStaysOpenAndBreaksNoTrial() throws Exception {
    ScriptedModel pays =
        ScriptedModel.script()
            .when(lastUserContains("money"))
            .call("refund", Map.of("order", "B-1"))
            .otherwise()
            .say("It has to be approved.");
    Path undecided =
        recorded("undecided.jsonl", pays.model("pays"), null, List.of("My money!", "And now?"));
    assertThat(ExportedJournal.read(undecided).thread().state().open()).hasSize(1);

    EvalTrial trial = only(evaluation().cases(EvalCase.recorded(undecided)));

    assertThat(trial.outcome()).as(trial.reason()).isEqualTo(Outcome.PASSED);
    assertThat(trial.transcript()).isEqualTo("User: And now?\nAssistant: How can I help?");
    assertThat(performed).hasValue(0);
  }

  @Test
  void whatTheHostSaidOfACallThatWaitedIsNoMessageOfTheUser() throws Exception {
    ScriptedModel pays =
        ScriptedModel.script()
            .when(lastUserContains("My money"))
            .call("refund", Map.of("order", "B-1"))
            .otherwise()
            .say("Anything else?");
    Path approved = folder.resolve("approved.jsonl");
    try (Fermata host = Fermata.host().store(Store.memory()).agent(desk(pays.model("p"))).start()) {
      Threads threads = host.threads();
      Threads.NewThread wanted =
          new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of());
      String thread = threads.create(wanted).toCompletableFuture().join().threadId();
      for (String said : List.of("My money!", "And now?")) {
        threads
            .post("ann", thread, new Threads.NewMessage(Message.user(said), List.of(), null))
            .toCompletableFuture()
            .join();
        settled(threads, "ann", thread);
      }
      String call =
          threads.get("ann", thread).toCompletableFuture().join().questions().get(0).call();
      threads
          .answer("ann", thread, new Threads.Answer(call, "a1", true, null, null))
          .toCompletableFuture()
          .join();
      settled(threads, "ann", thread);
      try (OutputStream out = Files.newOutputStream(approved)) {
        host.journals().thread(thread).export(out).toCompletableFuture().join();
      }
    }
    ThreadJournal journal = ExportedJournal.read(approved).thread();
    assertThat(journal.messages())
        .extracting(message -> String.valueOf(message.content()))
        .anyMatch(said -> said.startsWith("The call of refund that has waited"));

    assertThat(RecordedThread.of(journal).said()).isEqualTo(2);
    evaluation()
        .cases(EvalCase.recorded(approved).from(1))
        .judge("all", run -> run.asked().equals(List.of("My money!", "And now?")))
        .run()
        .requirePassRate(1);
  }

  @Test
  void aCallThatWasNotRecordedDivergesUnlessSomethingAnswersIt() {
    Model other =
        ScriptedModel.script()
            .when(lastIsResultOf("find_order"))
            .say("Found.")
            .otherwise()
            .call("find_order", Map.of("order", "B-2"))
            .model("other");

    EvalTrial diverged = only(evaluation().recorded(folder).variant("other", other));
    assertThat(diverged.outcome()).isEqualTo(Outcome.DIVERGED);
    assertThat(diverged.reason())
        .isEqualTo(
            "find_order {\"order\":\"B-2\"} was called; the recording has no such call, and no"
                + " handler is given for it");
    assertThat(performed).hasValue(0);

    EvalTrial handled =
        only(
            evaluation()
                .recorded(folder)
                .variant("other", other)
                .handler("find_order", (flow, args) -> "On its way."));
    assertThat(handled.outcome()).isEqualTo(Outcome.PASSED);
    assertThat(handled.transcript()).contains("On its way.");
    assertThat(performed).hasValue(0);

    only(evaluation().recorded(folder).variant("other", other).performing("find_order"));
    assertThat(performed).hasValue(1);
  }

  @Test
  void aCallHasItsOwnResultAlthoughTheModelGivesALaterOneTheSameId() {
    List<RequestedCall> calls =
        List.of(
            RequestedCall.of("1", "find_order", "{\"order\":\"B-1\"}"),
            RequestedCall.of("1", "find_order", "{\"order\":\"B-2\"}"));
    ThreadEvent created =
        new ThreadEvent.Created("desk.1", "desk", "ann", Set.of(), Map.of(), null, 10, 0);
    List<JournalEntry<ThreadEvent>> entries = new ArrayList<>();
    entries.add(
        new JournalEntry<>(
            1, 0, "call", null, List.of(created, new ThreadEvent.Woke("desk.1/1", 0))));
    for (RequestedCall call : calls) {
      entries.add(
          new JournalEntry<>(entries.size() + 1, 0, "effect", null, step(call, entries.size())));
    }
    ThreadJournal journal = new ThreadJournal("desk", "desk.1", entries);

    assertThat(new JournaledEvents(journal.events()).calls())
        .extracting(EvalCall::result)
        .containsExactly("Found {\"order\":\"B-1\"}", "Found {\"order\":\"B-2\"}");
    SourceResult.Work first =
        RecordedResults.of(journal, journal.upTo(2).events().size())
            .next(
                Tool.of("find_order", "Finds.", Order.class, (flow, args) -> "none"),
                Json.object().put("order", "B-1"));
    assertThat(first)
        .extracting(work -> Objects.requireNonNull(work.returned()).text())
        .isEqualTo("Found {\"order\":\"B-1\"}");
  }

  private static List<ThreadEvent> step(RequestedCall call, int step) {
    String id = "s" + step;
    String key = id + ".0";
    Message asks =
        Message.assistant("").withToolCalls(List.of(call)).placed("m" + step, 0, 0, null);
    Message found =
        Message.result(call, Side.A, "Found " + call.function().arguments(), false, List.of())
            .placed("r" + step, 0, 0, null);
    return List.of(
        new ThreadEvent.StepBegan("", Side.A, "support", step, 1, asks.id(), 0),
        new ThreadEvent.StepEnded(
            "",
            asks,
            List.of(call),
            new ThreadEvent.StepLog(id, "m", "stop", Usage.ZERO, List.of(), 0, 0, null, null)),
        new ThreadEvent.CallBegan(key, 1, 0),
        new ThreadEvent.CallEnded(key, found, null, 0),
        new ThreadEvent.FrameClosed(""));
  }

  private record Search(String order, @Nullable String note) {}

  /** A desk whose tool does something to its thread, and whose hook changes what it returns. */
  private static Agent searching(Model model) {
    Tool search =
        Tool.of(
            "search",
            "Finds an order.",
            Search.class,
            (flow, args) -> {
              flow.storage().put("seen", args.order());
              flow.injectMessage(Message.assistant("I look it up."));
              flow.queueTool("count", Map.of());
              return ToolResult.success("B-1 was delivered.")
                  .attach(
                      new Attachment(
                          "proof.txt", "text/plain", "signed".getBytes(StandardCharsets.UTF_8)));
            });
    Tool count = Tool.of("count", "Counts searches.", (flow, args) -> "1");
    return Agent.aiHuman("desk", Prompt.of("support", model).tools(search, count))
        .hooks(
            Hook.afterToolCallSuccess(
                "quote", (flow, call, result) -> result.withText("Quote: " + result.text())));
  }

  private static Model searches(Turn turn) {
    return ScriptedModel.script()
        .when(lastUserContains("B-1"))
        .answer(request -> turn)
        .otherwise()
        .answer(request -> Turn.say("It says: " + ScriptedModel.text(last(request))))
        .model("searching");
  }

  @Test
  void aRecordedCallDoesAndReturnsAgainWhatItDidBeforeAnyHook() throws Exception {
    Turn once = Turn.call("search", Json.object().put("order", "B-1").putNull("note"));
    Path searched =
        recorded("search.jsonl", searching(searches(once)), null, List.of("Where is B-1?"));
    List<String> said =
        ExportedJournal.read(searched).thread().messages().stream()
            .map(message -> message.role() + " " + message.content())
            .toList();
    assertThat(said)
        .anyMatch(each -> each.startsWith("TOOL Quote: B-1 was delivered.\nAttachment path: "))
        .contains("ASSISTANT I look it up.", "TOOL Quote: 1");

    EvalReport report =
        Evaluation.of(searching(searches(once)))
            .cases(EvalCase.recorded(searched))
            .judge(
                "the same conversation",
                run ->
                    said.equals(
                        run.messages().stream()
                            .map(message -> message.role() + " " + message.content())
                            .toList()))
            .judge(
                "the same storage and files",
                run ->
                    TextNode.valueOf("B-1").equals(run.state().stored().storage().get("seen"))
                        && run.state().stored().files().size() == 1)
            .run();

    assertThat(report.passRate()).as(report.table()).isEqualTo(1);
  }

  @Test
  void aRecordedResultThatWasTooLargeForAnyMessageIsReturnedAsItsMessageHasIt() throws Exception {
    Tool all =
        Tool.of(
            "all_orders",
            "Lists all orders.",
            (flow, args) -> {
              performed.incrementAndGet();
              flow.storage().put("listed", true);
              return "B-1 ".repeat(75_000);
            });
    Model lists =
        ScriptedModel.script()
            .when(lastIsResultOf("all_orders"))
            .say("They are many.")
            .otherwise()
            .call("all_orders", Map.of())
            .model("lists");
    Agent agent = Agent.aiHuman("desk", Prompt.of("support", lists).tools(all));
    Path listed = recorded("all.jsonl", agent, null, List.of("Which orders are there?"));
    List<String> said =
        ExportedJournal.read(listed).thread().messages().stream()
            .map(message -> String.valueOf(message.content()))
            .toList();

    EvalReport report =
        Evaluation.of(agent)
            .cases(EvalCase.recorded(listed))
            .judge(
                "the same conversation",
                run ->
                    said.equals(
                        run.messages().stream()
                            .map(message -> String.valueOf(message.content()))
                            .toList()))
            .judge(
                "what the call stored", run -> run.state().stored().storage().containsKey("listed"))
            .run();

    assertThat(report.passRate()).as(report.table()).isEqualTo(1);
    assertThat(performed).hasValue(0);
  }

  @Test
  void aRecordedCallThatIsMadeMoreOftenAddsItsMessagesAndCallsEachTime() throws Exception {
    Turn once = Turn.call("search", Map.of("order", "B-1"));
    Path searched =
        recorded("search.jsonl", searching(searches(once)), null, List.of("Where is B-1?"));

    EvalReport report =
        Evaluation.of(searching(searches(once.andCall("search", Map.of("order", "B-1")))))
            .cases(EvalCase.recorded(searched))
            .judge("counts twice", run -> run.calls("count").size() == 2)
            .judge(
                "says it twice",
                run ->
                    run.messages().stream()
                            .filter(message -> "I look it up.".equals(message.content()))
                            .map(Message::id)
                            .distinct()
                            .count()
                        == 2)
            .run();

    assertThat(report.passRate()).as(report.table()).isEqualTo(1);
  }

  /** A desk whose tools add something to the thread, and change it in a later call. */
  private static Agent reminding(Model model) {
    Tool remind =
        Tool.of(
            "remind",
            "Reminds.",
            (flow, args) -> {
              flow.injectMessage(Message.assistant("I will remind you."));
              flow.scheduleEffect("reminder", Map.of(), Duration.ofDays(1));
              return "Planned.";
            });
    Tool cancel =
        Tool.of(
            "cancel_reminder",
            "Does not remind.",
            (flow, args) -> {
              flow.scheduledEffects().forEach(each -> flow.removeScheduledEffect(each.id()));
              flow.messageHistory().stream()
                  .filter(message -> "I will remind you.".equals(message.content()))
                  .forEach(
                      message ->
                          flow.updateMessage(message.id(), MessageUpdate.content("I will not.")));
              return "Cancelled.";
            });
    Tool clock = Tool.of("clock", "Says the time.", (flow, args) -> "noon");
    return Agent.aiHuman("desk", Prompt.of("support", model).tools(remind, cancel, clock))
        .effects(ScheduledHandler.of("reminder", "Reminds.", (flow, args) -> {}));
  }

  private static Model reminds(Turn first) {
    return ScriptedModel.script()
        .when(request -> request.messages().toString().contains("Cancelled."))
        .say("Done.")
        .when(request -> request.messages().toString().contains("Planned."))
        .call("cancel_reminder", Map.of())
        .otherwise()
        .answer(request -> first)
        .model("reminds");
  }

  @Test
  void aRecordedCallChangesWhatAnEarlierOneAddedToTheTrial() throws Exception {
    Path cancelled =
        recorded(
            "cancelled.jsonl",
            reminding(reminds(Turn.call("remind", Map.of()))),
            null,
            List.of("Remind me, and then do not."));

    EvalReport report =
        Evaluation.of(reminding(reminds(Turn.call("clock", Map.of()).andCall("remind", Map.of()))))
            .cases(EvalCase.recorded(cancelled))
            .handler("clock", (flow, args) -> "noon")
            .judge("nothing is scheduled", run -> run.state().effects().isEmpty())
            .judge(
                "its message is changed",
                run ->
                    run.messages().stream()
                        .map(Message::content)
                        .filter(content -> content != null && content.startsWith("I will"))
                        .toList()
                        .equals(List.of("I will not.")))
            .run();

    assertThat(report.passRate()).as(report.table()).isEqualTo(1);
  }

  /** Approvals were decided in the recording; nobody is asked again. */
  @Test
  void aToolThatNeedsApprovalAsksNobody() {
    Model pays =
        ScriptedModel.script().otherwise().call("refund", Map.of("order", "B-1")).model("pays");

    EvalTrial trial = only(evaluation().recorded(folder).variant("pays", pays));

    assertThat(trial.outcome()).isEqualTo(Outcome.DIVERGED);
    assertThat(performed).hasValue(0);
  }

  private static EvalTrial only(Evaluation evaluation) {
    return evaluation.judge("anything", run -> true).run().trials().get(0);
  }

  @Test
  void aJudgeOrAUserThatFailsSpoilsItsOwnTrialOnly() throws Exception {
    EvalUser failing =
        run -> {
          throw new IllegalStateException("no script");
        };
    EvalReport report =
        evaluation()
            .cases(EvalCase.of("of a failing user", failing))
            .cases(
                EvalCase.recorded(export)
                    .judge(
                        run -> {
                          throw new IllegalStateException("no judge");
                        }))
            .cases(
                EvalCase.recorded(export)
                    .judge(
                        run -> {
                          throw new AssertionError("not as expected");
                        }))
            .cases(EvalCase.recorded(export))
            .judge("anything", run -> true)
            .run();

    assertThat(report.trials())
        .extracting(EvalTrial::outcome)
        .containsExactly(Outcome.BROKEN, Outcome.UNJUDGED, Outcome.FAILED, Outcome.PASSED);
    assertThat(report.table()).contains("no script", "no judge", "not as expected");
  }

  @Test
  void conversationsHeldAtOnceAreReportedInTheirOrderAndOneThatBreaksLosesNoOther() {
    CountDownLatch all = new CountDownLatch(3);
    CountDownLatch others = new CountDownLatch(1);
    EvalUser first = together(all, () -> awaits(others));
    EvalUser broken =
        together(
            all,
            () -> {
              throw new AssertionError("no script");
            });

    EvalReport report =
        evaluation()
            .cases(
                EvalCase.of("first", first),
                EvalCase.of("broken", broken),
                EvalCase.of("last", together(all, () -> {})))
            .judge(
                "says something",
                run -> {
                  others.countDown();
                  return !run.reply().isEmpty();
                })
            .parallel(3)
            .run();

    assertThat(report.trials())
        .extracting(EvalTrial::name, EvalTrial::outcome)
        .containsExactly(
            tuple("first", Outcome.PASSED),
            tuple("broken", Outcome.BROKEN),
            tuple("last", Outcome.PASSED));
  }

  /** A user who waits for other conversations, says something and leaves. */
  private static EvalUser together(CountDownLatch all, Runnable then) {
    return soFar -> {
      if (!soFar.asked().isEmpty()) {
        return null;
      }
      all.countDown();
      awaits(all);
      then.run();
      return "Hello";
    };
  }

  private static void awaits(CountDownLatch others) {
    try {
      if (!others.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the others do not come");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void anExportOfSomethingElseIsRefusedWithTheReason() throws Exception {
    Path broken = Files.writeString(folder.resolve("broken.jsonl"), "nothing");

    assertThatThrownBy(() -> EvalCase.recorded(broken)).hasMessageContaining("Line 1");
    assertThatThrownBy(() -> evaluation().recorded(Files.createDirectory(folder.resolve("none"))))
        .hasMessageContaining("There is no thread in");
  }

  // --- variants and reports --------------------------------------------------------------------

  @Test
  void variantsAreComparedInATableWithOutcomesCallsTokensAndCost() {
    Model rude = ScriptedModel.script().otherwise().turn(tokens("No.", 10, 2)).model("rude");
    EvalReport report =
        evaluation()
            .recorded(folder)
            .variant("today")
            .variant("rude", rude.price("1", "10", "1"))
            .judge("helps", run -> run.reply().contains("delivered"))
            .repeat(2)
            .run();

    assertThat(report.passRate("today")).isEqualTo(1);
    assertThat(report.passRate("rude")).isZero();
    assertThat(report.table())
        .containsPattern("order.jsonl +rude +0/2 0% +0 +1 +12 +\\$0.00003")
        .contains("order.jsonl, rude, trial 2 failed: helps");
    JsonNode json = report.json();
    assertThat(json.at("/variants/1/passRate").asDouble()).isZero();
    assertThat(json.at("/trials/2/usage/outputTokens").asInt()).isEqualTo(2);
    assertThat(json.at("/trials/2/outcome").asText()).isEqualTo("failed");
    assertThat(Json.text(json.at("/variants/1")))
        .isEqualTo(
            """
            {"variant":"rude","trials":2,"passRate":0.0,\
            "usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":4,"cost":0.00006},\
            "judging":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"cost":0}}\
            """);
    assertThat(Json.text(json.at("/trials/2")))
        .isEqualTo(
            """
            {"case":"order.jsonl","variant":"rude","number":1,"outcome":"failed",\
            "reason":"helps","calls":0,"steps":1,\
            "usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":2,"cost":0.00003},\
            "judging":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"cost":0},\
            "transcript":"User: And B-1 again?\\nAssistant: No."}\
            """);
    assertThatThrownBy(() -> report.requirePassRate(0.5))
        .isInstanceOf(AssertionError.class)
        .hasMessageStartingWith("rude passed 0% of its trials, and 50% is required");
    assertThatThrownBy(() -> report.passRate("other")).hasMessageContaining("today, rude");
  }

  private static Turn tokens(String text, int input, int output) {
    return Turn.say(text).tokens(input, 0, output);
  }

  @Test
  void aVariantChangesTheTextsOfPromptsAndTools() {
    ScriptedModel model = ScriptedModel.script();
    model.otherwise().say("Yes.");
    EvalVariant brief =
        EvalVariant.named("brief")
            .text("support", "Be brief.")
            .toolText("find_order", "Looks it up.")
            .model(model.model("asked"));

    only(evaluation().cases(EvalCase.of("hello", EvalUser.saying("Hello"))).variant(brief));

    assertThat(model.requests().get(0).messages().toString())
        .contains("Be brief.")
        .doesNotContain("You are the support desk.");
    assertThat(model.requests().get(0).toolSpecifications().toString()).contains("Looks it up.");
    assertThatThrownBy(
            () ->
                only(
                    evaluation()
                        .cases(EvalCase.of("hello", EvalUser.saying("Hello")))
                        .variant(EvalVariant.named("wrong").text("suport", "Be brief."))))
        .hasMessage(
            "The variant wrong changes the prompt suport, which no agent has; there are support");
  }

  @Test
  void aVariantChangesTheTextOfWhateverAPromptOffers() {
    ScriptedModel model = ScriptedModel.script();
    model.otherwise().say("Yes.");
    Model asked = model.model("asked");
    List<Offered> offered =
        List.of(
            Tool.of("find_order", "As it is.", (flow, args) -> "found"),
            Prompt.of("summary", asked).toolDescription("As it is.").asTool(),
            FlowTool.of("parcel", "As it is.", parcel()),
            SubAgent.of("courier", "As it is."),
            Handoff.to("billing", "As it is."));
    Agent desk =
        Agent.aiHuman("desk", Prompt.of("support", asked).tools(offered.toArray(Offered[]::new)));
    Evaluation evaluation =
        Evaluation.of(
                desk,
                Agent.aiHuman("courier", Prompt.of("driving", asked)),
                Agent.aiHuman("billing", Prompt.of("charging", asked)))
            .cases(EvalCase.of("hello", EvalUser.saying("Hello")));
    EvalVariant other = EvalVariant.named("other");
    for (Offered each : offered) {
      other = other.toolText(each.name(), "Otherwise.");
    }

    only(evaluation.variant(other));

    assertThat(model.requests().get(0).toolSpecifications())
        .hasSize(offered.size())
        .extracting(ToolSpecification::description)
        .containsOnly("Otherwise.");
  }

  @Test
  void aModelThatDoesNotReplyBreaksItsTrialAlone() {
    Model down = ScriptedModel.script().otherwise().turn(Turn.unauthorized()).model("down");

    EvalReport report =
        evaluation()
            .recorded(folder)
            .variant("down", down)
            .variant("today")
            .judge("anything", run -> true)
            .run();

    assertThat(report.trials().get(0).outcome()).isEqualTo(Outcome.BROKEN);
    assertThat(report.trials().get(0).reason()).contains("no model replied", "unauthorized");
    assertThat(report.trials().get(1).outcome()).isEqualTo(Outcome.PASSED);
  }

  @Test
  void anEvaluationThatWouldJudgeNothingIsRefused() {
    assertThatThrownBy(() -> evaluation().recorded(folder).run())
        .hasMessageContaining("Nothing judges the case order.jsonl");
    assertThatThrownBy(() -> evaluation().run()).hasMessageContaining("has no case");
  }

  @Test
  void whatTheReportCouldNotTellApartOrNeverFailIsRefused() {
    assertThatThrownBy(() -> evaluation().variant("today").variant("today"))
        .hasMessageContaining("two variants named today");
    assertThatThrownBy(() -> evaluation().timeout(Duration.ZERO))
        .hasMessageContaining("timeout is PT0S");
    for (double rate : new double[] {-1, 90, Double.NaN}) {
      assertThatThrownBy(() -> new EvalReport(List.of()).requirePassRate(rate))
          .hasMessage("A pass rate is from 0 to 1, not " + rate);
    }
  }

  // --- judge models ----------------------------------------------------------------------------

  private EvalTrial judged(String reply) {
    Model judge =
        ScriptedModel.script()
            .otherwise()
            .turn(tokens(reply, 100, 10))
            .model("judge")
            .price("1", "1", "1");
    return evaluation()
        .recorded(folder)
        .judge(EvalJudge.model(judge, "The reply is polite."))
        .run()
        .trials()
        .get(0);
  }

  @Test
  void aJudgeModelDecidesByItsCriterion() {
    assertThat(judged("{\"passed\": true, \"reason\": \"It is.\"}").outcome())
        .isEqualTo(Outcome.PASSED);

    EvalTrial failed = judged("{\"passed\": false, \"reason\": \"It shouts.\"}");

    assertThat(failed.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(failed.reason()).isEqualTo("It shouts.");
    assertThat(failed.judging().cost()).isEqualByComparingTo("0.00011");
    assertThat(failed.usage().cost()).isZero();
  }

  @Test
  void aVerdictThatCannotBeReadIsNeitherPassedNorFailed() {
    for (String reply :
        List.of(
            "It passed.",
            "```json\n{\"passed\": true, \"reason\": \"It is.\"}\n```",
            "{\"passed\": \"true\", \"reason\": \"It is.\"}",
            "{\"passed\": true}",
            "{\"passed\": true, \"reason\": \"\"}",
            "{\"passed\": true, \"reason\": \"It is.\"} {\"passed\": false}")) {
      EvalTrial trial = judged(reply);

      assertThat(trial.outcome()).as(reply).isEqualTo(Outcome.UNJUDGED);
      assertThat(trial.reason()).contains("replied with no verdict", "polite").contains(reply);
      assertThat(trial.judging().inputTokens()).isEqualTo(100);
    }
  }

  // --- flows as tools --------------------------------------------------------------------------

  record Parcel(@Describe("Street and town") String address, @Describe("Kilos") Integer weight) {}

  private static Flow<Parcel> parcel() {
    return Flow.of("parcel", Parcel.class)
        .description("Sends a parcel.")
        .ask("ask_address", q -> q.question("address", "Where to?"))
        .ask("ask_weight", q -> q.question("weight", "How heavy is it?"))
        .act(
            "send",
            run -> {
              if (run.attempt() == 1) {
                throw new IllegalStateException("The van is late");
              }
            })
        .edge(START, "ask_address")
        .edge("ask_address", "ask_weight")
        .edge("ask_weight", "send")
        .edge("send", END)
        .result(Parcel::address)
        .compile();
  }

  /** A client over a real socket, as a provider's. */
  private static Model client(OpenAiStub stub) {
    return Model.of(
        "gpt",
        OpenAiStreamingChatModel.builder()
            .httpClientBuilder(ModelHttp.builder())
            .baseUrl(stub.baseUrl())
            .apiKey("any")
            .modelName("test")
            .build());
  }

  private static String handle(JsonNode request) {
    Matcher handle =
        Pattern.compile("sessionId[\\\\\":]+([\\w-]{20,})").matcher(request.toString());
    assertThat(handle.find()).as(request.toString()).isTrue();
    return handle.group(1);
  }

  private static Turn call(JsonNode request, String action, Map<String, ?> updates) {
    return Turn.call(
        "parcel",
        updates.isEmpty()
            ? Map.of("action", action, "sessionId", handle(request))
            : Map.of("action", action, "sessionId", handle(request), "stateUpdates", updates));
  }

  private static EvalCase sender() {
    return EvalCase.of(
            "sender",
            ScriptedUser.opening("I want to send a parcel.")
                .when("where", "To Lisbon.")
                .when("heavy", "3 kilos.")
                .when("went wrong", "Please try again."))
        .judge(
            "is sent",
            run ->
                run.runs(RunState.Status.COMPLETED).stream()
                    .anyMatch(parcel -> parcel.data().path("weight").asInt() == 3));
  }

  @Test
  void aModelOverARealSocketDrivesAFlowByItsToolToTheRightEnd() {
    try (OpenAiStub stub = OpenAiStub.start()) {
      stub.when(OpenAiStub.lastUserContains("I want to send"))
          .call("parcel", Map.of("action", "start", "intent", "send", "wrong", 1))
          .when(request -> text(request).contains("\\\"wrong\\\""))
          .call("parcel", Map.of("action", "start", "intent", "send"))
          .when(request -> text(request).contains("Where to?"))
          .say("Where should it go?")
          .when(OpenAiStub.lastUserContains("Lisbon"))
          .answer(request -> call(request, "continue", Map.of("address", "Lisbon")))
          .when(request -> text(request).contains("How heavy"))
          .say("How heavy is it?")
          .when(OpenAiStub.lastUserContains("kilos"))
          .answer(request -> call(request, "continue", Map.of("weight", 3)))
          .when(request -> text(request).contains("step_failed"))
          .say("Something went wrong.")
          .when(OpenAiStub.lastUserContains("try again"))
          .answer(request -> call(request, "continue", Map.of()))
          .otherwise()
          .say("It is on its way to Lisbon.");

      EvalReport report =
          Evaluation.ofFlow(parcel()).cases(sender()).variant("gpt", client(stub)).run();

      assertThat(report.table()).as(report.trials().get(0).transcript()).contains("1/1 100%");
      assertThat(report.trials().get(0).calls()).isGreaterThanOrEqualTo(4);
      assertThat(stub.requests().get(0).toString())
          .contains("Sends a parcel.", "Never invent an answer", "stateUpdates", "Kilos")
          .contains("## Tools with `action`");
    }
  }

  private static String text(JsonNode request) {
    JsonNode messages = request.path("messages");
    return messages.path(messages.size() - 1).path("content").toString();
  }

  @Test
  void aModelThatDrivesTheFlowBadlyScoresLower() {
    Model forgetful =
        ScriptedModel.script()
            .when(lastIsResultOf("parcel"))
            .say("Where to, and how heavy?")
            .otherwise()
            .call("parcel", Map.of("action", "start", "intent", "send"))
            .model("forgetful");

    EvalReport report =
        Evaluation.ofFlow(parcel()).cases(sender()).variant("forgetful", forgetful).turns(5).run();

    assertThat(report.passRate()).isZero();
    assertThat(report.trials().get(0).calls()).isEqualTo(5);
    assertThatThrownBy(() -> Evaluation.ofFlow(parcel()).cases(sender()).run())
        .hasMessageContaining("has no model to call parcel with");
  }

  // --- users -----------------------------------------------------------------------------------

  @Test
  void aScriptedUserAnswersWhatItIsAskedAndEndsWhenItHasNothingToSay() {
    ScriptedUser user =
        ScriptedUser.opening("Hi")
            .once("name", "Ann. Why?")
            .when("name", "Ann.")
            .when("town", "Lisbon.")
            .otherwise("Go on.");

    assertThat(user.next(said())).isEqualTo("Hi");
    assertThat(user.next(said("Hi", "Your name and town?"))).isEqualTo("Ann. Why?");
    assertThat(user.next(said("Hi", "Name?", "Ann. Why?", "Your NAME and town?")))
        .isEqualTo("Ann. Lisbon.");
    assertThat(user.next(said("Hi", "Hm."))).isEqualTo("Go on.");
    assertThat(user.next(said("Hi", "Hm.", "Go on.", "Hm."))).isNull();
  }

  private static EvalRun said(String... texts) {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < texts.length; i++) {
      messages.add(i % 2 == 0 ? Message.user(texts[i]) : Message.assistant(texts[i]));
    }
    return new EvalRun(messages, List.of(), ThreadState.NONE, List.of());
  }
}
