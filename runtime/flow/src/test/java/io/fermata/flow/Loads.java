package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.lt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.Run;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.schema.Computed;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Flows whose cost is the engine's, and the loop of a host that has nothing else to do. */
public final class Loads {
  public static final Limits ROOMY = new Limits(64 * 1024 * 1024, 1_000_000, 1_000_000, 32);

  private static final int MIXED_ROUNDS = 3;

  record Count(@Computed Integer n, @Computed Integer doubled, Boolean go, @Computed Integer sum) {}

  record Inner(@Computed Integer from, @Computed Integer to) {}

  record Line(String item, Integer pieces, List<String> tags) {}

  record Order(
      Boolean go,
      @Computed Integer n,
      @Computed String note,
      @Computed List<Line> lines,
      @Computed Map<String, String> notes) {}

  record Item(Integer pieces) {}

  record Orders(String title) {}

  private Loads() {}

  // --- flows ----------------------------------------------------------------------------------

  private static void increment(Run<Count> run) {
    Integer n = run.state().n();
    run.set("n", n == null ? 1 : n + 1);
  }

  /** Ten actions, each computing from what the one before wrote. */
  public static Flow<Count> linear() {
    return linear(10);
  }

  /** So many actions. */
  public static Flow<Count> linear(int actions) {
    FlowBuilder<Count> flow = count("linear");
    String[] nodes = IntStream.range(0, actions).mapToObj(i -> "act" + i).toArray(String[]::new);
    for (String node : nodes) {
      flow.act(node, Loads::increment);
    }
    return chain(flow, nodes).compile();
  }

  /** An action and a decision, so many times. */
  public static Flow<Count> loop(int rounds) {
    return count("loop")
        .act("act", Loads::increment)
        .edge(START, "act")
        .decide("act", d -> d.when(lt("n", rounds)).to("act").otherwise(END))
        .compile();
  }

  /** A sub-flow, a short loop, a question, a decision and actions: sixteen steps in all. */
  public static Flow<Count> mixed() {
    Flow<Inner> inner =
        chain(
                Flow.of("inner", Inner.class)
                    .description("Doubles a number.")
                    .act("double", run -> run.set("to", 2 * run.state().from()))
                    .act("add", run -> run.set("to", 1 + run.state().to())),
                "double",
                "add")
            .result(Inner::to)
            .compile();
    return count("mixed")
        .act("begin", Loads::increment)
        .subflow("doubling", inner, m -> m.input(s -> Map.of("from", s.n())).into("doubled"))
        .act("round", Loads::increment)
        .ask("ask", q -> q.question("go", "Go on?"))
        .act("first", Loads::increment)
        .act("second", Loads::increment)
        .act("last", run -> run.set("sum", run.state().n() + run.state().doubled()))
        .edge(START, "begin")
        .edge("begin", "doubling")
        .edge("doubling", "round")
        .decide("round", d -> d.when(lt("n", 1 + MIXED_ROUNDS)).to("round").otherwise("ask"))
        .decide("ask", d -> d.when(eq("go", true)).to("first").otherwise(END))
        .edge("first", "second")
        .edge("second", "last")
        .edge("last", END)
        .result(s -> s)
        .compile();
  }

  /** Eight branches of an action each, between two actions. */
  public static Flow<Count> fork() {
    FlowBuilder<Count> flow =
        count("fork").act("before", Loads::increment).act("after", Loads::increment);
    List<String> branches = IntStream.range(0, 8).mapToObj(i -> "branch" + i).toList();
    branches.forEach(branch -> flow.act(branch, Loads::increment).edge(branch, "after"));
    return flow.edge(START, "before")
        .fork(
            "before",
            f -> {
              branches.forEach(f::branch);
              f.join("after");
            })
        .reduce("n", (before, values) -> values.get(0))
        .edge("after", END)
        .compile();
  }

  /** Fills a state with so many lines, waits, and then writes a small field in five actions. */
  public static Flow<Order> filled(int lines) {
    return order(
        lines, run -> run.set("note", "written by " + run.visit() + " after " + run.state().n()));
  }

  /** The same with actions that each append a line to the list. */
  public static Flow<Order> growing(int lines) {
    return order(
        lines,
        run -> run.append("lines", line(Objects.requireNonNull(run.state().lines()).size())));
  }

  /** The same with actions that each write so many values into one map. */
  public static Flow<Order> noting(int notes) {
    return order(
        10,
        run -> {
          for (int i = 0; i < notes; i++) {
            run.set("notes.note" + i, "written by " + run.visit());
          }
        });
  }

  /** So many values that one of two branches writes in one action. */
  public static Flow<Order> notingApart(int notes) {
    return Flow.of("apart", Order.class)
        .description("Writes in a branch.")
        .act("before", run -> {})
        .act(
            "write",
            run -> {
              for (int i = 0; i < notes; i++) {
                run.set("notes.note" + i, "a note");
              }
            })
        .act("count", run -> run.set("n", 1))
        .act("after", run -> {})
        .edge(START, "before")
        .fork("before", f -> f.branch("write").branch("count").join("after"))
        .edge("write", "after")
        .edge("count", "after")
        .edge("after", END)
        .compile();
  }

