package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.schema.Computed;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/** Small flows that the tests of this room run. */
public final class TestFlows {
  public record Trip(String from, String to, @Computed Integer price, @Computed List<String> log) {}

  private TestFlows() {}

  /** Asks, acts, asks again. */
  public static FlowBuilder<Trip> trip(Action<Trip> action, Consumer<EffectOptions> options) {
    return ways(Flow.of("trip", Trip.class).act("book", action, options));
  }

  static FlowBuilder<Trip> tripAsync(AsyncAction<Trip> action, Consumer<EffectOptions> options) {
    return ways(Flow.of("trip", Trip.class).actAsync("book", action, options));
  }

  /** Its first attempt to act never ends; each of the two says when it begins. */
  static Flow<Trip> cutOff(CountDownLatch first, CountDownLatch second) {
    return tripAsync(
            run -> {
              (run.attempt() == 1 ? first : second).countDown();
              return run.attempt() == 1
                  ? new CompletableFuture<>()
                  : CompletableFuture.completedFuture(run.set("price", 3));
            },
            o -> {})
        .compile();
  }

  private static FlowBuilder<Trip> ways(FlowBuilder<Trip> builder) {
    return builder
        .description("Books a trip.")
        .ask("ask_from", q -> q.question("from", "Where from?"))
        .ask("ask_to", q -> q.question("to", "Where to?"))
        .edge(START, "ask_from")
        .edge("ask_from", "book")
        .edge("book", "ask_to")
        .edge("ask_to", END)
        .result(trip -> trip);
  }

  public static Flow<Trip> trip() {
    return trip(run -> run.set("price", 7), o -> {}).compile();
  }

  record Talk(String word, @Computed List<String> said) {}

  /** Asks for words until one of them is bye. */
  public static Flow<Talk> talk() {
    return Flow.of("talk", Talk.class)
        .description("Talks.")
        .ask("hear", q -> q.question("word", "And?"))
        .act("note", run -> run.append("said", run.state().word()), EffectOptions::idempotent)
        .edge(START, "hear")
        .edge("hear", "note")
        .decide("note", d -> d.when("bye", eq("word", "bye")).to(END).otherwise("hear"))
        .result(Talk::said)
        .compile();
  }
}
