package io.fermata.agent.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Conversation;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Inventions;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.flow.schema.Secret;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What is said of a thread shows no secret arguments and answers unless its name says so. */
class SecretThreadTest {
  private static final String CARD = "4111-1111";

  private record Payment(String order, @Secret String card, @Secret String cvv) {}

  private static Agent desk(Scripted model, String mark) {
    Tool pay =
        Tool.of(
            "pay", "Pays.", Payment.class, (flow, args) -> "Paid with " + args.card() + " " + mark);
    Hook marks =
        Hook.beforeCreateMessage(
            "mark", (flow, m) -> m.content() == null ? m : m.withContent(m.content() + mark));
    return Agent.aiHuman("desk", Prompt.of("talk", model.model()).text("Talk.").tools(pay))
        .hooks(marks);
  }

  private static ThreadJournal recorded() {
    Scripted model =
        new Scripted()
            .call("pay", Map.of("order", "B-1", "card", CARD, "cvv", "123"))
            .say("I have paid with your " + CARD + ".");
    Conversation talk = Conversation.with(desk(model, ""));
    talk.say("Pay B-1 with my card " + CARD);
    return talk.recorded();
  }

  private static List<Agent> desk() {
    return List.of(desk(new Scripted(), ""));
  }

  @Test
  void theTextsOfAJournalAreRedacted() {
    ThreadJournal journal = recorded();

    assertThat(journal.transcript(desk()))
        .contains("Pay B-1 with my card [redacted]", "paid with your [redacted]")
        .doesNotContain(CARD, "123");
    assertThat(journal.narrative(desk()))
        .contains("replied nothing and calls pay", "Paid with [redacted]")
        .doesNotContain(CARD, "123");
    assertThat(journal.toString()).contains("desk").doesNotContain(CARD);
    assertThat(journal.entries().toString()).doesNotContain(CARD);
    assertThat(journal.transcriptWithSecrets()).contains(CARD, "123");
    assertThat(journal.narrativeWithSecrets()).contains(CARD, "123");
  }

  @Test
  void aDivergenceSaysWhereWithoutTheValues() {
    ThreadReplay replay = ThreadReplay.of(List.of(desk(new Scripted(), "!")), recorded());
    ThreadDivergence divergence = Objects.requireNonNull(replay.divergence());

    assertThat(divergence.text())
        .contains("Pay B-1 with my card [redacted]", "my card [redacted]!")
        .doesNotContain(CARD);
    assertThat(divergence.textWithSecrets()).contains("my card " + CARD);
    assertThatThrownBy(replay::requireSame).message().doesNotContain(CARD);
    assertThat(replay.toString()).doesNotContain(CARD);
  }

  @Test
  void shortArgumentsAreRedactedAlsoWhereAPersonApprovesTheCallOrASandboxDoesNotMakeIt() {
    Scripted model =
        new Scripted().call("pay", Map.of("order", "B-1", "card", CARD, "cvv", "123")).say("Done.");
    Tool pay =
        Tool.of("pay", "Pays.", Payment.class, (flow, args) -> "Paid").approval("Pay with it?");
    Agent desk = Agent.aiHuman("desk", Prompt.of("talk", model.model()).tools(pay));
    Conversation talk = Conversation.with(desk).say("Pay B-1");
    int asked = talk.records();
    talk.approve("s1.0").run();

    ThreadJournal journal = talk.recorded();
    assertThat(journal.narrative(List.of(desk)))
        .contains("a person is asked to approve the call s1.0", "\"order\":\"B-1\"")
        .doesNotContain(CARD, "123");
    assertThat(journal.narrativeWithSecrets()).contains("\"arguments\":{", "\"cvv\":\"123\"");

    ThreadJournal sandboxed = talk.sandbox(asked).run().recorded();
    assertThat(sandboxed.narrative(List.of(desk)))
        .contains("the thread rests: sandboxed (pay {")
        .doesNotContain(CARD, "123");
    assertThat(sandboxed.why(List.of(desk)))
        .asString()
        .contains("sandboxed (pay {")
        .doesNotContain("123");
  }

  @Test
  void aCallWithoutArgumentsChangesNoText() {
    ThreadSecrets secrets = ThreadSecrets.of(desk());
    secrets.learn(new ThreadEvent.Queued(null, RequestedCall.of("q1", "pay", "")));

    assertThat(secrets.maskedCalls("pay ")).isEqualTo("pay ");
  }