  private static Flow<Order> order(int lines, Action<Order> action) {
    FlowBuilder<Order> flow =
        Flow.of("order", Order.class)
            .description("Writes to a large state.")
            .act("fill", run -> fill(run, lines))
            .ask("ask", q -> q.question("go", "Go on?"));
    String[] nodes = {"fill", "ask", "a", "b", "c", "d", "e"};
    for (int i = 2; i < nodes.length; i++) {
      flow.act(nodes[i], action);
    }
    return chain(flow, nodes).compile();
  }

  private static void fill(Run<Order> run, int lines) {
    run.set("n", lines);
    run.set("lines", IntStream.range(0, lines).mapToObj(Loads::line).toList());
    run.set("notes", Map.of("first", "x", "second", "y"));
  }

  /** About a hundred bytes of JSON. */
  private static Line line(int i) {
    return new Line(
        "an item of the order, the one with number " + (100_000 + i), i, List.of("red", "large"));
  }

  /** A list of so many items, each of which asks. */
  public static Flow<Orders> list(int items) {
    return list(items, item().ask("ask", q -> q.question("pieces", "How many?")), "ask");
  }

  /** The same, each of which shows a widget that needs no answer. */
  public static Flow<Orders> display(int items) {
    return list(items, item().widget("show", s -> s.tool("counter")), "show");
  }

  private static FlowBuilder<Item> item() {
    return Flow.of("item", Item.class).description("Counts one.");
  }

  private static Flow<Orders> list(int items, FlowBuilder<Item> item, String node) {
    List<String> names = IntStream.range(0, items).mapToObj(i -> "item " + i).toList();
    return Flow.of("list", Orders.class)
        .description("Counts all.")
        .<Item, String>forEach(
            "each", chain(item, node).compile(), e -> e.items(o -> names).atMost(items))
        .edge(START, "each")
        .edge("each", END)
        .compile();
  }

  private static FlowBuilder<Count> count(String id) {
    return Flow.of(id, Count.class).description("Counts.");
  }

  private static <S extends Record> FlowBuilder<S> chain(FlowBuilder<S> flow, String... nodes) {
    String from = START;
    for (String node : nodes) {
      flow.edge(from, node);
      from = node;
    }
    return flow.edge(from, END);
  }

  // --- a host ---------------------------------------------------------------------------------

  public static Input start() {
    return new Input.Start("run", "to measure", Json.object(), 1);
  }

  public static Input go() {
    ObjectNode updates = Json.object().put("go", true);
    return new Input.Continue(updates, 2);
  }

  /** A recorder that observes everything, hook by hook. */
  public static final class Counter implements Recorder {
    long observed;

    @Override
    public void onEvent(Observation event) {
      observed++;
      Recorder.super.onEvent(event);
    }
  }

  /**
   * Takes an input and performs what follows, until the run waits or is over.
   *
   * @param recorder observes it all; null for none
   */
  public static RunState take(
      FlowProgram<?> program, RunState state, Input input, @Nullable Recorder recorder) {
    if (recorder == null) {
      return take(program, state, input, (from, events) -> {});
    }
    RunObserver recording =
        RunObserver.from(
            state, program.flow(), "session", List.of(AttachedRecorder.everywhere(recorder)));
    return take(program, state, input, (from, events) -> recording.record(from.tick(), 4, events));
  }

  /** All that happens in a run which nobody is asked about. */
  public static List<Event> journal(Flow<?> flow) {
    List<Event> journal = new ArrayList<>();
    FlowProgram<?> program = FlowProgram.of(flow, ROOMY);
    take(program, RunState.NONE, start(), (from, events) -> journal.addAll(events));
    return journal;
  }

  private static RunState take(
      FlowProgram<?> program,
      RunState state,
      Input input,
      BiConsumer<RunState, List<Event>> recording) {
    RunState now = fold(program, state, input, recording);
    while (program.next(now) instanceof Program.Perform<StepEffect> perform) {
      for (StepEffect effect : perform.effects()) {
        Input.Result result = program.perform(now, effect, World.NONE).toCompletableFuture().join();
        now = fold(program, now, new Input.EffectEnded(effect, result, 3), recording);
      }
    }
    return now;
  }

  private static RunState fold(
      FlowProgram<?> program,
      RunState state,
      Input input,
      BiConsumer<RunState, List<Event>> recording) {
    if (program.accept(state, input) instanceof Program.Accepted<RunState, Event> accepted) {
      recording.accept(state, accepted.events());
      return program.after(state, accepted, 1);
    }
    throw new IllegalStateException("Refused: " + input);
  }
}
