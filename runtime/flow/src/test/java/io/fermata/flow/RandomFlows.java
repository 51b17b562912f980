package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Condition;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.StateReads;
import io.fermata.flow.schema.Computed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes random flows that are well formed: sequences of steps, decisions, bounded loops, forks,
 * lists and sub-flows within one another. Their code notices when it runs although it must not, and
 * depends on nothing but what its step can know, so that a run's end tells of every mistake.
 */
public final class RandomFlows {
  static final List<String> QUESTIONS = List.of("a", "b", "c", "part.c", "number", "flag");
  private static final List<String> OWN = List.of("x", "y", "results", "items");
  private static final int DEEPEST = 3;

  record Part(String c) {}

  record Failure(String branch, String code, String message) {}

  public record Data(
      String a,
      String b,
      String c,
      Part part,
      Integer number,
      Boolean flag,
      @Computed String x,
      @Computed String y,
      @Computed List<String> results,
      @Computed List<Integer> items,
      @Computed Map<String, Integer> counts,
      @Computed Integer sum,
      @Computed List<Failure> failures,
      @Computed List<String> log) {}

  /**
   * What may be in the flows.
   *
   * @param races joins that do not wait for all, and early ends within branches; without them the
   *     order in which things happen must not matter at all
   * @param once actions that may run only once
   * @param optional questions that may be left open; whoever answers the last of the others passes
   *     them, so that it matters who that is
   * @param fails whether a step fails for good, or for so many attempts
   */
  public record Taste(boolean races, boolean once, boolean optional, Failing fails) {}

  /** How an action fails. */
  public interface Failing {
    /** Whether this attempt fails. */
    boolean now(Run<Data> run, boolean forGood);
  }

  private final Random random;
  private final Taste taste;
  private final Set<String> fields = new LinkedHashSet<>();
  private boolean forbidden;
  private boolean endsOnFailure;
  private int nodes;
  private int pieces;
  private int mutated = -1;
  private int version = 1;
  private boolean renaming;
  private final Set<String> paths = new LinkedHashSet<>();

  public RandomFlows(Random random, Taste taste) {
    this.random = random;
    this.taste = taste;
  }

  /** Runs something during which no code of an author may run. */
  public <T> T withoutAuthor(Supplier<T> work) {
    forbidden = true;
    try {
      return work.get();
    } finally {
      forbidden = false;
    }
  }

  private <T> T own(T value) {
    assertThat(forbidden).as("an author's code runs").isFalse();
    return value;
  }

  /** The fields that the flows made so far ask for, by their path in the run. */
  public List<String> fields() {
    return List.copyOf(fields);
  }

  /** Changes one piece of code of the flows that follow: a condition, a function or a validator. */
  public RandomFlows mutating(int piece) {
    mutated = piece;
    return this;
  }

  /**
   * Makes the flows that follow a version of what they would be, with a migration from each earlier
   * one.
   *
   * @param renames whether some nodes have another name in each version
   */
  public RandomFlows version(int number, boolean renames) {
    version = number;
    renaming = renames;
    return this;
  }

  /** What a version calls a node, or a sub-flow. */
  private String named(String node, int by) {
    if (!renaming || by == 1) {
      return node;
    }
    List<String> names = new ArrayList<>();
    for (String name : node.split("/", -1)) {
      boolean renamed = name.startsWith("n") && Integer.parseInt(name.substring(1)) % 5 == 0;
      names.add(renamed ? name + "v" + by : name);
    }
    return String.join("/", names);
  }

  private void migrate(FlowBuilder<Data> flow) {
    for (int from = 1; from < version; from++) {
      int earlier = from;
      flow.migrate(
          from,
          m ->
              paths.stream()
                  .filter(path -> !named(path, earlier).equals(named(path, earlier + 1)))
                  .forEach(path -> m.node(named(path, earlier), named(path, earlier + 1))));
    }
  }

  /** How many pieces of code the flows so far could have mutated. */
  public int pieces() {
    return pieces;
  }

  private boolean mutates() {
    return pieces++ == mutated;
  }

  /** The next flow. */
  public Flow<Data> next() {
    return begun().result(this::own).compile();
  }

