package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.ToolHandler;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelException;
import io.fermata.agent.model.Usage;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.DisplayTool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Tries an agent, or the tool of a flow, in many conversations: every case with every variant, as
 * often as wanted, each on a host of its own in memory.
 *
 * <pre>{@code
 * EvalReport report = Evaluation.of(desk, billing)
 *     .recorded(Path.of("src/test/resources/threads"))
 *     .variant("today")
 *     .variant("gpt", gpt)
 *     .judge("looks the order up", run -> run.called("find_order"))
 *     .judge(EvalJudge.model(judge, "The reply answers the question and is polite."))
 *     .repeat(3)
 *     .run();
 * System.out.println(report.table());
 * report.requirePassRate(0.9);
 * }</pre>
 *
 * <p>No tool is performed by accident: a call gets the result that the same call has in the
 * recording, else that of a {@link #handler}; a call that nothing answers ends its trial as
 * diverged. Deferred work does nothing. Hooks and code that speaks for a side do run.
 */
public final class Evaluation {
  private static final Duration TIMEOUT = Duration.ofMinutes(10);
  private static final int TURNS = 20;
  private static final Duration KEPT = Duration.ofDays(1);

  private final List<Agent> agents;
  private final @Nullable Flow<?> flow;
  private final List<DisplayTool> displays;
  private final List<EvalCase> cases = new ArrayList<>();
  private final List<EvalVariant> variants = new ArrayList<>();
  private final List<EvalJudge> judges = new ArrayList<>();
  private final Map<String, ToolHandler<ObjectNode>> handlers = new LinkedHashMap<>();
  private final Set<String> performed = new LinkedHashSet<>();
  private UnaryOperator<HostBuilder> setup = host -> host;
  private int repetitions = 1;
  private int parallel = 1;
  private int turns = TURNS;
  private Duration timeout = TIMEOUT;

  private Evaluation(List<Agent> agents, @Nullable Flow<?> flow, List<DisplayTool> displays) {
    this.agents = agents;
    this.flow = flow;
    this.displays = displays;
  }

  /**
   * Of an agent.
   *
   * @param others the agents that it may hand a conversation over to
   */
  public static Evaluation of(Agent agent, Agent... others) {
    List<Agent> all = new ArrayList<>(List.of(agent));
    all.addAll(List.of(others));
    return new Evaluation(List.copyOf(all), null, List.of());
  }

  /**
   * Of a flow as the tool of a model: it reads the text, the schema and the instructions that every
   * MCP client gets, and the flow really runs. The agent and its prompt are named {@code driver};
   * every variant needs a model.
   *
   * @param displays the display tools that the flow needs
   */
  public static Evaluation ofFlow(Flow<?> flow, DisplayTool... displays) {
    Evaluation evaluation = new Evaluation(List.of(), flow, List.of(displays));
    evaluation.performed.addAll(FlowTools.names(flow, evaluation.displays));
    return evaluation;
  }

  // --- what is tried ---------------------------------------------------------------------------

  /** Adds cases. */
  public Evaluation cases(EvalCase... more) {
    cases.addAll(List.of(more));
    return this;
  }

  /**
   * Adds a case for each exported thread ({@code *.jsonl}) in a folder, continued from its last
   * message of a user.
   *
   * @throws IllegalArgumentException if there is none
   */
  public Evaluation recorded(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      List<Path> exports =
          files.filter(file -> file.toString().endsWith(".jsonl")).sorted().toList();
      if (exports.isEmpty()) {
        throw new IllegalArgumentException(
            "There is no thread in %s; write one with: export %s --thread <id>"
                .formatted(folder, folder.resolve("name.jsonl")));
      }
      for (Path export : exports) {
        cases.add(EvalCase.recorded(export));
      }
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Adds a variant. */
  public Evaluation variant(EvalVariant variant) {
    if (variants.stream().anyMatch(known -> known.name().equals(variant.name()))) {
      throw new IllegalArgumentException(
          "There are two variants named %s, and the report counts by name: rename one"
              .formatted(variant.name()));
    }
    variants.add(variant);
    return this;
  }

  /** Adds the agents as they are. */
  public Evaluation variant(String name) {
    return variant(EvalVariant.named(name));
  }

  /** Adds the agents with another model. */
  public Evaluation variant(String name, Model model) {
    return variant(EvalVariant.named(name).model(model));
  }

  /** Adds a judge of every case; a trial passes if all of its judges say so. */
  public Evaluation judge(EvalJudge judge) {
    judges.add(judge);
    return this;
  }

  /** Adds an assertion about every case. */
  public Evaluation judge(String what, Predicate<EvalRun> holds) {
    return judge(EvalJudge.that(what, holds));
  }

  /** Answers the calls of a tool that the recording has no result of. */
  public Evaluation handler(String tool, ToolHandler<ObjectNode> handler) {
    handlers.put(tool, handler);
    return this;
  }

  /** Lets these tools of the agents really run, where the recording has no result. */
  public Evaluation performing(String... tools) {
    performed.addAll(List.of(tools));
    return this;
  }

  // --- how -------------------------------------------------------------------------------------

  /** How often each case is tried with each variant; once by default. */
  public Evaluation repeat(int times) {
    repetitions = positive("repeat", times);
    return this;
  }

  /**
   * How many conversations are held at once; one by default. The report does not depend on it, but
   * handlers, judges, models and tools that really run are then called by several threads.
   */
  public Evaluation parallel(int conversations) {
    parallel = positive("parallel", conversations);
    return this;
  }

  /** How many messages a user says at most; 20 by default. */
  public Evaluation turns(int most) {
    turns = positive("turns", most);
    return this;
  }

  /** How long the agent may take for one message; 10 minutes by default. */
  public Evaluation timeout(Duration ofMessage) {
    for (String wrong : Limits.passing("timeout is", ofMessage)) {
      throw new IllegalArgumentException(wrong);
    }
    timeout = ofMessage;
    return this;
  }

  /** Further settings of the host of each trial: its environment, its clock, its keys. */
  public Evaluation host(UnaryOperator<HostBuilder> more) {
    setup = more;
    return this;
  }

  private static int positive(String what, int given) {
    if (given < 1) {
      throw new IllegalArgumentException("%s is %s; give at least 1".formatted(what, given));
    }
    return given;
  }

  // --- trials ----------------------------------------------------------------------------------

  /**
   * Holds all conversations and judges them. The trials are reported in the order of cases,
   * variants and repetitions; one that breaks loses none of the others. Without a variant the
   * agents are tried as they are.
   *
   * @throws IllegalStateException if there is no case, a case has no judge, or a variant of a flow
   *     has no model
   */
  public EvalReport run() {
    List<EvalVariant> tried =
        variants.isEmpty() ? List.of(EvalVariant.named("as it is")) : variants;
    check(tried);
    List<Callable<EvalTrial>> trials = new ArrayList<>();
    for (EvalCase each : cases) {
      for (EvalVariant variant : tried) {
        for (int number = 1; number <= repetitions; number++) {
          int repetition = number;
          trials.add(() -> tried(each, variant, repetition));
        }
      }
    }
    return new EvalReport(ended(trials));
  }

  private List<EvalTrial> ended(List<Callable<EvalTrial>> trials) {
    ExecutorService threads = Executors.newFixedThreadPool(Math.min(parallel, trials.size()));
    try {
      List<EvalTrial> ended = new ArrayList<>();
      for (Future<EvalTrial> trial : threads.invokeAll(trials)) {
        ended.add(trial.get());
      }
      return ended;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("The evaluation was interrupted", e);
    } catch (ExecutionException e) {
      // What keeps a host from its start is wrong in the evaluation itself.
      throw e.getCause() instanceof RuntimeException wrong
          ? wrong
          : new IllegalStateException("The evaluation failed: " + e.getCause(), e.getCause());
    } finally {
      threads.shutdownNow();
    }
  }

  private void check(List<EvalVariant> tried) {
    if (cases.isEmpty()) {
      throw new IllegalStateException("The evaluation has no case; add one with cases(…)");
    }
    for (EvalCase each : cases) {
      if (judges.isEmpty() && each.judges().isEmpty()) {
        throw new IllegalStateException(
            "Nothing judges the case %s; add a judge to it, or to the evaluation"
                .formatted(each.name()));
      }
    }
    for (EvalVariant variant : tried) {
      if (flow != null && variant.model() == null) {
        throw new IllegalStateException(
            "The variant %s has no model to call %s with; add one: variant(name, model)"
                .formatted(variant.name(), flow.id()));
      }
    }
  }

  private EvalTrial tried(EvalCase given, EvalVariant variant, int number)
      throws InterruptedException {
    RecordedThread.Fork fork = given.fork();
    FlowTools tools = flow == null ? null : new FlowTools(flow);
    ToolAnswers answers =
        new ToolAnswers(handlers, performed, fork == null ? null : fork.results());
    HostBuilder builder =
        Fermata.host().store(Store.memory()).retention(Retention.ofJournals(KEPT));
    List<Agent> own = agents(tools, variant);
    for (Agent agent : variant.of(own)) {
      builder.agent(answers.of(agent));
    }
    if (flow != null) {
      builder.flow(flow);
      displays.forEach(builder::display);
    }
    try (Fermata host = setup.apply(builder).start()) {
      if (tools != null) {
        tools.open(host);
      }
      TrialHost trial = new TrialHost(host, tools, answers, timeout);
      try {
        TrialHost.Held held =
            fork == null ? trial.talk(own.get(0).name(), given.user(), turns) : trial.repeat(fork);
        return judged(given, variant, number, held, answers.divergence());
      } catch (RuntimeException | AssertionError e) {
        // The other trials are worth keeping.
        return broken(given, variant, number, e);
      }
    }
  }

  private static EvalTrial broken(
      EvalCase given, EvalVariant variant, int number, Throwable cause) {
    return new EvalTrial(
        given.name(),
        variant.name(),
        number,
        EvalTrial.Outcome.BROKEN,
        "the host failed: " + cause,
        0,
        0,
        Usage.ZERO,
        Usage.ZERO,
        "");
  }

  private List<Agent> agents(@Nullable FlowTools tools, EvalVariant variant) {
    Model model = variant.model();
    return tools == null || model == null ? agents : List.of(tools.driver(model, displays));
  }

  private EvalTrial judged(
      EvalCase given,
      EvalVariant variant,
      int number,
      TrialHost.Held held,
      @Nullable String divergence)
      throws InterruptedException {
    EvalTrial.Outcome outcome = EvalTrial.Outcome.PASSED;
    String reason = "";
    Usage judging = Usage.ZERO;
    if (divergence != null) {
      outcome = EvalTrial.Outcome.DIVERGED;
      reason = divergence;
    } else if (held.broken() != null) {
      outcome = EvalTrial.Outcome.BROKEN;
      reason = held.broken();
    } else {
      List<EvalJudge> all = new ArrayList<>(judges);
      all.addAll(given.judges());
      try {
        for (EvalJudge judge : all) {
          EvalVerdict verdict = judge.judge(held.run());
          judging = judging.plus(verdict.usage());
          if (!verdict.passed()) {
            outcome = EvalTrial.Outcome.FAILED;
            reason = verdict.reason();
            break;
          }
        }
      } catch (UnreadableVerdictException e) {
        judging = judging.plus(e.usage());
        outcome = EvalTrial.Outcome.UNJUDGED;
        reason = String.valueOf(e.getMessage());
      } catch (ModelException e) {
        outcome = EvalTrial.Outcome.UNJUDGED;
        reason = "The judge did not reply: " + e.getMessage();
      } catch (AssertionError e) {
        outcome = EvalTrial.Outcome.FAILED;
        reason = String.valueOf(e.getMessage());
      } catch (RuntimeException e) {
        outcome = EvalTrial.Outcome.UNJUDGED;
        reason = "A judge failed: " + e;
      }
    }
    return new EvalTrial(
        given.name(),
        variant.name(),
        number,
        outcome,
        reason,
        held.run().calls().size(),
        held.events().steps(),
        held.spent(),
        judging,
        held.run().transcript());
  }
}
