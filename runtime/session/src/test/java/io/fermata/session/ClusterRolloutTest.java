package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Handoff;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Hosts with another release join a cluster, on a real PostgreSQL server. */
@Tag("slow")
@Tag("long")
class ClusterRolloutTest {
  record Meal(@Nullable String dish, @Nullable String table) {}

  private final String database = PostgresServer.shared().newDatabase();
  private final List<Fermata> hosts = new ArrayList<>();

  private static FlowBuilder<Meal> order(int version, String table) {
    return Flow.of("order", Meal.class)
        .description("Orders.")
        .version(version)
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .ask("ask_table", q -> q.question("table", table))
        .edge(START, "ask_dish")
        .edge("ask_dish", "ask_table")
        .edge("ask_table", END)
        .result(meal -> meal);
  }

  private static Flow<Meal> first() {
    return order(1, "Which table?").compile();
  }

  private static Flow<Meal> second() {
    return order(2, "Where do you sit?").compile();
  }

  /** Takes the runs of the first version over. */
  private static Flow<Meal> heir() {
    return order(2, "Where do you sit?").migrate(1, m -> {}).compile();
  }

  private Fermata host(Flow<?>... flows) {
    HostBuilder builder = Fermata.host();
    for (Flow<?> flow : flows) {
      builder.flow(flow);
    }
    return start(builder);
  }

  private Fermata start(HostBuilder builder) {
    Fermata host = builder.store(Store.postgres(database)).cluster().start();
    hosts.add(host);
    return host;
  }

  private void stop(Fermata host) {
    host.close(Duration.ofSeconds(5));
    hosts.remove(host);
  }

  @AfterEach
  void close() {
    hosts.forEach(host -> host.close(Duration.ofSeconds(5)));
  }

  /** Calls again as long as the reply says so, as a client does. */
  private static ToolReply call(Fermata host, String flow, ObjectNode arguments) {
    String callId = UUID.randomUUID().toString();
    ToolReply reply = sent(host, flow, arguments, callId);
    for (int i = 0;
        i < 100 && Set.of("moved", "store_unavailable").contains(TestHost.code(reply));
        i++) {
      reply = sent(host, flow, arguments, callId);
    }
    return reply;
  }

  private static ToolReply sent(Fermata host, String flow, ObjectNode arguments, String callId) {
    ObjectNode meta = Json.object().put("fermata/callId", callId);
    return got(
        host.call(new ToolCall(flow, "ann", arguments.deepCopy(), meta, null))
            .toCompletableFuture());
  }

  private static ObjectNode starting() {
    return Json.object().put("action", "start").put("intent", "to eat");
  }

  private static int version(ToolReply reply) {
    return reply.meta().at("/fermata~1run/version").asInt();
  }

  private static String session(ToolReply reply) {
    return reply.structured().path("sessionId").asText();
  }

  private static ToolReply answer(Fermata host, String session, String field, String value) {
    ObjectNode arguments = Json.object().put("action", "continue").put("sessionId", session);
    arguments.putObject("stateUpdates").put(field, value);
    return call(host, "order", arguments);
  }

