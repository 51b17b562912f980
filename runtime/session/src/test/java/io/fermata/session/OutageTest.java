package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.keyvalue.KeyValueStore;
import io.fermata.session.LocalKvStore.Fault;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost.Client;
import io.fermata.session.call.ToolReply;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A host whose store fails and comes back: effects and their results outlive the outage. */
@Tag("slow")
final class OutageTest {
  private static final int RUNS = 60;

  private final LocalKvStore kv = new LocalKvStore();
  private final Store store = KeyValueStore.of(kv);

  @ParameterizedTest
  @EnumSource(Fault.class)
  void aStepThatMayRunOnlyOnceRunsAfterTheEntryBeforeItFailed(Fault fault) throws Exception {
    List<Integer> ran = new CopyOnWriteArrayList<>();
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  ran.add(run.attempt());
                  run.set("price", 3);
                },
                EffectOptions::once)
            .compile();
    try (TestHost host = new TestHost(store, flow)) {
      Client client = host.client();
      client.start();
      client.callId("book");
      kv.failNext(fault);
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("store_unavailable");
      TimeTest.eventually(() -> field(client.proceed("from", "Ulm")).equals("to"));
      assertThat(ran).containsExactly(1);
    }
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void theResultOfAStepIsJournaledAfterItsEntryFailed(Fault fault) throws Exception {
    List<Integer> ran = new CopyOnWriteArrayList<>();
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Void> ends = new CompletableFuture<>();
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  ran.add(run.attempt());
                  begun.countDown();
                  return ends.thenApply(ended -> run.set("price", 3));
                },
                EffectOptions::once)
            .compile();
    try (TestHost host = new TestHost(store, flow)) {
      Client client = host.client();
      client.start();
      client.callId("book");
      CompletableFuture<ToolReply> booking = client.proceedLater("from", "Ulm");
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      kv.failNext(fault);
      ends.complete(null);
      assertThat(code(TestHost.got(booking))).isEqualTo("store_unavailable");
      TimeTest.eventually(() -> field(client.proceed("from", "Ulm")).equals("to"));
      assertThat(ran).containsExactly(1);
    }
  }

  record Order(
      String item,
      String city,
      @Computed Integer charged,
      @Computed Integer packed,
      @Computed Integer weighed,
      @Computed Integer sent) {}

  /** Effects of every kind, one after another and beside each other. */
  private static Flow<Order> order(Map<String, Integer> ran) {
    return Flow.of("order", Order.class)
        .description("Orders.")
        .ask("ask_item", q -> q.question("item", "What?"))
        .act("charge", counted(ran, "charged"), EffectOptions::once)
        .act("pack", counted(ran, "packed"))
        .fork("pack", f -> f.branch("weigh").branch("send").join("ask_city"))
        .act("weigh", counted(ran, "weighed"), EffectOptions::once)
        .act("send", counted(ran, "sent"))
        .ask("ask_city", q -> q.question("city", "Where?"))
        .edge(START, "ask_item")
        .edge("ask_item", "charge")
        .edge("charge", "pack")
        .edge("weigh", "ask_city")
        .edge("send", "ask_city")
        .edge("ask_city", END)
        .compile();
  }

  private static Action<Order> counted(Map<String, Integer> ran, String field) {
    return run -> {
      ran.merge(run.idempotencyKey(), 1, Integer::sum);
      Thread.sleep(2);
      run.set(field, 1);
    };
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void noEffectRunsTwiceAndNoOutcomeIsUnknownWhileTheHostLives(long seed) {
    Map<String, Integer> ran = new ConcurrentHashMap<>();
    try (TestHost host = new TestHost(store, order(ran))) {
      kv.failAtRandom(new Random(seed), 0.1);
      List<CompletableFuture<String>> ends =
          IntStream.range(0, RUNS)
              .mapToObj(i -> CompletableFuture.supplyAsync(() -> ordered(host.client())))
              .toList();
      assertThat(ends.stream().map(CompletableFuture::join)).containsOnly("complete");
    }
    assertThat(ran).hasSize(4 * RUNS);
    assertThat(ran.values()).as("how often each effect ran").containsOnly(1);
  }

  /** A client that repeats each call under its name until the store has it. */
  private static String ordered(Client client) {
    repeated(client, "1", () -> client.start());
    repeated(client, "2", () -> client.proceed("item", "book"));
    return status(repeated(client, "3", () -> client.proceed("city", "Ulm")));
  }

  private static ToolReply repeated(Client client, String callId, Supplier<ToolReply> call) {
    client.callId(callId);
    ToolReply reply = call.get();
    while (code(reply).equals("store_unavailable")) {
      reply = call.get();
    }
    assertThat(code(reply)).isEqualTo("none");
    return reply;
  }
}
