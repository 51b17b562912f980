package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A start that ends an unfinished run returns the answers of that run. */
class StartingOverTest {
  record Trip(String item, String city, String hotel, String pin, @Computed String price) {}

  @TempDir Path directory;
  private static final AtomicReference<CompletableFuture<Void>> GATE = new AtomicReference<>();

  @BeforeEach
  void openTheGate() {
    GATE.set(CompletableFuture.completedFuture(null));
  }

  private static FlowBuilder<Trip> trip() {
    return Flow.of("trip", Trip.class)
        .description("Books a trip.")
        .ask("ask_item", n -> n.question("item", "Which item?", o -> o.context("Not a car.")))
        .ask("ask_pin", n -> n.question("pin", "Which pin?"))
        .ask("ask_place", n -> n.question("city", "Which city?").question("hotel", "Which hotel?"))
        .edge("ask_item", "ask_pin")
        .edge("ask_pin", "ask_place");
  }

  private static Flow<Trip> asking() {
    return trip().edge(START, "ask_item").edge("ask_place", END).compile();
  }

  private TestHost host(Flow<?> flow) {
    return new TestHost(Store.sqlite(directory.resolve("over.db")), flow);
  }

  private static String context(ToolReply reply) {
    return reply.structured().path("context").asText("none");
  }

  private static void namesTheAnswer(ToolReply reply) {
    assertThat(context(reply)).contains("unfinished run").contains("{\"item\":\"bike\"}");
    assertThat(reply.meta().at("/fermata~1run/abandoned/answered/0").asText()).isEqualTo("item");
  }

  @Test
  void theQuestionOfTheNewRunComesWithTheAnswersOfTheOldOne() {
    try (TestHost host = host(asking())) {
      TestHost.Client client = host.client();
      ToolReply first = client.start("item", "bike");
      assertThat(first.structured().has("context")).isFalse();
      ToolReply again = client.start();
      assertThat(field(again)).isEqualTo("item");
      namesTheAnswer(again);
      assertThat(again.meta().at("/fermata~1run/abandoned/runId"))
          .isEqualTo(first.meta().at("/fermata~1run/runId"));
      assertThat(context(again)).endsWith("\nNot a car.");
      assertThat(context(client.proceed())).isEqualTo("Not a car.");
    }
  }

  @Test
  void theStatusSaysWhenTheRunExpiresAndACancelSaysThatItWasOne() {
    try (TestHost host = host(asking())) {
      TestHost.Client client = host.client();
      client.start();
      String expires = client.status().structured().at("/run/expiresAt").asText();
      assertThat(Instant.parse(expires)).isAfter(Instant.now().plus(Duration.ofDays(29)));
      ToolReply cancelled = client.cancel();
      assertThat(cancelled.structured().path("cancelled").asBoolean()).isTrue();
      assertThat(cancelled.structured().path("reason").asText()).contains("cancelled");
    }
  }

  @Test
  void aRunThatWaitsUntilADeadlineDoesNotExpireBeforeIt() {
    Flow<Trip> flow =
        trip()
            .waitFor("pay", "paid")
            .deadline("pay", Duration.ofDays(60), "ask_item")
            .edge(START, "pay")
            .edge("pay", "ask_item")
            .edge("ask_place", END)
            .compile();
    try (TestHost host = host(flow)) {
      TestHost.Client client = host.client();
      client.start();
      ToolReply waiting = client.status();
      assertThat(status(waiting)).isEqualTo("waiting");
      Instant until = Instant.parse(waiting.structured().path("until").asText());
      assertThat(until).isAfter(Instant.now().plus(Duration.ofDays(59)));
      assertThat(waiting.structured().path("run").has("expiresAt")).isFalse();
    }
  }

  @Test
  void severalQuestionsCarryTheAnswersOnce() {
    try (TestHost host = host(asking())) {
      TestHost.Client client = host.client();
      client.start("item", "bike");
      ToolReply again = client.start("item", "car", "pin", "1234");
      assertThat(again.structured().path("questions")).hasSize(2);
      namesTheAnswer(again);
    }
  }

  @Test
  void aRunWithoutAnswersIsMentionedToo() {
    try (TestHost host = host(asking())) {
      TestHost.Client client = host.client();
      client.start();
      assertThat(context(client.start())).contains("unfinished run").doesNotContain("{");
    }
  }

  @Test
  void aWidgetCarriesTheAnswers() {
    Flow<Trip> flow =
        trip()
            .widget("show", w -> w.tool("picker").field("city"))
            .edge(START, "show")
            .edge("show", "ask_item")
            .edge("ask_place", END)
            .compile();
    try (TestHost host = host(flow)) {
      TestHost.Client client = host.client();
      client.start("item", "bike");
      ToolReply again = client.start();
      assertThat(status(again)).isEqualTo("widget");
      namesTheAnswer(again);
    }
  }

  @Test
  void aRunThatCompletesAtOnceCarriesTheAnswers() {
    try (TestHost host = host(asking())) {
      TestHost.Client client = host.client();
      client.start("item", "bike");
      ToolReply again = client.start("item", "car", "pin", "1", "city", "Rome", "hotel", "Ritz");
      assertThat(status(again)).isEqualTo("complete");
      namesTheAnswer(again);
    }
  }

  private static Flow<Trip> pricing() {
    return trip()
        .actAsync(
            "price",
            run -> Objects.requireNonNull(GATE.get()).thenAccept(open -> run.set("price", "1")))
        .edge(START, "price")
        .edge("price", "ask_item")
        .edge("ask_place", END)
        .compile();
  }

  @Test
  void aStepBeforeTheFirstQuestionDoesNotLoseTheAnswers() {
    try (TestHost host = host(pricing())) {
      TestHost.Client client = host.client();
      client.start("item", "bike");
      namesTheAnswer(client.start());
    }
  }

  @Test
  void aStepThatFailsCarriesTheAnswers() {
    try (TestHost host = host(pricing())) {
      TestHost.Client client = host.client();
      client.start("item", "bike");
      GATE.set(CompletableFuture.failedFuture(new IllegalStateException("away")));
      ToolReply again = client.start();
      assertThat(code(again)).isEqualTo("step_failed");
      namesTheAnswer(again);
    }
  }

  @Test
  void aStartThatIsRepeatedAfterACrashStillReturnsTheAnswersThatAreKept() throws Exception {
    Store store = Store.sqlite(directory.resolve("over.db"));
    Retention kept = Retention.ofJournals(Duration.ofDays(1));
    try (TestHost host = new TestHost(store, kept, pricing())) {
      TestHost.Client client = host.client();
      client.start("item", "bike");
      CompletableFuture<Void> never = new CompletableFuture<>();
      GATE.set(never);
      client.callId("again");
      CompletableFuture<ToolReply> lost = client.startLater();
      TestHost.Client watching = host.client();
      watching.sessionId = client.sessionId;
      TestHost.eventually(() -> code(watching.status()).equals("still_working"));
      host.crash();
      GATE.set(CompletableFuture.completedFuture(null));
      ToolReply repeated = got(client.startLater());
      namesTheAnswer(repeated);
      assertThat(got(client.startLater())).isEqualTo(repeated);
      assertThat(lost).isNotNull();
    }
  }
}
