package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gte;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Computed;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What a node that only computes promises. */
class ComputeTest {
  record Order(
      Integer pieces,
      Boolean sure,
      @Computed Integer price,
      @Computed Integer tax,
      @Computed List<Integer> prices) {}

  record Item(@Computed Integer pieces, @Computed Integer price) {}

  private final AtomicInteger computed = new AtomicInteger();

  private FlowBuilder<Order> order() {
    return Flow.of("order", Order.class).description("Orders.").result(order -> order);
  }

  private Map<String, Integer> price(Order order) {
    computed.incrementAndGet();
    int price = 10 * order.pieces();
    return Map.of("price", price, "tax", price / 5);
  }

  /** Asks, computes, and asks whether to go on. */
  private Flow<Order> priced() {
    return order()
        .ask("ask", q -> q.question("pieces", "How many?"))
        .computes("price", this::price)
        .ask("confirm", q -> q.question("sure", "Sure?"))
        .edge(START, "ask")
        .edge("ask", "price")
        .edge("price", "confirm")
        .edge("confirm", END)
        .compile();
  }

  private static Flow<Item> item() {
    return Flow.of("item", Item.class)
        .description("Prices an item.")
        .computes("price", "price", item -> 10 * item.pieces())
        .edge(START, "price")
        .edge("price", END)
        .result(Item::price)
        .compile();
  }

  record Ratio(Double of, @Computed Double ratio) {}

  @Test
  void aNumberThatIsNoneStopsItsStepAndNoConditionDecidesOnIt() {
    for (double numerator : List.of(1.0, -1.0, 0.0)) {
      for (boolean acts : List.of(true, false)) {
        FlowBuilder<Ratio> ratio = Flow.of("ratio", Ratio.class).description("Divides.");
        ratio =
            acts
                ? ratio.act("divide", run -> run.set("ratio", numerator / run.state().of()))
                : ratio.computes("divide", "ratio", state -> numerator / state.of());
        Driver run =
            new Driver(
                ratio
                    .ask("ask", q -> q.question("of", "Of what?"))
                    .act("large", each -> {})
                    .edge(START, "ask")
                    .edge("ask", "divide")
                    .decide("divide", d -> d.when(gte("ratio", 5)).to("large").otherwise(END))
                    .edge("large", END)
                    .compile());
        run.start();

        assertThat(code(run.proceed("of", 0.0))).isEqualTo("step_failed");
        assertThat(run.events(Event.Decided.class)).isEmpty();
        assertThat(run.events(Event.Stopped.class).get(0).detail())
            .contains("give a record, a map, a list, a text, a finite number or a date");
      }
    }
  }

  @Test
  void itRunsWithinTheStepWithoutAnEffect() {
    Driver driver = new Driver(priced());
    driver.start();
    int entries = driver.entries.size();

    assertThat(asked(driver.proceed("pieces", 3))).containsExactly("sure");
    assertThat(driver.performed).isZero();
    assertThat(driver.entries).hasSize(entries + 1);
    assertThat(driver.events(Event.Attempted.class)).isEmpty();
    assertThat(result(driver.proceed("sure", true)))
        .isEqualTo(Driver.object("pieces", 3, "sure", true, "price", 30, "tax", 6));
  }

  @Test
  void replayDoesNotCallIt() {
    Driver driver = new Driver(priced());
    driver.start();
    driver.proceed("pieces", 3);

    assertThat(Driver.fold(driver.journal)).isEqualTo(driver.state);
    assertThat(computed).hasValue(1);
  }

  @Test
  void itIsComputedAgainFromACorrectedStepOn() {
    Driver driver = new Driver(priced());
    driver.start();
    driver.proceed("pieces", 3);

    assertThat(asked(driver.reset("pieces", 4))).containsExactly("sure");
    assertThat(driver.state.data()).isEqualTo(Driver.object("pieces", 4, "price", 40, "tax", 8));
    assertThat(computed).hasValue(2);
  }

  @Test
  void nullTakesAValueAway() {
    Flow<Order> flow =
        order()
            .act("act", run -> run.set("price", 1).set("tax", 2))
            .computes("free", "price", state -> null)
            .edge(START, "act")
            .edge("act", "free")
            .edge("free", END)
            .compile();

    assertThat(result(new Driver(flow).start())).isEqualTo(Driver.object("tax", 2));
  }

  @Test
  void whatThrowsCommitsNothingAndIsTriedAgain() {
    Flow<Order> flow =
        order()
            .computes(
                "price",
                state -> {
                  if (computed.incrementAndGet() == 1) {
                    throw new StepException("There is no price list yet.");
                  }
                  return Map.of("price", 7);
                })
            .edge(START, "price")
            .edge("price", END)
            .compile();
    Driver driver = new Driver(flow);

    Outcome outcome = driver.start();

    assertThat(code(outcome)).isEqualTo("step_failed");
    assertThat(Driver.failure(outcome).message()).contains("There is no price list yet.");
    assertThat(driver.state.data()).isEmpty();
    assertThat(result(driver.proceed())).isEqualTo(Driver.object("price", 7));
  }