  @Test
  void anApprovalIsRecordedWithInventedArgumentsHoweverShortTheyAre() {
    ThreadSecrets secrets = ThreadSecrets.of(desk());
    JsonNode question = Json.parse("{\"tool\":\"pay\",\"arguments\":{\"cvv\":\"123\"}}");
    Inventions inventions = new Inventions(1, false);

    ThreadEvent replaced =
        secrets.replaced(new ThreadEvent.CallAsked("s1.0", true, question, 1), inventions);

    assertThat(Json.text(Json.tree(replaced))).contains("cvv").doesNotContain("123");
  }

  @Test
  void aQueuedCallAndTheNoteOfAChildAreRecordedWithInventedValues() {
    ThreadSecrets secrets = ThreadSecrets.of(desk());
    String given = "{\"order\":\"B-1\",\"card\":\"" + CARD + "\",\"cvv\":\"123\"}";
    RequestedCall call = RequestedCall.of("q1", "pay", given);
    ThreadEvent queued = new ThreadEvent.Queued(null, call);
    Inventions inventions = new Inventions(1, false);
    secrets.find(queued, inventions::add);

    assertThat(Json.text(Json.tree(secrets.replaced(queued, inventions))))
        .contains("q1", "pay", "B-1", "cvv")
        .doesNotContain(CARD, "123");
    ChildThread child =
        new ChildThread(
            "t2",
            "helper",
            "desk",
            ChildThread.Status.IDLE,
            "Paid with " + CARD,
            Usage.ZERO,
            Side.A);
    assertThat(
            Json.text(Json.tree(secrets.replaced(new ThreadEvent.ChildCreated(child), inventions))))
        .contains("t2", "helper", "idle", "Paid with ")
        .doesNotContain(CARD);
  }

  @Test
  void argumentsOfScheduledWorkAreRedactedHoweverShortTheyAre() {
    Tool pay =
        Tool.of(
            "pay",
            "Pays.",
            (flow, args) -> {
              Map<String, String> card = Map.of("order", "B-1", "card", CARD, "cvv", "123");
              flow.scheduleEffect("charge", card, Duration.ofHours(1));
              return "Scheduled for " + CARD;
            });
    Agent desk =
        Agent.aiHuman(
                "desk", Prompt.of("talk", new Scripted().call("pay", Map.of()).model()).tools(pay))
            .effects(ScheduledHandler.of("charge", "Charges.", Payment.class, (flow, args) -> {}));
    ThreadJournal journal = Conversation.with(desk).say("Pay").recorded();

    assertThat(journal.narrative(List.of(desk)))
        .contains("the work charge is scheduled", "\"order\":\"B-1\"", "Scheduled for [redacted]")
        .doesNotContain(CARD, "123");
    assertThat(journal.narrativeWithSecrets()).contains(CARD, "\"cvv\":\"123\"");

    ThreadSecrets secrets = ThreadSecrets.of(List.of(desk));
    JsonNode arguments = Json.parse("{\"order\":\"B-1\",\"cvv\":\"123\"}");
    ThreadEvent replaced =
        secrets.replaced(
            new ThreadEvent.Scheduled("w1", "desk", "charge", arguments, 1),
            new Inventions(1, false));
    assertThat(Json.text(Json.tree(replaced))).contains("B-1", "cvv").doesNotContain("123");
  }

  @Test
  void argumentsThatAForeignSchemaMarksBehindAReferenceAreRedacted() {
    String schema =
        "{\"type\":\"object\",\"properties\":{\"card\":{\"$ref\":\"#/$defs/card\"},"
            + "\"other\":{\"type\":\"string\"}},\"$defs\":{\"card\":{"
            + "\"properties\":{\"cvv\":{\"type\":\"string\",\"writeOnly\":true}}}}}";
    Tool pay =
        Tool.of(
            "pay",
            "Pays.",
            ArgumentSchema.of((ObjectNode) Json.parse(schema)),
            (flow, args) -> "Paid");
    ThreadSecrets secrets =
        ThreadSecrets.of(
            List.of(Agent.aiHuman("desk", Prompt.of("talk", new Scripted().model()).tools(pay))));

    String given = "{\"card\":{\"cvv\":\"123\",\"name\":\"Ann\"},\"other\":\"123\"}";
    assertThat(secrets.masked(RequestedCall.of("q1", "pay", given)))
        .isEqualTo("{\"card\":{\"cvv\":\"[redacted]\",\"name\":\"Ann\"},\"other\":\"123\"}");
  }

