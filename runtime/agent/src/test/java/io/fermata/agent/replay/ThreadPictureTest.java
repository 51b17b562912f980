package io.fermata.agent.replay;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Conversation;
import io.fermata.agent.Handoff;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.Scripted;
import io.fermata.agent.Tool;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.schema.Secret;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The picture of a thread, as a sequence diagram. */
class ThreadPictureTest {
  private record Refund(String order, @Secret String card) {}

  private static final Tool REFUND =
      Tool.of("refund", "Refunds.", Refund.class, (flow, args) -> "Refunded " + args.order());

  private static Agent desk(Scripted model, Tool... tools) {
    return Agent.aiHuman("desk", Prompt.of("talk", model.model()).text("Talk.").tools(tools));
  }

  private static ThreadJournal journal(Conversation talk) {
    List<JournalEntry<ThreadEvent>> entries = new ArrayList<>();
    for (int i = 1; i <= talk.records(); i++) {
      boolean called = talk.record(i).get(0) instanceof ThreadEvent.Received;
      entries.add(
          new JournalEntry<>(
              i,
              talk.cause(i).at(),
              called ? "caller" : "effect",
              called ? "ann" : null,
              talk.record(i)));
    }
    return new ThreadJournal("desk", "t1", entries);
  }

  private static Scripted refunding() {
    return new Scripted()
        .sayAndCall(
            "A moment.", "refund", new TreeMap<>(Map.of("order", "B-1", "card", "4111-1111")))
        .say("Done.");
  }

  @Test
  void aCallThatWaitsForAPersonIsDrawnWithItsQuestion() {
    Agent desk = desk(refunding(), REFUND.approval("Refund it?"));
    Conversation talk = Conversation.with(desk).say("Refund B-1 to 4111-1111");

    assertThat(journal(talk).picture(List.of(desk)).mermaid())
        .isEqualTo(
            """
            sequenceDiagram
              title thread t1 of desk
              actor p1 as user (ann)
              actor p2 as a person
              participant p3 as desk
              participant p4 as refund
              p1->>p3: 2 · Refund B-1 to #91;redacted#93;
              p3->>p1: 3 · A moment.
              p3->>p4: 3 · #123;#34;card#34;#58;#34;#91;redacted#93;#34;,#34;order#34;#58;#34;B-1#34;#125;
              p4->>p2: 3 · asks to approve#58; Refund it?
              Note over p1,p3: 3 · the thread waits#59; a person is asked by the<br>call s1.0 of refund
            """);
  }

  @Test
  void anApprovedCallReturnsAndTheConversationGoesOn() {
    Agent desk = desk(refunding(), REFUND.approval("Refund it?"));
    Conversation talk = Conversation.with(desk).say("Refund B-1").approve("s1.0").run();

    assertThat(journal(talk).picture(List.of(desk)).mermaid())
        .containsSubsequence(
            "asks to approve",
            "p2-->>p4: 4 · approved by ann\n",
            "p4-->>p3: 5 · Refunded B-1\n",
            "p3->>p1: 6 · Done.\n",
            "Note over p1,p3: 6 · the thread rests#58; stop_on_response\n");
  }

  @Test
  void failuresAreCrossedAndAThreadThatStopsForThemIsStressed() {
    AtomicInteger calls = new AtomicInteger();
    Tool flaky =
        Tool.of(
                "refund",
                "Refunds.",
                Refund.class,
                (flow, args) -> {
                  throw new IllegalStateException("busy " + calls.incrementAndGet());
                })
            .retry(2, Duration.ofSeconds(1));
    Agent desk = desk(refunding(), flaky).maxSteps(1);
    Conversation talk = Conversation.with(desk).say("Hi").pass(Duration.ofMinutes(1));

    assertThat(journal(talk).picture(List.of(desk)).mermaid())
        .containsSubsequence(
            "p3--xp2: 4 · attempt 1 failed#58; busy 1",
            "p3--xp2: 6 · Failed to execute tool#58; busy 2",
            "  rect rgb(254, 226, 226)\n    Note over p1,p2: 6 · the thread rests#58; max_total_steps (1 steps)\n  end\n")
        .endsWith("  end\n");
  }

