package io.fermata.session.call;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.admin.Threads;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a host refuses to start with, and how it presents its flows. */
class HostTest {
  @TempDir Path dir;

  @Test
  void withoutAStoreItRefusesToStartAndNamesTheChoices() {
    assertThat(System.getenv("FERMATA_STORE")).as("the environment of this test").isNull();
    assertThatThrownBy(() -> Fermata.host().flow(TestFlows.trip()).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Store.sqlite")
        .hasMessageContaining("FERMATA_STORE")
        .hasMessageContaining("WANIWANI_API_KEY");
  }

  @Test
  void withoutAFlowItRefusesToStart() {
    assertThatThrownBy(() -> Fermata.host().store(Store.memory()).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("no flow");
  }

  @Test
  void aWidgetThatNobodyRegisteredIsRefused() {
    record Choice(String plan) {}
    Flow<Choice> flow =
        Flow.of("choice", Choice.class)
            .description("Shows.")
            .widget("show", w -> w.tool("plan_picker").field("plan"))
            .edge(Flow.START, "show")
            .edge("show", Flow.END)
            .compile();
    assertThatThrownBy(() -> Fermata.host().store(Store.memory()).flow(flow).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("plan_picker")
        .hasMessageContaining("display(");
  }

  @Test
  void twoToolsOfOneNameAreRefused() {
    DisplayTool trip = DisplayTool.of("trip", "Trip", "Shows.", "<html></html>");
    assertThatThrownBy(
            () -> Fermata.host().store(Store.memory()).flow(TestFlows.trip()).display(trip).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Two tools are named trip");
  }

  @Test
  void anInternalFlowIsForProgramsAndNoToolOfClients() {
    Flow<TestFlows.Trip> nightly =
        Flow.of("nightly", TestFlows.Trip.class)
            .description("Cleans up.")
            .internal()
            .ask("ask_from", q -> q.question("from", "From where?"))
            .edge(START, "ask_from")
            .edge("ask_from", END)
            .compile();
    try (Fermata host =
        Fermata.host().store(Store.memory()).flow(TestFlows.trip()).flow(nightly).start()) {
      assertThat(host.tools()).extracting(ToolContract::name).containsExactly("trip");
      ObjectNode start = Json.object().put("action", "start").put("intent", "to clean");
      ToolReply reply =
          host.call(new ToolCall("nightly", "program", start, Json.object(), null))
              .toCompletableFuture()
              .join();
      assertThat(reply.structured().path("field").asText()).isEqualTo("from");
      String runId = reply.meta().at("/fermata~1run/runId").asText();
      TaskRun run = new TaskRun("program", "nightly", runId);
      assertThat(run.possible()).isTrue();
      assertThat(host.tasks().view(run).toCompletableFuture().join().status())
          .isEqualTo(TaskView.Status.UNKNOWN);
    }
  }

  @Test
  void theNamesOfItsToolsAreKnownBeforeItStarts() {
    Flow<TestFlows.Trip> inner = tidy("inner");
    Prompt echo =
        Prompt.of("p", ScriptedModels.saying("Heard."))
            .tools(FlowTool.of("sort", "Sorts.", tidy("sort")));
    HostBuilder builder =
        Fermata.host()
            .store(Store.memory())
            .flow(TestFlows.trip())
            .flow(tidy("sweep"))
            .tool(FlowTool.of("inner", "Is called by a program.", inner))
            .job(FlowTool.of("tidy", "Tidies.", tidy("tidy")))
            .agent(Agent.aiHuman("echo", echo))
            .agent(Agent.aiHuman("helper", echo).internal())
            .display(DisplayTool.of("map", "Map", "Shows.", "<html></html>"))
            .explainRuns();
    Set<String> names = builder.toolNames();

    assertThat(names).contains("trip", "tidy", "echo", "map", "explain_run");
    try (Fermata host = builder.start()) {
      List<String> offered = new ArrayList<>();
      host.tools().forEach(tool -> offered.add(tool.name()));
      host.displays().forEach(tool -> offered.add(tool.name()));
      assertThat(names).containsExactlyInAnyOrderElementsOf(offered);
    }
  }

  @Test
  void aStepKnowsWhoStartedItsRunAlsoAfterACrash() {
    Flow<TestFlows.Trip> trip =
        Flow.of("trip", TestFlows.Trip.class)
            .description("Books.")
            .act("begin", run -> run.append("log", "begun by " + run.principal()))
            .ask("ask_from", q -> q.question("from", "From where?"))
            .act("book", run -> run.append("log", "booked by " + run.principal()))
            .edge(START, "begin")
            .edge("begin", "ask_from")
            .edge("ask_from", "book")
            .edge("book", END)
            .result(TestFlows.Trip::log)
            .compile();
    try (TestHost host = new TestHost(Store.sqlite(dir.resolve("who.db")), trip)) {
      for (String principal : List.of("ann", "bob", "ann")) {
        TestHost.Client client = host.client();
        client.principal = principal;
        client.start();
        host.crash();
        assertThat(client.proceed("from", "Ulm").structured().path("result"))
            .extracting(JsonNode::asText)
            .containsExactly("begun by " + principal, "booked by " + principal);
      }
    }
  }

  @Test
  void theSameVersionTwiceIsRefusedAndTheStoreIsFreeAgain() {
    Path file = dir.resolve("x.db");
    assertThatThrownBy(
            () ->
                Fermata.host()
                    .store(Store.sqlite(file))
                    .flow(TestFlows.trip())
                    .flow(TestFlows.trip())
                    .start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("trip version 1");
    Fermata.host().store(Store.sqlite(file)).flow(TestFlows.trip()).start().close();
  }

  @Test
  void aStartThatEndsWithAnErrorLeavesTheStoreFree() {
    HostBuilder host =
        Fermata.host().store(Store.sqlite(dir.resolve("z.db"))).flow(TestFlows.trip());
    host.handlers(
        threads -> {
          throw new OutOfMemoryError("no room for it");
        });
    assertThatThrownBy(host::start).isInstanceOf(OutOfMemoryError.class);
    host.handlers(threads -> threads).start().close();
  }

  @Test
  void aSecondHostOnTheSameFileIsRefused() {
    Path file = dir.resolve("y.db");
    HostBuilder second = Fermata.host().store(Store.sqlite(file)).flow(TestFlows.trip());
    Fermata first = Fermata.host().store(Store.sqlite(file)).flow(TestFlows.trip()).start();
    assertThatThrownBy(second::start)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("y.db is already open");
    first.close();
    second.start().close();
  }

  @Test
  void aFlowPresentsItselfSoThatAModelCanDriveIt() {
    ToolContract contract = ToolContracts.of(TestFlows.trip());
    assertThat(contract.name()).isEqualTo("trip");
    String generated = contract.description().substring("Books a trip.".length());
    assertThat(contract.description()).startsWith("Books a trip.");
    assertThat(generated.length()).isLessThan(900);
    assertThat(generated)
        .contains("start", "continue", "reset", "status", "cancel", "sessionId", "Never invent")
        .contains("waiting", "still_working", "busy", "end your turn", "not poll");
    assertThat(contract.description().lines())
        .allSatisfy(line -> assertThat(line).doesNotStartWith(" ").doesNotContain("  "));
    JsonNode input = contract.inputSchema();
    assertThat(input.path("required").toString()).isEqualTo("[\"action\"]");
    assertThat(input.path("additionalProperties").asBoolean(true)).isFalse();
    assertThat(names(input.path("properties")))
        .containsExactly("action", "intent", "stateUpdates", "sessionId");
    assertThat(names(input.at("/properties/stateUpdates/properties")))
        .containsExactly("from", "to");
  }

  record Leg(String town) {}

  record Route(List<Integer> legs, Leg home) {}

  record Tour(List<String> days) {}

  private static Flow<Tour> tour() {
    Flow<Leg> leg =
        Flow.of("leg", Leg.class)
            .description("A leg.")
            .ask("ask_town", q -> q.question("town", "Which town?"))
            .edge(START, "ask_town")
            .edge("ask_town", END)
            .compile();
    Flow<Route> route =
        Flow.of("route", Route.class)
            .description("A route.")
            .ask("ask_home", q -> q.question("home.town", "Where is home?"))
            .<Leg, Integer>forEach("leg", leg, each -> each.items(Route::legs).atMost(12))
            .edge(START, "ask_home")
            .edge("ask_home", "leg")
            .edge("leg", END)
            .compile();
    return Flow.of("tour", Tour.class)
        .description("A tour.")
        .subflow("rest", leg, mount -> {})
        .<Route, String>forEach(
            "day",
            route,
            each ->
                each.items(Tour::days)
                    .atMost(2)
                    .input((tour, day) -> Map.of("legs", IntStream.range(0, 12).boxed().toList())))
        .edge(START, "rest")
        .edge("rest", "day")
        .edge("day", END)
        .compile();
  }

  @Test
  void everyFieldThatIsAskedForMayBeAnsweredUnderItsNameAsTheSchemaHasIt() {
    JsonNode updates =
        ToolContracts.of(tour()).inputSchema().at("/properties/stateUpdates").deepCopy();
    Schema schema =
        SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12).getSchema(updates);
    try (TestHost host = new TestHost(Store.sqlite(dir.resolve("tour.db")), tour())) {
      TestHost.Client client = host.client();
      client.start("days", List.of("Monday", "Tuesday"));
      List<String> answered = new ArrayList<>();
      for (ToolReply asked = client.proceed();
          !TestHost.status(asked).equals("complete");
          asked = client.proceed(answered.get(answered.size() - 1), "Ulm")) {
        JsonNode open = asked.structured();
        String field = open.path("questions").path(0).path("field").asText(TestHost.field(asked));
        assertThat(schema.validate(Json.object().put(field, "Ulm"))).as(field).isEmpty();
        assertThat(schema.validate(Json.object().put(field, 1)).isEmpty())
            .as("only names of a list's items are open: %s", field)
            .isEqualTo(field.startsWith("day."));
        assertThat(schema.validate(nested(field, Json.tree("Ulm")))).as(field).isEmpty();
        assertThat(schema.validate(nested(field, Json.tree(1)))).as(field).isNotEmpty();
        for (String wrong : List.of("day.x.home.town", "day.0.home.towns", "xday.0.home.town")) {
          assertThat(TestHost.code(client.proceed(wrong, "Ulm")))
              .as(wrong)
              .isEqualTo("invalid_updates");
        }
        answered.add(field);
      }
      assertThat(answered)
          .contains("rest.town", "day.1.home.town", "day.0.leg.0.town", "day.1.leg.11.town");
    }
  }

  @Test
  void aSessionWhoseNameWasJustGeneratedIsNotLookedForInTheStore() {
    List<Object> generated = new CopyOnWriteArrayList<>();
    Store store =
        AlteredStore.of(
            Store.memory(),
            request -> {
              if (request.is("expectNew")) {
                generated.add(request.argument(0));
              }
              return request.ask();
            });
    ObjectNode nothing = Json.object().put("type", "object");
    FlowTool job = FlowTool.of("tidy", "Tidies.", tidy("tidy")).arguments(nothing);
    Agent echo = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    try (Fermata host =
        Fermata.host().store(store).flow(tidy("sweep")).job(job).agent(echo).start()) {
      String unnamed = created(host, null);
      String named = created(host, "k");
      String fork = now(host.threads().fork("ann", unnamed, Threads.NewFork.live())).threadId();
      ObjectNode start = Json.object().put("action", "start").put("intent", "to tidy");
      ObjectNode conversation = Json.object().put("fermata/sessionId", "s");
      ObjectNode repeatable = Json.object().put("fermata/callId", "c");
      assertThat(generated)
          .containsExactly(
              entity(unnamed),
              entity(fork),
              ran(host, "sweep", start, Json.object()),
              ran(host, "tidy", Json.object(), conversation))
          .doesNotContain(
              entity(named),
              ran(host, "sweep", start, conversation),
              ran(host, "tidy", Json.object(), repeatable));
    }
  }

  @Test
  void aCallerWhoChangesAReplyChangesNothingOfTheRun() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      TestHost.Client client = host.client();
      client.start("from", "Ulm");
      object(client.status(), "/run/state").put("price", 8);
      assertThat(object(client.status(), "/run/state").path("price").intValue()).isEqualTo(7);

      ToolReply ended = client.callId("end").proceed("to", "Rome");
      assertThat(object(ended, "/result").path("price").intValue()).isEqualTo(7);
      ToolReply as = new ToolReply(ended.structured().deepCopy(), ended.meta().deepCopy());
      object(ended, "/result").put("price", 8);
      ((ObjectNode) ended.meta().path("fermata/run")).put("seq", 0);
      assertThat(client.callId("end").proceed("to", "Rome"))
          .as("recorded")
          .hasToString(as.toString());
    }
  }

  @Test
  void aCallerWhoChangesAReplyChangesNothingOfTheFlow() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      object(host.client().start(), "/fieldSchema").put("title", "changed");
      TestHost.Client another = host.client();
      another.principal = "bob";
      assertThat(object(another.start(), "/fieldSchema").has("title")).isFalse();
    }
  }