  private record Login(String user, @Secret String pin) {}

  private record Logins(Map<String, Login> logins) {}

  @Test
  void aMarkedArgumentBehindAKeyWithDotsIsRedactedAndRecordedWithAnInventedOne() {
    Tool open = Tool.of("open", "Opens.", Logins.class, (flow, args) -> "Open");
    Agent desk = Agent.aiHuman("desk", Prompt.of("talk", new Scripted().model()).tools(open));
    ThreadSecrets secrets = ThreadSecrets.of(List.of(desk));
    String given = "{\"logins\":{\"mail.example.com\":{\"user\":\"ann\",\"pin\":\"123\"}}}";
    RequestedCall call = RequestedCall.of("q1", "open", given);

    assertThat(secrets.masked(call)).contains("ann").doesNotContain("123");
    JsonNode question = Json.object().put("tool", "open").set("arguments", Json.parse(given));
    ThreadEvent replaced =
        secrets.replaced(
            new ThreadEvent.CallAsked("q1", true, question, 1), new Inventions(1, false));
    assertThat(Json.text(Json.tree(replaced))).contains("mail.example.com").doesNotContain("123");
  }

  @Test
  void whatIsSecretEverywhereIsRedactedWhateverBringsTheMessageThatHasIt() {
    Message message = Message.assistant("{\"pin\":\"94321\"}").placed("m1", 1, 0, null);
    ThreadEvent.StepLog log =
        new ThreadEvent.StepLog("s1", "m", "stop", Usage.ZERO, List.of(), 1, 2, null, null);
    List<ThreadEvent> events =
        List.of(
            new ThreadEvent.Received(null, message, 1),
            new ThreadEvent.Taken(message),
            new ThreadEvent.StepEnded("", message, List.of(), log),
            new ThreadEvent.StepFailed("", "failed", "Down", List.of(), message, 1),
            new ThreadEvent.FrameOpened("f", "sub", Side.A, 1, "m0", null, List.of(message)),
            new ThreadEvent.CallEnded("s1.0", message, null, 1),
            new ThreadEvent.CallDetached("s1.0", "desk", message, 1),
            new ThreadEvent.Said("", message, null));

    for (ThreadEvent event : events) {
      ThreadSecrets secrets = ThreadSecrets.of(desk()).and(List.of("pin"));
      secrets.learn(event);
      assertThat(secrets.masked("It is 94321")).as("%s", event).isEqualTo("It is [redacted]");
    }
  }

  @Test
  void anAnswerToASecretQuestionOfAFlowIsRedacted() {
    ThreadSecrets secrets = ThreadSecrets.of(desk());
    String question =
        "{\"status\":\"interrupt\",\"questions\":[{\"field\":\"holder.pin\","
            + "\"fieldSchema\":{\"type\":\"string\",\"writeOnly\":true}},{\"field\":\"name\"}]}";
    secrets.learn(new ThreadEvent.CallAsked("c1", false, Json.parse(question), 1));
    secrets.learn(
        new ThreadEvent.CallAnswered(
            "c1",
            "a1",
            null,
            Json.object().put("holder.pin", "94321").put("name", "Annabel"),
            null,
            "ann",
            2));

    assertThat(secrets.masked("Annabel has 94321")).isEqualTo("Annabel has [redacted]");
  }

  @Test
  void ofALongTextThatIsCutOffInsideASecretNothingOfTheSecretIsLeft() {
    Scripted model =
        new Scripted()
            .call("pay", Map.of("order", "B-1", "card", CARD, "cvv", "123"))
            .say("x".repeat(190) + " " + CARD + ".");
    Conversation talk = Conversation.with(desk(model, ""));
    talk.say("Pay B-1");

    assertThat(talk.recorded().narrative(List.of(desk(new Scripted(), ""))))
        .contains("x".repeat(190))
        .doesNotContain(CARD.substring(0, 5));
  }
}