  /** The next flow, whose runs may expire. */
  public Flow<Data> nextThatMayExpire() {
    FlowBuilder<Data> flow = begun();
    if (random.nextInt(6) == 0) {
      flow.expireAfter(Duration.ofDays(1)).onExpire(run -> {});
    }
    return flow.result(this::own).compile();
  }

  private FlowBuilder<Data> begun() {
    nodes = 0;
    fields.clear();
    paths.clear();
    endsOnFailure = random.nextInt(6) == 0;
    return flow(1, "", false);
  }

  private FlowBuilder<Data> flow(int depth, String prefix, boolean collected) {
    FlowBuilder<Data> flow =
        Flow.of("random", Data.class)
            .neverExpire()
            .description("Is random.")
            .reduce("log", Reducer.append())
            .reduce("failures", Reducer.append())
            .reduce("sum", Reducer.sum());
    if (depth == 1 && endsOnFailure) {
      flow.endOnFailure();
    }
    Made made = new Made(flow, depth, prefix);
    Know know = new Know(QUESTIONS, OWN, new LinkedHashSet<>(), false, collected, 4 - depth);
    flow.edge(START, made.n(made.sequence(know, END)));
    if (depth == 1) {
      flow.version(version);
      migrate(flow);
    }
    return flow;
  }

  /**
   * What the steps of a sequence may touch.
   *
   * @param asks the fields they may ask for; branches share none
   * @param writes the fields they may write; branches that share one are in conflict
   * @param known what has been asked before, so that it does not matter when the answer came
   * @param forked it lies in a branch of its flow
   * @param collected a failure in it is given up
   * @param size how many steps it may be made of
   */
  private record Know(
      List<String> asks,
      List<String> writes,
      Set<String> known,
      boolean forked,
      boolean collected,
      int size) {
    Know copy() {
      return new Know(asks, writes, new LinkedHashSet<>(known), forked, collected, size - 1);
    }

    Know branch(List<String> itsAsks, List<String> itsWrites, boolean collects) {
      return new Know(
          itsAsks, itsWrites, new LinkedHashSet<>(known), true, collected || collects, size - 1);
    }
  }

  /** A flow in the making. */
  private final class Made {
    private final FlowBuilder<Data> flow;
    private final int depth;
    private final String prefix;

    Made(FlowBuilder<Data> flow, int depth, String prefix) {
      this.flow = flow;
      this.depth = depth;
      this.prefix = prefix;
    }

    private String id(String kind) {
      String node = kind + nodes++;
      paths.add(prefix.replace(".0.", ".").replace('.', '/') + node);
      return node;
    }

    /** What this version calls a node. */
    private String n(String node) {
      return named(node, version);
    }

    /** Makes steps that lead to a node, and tells the first of them. */
    String sequence(Know know, String onward) {
      int size = 1 + random.nextInt(Math.max(1, Math.min(3, know.size())));
      List<String> entries = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        entries.add(id("n"));
      }
      entries.add(onward);
      for (int i = 0; i < size; i++) {
        piece(know, entries.get(i), entries.get(i + 1));
      }
      return entries.get(0);
    }

    private void piece(Know know, String node, String onward) {
      int kind = random.nextInt(know.size() > 0 ? 22 : 11);
      switch (kind) {
        case 0, 1, 2 -> step(node, onward, () -> ask(know, node, onward));
        case 3 -> step(node, onward, () -> widget(know, node, onward));
        case 4, 5, 6, 7 -> step(node, onward, () -> act(know, node));
        case 8 -> step(node, onward, () -> flow.sleep(n(node), Duration.ofMinutes(5)));
        case 9 -> step(node, onward, () -> signal(know, node, onward));
        case 10 -> step(node, onward, () -> end(know, node));
        case 11, 12 -> choice(know, node, onward);
        case 13, 14 -> loop(know, node, onward);
        case 15, 16, 17 -> fork(know, node, onward, false);
        case 18 -> fork(know, node, onward, true);
        case 19, 20 -> step(node, onward, () -> subflow(know, node));
        default -> each(know, node, onward);
      }
    }

    private void step(String node, String onward, Runnable declared) {
      declared.run();
      flow.edge(n(node), n(onward));
    }

