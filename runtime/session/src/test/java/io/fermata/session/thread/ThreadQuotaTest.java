package io.fermata.session.thread;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.key.HostError;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How many threads one principal may have. */
@Timeout(120)
class ThreadQuotaTest {
  private static final String REFUSED =
      "The caller has as many threads as it may: 2. Delete one of them first.";

  private static final Agent HELPER =
      Agent.aiHuman("helper", Prompt.of("helper", ScriptedModels.saying("Helped.")));

  private static final Agent DESK =
      Agent.aiHuman(
          "desk",
          Prompt.of(
                  "desk",
                  ScriptedModels.calling("helper", "{\"message\":\"help\"}", text -> "Done."))
              .tools(SubAgent.of("helper", "Helps.").asBlocking()));

  @TempDir private Path folder;
  private Duration ahead = Duration.ZERO;
  private Fermata host;

  @BeforeEach
  void start() {
    start(DESK);
  }

  private void start(Agent desk) {
    host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .agent(desk)
            .agent(HELPER)
            .clock(() -> Instant.now().plus(ahead))
            .settings(Settings.DEFAULT.threads(2))
            .start();
  }

  @AfterEach
  void stop() {
    host.close();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof ThreadException known ? known : e;
    }
  }

  private String create(String principal, @Nullable String key) throws Exception {
    return now(host.threads()
            .create(new Threads.NewThread(principal, "desk", key, Set.of(), Map.of(), List.of())))
        .threadId();
  }

  private void isRefused() {
    assertThatThrownBy(() -> create("ann", null))
        .isInstanceOfSatisfying(
            ThreadException.class, e -> assertThat(e.code()).isEqualTo("too_many_threads"))
        .hasMessage(REFUSED);
  }

  @Test
  void whoHasAsManyAsItMayLearnsHowManyAndMayCreateAnotherWhenOneIsDeleted() throws Exception {
    create("ann", null);
    String second = create("ann", "second");

    isRefused();
    assertThat(create("bob", null)).as("of another").isNotNull();
    assertThat(create("ann", "second")).as("the same again").isEqualTo(second);
    JsonNode sent =
        now(host.call(
                new ToolCall(
                    "desk",
                    "ann",
                    Json.object().put("action", "send").put("message", "hello"),
                    Json.object(),
                    null)))
            .structured();
    assertThat(sent.path("code").asText()).isEqualTo("too_many_threads");
    assertThat(sent.path("error").asText()).isEqualTo(REFUSED);

    now(host.threads().delete("ann", second));
    create("ann", null);
    isRefused();
  }

  @Test
  void theyAreCountedWhenTheHostComesBack() throws Exception {
    create("ann", null);
    create("ann", null);
    stop();
    start();

    assertThatThrownBy(
            () -> {
              // The first call has them counted, which takes a moment.
              while (true) {
                now(host.threads().delete("ann", create("ann", null)));
                Thread.sleep(20);
              }
            })
        .hasMessage(REFUSED);
  }

  @Test
  void whatAnAgentCreatesForItselfCountsAndIsNotRefused() throws Exception {
    String id = create("ann", null);
    create("ann", null);
    Threads threads = host.threads();

    now(threads.post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));

    Threads.View worked = now(threads.settled("ann", id, Duration.ofSeconds(30)));
    assertThat(worked.children()).hasSize(1);
    now(threads.delete("ann", worked.children().get(0).threadId()));
    isRefused();
    now(threads.delete("ann", id));
    createWhenCounted("ann");
  }

  @Test
  void anAgentThatDelegatesToItselfMayNotAtTheEighthLevel() throws Exception {
    AtomicInteger begun = new AtomicInteger();
    ToolExecutionRequest itself =
        ToolExecutionRequest.builder()
            .id("1")
            .name("desk")
            .arguments("{\"message\":\"go on\"}")
            .build();
    Model model =
        ScriptedModels.answering(
            messages ->
                messages.get(messages.size() - 1) instanceof ToolExecutionResultMessage result
                    ? AiMessage.from(result.text())
                    : begun.incrementAndGet() > 2 * Bounds.DEPTH
                        ? AiMessage.from("Enough.")
                        : AiMessage.from(itself));
    stop();
    start(
        Agent.aiHuman(
            "desk",
            Prompt.of("desk", model).tools(SubAgent.of("desk", "Helps itself.").asBlocking())));
    String id = create("ann", null);
    Threads threads = host.threads();

    now(threads.post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
    now(threads.settled("ann", id, Duration.ofSeconds(60)));

    Message last =
        now(threads.messages("ann", id, Threads.MessageQuery.latest(1))).messages().get(0);
    assertThat(last.content()).contains("at most " + Bounds.DEPTH + " levels deep");
    assertThat(begun).hasValue(1 + Bounds.DEPTH);
  }

  /** Where there were more than the quota, they are counted again, which takes a moment. */
  private void createWhenCounted(String principal) throws Exception {
    while (true) {
      try {
        create(principal, null);
        return;
      } catch (ThreadException e) {
        assertThat(e.code()).isEqualTo("too_many_threads");
        Thread.sleep(20);
      }
    }
  }

  @Test
  void aForkIsAThreadOfItsOwner() throws Exception {
    String id = create("ann", null);
    now(host.threads().fork("ann", id, Threads.NewFork.sandbox()));

    assertThatThrownBy(() -> now(host.threads().fork("ann", id, Threads.NewFork.live())))
        .hasMessage(REFUSED);
    isRefused();
  }

  @Test
  void aThreadThatExpiresMakesRoomForAnotherAlsoIfItsHostWasAwayMeanwhile() throws Exception {
    stop();
    Agent desk = DESK.expireAfter(Duration.ofHours(1));
    start(desk);
    List<String> full = List.of(create("ann", null), create("ann", null));
    isRefused();
    stop();

    ahead = Duration.ofHours(2);
    start(desk);

    createWhenCounted("ann");
    assertThat(full).anyMatch(this::isUnknown);
  }

  private boolean isUnknown(String id) {
    Throwable refusal = catchThrowable(() -> now(host.threads().get("ann", id)));
    return refusal instanceof ThreadException known && known.is(HostError.UNKNOWN_THREAD);
  }

  @Test
  void noneIsNoQuota() {
    assertThatThrownBy(() -> Settings.DEFAULT.threads(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("threads must be at least 1");
  }
}