  @Test
  void runsStartOnTheNewVersionWhenAllHostsHaveIt() throws Exception {
    Fermata old = host(first());
    Fermata young = host(first(), second());
    List<String> sessions = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      ToolReply begun = call(hosts.get(i % 2), "order", starting());
      assertThat(version(begun)).as(begun.structured().toString()).isEqualTo(1);
      sessions.add(session(begun));
    }
    eventually(() -> !statuses(sessions).isEmpty() && isAwake(young));
    stop(old);
    eventually(() -> version(call(young, "order", starting())) == 2);
    for (String session : sessions) {
      ToolReply next = answer(young, session, "dish", "soup");
      assertThat(next.structured().path("question").asText()).isEqualTo("Which table?");
      assertThat(version(next)).isEqualTo(1);
    }
  }

  private List<ToolReply> statuses(List<String> sessions) {
    return sessions.stream()
        .map(session -> Json.object().put("action", "status").put("sessionId", session))
        .map(status -> call(hosts.get(0), "order", status))
        .toList();
  }

  private static boolean isAwake(Fermata host) {
    return host.awake() > 0;
  }

  @Test
  void aHostThatMigratesWaitsUntilNoHostNeedsTheOldVersion() throws Exception {
    Fermata old = host(first());
    Fermata heir = host(heir());
    List<String> sessions =
        IntStream.range(0, 30)
            .mapToObj(i -> session(call(hosts.get(i % 2), "order", starting())))
            .toList();
    for (String session : sessions) {
      assertThat(version(answer(heir, session, "dish", "soup"))).isEqualTo(1);
    }
    assertThat(isAwake(heir)).isFalse();
    stop(old);
    for (String session : sessions) {
      ToolReply done = answer(heir, session, "table", "seven");
      assertThat(done.structured().path("status").asText())
          .as(done.structured().toString())
          .isEqualTo("complete");
      assertThat(version(done)).isEqualTo(2);
    }
  }

  @Test
  void aHostThatRetiresAVersionTakesItsPartOfTheSessionsAtOnce() throws Exception {
    Fermata old = host(first(), second());
    Fermata heir = host(heir());
    List<String> sessions =
        IntStream.range(0, 30)
            .mapToObj(i -> session(call(hosts.get(i % 2), "order", starting())))
            .toList();
    eventually(() -> !statuses(sessions).isEmpty() && isAwake(heir));
    for (String session : sessions) {
      ToolReply next = answer(old, session, "dish", "soup");
      assertThat(version(next)).as(next.structured().toString()).isEqualTo(2);
    }
  }

  @Test
  void anOldHostCannotReturnWhenTheOthersHaveLeftItsVersion() {
    host(heir());
    assertThatThrownBy(() -> host(first()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("it neither has nor migrates the flow order version 2")
        .hasMessageContaining("or stop them first");
  }

  @Test
  void aHostWithoutAFlowOfTheOthersIsRefused() {
    host(first(), TestFlows.talk());
    assertThatThrownBy(() -> host(first()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("it lacks the flow talk");
  }

  @Test
  void anotherGraphUnderTheSameVersionIsRefused() {
    host(first());
    Flow<Meal> other =
        Flow.of("order", Meal.class)
            .description("Orders.")
            .ask("ask_table", q -> q.question("table", "Which table?"))
            .edge(START, "ask_table")
            .edge("ask_table", END)
            .result(meal -> meal)
            .compile();
    assertThatThrownBy(() -> host(other))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("its flow order version 1 has another graph");
  }

  @Test
  void aNewToolCanBeCalledWhenAllHostsHaveIt() throws Exception {
    Fermata old = host(first());
    Fermata young = host(first(), TestFlows.talk());
    JsonNode early = call(young, "talk", starting()).structured();
    assertThat(early.path("code").asText()).isEqualTo("rolling_out");
    assertThat(early.path("error").asText()).contains("Not all hosts have this tool");
    stop(old);
    eventually(
        () ->
            call(young, "talk", starting())
                .structured()
                .path("status")
                .asText()
                .equals("interrupt"));
  }

  private static final String EARLY = "not all hosts have the agent billing yet";

  private Fermata talking(Agent... agents) {
    HostBuilder builder = Fermata.host();
    for (Agent agent : agents) {
      builder.agent(agent);
    }
    return start(builder);
  }

  /** What a new thread says last; empty while its session moves. */
  private static String said(Fermata host) {
    Threads threads = host.threads();
    Threads.NewMessage go = new Threads.NewMessage(Message.user("go"), List.of(), null);
    return threads
        .create(new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of()))
        .thenApply(Threads.View::threadId)
        .thenCompose(
            id ->
                threads
                    .post("ann", id, go)
                    .thenCompose(posted -> threads.settled("ann", id, Duration.ofSeconds(30)))
                    .thenCompose(
                        view -> threads.messages("ann", id, Threads.MessageQuery.latest(1))))
        .thenApply(said -> String.valueOf(said.messages().get(0).content()))
        .exceptionally(moved -> "")
        .toCompletableFuture()
        .join();
  }

  @Test
  void aThreadIsHandedOverToANewAgentWhenAllHostsHaveIt() throws Exception {
    Agent billing =
        Agent.aiHuman("billing", Prompt.of("p", ScriptedModels.saying("Billing here.")));
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of("p", ScriptedModels.calling("billing", "{}", result -> "Later: " + result))
                .tools(Handoff.to("billing", "For bills.")));
    Fermata old = talking(Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.saying("Old."))));
    Fermata young = talking(desk, billing);
    // The sessions of both move to the young host only after a while.
    eventually(
        () -> {
          String said = said(young);
          assertThat(said)
              .matches(text -> Set.of("", "Old.").contains(text) || text.contains(EARLY));
          return said.contains(EARLY);
        });

    stop(old);
    eventually(() -> said(young).equals("Billing here."));
  }

  record Feast(@Nullable String dish, @Nullable String table, @Nullable String drink) {}

  @Test
  void aStartWithAnswersThatOnlyTheNewVersionTakesIsWorthRepeatingUntilAllHostsHaveIt()
      throws Exception {
    Flow<Feast> feast =
        Flow.of("order", Feast.class)
            .description("Orders.")
            .version(2)
            .ask("ask_dish", q -> q.question("dish", "Which dish?"))
            .ask("ask_drink", q -> q.question("drink", "Which drink?"))
            .edge(START, "ask_dish")
            .edge("ask_dish", "ask_drink")
            .edge("ask_drink", END)
            .result(all -> all)
            .compile();
    Fermata old = host(first());
    Fermata young = host(first(), feast);
    ObjectNode start = starting();
    start.putObject("stateUpdates").put("drink", "water");
    JsonNode early = call(young, "order", start).structured();
    assertThat(early.path("code").asText()).isEqualTo("rolling_out");
    assertThat(early.path("error").asText()).contains("Not all hosts have order", "drink");
    stop(old);
    eventually(() -> version(call(young, "order", start)) == 2);
    start.putObject("stateUpdates").put("guest", "ann");
    assertThat(call(young, "order", start).structured().path("code").asText())
        .isEqualTo("invalid_updates");
  }

  private Fermata encrypting(String... keys) {
    return start(
        Fermata.host()
            .flow(first())
            .encrypt(EncryptedFields.EVERYTHING)
            .keys(DataKeys.parse(String.join(",", keys))));
  }

  @Test
  void aKeyRotatesInTwoPhasesWhileRunsContinue() throws Exception {
    String oldKey = DataKeys.generate("old");
    String newKey = DataKeys.generate("new");
    Fermata host = encrypting(oldKey);
    List<String> sessions = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      sessions.add(session(call(host, "order", starting())));
    }
    assertThatThrownBy(() -> encrypting(newKey, oldKey))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("it encrypts with the key new, which they lack; restart all hosts");
    assertThatThrownBy(() -> encrypting(newKey))
        .hasMessageContaining("it lacks the key old, with which they encrypt");
    Fermata prepared = encrypting(oldKey, newKey);
    stop(host);
    eventually(() -> call(prepared, "order", starting()).structured().hasNonNull("sessionId"));
    Fermata rotated = rotated(newKey, oldKey);
    stop(prepared);
    for (String session : sessions) {
      ToolReply next = answer(rotated, session, "dish", "soup");
      assertThat(next.structured().path("question").asText())
          .as(next.structured().toString())
          .isEqualTo("Which table?");
    }
  }

  /** The hosts agree that all have the new key as soon as the last one without it has left. */
  private Fermata rotated(String... keys) throws Exception {
    List<Fermata> started = new ArrayList<>();
    eventually(
        () -> {
          try {
            started.add(encrypting(keys));
          } catch (IllegalStateException early) {
            assertThat(early).hasMessageContaining("which they lack");
          }
          return !started.isEmpty();
        });
    return started.get(0);
  }

  @Test
  void aRolloutIsCheckedWhileTheClusterRuns() {
    Store store = Store.postgres(database);
    Fermata host = host(first());
    for (int i = 0; i < 3; i++) {
      call(host, "order", starting());
    }
    assertThat(Rollout.check(store, heir()).of(Rollout.Verdict.MIGRATES)).hasSize(3);
    assertThat(Rollout.check(store, second()).of(Rollout.Verdict.STRANDED)).hasSize(3);
  }

  @Test
  void aClusterThatWasStoppedStartsWithAnyFlows() {
    stop(host(first(), TestFlows.talk()));
    assertThat(version(call(host(second()), "order", starting()))).isEqualTo(2);
  }
}
