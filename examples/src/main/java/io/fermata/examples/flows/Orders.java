package io.fermata.examples.flows;

import io.fermata.agent.tool.ToolMethod;
import io.fermata.flow.schema.Describe;
import java.util.Map;
import java.util.Optional;

/** The orders of a bookshop; its tool is an annotated method. */
public final class Orders {
  /** An order; the amount is in whole euros. */
  public record Order(String number, String what, int amount, String status) {}

  private static final Map<String, Order> ORDERS =
      Map.of(
          "B-1001", new Order("B-1001", "an atlas", 48, "delivered"),
          "B-1002", new Order("B-1002", "two cookbooks", 35, "on its way"));

  @ToolMethod("Finds an order by its number.")
  public Order look_up_order(@Describe("The order's number, such as B-1001") String number) {
    return find(number)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "There is no order %s; ask the customer to look again".formatted(number)));
  }

  Optional<Order> find(String number) {
    return Optional.ofNullable(ORDERS.get(number));
  }
}