  @Test
  void whatHasNoPlaceInTheStateFailsTheStep() {
    Flow<Order> unknown = computing(Map.of("cost", 1));
    Flow<Order> wrong = computing("price", "much");

    assertThat(code(new Driver(unknown).start())).isEqualTo("step_failed");
    assertThat(code(new Driver(wrong).start())).isEqualTo("step_failed");
  }

  record Driven(Part driver, String name) {}

  record Part(@Computed String name, @Computed Integer age) {}

  private static Driver driven(Map<String, ?> computed) {
    Flow<Driven> flow =
        Flow.of("driven", Driven.class)
            .description("Computes.")
            .computes("compute", state -> computed)
            .edge(START, "compute")
            .edge("compute", END)
            .compile();
    Driver driver = new Driver(flow);
    assertThat(driver.start()).isInstanceOf(Outcome.Complete.class);
    return driver;
  }

  @Test
  void aComputedMapIsTheSameInWhateverOrderItIsIterated() {
    Driver one = driven(Flows.overlapping(false));
    Driver other = driven(Flows.overlapping(true));
    assertThat(other.events(Event.Committed.class)).isEqualTo(one.events(Event.Committed.class));
    assertThat(one.state.data())
        .isEqualTo(other.state.data())
        .isEqualTo(Driver.object("driver", Map.of("age", 31, "name", "Bo"), "name", "Ann"));
  }

  @Test
  void ofAComputedMapThatIsWrongItSaysTheSameInWhateverOrderItIsIterated() {
    Driver one = new Driver(computing(Hashed.map("Aa", "BB")));
    Driver other = new Driver(computing(Hashed.map("BB", "Aa")));
    assertThat(code(one.start())).isEqualTo("step_failed");
    other.start();

    assertThat(other.journal).isEqualTo(one.journal);
  }

  @Test
  void whatMakesTheStateTooLargeIsRefused() {
    Limits small = new Limits(100, 100, 100, 32);
    Driver driver = new Driver(computing("prices", new int[1_000]), small);

    assertThat(code(driver.start())).isEqualTo("state_too_large");
    assertThat(driver.state.data()).isEmpty();
  }

  private Flow<Order> computing(Map<String, ?> values) {
    return order()
        .computes("compute", state -> values)
        .edge(START, "compute")
        .edge("compute", END)
        .compile();
  }

  private Flow<Order> computing(String field, Object value) {
    return order()
        .computes("compute", field, state -> value)
        .edge(START, "compute")
        .edge("compute", END)
        .compile();
  }

  @Test
  void itLoopsWithinALimit() {
    Flow<Order> flow =
        order()
            .computes("count", "price", state -> state.price() == null ? 1 : state.price() + 1)
            .edge(START, "count")
            .decide("count", d -> d.when(gte("price", 50)).to(END).otherwise("count"))
            .compile();

    assertThat(result(new Driver(flow).start())).isEqualTo(Driver.object("price", 50));
    Driver bounded = new Driver(flow, new Limits(1_000, 1_000, 20, 32));
    assertThat(code(bounded.start())).isEqualTo("visit_limit");
  }

  @Test
  void itWorksInBranches() {
    Flow<Order> flow =
        order()
            .computes("price", "price", state -> 1)
            .computes("tax", "tax", state -> 2)
            .edge("price", END)
            .edge("tax", END)
            .fork(START, f -> f.branch("price").branch("tax").join(END))
            .compile();

    assertThat(result(new Driver(flow).start())).isEqualTo(Driver.object("price", 1, "tax", 2));
  }

  @Test
  void itWorksInASubflow() {
    Flow<Order> flow =
        order()
            .subflow("item", item(), m -> m.input(s -> Map.of("pieces", 2)).into("price"))
            .edge(START, "item")
            .edge("item", END)
            .compile();

    assertThat(result(new Driver(flow).start())).isEqualTo(Driver.object("price", 20));
  }

  @Test
  void itWorksForEachItemOfAList() {
    Flow<Order> flow =
        order()
            .<Item, Integer>forEach(
                "items",
                item(),
                e ->
                    e.items(state -> List.of(1, 2, 3))
                        .input((state, pieces) -> Map.of("pieces", pieces))
                        .atMost(3)
                        .into("prices"))
            .edge(START, "items")
            .edge("items", END)
            .compile();

    assertThat(result(new Driver(flow).start()))
        .isEqualTo(Driver.object("prices", List.of(10, 20, 30)));
  }

  @Test
  void itIsInThePicture() {
    assertThat(priced().picture().mermaid()).contains("computes");
  }

  @Test
  void nothingIsToBeUndoneAboutIt() {
    assertThatThrownBy(
            () ->
                order()
                    .computes("price", state -> new HashMap<>())
                    .compensate("price", run -> {})
                    .edge(START, "price")
                    .edge("price", END)
                    .compile())
        .isInstanceOf(InvalidFlowException.class)
        .hasMessageContaining("price, which is no action");
  }
}