  private static ObjectNode object(ToolReply reply, String pointer) {
    return (ObjectNode) reply.structured().at(pointer);
  }

  private static Flow<TestFlows.Trip> tidy(String name) {
    return Flow.of(name, TestFlows.Trip.class)
        .description("Tidies.")
        .act("tidy", run -> {})
        .edge(START, "tidy")
        .edge("tidy", END)
        .compile();
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  private static String created(Fermata host, @Nullable String key) {
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "echo", key, Set.of(), Map.of(), List.of());
    return now(host.threads().create(wanted)).threadId();
  }

  private static String entity(String threadId) {
    return ThreadKey.require(threadId).entityId();
  }

  /** The session of the run that a call has started. */
  private static String ran(Fermata host, String tool, ObjectNode arguments, ObjectNode meta) {
    ToolReply reply = now(host.call(new ToolCall(tool, "ann", arguments, meta, null)));
    return SessionKey.entityOf(tool, reply.meta().at("/fermata~1run/runId").asText());
  }

  private static ObjectNode nested(String field, JsonNode value) {
    int dot = field.indexOf('.');
    JsonNode inner = dot < 0 ? value : nested(field.substring(dot + 1), value);
    return Json.object().set(dot < 0 ? field : field.substring(0, dot), inner);
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }
}
