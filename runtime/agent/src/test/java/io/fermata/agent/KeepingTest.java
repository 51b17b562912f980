package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a thread keeps, and for how long it is at hand. */
class KeepingTest {
  private final List<Object> seen = new ArrayList<>();
  private final Scripted model = new Scripted();

  private Agent desk(Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(tools));
  }

  // --- files -----------------------------------------------------------------------------------

  @Test
  void aFileThatIsWrittenTwiceInOneRecordReadsBackItsLastVersion() {
    Tool write =
        Tool.of(
            "write",
            "Writes",
            (flow, args) -> {
              flow.files().write("/report", "v1");
              flow.files().write("/report", "v2");
              seen.add(flow.files().readText("/report"));
              return null;
            });
    Tool read = Tool.of("read", "Reads", (flow, args) -> flow.files().readText("/report"));
    model.call("write").call("read").say("Done.");

    Conversation talk = Conversation.with(desk(write, read)).say("Go");

    assertThat(seen).containsExactly("v2");
    assertThat(talk.lines()).contains("read: v2");
  }

  @Test
  void aFileThatTakesThePlaceOfOneThatWasMovedAwayHasItsOwnBytes() {
    Tool write =
        Tool.of(
            "write",
            "Writes",
            (flow, args) -> {
              flow.files().write("/a", "old");
              flow.files().move("/a", "/b");
              flow.files().write("/a", "new");
              seen.add(flow.files().readText("/a") + " " + flow.files().readText("/b"));
              return null;
            });
    Tool read =
        Tool.of(
            "read",
            "Reads",
            (flow, args) -> flow.files().readText("/a") + " " + flow.files().readText("/b"));
    model.call("write").call("read").say("Done.");

    Conversation talk = Conversation.with(desk(write, read)).say("Go");

    assertThat(seen).containsExactly("new old");
    assertThat(talk.lines()).contains("read: new old");
  }

  @Test
  void aStepOfAFlowReadsWhatAnEarlierOneWroteAndSaid() throws Exception {
    Tool tool = Tool.of("tool", "Works", (flow, args) -> "done");
    Agent desk = desk(tool);
    model.call("tool").say("Done.");
    Conversation talk =
        Conversation.with(desk).post("Go").runUntil(effect -> effect.id().equals("s1.0"));
    Loan first = loan(talk, desk, "one", List.of());
    first.flow().files().write("/a", "first");
    first.flow().injectMessage(Message.assistant("Half way"));

    FlowState second = loan(talk, desk, "two", first.changes()).flow();
    second.files().write("/b", "second");

    assertThat(second.files().readText("/a")).isEqualTo("first");
    assertThat(second.files().readText("/b")).isEqualTo("second");
    assertThat(second.reloadHistory())
        .extracting(Conversation::line)
        .containsExactly("user: Go", "assistant: [tool]", "assistant: Half way");
  }

  private static Loan loan(Conversation talk, Agent agent, String step, List<JsonNode> before) {
    return Loan.of(new Agents(List.of(agent)), talk.state(), talk.world(), "s1.0", step, 1, before)
        .orElseThrow();
  }
}
