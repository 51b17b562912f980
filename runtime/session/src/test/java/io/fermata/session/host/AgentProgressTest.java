package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a client reads of an agent while it waits for it. */
@Timeout(120)
class AgentProgressTest {
  @TempDir private Path folder;

  /** What the client got, in order. */
  private final List<ToolProgress> received = Collections.synchronizedList(new ArrayList<>());

  private List<String> lines() {
    return received.stream()
        .map(
            each ->
                each.piece() == null
                    ? "%s (%s)".formatted(each.node(), each.name())
                    : each.node() + ": " + each.piece())
        .toList();
  }

  /** What it takes for the reply: the text since something was last void. */
  private String reply() {
    StringBuilder read = new StringBuilder();
    for (ToolProgress each : received) {
      if (each.name().equals("void")) {
        read.setLength(0);
      } else if (each.piece() != null) {
        read.append(each.piece());
      }
    }
    return read.toString();
  }

  /** Breaks off twice in the middle of its reply. */
  private static Model interrupted() {
    AtomicInteger attempts = new AtomicInteger();
    StreamingChatModel model =
        new StreamingChatModel() {
          @Override
          public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
            if (attempts.incrementAndGet() < 3) {
              handler.onPartialResponse("Hello, ");
              handler.onError(new RateLimitException("busy"));
              return;
            }
            handler.onPartialResponse("Good ");
            handler.onPartialResponse("day.");
            handler.onCompleteResponse(
                ChatResponse.builder()
                    .aiMessage(AiMessage.from("Good day."))
                    .tokenUsage(new TokenUsage(1, 1))
                    .build());
          }
        };
    return Model.of("interrupted", model).attempts(3).backoff(Duration.ofMillis(1));
  }

  @Test
  void aClientReadsTheReplyOfTheAttemptThatCountedOnceHoweverManyBrokeOff() throws Exception {
    ObjectNode hello = Json.object().put("action", "send").put("message", "hello");
    ObjectNode meta = Json.object().put("progressToken", "t");
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .agent(Agent.aiHuman("desk", Prompt.of("desk", interrupted())))
            .start()) {
      host.call(new ToolCall("desk", "ann", hello, meta, null), received::add)
          .toCompletableFuture()
          .get(60, TimeUnit.SECONDS);
    }

    assertThat(reply()).as(lines().toString()).isEqualTo("Good day.");
  }

  // --- what happens to a step ------------------------------------------------------------------

  private final AgentProgress progress =
      new AgentProgress("desk", "desk", agent -> true, received::add);
  private long entry;

  private void begins(String messageId) {
    entry++;
    progress.happened(
        entry, 0, 0, new ThreadEvent.StepBegan("", Side.A, "desk", 1, 1, messageId, 0));
  }

  private void streams(String messageId, String text) {
    progress.streamed(new MessageDelta(messageId, "text", text));
  }

  private void breaksOff(String messageId) {
    progress.streamed(new MessageDelta(messageId, "void", "rate_limited"));
  }

  private void ends(String messageId, String text) {
    Message message = Message.assistant(text).placed(messageId, 1, 0, null);
    entry++;
    progress.happened(
        entry,
        0,
        0,
        new ThreadEvent.StepEnded(
            "",
            message,
            List.of(),
            new ThreadEvent.StepLog("s1", "m", "stop", Usage.ZERO, List.of(), 1, 2, null, null)));
  }

  @Test
  void whatWasStreamedOfAReplyThatIsStoppedDoesNotCount() {
    begins("m1");
    streams("m1", "Good ");
    entry++;
    progress.happened(entry, 0, 0, new ThreadEvent.Stopped(Side.B, "stopped", null, true, 0));

    assertThat(lines()).hasSize(2).last().asString().contains("void");
  }

  @Test
  void aReplyIsReadPieceByPieceAndWhatWasNotStreamedWithItsEnd() {
    begins("m1");
    breaksOff("m1");
    streams("m1", "Good ");
    ends("m1", "Good day.");

    assertThat(lines()).containsExactly("m1: Good ", "m1: day.");
  }

  @Test
  void eachAttemptThatSaidSomethingIsANodeOfItsOwn() {
    begins("m1");
    streams("m1", "Hello, ");
    breaksOff("m1");
    breaksOff("m1");
    streams("m1", "Good ");
    streams("m1", "day.");
    ends("m1", "Good day.");

    assertThat(lines()).containsExactly("m1: Hello, ", "m1 (void)", "m1/2: Good ", "m1/2: day.");
  }

  @Test
  void aStepThatBeginsAgainIsReadFromItsBeginning() {
    begins("m1");
    streams("m1", "Hello, ");
    begins("m1");
    streams("m1", "Good day.");
    ends("m1", "Good day.");

    assertThat(lines()).containsExactly("m1: Hello, ", "m1 (void)", "m1/2: Good day.");
  }

  @Test
  void aReplyOfWhichPiecesWereLostIsReadAgainWhole() {
    begins("m1");
    streams("m1", "day.");
    ends("m1", "Good day.");

    assertThat(lines()).containsExactly("m1: day.", "m1 (void)", "m1/2: Good day.");
  }

  @Test
  void whoJoinsInTheMiddleOfAReplyReadsItWholeWhenItIsAMessage() {
    streams("m1", "day.");
    breaksOff("m1");
    streams("m1", "Good ");
    ends("m1", "Good day.");

    assertThat(lines()).containsExactly("m1: Good day.");
  }

  @Test
  void repliesOfStepsSideBySideAreReadOnceEach() {
    begins("m1");
    begins("m2");
    streams("m1", "Good ");
    streams("m2", "Bye");
    streams("m1", "day");
    ends("m1", "Good day.");
    ends("m2", "Bye.");

    assertThat(lines()).containsExactly("m1: Good ", "m2: Bye", "m1: day", "m1: .", "m2: .");
  }
}