    // --- asking -------------------------------------------------------------------------------

    private void ask(Know know, String node, String onward) {
      List<String> asked = some(know.asks(), 1 + random.nextInt(2));
      if (asked.isEmpty()) {
        act(know, node);
        return;
      }
      flow.ask(
          n(node),
          q -> {
            for (String field : asked) {
              int check = random.nextInt(3);
              int optional = taste.optional() ? random.nextInt(6) : 6;
              q.question(
                  field,
                  data -> own(field + "?"),
                  o -> {
                    check(o, check);
                    optional(o, field, optional);
                  });
            }
          });
      waits(node, onward);
      learns(know, asked);
    }

    private void learns(Know know, List<String> asked) {
      know.known().addAll(asked);
      asked.forEach(field -> fields.add(path(field)));
    }

    /** The path of a field in the run. */
    private String path(String field) {
      String mount = prefix.replace(".", "/").replaceAll("/$", "");
      return prefix.isEmpty() ? field : named(mount, version).replace('/', '.') + "." + field;
    }

    private void check(QuestionOptions<Data> options, int kind) {
      if (kind == 0) {
        boolean other = mutates();
        options.validate((Object answer) -> own(other ? Verdict.accept() : verdict(answer)));
      } else if (kind == 1) {
        options.validateAsync(
            (Object answer) -> CompletableFuture.completedStage(own(verdict(answer))));
      }
    }

    private void optional(QuestionOptions<Data> options, String field, int kind) {
      if (kind == 0) {
        options.optional();
      } else if (kind == 1) {
        options.defaultsTo(
            field.equals("number") ? 7 : field.equals("flag") ? (Object) true : "default");
      }
    }

    private void widget(Know know, String node, String onward) {
      // any call acknowledges a display, so that it cannot be in a race
      boolean display = !taste.races() && random.nextBoolean();
      List<String> asked = display ? List.of() : some(know.asks(), 1);
      if (asked.isEmpty() && !display) {
        act(know, node);
        return;
      }
      flow.widget(
          n(node),
          w -> {
            w.tool(node);
            w.data(data -> own(Map.of("x", String.valueOf(data.x()))));
            asked.forEach(w::field);
          });
      if (!asked.isEmpty()) {
        waits(node, onward);
        learns(know, asked);
      }
    }

    private void waits(String node, String onward) {
      if (random.nextInt(5) == 0) {
        flow.deadline(n(node), Duration.ofHours(1), n(onward));
      }
      if (random.nextInt(5) == 0) {
        flow.remind(n(node), Duration.ofMinutes(20), 2, run -> failSometimes(run, false));
      }
    }

    private void signal(Know know, String node, String onward) {
      String field = oneOf(know, "x", "y");
      if (field == null) {
        flow.waitFor(n(node), "signal " + node);
      } else {
        flow.waitFor(n(node), "signal " + node, field);
      }
      waits(node, onward);
    }

    // --- acting -------------------------------------------------------------------------------

    private void act(Know know, String node) {
      boolean forGood = know.collected() || endsOnFailure;
      List<String> reads = new ArrayList<>(know.known());
      reads.addAll(List.of("x", "y", "sum"));
      String writes =
          random.nextInt(3) > 0 || know.writes().isEmpty() ? null : oneOf(know, "x", "y");
      int policy = random.nextInt(5);
      flow.act(
          n(node),
          run -> {
            failSometimes(run, forGood);
            StringBuilder seen = new StringBuilder(node + "#" + run.visit());
            for (String field : reads) {
              seen.append(' ').append(run.get(field, Object.class));
            }
            run.append("log", own(seen.toString()));
            Integer sum = run.get("sum", Integer.class);
            run.set("sum", 1 + (sum == null ? 0 : sum));
            run.tag("t" + Math.floorMod(node.hashCode(), 8));
            if (writes != null) {
              run.set(writes, node + run.visit());
            }
          },
          o -> {
            if (random.nextInt(3) == 0) {
              o.reads(reads.toArray(String[]::new));
            }
            if (policy == 0 && taste.once()) {
              o.once();
            } else if (policy == 1) {
              o.retry(2, Duration.ofSeconds(1));
            } else if (policy == 2) {
              o.idempotent();
            }
          });
      if (random.nextInt(3) == 0) {
        flow.compensate(n(node), run -> failSometimes(run, false));
      }
    }

