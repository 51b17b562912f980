package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.and;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.exists;
import static io.fermata.flow.route.Condition.gte;
import static io.fermata.flow.route.Condition.lt;
import static io.fermata.flow.route.Condition.matches;

import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** The flows that the tests of pictures draw. */
public final class Pictured {
  static final String WILD =
      "say \"hi\" <b>&amp; `x` ; style: #x; \n😀 -- end --> |x| %% [a] {b} \\";

  record Person(String name, String alias) {}

  record Trip(
      String who,
      Integer guests,
      Boolean visa,
      String travel,
      String passport,
      String licence,
      String flight,
      String hotel,
      List<String> drivers,
      List<String> checked,
      String paid,
      @Computed List<Map<String, String>> failures) {}

  private Pictured() {}

  /** Flows of every kind, by name. */
  public static Map<String, Flow<?>> all() {
    Map<String, Flow<?>> all = new LinkedHashMap<>();
    all.put("quote", QuoteFlow.builder().compile());
    all.put("trip", trip());
    all.put("fleet", fleet());
    all.put("wild", wild());
    for (int seed = 0; seed < 10; seed++) {
      all.put("random " + seed, random(seed));
    }
    return all;
  }

  /** A flow of blocks within blocks: forks, selections, choices, loops, lists and sub-flows. */
  static Flow<Trip> random(int seed) {
    Random random = new Random(seed);
    while (true) {
      try {
        return new Blocks(random).flow();
      } catch (InvalidFlowException e) {
        // Some blocks may not stand side by side; the next dice fall otherwise.
      }
    }
  }

  private static final class Blocks {
    private static final List<String> FIELDS = List.of("who", "passport", "licence", "hotel");

    private final FlowBuilder<Trip> flow = Flow.of("random", Trip.class).description("Is random.");
    private final Random random;
    private int nodes;

    Blocks(Random random) {
      this.random = random;
    }

    Flow<Trip> flow() {
      String first = node();
      flow.edge(START, first);
      return flow.edge(blocks(first, 1 + random.nextInt(4), 0), END).compile();
    }

    private String blocks(String from, int count, int depth) {
      String at = from;
      for (int i = 0; i < count; i++) {
        at = block(at, depth);
      }
      return at;
    }

    /** Leads on from a node, and returns another one whose way out is still open. */
    private String block(String from, int depth) {
      String one = node();
      int kind = depth > 2 ? 0 : random.nextInt(6);
      if (kind < 2) {
        flow.edge(from, one);
        return one;
      }
      String two = node();
      String end = act();
      switch (kind) {
        case 2 -> flow.fork(from, f -> f.branch(one).branch(two).join(end));
        case 3 ->
            flow.select(
                from,
                s ->
                    s.when("rich", gte("guests", 2))
                        .to(one)
                        .when(exists("hotel"))
                        .to(two)
                        .join(end));
        case 4 -> flow.decide(from, d -> d.when("seen", exists("who")).to(one).otherwise(two));
        default -> {
          flow.decide(from, d -> d.when(lt("guests", 1)).to(one).otherwise(end));
          flow.edge(one, two);
          flow.decide(two, d -> d.when(Condition.visits(two).lt(3)).to(from).otherwise(end));
          return end;
        }
      }
      flow.edge(blocks(one, random.nextInt(2), depth + 1), end);
      flow.edge(blocks(two, random.nextInt(2), depth + 1), end);
      return end;
    }

    private String act() {
      String node = "n" + nodes++;
      flow.act(node, run -> {});
      return node;
    }

    private String node() {
      String node = "n" + nodes++;
      switch (random.nextInt(8)) {
        case 0, 1 ->
            flow.ask(node, q -> q.question(FIELDS.get(random.nextInt(FIELDS.size())), "Which?"));
        case 2 -> flow.widget(node, WidgetOptions::displayOnly);
        case 3 -> flow.sleep(node, Duration.ofMinutes(1 + random.nextInt(9)));
        case 4 -> flow.waitFor(node, "signal-" + node);
        case 5 ->
            flow.<Person, String>forEach(node, check(), e -> e.items(Trip::drivers).atMost(3));
        case 6 -> flow.subflow(node, check(), m -> {});
        default -> flow.act(node, run -> {});
      }
      return node;
    }
  }

