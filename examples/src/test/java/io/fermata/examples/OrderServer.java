package io.fermata.examples;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import io.fermata.examples.flows.Displays;
import io.fermata.flow.Flow;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Serves a flow that shows a widget without a field before an action that cannot be taken back: it
 * adds a line to the file {@link #CHARGES}.
 */
final class OrderServer {
  static final String CHARGES = "charges.txt";

  private OrderServer() {}

  record Order(
      @Describe("What to buy") String item,
      @Describe("Where to deliver it") String city,
      @Computed String receipt) {}

  public static void main(String[] store) {
    Flow<Order> order =
        Flow.of("order", Order.class)
            .description("Buys something.")
            .ask("ask_item", q -> q.question("item", "What?"))
            .widget(
                "confirm",
                w -> w.tool("show_plans").data(o -> Map.of("price", 5, "segment", "personal")))
            .act(
                "charge",
                run -> {
                  String line = run.state().item() + System.lineSeparator();
                  Files.writeString(Path.of(CHARGES), line, CREATE, APPEND);
                  run.set("receipt", "paid");
                })
            .ask("ask_city", q -> q.question("city", "Where to?"))
            .edge(Flow.START, "ask_item")
            .edge("ask_item", "confirm")
            .edge("confirm", "charge")
            .edge("charge", "ask_city")
            .edge("ask_city", Flow.END)
            .compile();
    Fermata host =
        Fermata.host()
            .store(Store.parse(store[0]))
            .flow(order)
            .display(Displays.showPlans())
            .start();
    System.out.println("Serves at " + McpServer.serving(host).port(0).start().endpoint());
  }
}