    private @Nullable String oneOf(Know know, String... fields) {
      List<String> owned = List.of(fields).stream().filter(know.writes()::contains).toList();
      return owned.isEmpty() ? null : owned.get(random.nextInt(owned.size()));
    }

    private void end(Know know, String node) {
      if (know.forked() && !taste.races()) {
        act(know, node);
        return;
      }
      int modulo = 2 + random.nextInt(3);
      flow.act(
          n(node),
          run -> {
            if (Math.floorMod(run.idempotencyKey().hashCode(), modulo) == 0) {
              run.end(own("Enough after " + node + "."));
            }
          });
    }

    // --- ways ---------------------------------------------------------------------------------

    private void choice(Know know, String node, String onward) {
      act(know, node);
      Condition condition = condition(know);
      int modulo = 2 + random.nextInt(2);
      boolean byAnswer = know.known().contains("a");
      boolean other = mutates();
      Predicate<StateReads> function = data -> own(hash(byAnswer, data)) % modulo == 0 != other;
      String left = sequence(know.copy(), onward);
      String right = random.nextBoolean() ? onward : sequence(know.copy(), onward);
      boolean byFunction = random.nextBoolean();
      flow.decide(
          n(node),
          d ->
              (byFunction ? d.when("left", function) : d.when(condition))
                  .to(n(left))
                  .otherwise(n(right)));
    }

    private int hash(boolean byAnswer, StateReads data) {
      int hash = Objects.hash(data.get("x", String.class), data.get("sum", Integer.class));
      return byAnswer ? 31 * hash + Objects.hashCode(data.get("a", String.class)) : hash;
    }

    private Condition condition(Know know) {
      List<Condition> possible = new ArrayList<>(List.of(Condition.gt("sum", 3)));
      possible.add(Condition.and(Condition.exists("x"), Condition.ne("x", Condition.field("y"))));
      if (know.known().contains("number")) {
        possible.add(Condition.or(Condition.gt("number", 4), Condition.eq("sum", 2)));
      }
      if (know.known().contains("part.c")) {
        possible.add(Condition.not(Condition.matches("part.c", "[a-p].*")));
      }
      Condition condition = possible.get(random.nextInt(possible.size()));
      return mutates() ? Condition.not(condition) : condition;
    }

    /** A loop whose bound is counted by the engine, or by itself. */
    private void loop(Know know, String node, String onward) {
      String tail = id("n");
      int passes = 2 + random.nextInt(2);
      Know body =
          new Know(
              know.asks(),
              know.writes(),
              know.known(),
              know.forked(),
              know.collected(),
              know.size() - 1);
      act(know, node);
      flow.edge(n(node), n(sequence(body, tail)));
      boolean byVisits = !taste.races() && random.nextBoolean();
      flow.act(
          n(tail),
          run -> {
            Integer count = run.get("counts." + tail, Integer.class);
            run.set("counts." + tail, own(count == null ? 1 : count + 1));
          });
      Predicate<StateReads> again =
          data ->
              own(Objects.requireNonNull(data.get("counts." + tail, Integer.class))) % passes != 0;
      flow.decide(
          n(tail),
          d ->
              (byVisits ? d.when(Condition.visits(n(tail)).lt(passes)) : d.when("again", again))
                  .to(n(node))
                  .otherwise(n(onward)));
    }

    private void fork(Know know, String node, String onward, boolean select) {
      act(know, node);
      int branches = 2 + random.nextInt(2);
      // what is collected has the names of branches in it
      boolean collects = random.nextInt(4) == 0 && !renaming;
      boolean races = taste.races() && random.nextInt(2) == 0;
      List<Know> knows = split(know, branches, collects);
      List<String> heads = knows.stream().map(k -> sequence(k, onward)).toList();
      flow.fork(
          n(node),
          f -> {
            for (int i = 0; i < heads.size(); i++) {
              if (select && i > 0) {
                f.when("rule " + i, condition(know)).to(n(heads.get(i)));
              } else {
                f.branch(n(heads.get(i)));
              }
            }
            joins(f, races ? random.nextInt(2) : -1, collects, onward);
          });
      if (!select && !collects && !races) {
        knows.forEach(k -> know.known().addAll(k.known()));
      }
    }