  /** Forks, selects, waits and is reminded. */
  static Flow<Trip> trip() {
    return Flow.of("trip", Trip.class)
        .title("Plan a trip")
        .description("Plans a trip.")
        .ask("ask_who", q -> q.question("who", "Who?").question("guests", "How many?"))
        .ask("ask_flight", q -> q.question("flight", "Which?"))
        .act("book_flight", run -> {}, EffectOptions::once)
        .compensate("book_flight", run -> {})
        .ask("ask_hotel", q -> q.question("hotel", "Which?"))
        .waitFor("payment", "paid", "paid")
        .deadline("payment", Duration.ofDays(1), "give_up")
        .remind("payment", Duration.ofMinutes(90), 3, run -> {})
        .act("give_up", run -> {})
        .sleep("cool_down", Duration.ofMinutes(5))
        .act("triage", run -> {})
        .ask("ask_passport", q -> q.question("passport", "Number?"))
        .ask("ask_licence", q -> q.question("licence", "Number?"))
        .widget("confirm", WidgetOptions::displayOnly)
        .edge(START, "ask_who")
        .fork(
            "ask_who",
            f ->
                f.branch("ask_flight")
                    .branch("ask_hotel")
                    .branch("cool_down")
                    .join("triage")
                    .quorum(2)
                    .collect("failures"))
        .edge("ask_flight", "book_flight")
        .edge("book_flight", "triage")
        .edge("ask_hotel", "payment")
        .edge("payment", "triage")
        .edge("give_up", "triage")
        .edge("cool_down", "triage")
        .select(
            "triage",
            s ->
                s.when("needs a visa", eq("visa", true))
                    .to("ask_passport")
                    .when("by car", and(eq("travel", "car"), gte("guests", 2)))
                    .to("ask_licence")
                    .join("confirm")
                    .failFast())
        .edge("ask_passport", "confirm")
        .edge("ask_licence", "confirm")
        .decide(
            "confirm",
            d ->
                d.when("settled", exists("hotel"))
                    .to(END)
                    .when(lt("guests", 1))
                    .to("ask_who")
                    .otherwise(END))
        .compile();
  }

  private static Flow<Person> check() {
    return Flow.of("check", Person.class)
        .title("Check a driver")
        .description("Checks a driver.")
        .ask("ask_name", q -> q.question("name", "Name?"))
        .act(
            "verify",
            run -> {
              if (run.state().name().equals("boom")) {
                throw new StepException("The register is closed.");
              }
            })
        .ask("ask_alias", q -> q.question("alias", "Alias?"))
        .edge(START, "ask_name")
        .edge("ask_name", "verify")
        .decide(
            "verify", d -> d.when("strange", matches("name", "z.*")).to("ask_alias").otherwise(END))
        .edge("ask_alias", "ask_name")
        .result(Person::name)
        .compile();
  }

  /** Runs a flow for each item of a list, and a flow in a flow. */
  static Flow<Trip> fleet() {
    Flow<Person> outer =
        Flow.of("outer", Person.class)
            .description("Has a flow.")
            .subflow("inner", check(), m -> {})
            .edge(START, "inner")
            .edge("inner", END)
            .compile();
    return Flow.of("fleet", Trip.class)
        .title("Fleet & <drivers>")
        .description("Checks drivers.")
        .ask("ask_drivers", q -> q.question("drivers", "Who?"))
        .<Person, String>forEach(
            "each",
            check(),
            e -> e.items(Trip::drivers).atMost(5).into("checked").collect("failures"))
        .subflow("deep", outer, m -> {})
        .act("stop", run -> run.end("enough"))
        .act("never", run -> {})
        .edge(START, "ask_drivers")
        .edge("ask_drivers", "each")
        .decide("each", d -> d.when("nobody", exists("hotel")).to("ask_drivers").otherwise("deep"))
        .edge("deep", "stop")
        .edge("stop", "never")
        .edge("never", END)
        .compile();
  }

  /** Has names and labels that mean something to Mermaid, to HTML or to XML. */
  static Flow<Trip> wild() {
    FlowBuilder<Trip> flow =
        Flow.of("wild", Trip.class).title("Wild \"names\" \u0001").description("Is wild.");
    String from = START;
    for (String node : List.of("graph", "class", "style", "subgraph", "click", "default", "n1")) {
      flow.act(node, run -> {});
      if (from.equals(START)) {
        flow.edge(from, node);
      } else {
        flow.decide(
            from,
            d ->
                d.when(WILD, s -> true)
                    .to(node)
                    .when("1. list", s -> false)
                    .to("graph")
                    .when("\uD800 half", s -> false)
                    .to(node)
                    .otherwise(END));
      }
      from = node;
    }
    return flow.edge(from, END).compile();
  }
}
