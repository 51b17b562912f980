package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;

import io.fermata.flow.Flow;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

/** A small flow with one node of each kind. */
final class Orders {
  record Order(
      @Describe("What to eat") String dish,
      Integer servings,
      String side,
      @Computed Integer price,
      @Computed String receipt) {}

  private Orders() {}

  static Flow<Order> flow(AsyncAction<Order> kitchen) {
    return flow(kitchen, o -> o.retry(3, Duration.ofSeconds(1)).timeout(Duration.ofSeconds(10)));
  }

  static Flow<Order> flow(AsyncAction<Order> kitchen, Consumer<EffectOptions> options) {
    return Flow.of("order", Order.class)
        .description("Orders a dish.")
        .expireAfter(Duration.ofHours(1))
        .ask(
            "ask_dish",
            q ->
                q.question("dish", "What would you like?", d -> d.validate(Orders::dish))
                    .question("servings", "For how many?"))
        .act(
            "price",
            run -> run.set("price", 10 * run.state().servings()),
            effect -> effect.idempotent())
        .widget(
            "show_sides",
            w -> w.data(o -> Map.of("sides", new String[] {"rice", "salad"})).field("side"))
        .actAsync("cook", kitchen, options)
        .edge(START, "ask_dish")
        .edge("ask_dish", "price")
        .decide("price", d -> d.when("large", gt("servings", 4)).to("show_sides").otherwise("cook"))
        .edge("show_sides", "cook")
        .edge("cook", END)
        .result(o -> o)
        .compile();
  }

  private static Verdict dish(String dish) {
    return dish.equals("stone") ? Verdict.reject("Nobody eats that.") : Verdict.accept(dish.trim());
  }
}