    private void joins(Branches fork, int racing, boolean collects, String onward) {
      fork.join(n(onward));
      if (racing == 0) {
        fork.first();
      } else if (racing == 1) {
        fork.quorum(2);
      }
      if (collects) {
        fork.collect("failures");
      } else if (random.nextInt(3) == 0) {
        fork.failFast();
      }
    }

    /** Gives each branch fields of its own; now and then two of them may write the same. */
    private List<Know> split(Know know, int branches, boolean collects) {
      List<List<String>> asks = new ArrayList<>();
      List<List<String>> writes = new ArrayList<>();
      for (int i = 0; i < branches; i++) {
        asks.add(new ArrayList<>());
        writes.add(new ArrayList<>());
      }
      know.asks().forEach(field -> asks.get(random.nextInt(branches)).add(field));
      boolean conflicts = random.nextInt(8) == 0;
      know.writes()
          .forEach(
              field -> {
                writes.get(random.nextInt(branches)).add(field);
                if (conflicts) {
                  writes.get(random.nextInt(branches)).add(field);
                }
              });
      List<Know> knows = new ArrayList<>();
      for (int i = 0; i < branches; i++) {
        knows.add(know.branch(asks.get(i), writes.get(i), collects));
      }
      return knows;
    }

    // --- flows within -------------------------------------------------------------------------

    private void subflow(Know know, String node) {
      if (depth == DEEPEST) {
        act(know, node);
        return;
      }
      String given = know.known().contains("a") ? "a" : "x";
      flow.subflow(
          n(node),
          inner(know.collected(), node + "."),
          m ->
              m.input(
                      data ->
                          own(Map.of("b", String.valueOf(given.equals("a") ? data.a() : data.x()))))
                  .output(
                      (outer, own) -> {
                        List<String> log =
                            new ArrayList<>(outer.log() == null ? List.of() : outer.log());
                        log.add(node + " " + own.log());
                        return own(Map.of("log", log));
                      }));
    }

    private Flow<Data> inner(boolean collected, String within) {
      return flow(depth + 1, prefix + within, collected)
          .result(data -> own(String.valueOf(data.log())))
          .compile();
    }

    private void each(Know know, String node, String onward) {
      boolean owns = know.writes().containsAll(List.of("items", "results"));
      if (depth == DEEPEST || !owns) {
        step(node, onward, () -> act(know, node));
        return;
      }
      String list = id("n");
      int size = random.nextInt(4);
      boolean collects = random.nextInt(3) == 0;
      int racing = taste.races() && random.nextInt(3) == 0 ? random.nextInt(2) : -1;
      List<Integer> items = Collections.nCopies(size, depth);
      step(node, list, () -> flow.act(n(node), run -> run.set("items", own(items))));
      Flow<Data> inner = inner(know.collected() || collects, list + ".0.");
      flow.<Data, Integer>forEach(
          n(list),
          inner,
          e -> {
            e.items(data -> own(Objects.requireNonNull(data.items())))
                .input((data, item) -> own(Map.of("number", item)))
                .atMost(3)
                .into("results");
            if (racing >= 0) {
              e.quorum(1 + racing);
            }
            if (collects) {
              e.collect("failures");
            }
          });
      flow.edge(n(list), n(onward));
    }
  }

  private List<String> some(List<String> of, int most) {
    List<String> shuffled = new ArrayList<>(of);
    Collections.shuffle(shuffled, random);
    return shuffled.subList(0, Math.min(most, shuffled.size()));
  }

  private static Verdict verdict(Object answer) {
    if (answer.equals("bad")) {
      return Verdict.reject("Bad.");
    }
    return answer instanceof String text && text.length() < 4
        ? Verdict.accept(text + "!")
        : Verdict.accept();
  }

  private void failSometimes(Run<Data> run, boolean forGood) {
    if (taste.fails().now(run, own(forGood))) {
      throw run.visit() % 2 == 0
          ? StepException.terminal("Fails for good.")
          : new StepException("Fails.");
    }
  }
}
