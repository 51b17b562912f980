package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** New runs from those that a thread's call of a flow started. */
class ToolRunForkTest {
  record Paint(String colour, String room) {}

  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir Path folder;

  /** What was painted, and whether a thread was there to tell. */
  private final List<String> done = new CopyOnWriteArrayList<>();

  private FlowTool paint() {
    return FlowTool.of(
        "paint",
        "Paints.",
        Flow.of("paint", Paint.class)
            .description("Paints.")
            .ask("ask_room", q -> q.question("room", "Which room?"))
            .ask("ask_colour", q -> q.question("colour", "Which colour?"))
            .act(
                "paint",
                run -> {
                  boolean told = run.caller(FlowState.class).isPresent();
                  done.add(run.get("room", String.class) + (told ? " for a thread" : ""));
                })
            .edge(START, "ask_room")
            .edge("ask_room", "ask_colour")
            .edge("ask_colour", "paint")
            .edge("paint", END)
            .compile());
  }

  private Fermata host() {
    Agent agent =
        Agent.aiHuman(
            "decorator",
            Prompt.of("p", ScriptedModels.calling("paint", "{}", result -> "It says " + result))
                .tools(paint()));
    return Fermata.host()
        .store(Store.sqlite(folder.resolve("t.db")))
        .agent(agent)
        .retention(Retention.ofJournals(Duration.ofDays(1)))
        .start();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(e);
    }
  }

  private static Threads.View settled(Fermata host, String id) {
    return now(host.threads().settled("ann", id, TIMEOUT));
  }

  /** A thread of ann whose call of the flow asks for the colour. */
  private static String asking(Fermata host) {
    String id =
        now(host.threads()
                .create(
                    new Threads.NewThread("ann", "decorator", null, Set.of(), Map.of(), List.of())))
            .threadId();
    now(
        host.threads()
            .post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
    answer(host, id, "a1", "room", "hall");
    return id;
  }

  private static void answer(Fermata host, String id, String key, String field, String value) {
    String call = settled(host, id).questions().get(0).call();
    ObjectNode answers = Json.object().put(field, value);
    now(host.threads().answer("ann", id, new Threads.Answer(call, key, null, answers, null)));
    settled(host, id);
  }

  /** The run of the thread's call, once the list has it. */
  private static String run(Fermata host) throws InterruptedException {
    TestHost.eventually(() -> now(host.runs().list(RunQuery.ALL)).runs().size() == 1);
    return now(host.runs().list(RunQuery.ALL)).runs().get(0).runId();
  }

  private static RunJournal journal(Fermata host, String runId) {
    return now(host.journals().run("paint", runId).readWithSecrets());
  }

  @Test
  void theForkOfARunThatAThreadCalledIsARunOfTheThreadsOwnerAndTheThreadHearsNothing()
      throws Exception {
    try (Fermata host = host()) {
      String thread = asking(host);
      String source = run(host);
      long last = journal(host, source).entries().size();
      ThreadJournal before = now(host.journals().thread(thread).readWithSecrets());

      Fork fork = now(host.fork("paint", source, last, ForkOptions.live().by("ops")));

      assertThat(fork.principal()).isEqualTo("ann");
      assertThat(fork.reply().structured().path("question").asText()).isEqualTo("Which colour?");
      ObjectNode answer =
          Json.object().put("action", "continue").put("sessionId", fork.sessionId());
      answer.putObject("stateUpdates").put("colour", "red");
      ToolReply end =
          now(host.call(new ToolCall("paint", "ann", answer, Json.object(), null), p -> {}));
      assertThat(end.structured().path("status").asText()).isEqualTo("complete");
      assertThat(done).as("no thread called it").containsExactly("hall");
      assertThat(now(host.journals().thread(thread).readWithSecrets())).isEqualTo(before);

      answer(host, thread, "a2", "colour", "blue");
      assertThat(done).containsExactly("hall", "hall for a thread");

      Fork ended =
          now(host.fork("paint", source, last, ForkOptions.sandbox().answer("colour", "blue")));
      assertThat(ended.reply().structured().path("status").asText()).isEqualTo("complete");
      assertThat(done).hasSize(2);
    }
  }

  @Test
  void theForkGoesWithTheOwnerOfTheThreadAndOutlivesTheThread() throws Exception {
    try (Fermata host = host()) {
      String thread = asking(host);
      String source = run(host);
      Fork fork = now(host.fork("paint", source, 1, ForkOptions.live()));

      now(host.threads().delete("ann", thread));

      TestHost.eventually(() -> isGone(host, source));
      assertThat(journal(host, fork.runId()).entries()).hasSize(1);

      now(host.erase(Erasure.principal("ann")));

      assertThat(isGone(host, fork.runId())).isTrue();
    }
  }

  private static boolean isGone(Fermata host, String runId) {
    try {
      now(host.fork("paint", runId, 1, ForkOptions.live()));
      return false;
    } catch (ForkException e) {
      return e.code().equals("unknown_run");
    }
  }

  @Test
  void aCallOfNoThreadBelongsToNobodyAndItsJournalIsForkedForWhoeverIsNamed() throws Exception {
    try (Fermata host = host()) {
      now(host.use(new ToolUse("paint", "billing", "c1"), Json.object()));
      String source = run(host);

      assertThatThrownBy(() -> now(host.fork("paint", source, 1, ForkOptions.live())))
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("may_not_fork"))
          .hasMessageContaining("is a call of billing, which is no thread")
          .hasMessageContaining("fork(journal, entry, principal, options)");
      Fork fork = now(host.fork(journal(host, source), 1, "bob", ForkOptions.live()));

      assertThat(fork.principal()).isEqualTo("bob");
      assertThat(fork.reply().structured().path("question").asText()).isEqualTo("Which room?");
    }
  }
}