  @Test
  void anotherAgentHasALifelineOfItsOwnAndAModelOnSideBIsNoPerson() {
    Agent billing = Agent.aiHuman("billing", Prompt.of("bill", Scripted.saying("Hello.").model()));
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of("talk", new Scripted().call("billing").model())
                .tools(Handoff.to("billing", "To billing.")));
    Conversation talk = Conversation.with(desk, billing).say("My bill");

    assertThat(journal(talk).picture(List.of(desk, billing)).mermaid())
        .contains("participant p3 as billing")
        .containsSubsequence(" · hands over\n", "p3->>p1: ");

    Agent both =
        Agent.of(
            "desk",
            Participant.prompt(Prompt.of("a", Scripted.saying("One").model())).maxSteps(1),
            Participant.prompt(Prompt.of("b", Scripted.saying("Two").model())).maxSteps(1));
    assertThat(journal(Conversation.with(both).say("Go")).picture(List.of(both)).mermaid())
        .contains("participant p1 as side B (ann)")
        .containsSubsequence("p2->>p1: ", "p1->>p2: ");
  }

  @Test
  void noTextCanBreakTheDiagram() {
    String wild = "end\nNote over p1: x; %%{init}%% <b>#quot;`A->>B: $$x$$ \u0007\ud800";
    Scripted model =
        new Scripted().sayAndCall(wild, wild, Map.of("a", wild)).always(request -> ai(wild));
    Agent desk = desk(model);

    String text = "([^\"`<>&|;:#%$\\[\\]{}\n]|#\\d+;|<br>)*";
    Pattern line =
        Pattern.compile(
            "sequenceDiagram|  title %s|  (actor|participant) p\\d as %s|  p\\d-?->>p\\d: %s|  p\\d--xp\\d: %s|  Note over p\\d(,p\\d)?: %s"
                .replace("%s", text));
    assertThat(journal(Conversation.with(desk).say(wild)).picture(List.of(desk)).mermaid().lines())
        .allMatch(each -> line.matcher(each).matches())
        .anyMatch(each -> each.contains("end Note over p1#58; x#59;"));
  }

  @Test
  void theMiddleOfALongThreadIsLeftOutAndTheDiagramSaysSo() {
    String wild = "\"#;:{}[]<>".repeat(50);
    Scripted model = new Scripted().always(request -> ai(wild));
    Agent desk = desk(model);
    Conversation talk = Conversation.with(desk);
    for (int i = 0; i < 50; i++) {
      talk.say(wild);
    }
    ThreadJournal journal = journal(talk);

    String drawn = journal.picture(List.of(desk)).mermaid();
    assertThat(drawn.length()).isLessThan(50_000);
    assertThat(drawn.lines().filter(line -> line.contains(" ·"))).hasSize(70);
    assertThat(drawn)
        .contains("Note over p1,p2: left out#58; 31 rows of the entries 12 to 42\n")
        .contains(": %d ·".formatted(journal.entries().size()));
  }

  @Test
  void aJournalUpToAnEntryShowsTheThreadAsItStoodThen() {
    Agent desk = desk(refunding(), REFUND);
    Conversation talk = Conversation.with(desk).say("Refund B-1");

    assertThat(journal(talk).upTo(2).picture(List.of(desk)).mermaid())
        .contains(
            "title thread t1 of desk, up to entry 2\n", "the thread acts#58; a model is asked")
        .doesNotContain("refund");
    assertThat(
            new ThreadJournal("desk", "t1", List.of(JournalEntry.encrypted(1)), true)
                .picture(List.of(desk))
                .mermaid())
        .contains("1 · encrypted with a key that is not there");
  }

  @Test
  void aDivergenceIsDrawnWhereTheThreadPartsFromItsJournal() {
    ThreadJournal journal = journal(Conversation.with(desk(refunding(), REFUND)).say("Refund B-1"));
    List<Agent> now = List.of(desk(new Scripted(), REFUND.approval("Refund to 4111-1111?")));
    ThreadDivergence divergence =
        Objects.requireNonNull(ThreadReplay.of(now, journal).divergence());

    assertThat(divergence.picture(journal).mermaid())
        .contains("title thread t1 of desk is decided otherwise\n")
        .containsSubsequence(
            "p2->>p3: ",
            "rect rgb",
            "recorded#58; the call s1.0 is made (attempt 1)",
            "now#58; a person is asked to approve the call<br>s1.0#58;",
            "  end\n")
        .doesNotContain("Done", "4111");
  }

  private static AiMessage ai(String text) {
    return AiMessage.from(text);
  }
}
