package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.PromisesTest.await;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Work that ends while nobody waits for it asks for a confirmation that nobody has seen. */
@Timeout(120)
@Tag("slow")
class UnattendedTest {
  record Order(String item, String note, @Computed Boolean priced) {}

  @TempDir Path directory;
  private final Semaphore pricing = new Semaphore(0);
  private final CompletableFuture<Void> price = new CompletableFuture<>();
  private final AtomicInteger charged = new AtomicInteger();

  private FlowBuilder<Order> order() {
    return Flow.of("order", Order.class)
        .description("Orders.")
        .ask("ask_item", q -> q.question("item", "Which item?"))
        .actAsync(
            "price",
            run -> {
              pricing.release();
              return price.thenRun(() -> run.set("priced", true));
            })
        .widget("confirm", w -> {})
        .act("charge", run -> charged.incrementAndGet())
        .ask("ask_note", q -> q.question("note", "Any note?"))
        .edge(START, "ask_item")
        .edge("ask_item", "price")
        .edge("price", "confirm")
        .edge("confirm", "charge")
        .edge("charge", "ask_note")
        .edge("ask_note", END);
  }

  private TestHost host(Duration deadline, UnaryOperator<FlowBuilder<Order>> with) {
    Store store = Store.sqlite(directory.resolve("unattended.db"));
    return new TestHost(store, s -> s.callDeadline(deadline), with.apply(order()).compile());
  }

  private TestHost impatient() {
    return host(Duration.ofMillis(200), flow -> flow);
  }

  private TestHost patient() {
    return host(Duration.ofSeconds(60), flow -> flow);
  }

  private void awaitPricing() throws InterruptedException {
    assertThat(pricing.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
  }

  private static boolean shows(ToolReply reply) {
    return status(reply).equals("widget");
  }

  /** The widget is up; the first call shows it, the second confirms it. */
  private void isConfirmedOnlyOnceSeen(TestHost.Client client) {
    await(() -> shows(client.status()));
    ToolReply fetched = client.outcome(client.proceed());
    assertThat(shows(fetched)).as("nobody got it yet: %s", fetched.structured()).isTrue();
    isConfirmed(client);
  }

  private void isConfirmed(TestHost.Client client) {
    assertThat(charged).hasValue(0);
    assertThat(field(client.outcome(client.proceed()))).isEqualTo("note");
    assertThat(charged).hasValue(1);
  }

  @Test
  void aCallThatOutlastsItsDeadline() {
    try (TestHost host = impatient()) {
      TestHost.Client client = host.client();
      client.start();
      assertThat(code(client.proceed("item", "bike"))).isEqualTo("still_working");
      price.complete(null);
      isConfirmedOnlyOnceSeen(client);
    }
  }

  @Test
  void aCallThatAsksForTheOutcomeAndOutlastsItsDeadlineToo() {
    try (TestHost host = impatient()) {
      TestHost.Client client = host.client();
      client.start();
      assertThat(code(client.proceed("item", "bike"))).isEqualTo("still_working");
      assertThat(code(client.proceed())).isEqualTo("still_working");
      price.complete(null);
      isConfirmedOnlyOnceSeen(client);
    }
  }

  @Test
  void aCallThatIsHandedBack() throws Exception {
    try (TestHost host = patient()) {
      TestHost.Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> call = client.proceedLater("item", "bike");
      awaitPricing();
      host.fermata().handBack();
      assertThat(code(got(call))).isEqualTo("still_working");
      price.complete(null);
      isConfirmedOnlyOnceSeen(client);
    }
  }

  @Test
  void aCallWhoseProcessIsLost() throws Exception {
    try (TestHost host = patient()) {
      TestHost.Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> lost = client.proceedLater("item", "bike");
      awaitPricing();
      host.crash();
      awaitPricing();
      assertThat(code(got(lost))).isEqualTo("shutting_down");
      price.complete(null);
      isConfirmedOnlyOnceSeen(client);
    }
  }

  @Test
  void aCallThatBecomesATaskAtOnce() {
    asTask(FlowBuilder::longRunning);
  }

  @Test
  void aCallThatBecomesATaskAtItsDeadline() {
    asTask(flow -> flow);
  }

  private void asTask(UnaryOperator<FlowBuilder<Order>> with) {
    try (TestHost host = host(Duration.ofMillis(200), with)) {
      TestHost.Client client = host.client();
      client.start();
      ObjectNode arguments = client.arguments("continue").put("sessionId", client.sessionId);
      arguments.putObject("stateUpdates").put("item", "bike");
      ToolCall call = new ToolCall("order", client.principal, arguments, client.meta, null);
      ToolReply task =
          got(host.fermata().call(call.takingTask(true), progress -> {}).toCompletableFuture());
      assertThat(task.task()).isTrue();
      price.complete(null);
      isConfirmedOnlyOnceSeen(client);
    }
  }

  @Test
  void aCallThatWaitsForTheWorkHasSeenTheWidget() throws Exception {
    try (TestHost host = patient()) {
      TestHost.Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> call = client.proceedLater("item", "bike");
      awaitPricing();
      price.complete(null);
      assertThat(shows(got(call))).isTrue();
      isConfirmed(client);
    }
  }

  @Test
  void aCallThatJoinsTheWorkHasSeenTheWidget() throws Exception {
    try (TestHost host = patient()) {
      TestHost.Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> call = client.proceedLater("item", "bike");
      awaitPricing();
      host.fermata().handBack();
      assertThat(code(got(call))).isEqualTo("still_working");
      CompletableFuture<ToolReply> joined = client.proceedLater();
      // The actor handles calls in their order, so that the other has joined before this returns.
      assertThat(code(client.status())).isEqualTo("still_working");
      price.complete(null);
      assertThat(shows(got(joined))).isTrue();
      isConfirmed(client);
    }
  }
}
