package io.fermata.agent;

import io.fermata.agent.message.Side;
import io.fermata.flow.ToolHints;
import io.fermata.flow.event.Policy;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Options;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Two sides that take turns, with tools and hooks.
 *
 * <pre>{@code
 * Agent desk = Agent.aiHuman("desk", support);
 * Agent debate = Agent.dualAi("debate", pro, contra).maxSessionTurns(5);
 * }</pre>
 */
public final class Agent {
  /** How often models may be called in one execution. */
  private static final int STEPS = 250;

  private final Terms terms;
  private final Map<String, Prompt> promptsByName;

  /**
   * A hook that a sub-agent adds to every agent that calls it.
   *
   * @param before whether it comes before the parent's own hooks, or after them
   */
  public record ParentHook(Hook hook, boolean before) {}

  private Agent(Terms terms) {
    this.terms = terms;
    promptsByName = check();
  }

  /** An agent with these sides. At most one of them can be a person. */
  public static Agent of(String name, Participant sideA, Participant sideB) {
    return new Agent(new Terms(Tool.named(name, "agent"), sideA, sideB));
  }

  /** A model that talks with a person. */
  public static Agent aiHuman(String name, Prompt prompt) {
    return of(name, Participant.prompt(prompt), Participant.person());
  }

  /**
   * Two models that talk with each other; bound it with {@link #maxSessionTurns} or a stop tool.
   */
  public static Agent dualAi(String name, Prompt sideA, Prompt sideB) {
    return of(name, Participant.prompt(sideA), Participant.prompt(sideB));
  }

  public Agent description(String value) {
    return with(terms -> terms.description = value);
  }

  /** What clients may assume of the agent as a tool; by default only that it changes something. */
  public Agent hints(ToolHints ofTool) {
    return with(terms -> terms.hints = ofTool);
  }

  public ToolHints hints() {
    return terms.hints;
  }

  /**
   * Hides the agent from the clients' list of tools: it works for other agents only. Threads of it
   * can still be created.
   */
  public Agent internal() {
    return with(terms -> terms.internal = true);
  }

  /** Hooks for those prompts of the agent that list none of their own. */
  public Agent hooks(Hook... more) {
    return with(terms -> terms.hooks = Options.plus(terms.hooks, Given.listed(more)));
  }

  /** Adds a hook to every agent that calls this one, before its own hooks. */
  public Agent hookOfParentsBefore(Hook hook) {
    return ofParents(new ParentHook(hook, true));
  }

  /** Adds a hook to every agent that calls this one, after its own hooks. */
  public Agent hookOfParentsAfter(Hook hook) {
    return ofParents(new ParentHook(hook, false));
  }

  private Agent ofParents(ParentHook hook) {
    return with(terms -> terms.parentHooks = Options.plus(terms.parentHooks, List.of(hook)));
  }

  /** Work that its tools and hooks may schedule. */
  public Agent effects(ScheduledHandler... more) {
    return with(terms -> terms.effects = Options.plus(terms.effects, Given.listed(more)));
  }

  /** A default for the environment of its threads; threads may override it. */
  public Agent env(String property, String value) {
    return with(terms -> terms.env = Options.plus(terms.env, property, value));
  }

  /** Ends a session when each side has had this many turns; 0 for no limit. */
  public Agent maxSessionTurns(int turns) {
    return with(terms -> terms.maxSessionTurns = turns);
  }

  /**
   * How often models may be called in one execution, by both sides and their sub-prompts; 250 by
   * default.
   */
  public Agent maxSteps(int steps) {
    return with(terms -> terms.maxSteps = steps);
  }

  /** What the models of one thread, and of those that it puts to work, may use. */
  public Agent budget(Budget limit) {
    return with(terms -> terms.budget = limit);
  }

  /** Summarizes the older part of long conversations. */
  public Agent compaction(Compaction how) {
    Objects.requireNonNull(how, "how");
    return with(terms -> terms.compaction = how);
  }

  /**
   * Deletes its threads for good when nobody has said anything in them for so long. One that works,
   * that has work scheduled, or whose flows or sub-agents work or wait, stays; the threads that it
   * created go with it. Without this, threads are kept until they are deleted.
   */
  public Agent expireAfter(Duration idle) {
    Objects.requireNonNull(idle, "idle");
    return with(terms -> terms.expiry = idle);
  }

  /**
   * A copy whose prompts are changed: those that speak for its sides, and the sub-prompts among
   * their tools. Each is changed once, wherever it is used.
   */
  public Agent withPrompts(UnaryOperator<Prompt> change) {
    IdentityHashMap<Prompt, Prompt> changed = new IdentityHashMap<>();
    return with(
        terms -> {
          terms.sideA = changed(terms.sideA, change, changed);
          terms.sideB = changed(terms.sideB, change, changed);
        });
  }

  private static Participant changed(
      Participant side, UnaryOperator<Prompt> change, IdentityHashMap<Prompt, Prompt> changed) {
    return side instanceof Participant.Speaker speaker
        ? speaker.speaking(changed(speaker.prompt(), change, changed))
        : side;
  }

  private static Prompt changed(
      Prompt prompt, UnaryOperator<Prompt> change, IdentityHashMap<Prompt, Prompt> changed) {
    Prompt known = changed.get(prompt);
    if (known == null) {
      known =
          change.apply(
              prompt.withTools(
                  tool ->
                      tool instanceof SubPrompt sub
                          ? sub.asking(changed(sub.prompt(), change, changed))
                          : tool));
      changed.put(prompt, known);
    }
    return known;
  }

  /** A copy with other hooks. */
  public Agent withHooks(UnaryOperator<List<Hook>> change) {
    return with(terms -> terms.hooks = List.copyOf(change.apply(terms.hooks)));
  }

  /** A copy whose deferred work is changed. */
  public Agent withEffects(UnaryOperator<ScheduledHandler> change) {
    Objects.requireNonNull(change, "change");
    return with(terms -> terms.effects = List.copyOf(terms.effects.stream().map(change).toList()));
  }

  public String name() {
    return terms.name;
  }

  public String description() {
    return terms.description;
  }

  public boolean isInternal() {
    return terms.internal;
  }

  public Participant side(Side side) {
    return side == Side.A ? terms.sideA : terms.sideB;
  }

  public List<Hook> hooks() {
    return terms.hooks;
  }

  public List<ParentHook> parentHooks() {
    return terms.parentHooks;
  }

  public List<ScheduledHandler> effects() {
    return terms.effects;
  }

  public @Nullable ScheduledHandler effect(String effect) {
    return terms.effects.stream().filter(e -> e.name().equals(effect)).findFirst().orElse(null);
  }

  public Map<String, String> env() {
    return terms.env;
  }

  public int maxSessionTurns() {
    return terms.maxSessionTurns;
  }

  public int maxSteps() {
    return terms.maxSteps;
  }

  public Budget budget() {
    return terms.budget;
  }

  public @Nullable Compaction compaction() {
    return terms.compaction;
  }

  /** How long its threads may be idle; null for any time. */
  public @Nullable Duration expiry() {
    return terms.expiry;
  }

  /** The prompt of this name; null if there is none. */
  public @Nullable Prompt prompt(String prompt) {
    return promptsByName.get(prompt);
  }

  /** Every prompt that may speak in the agent's threads, including sub-prompts. */
  Collection<Prompt> prompts() {
    return promptsByName.values();
  }

  /** The variables of the environment that its instructions contain. */
  Set<String> instructionEnv() {
    Set<String> names = new LinkedHashSet<>();
    Set<Prompt> seen = new LinkedHashSet<>();
    prompts().forEach(prompt -> instructionEnv(prompt, names, seen));
    return names;
  }

  private static void instructionEnv(Prompt prompt, Set<String> names, Set<Prompt> seen) {
    if (!seen.add(prompt)) {
      return;
    }
    for (Prompt.Part part : prompt.parts()) {
      if (part instanceof Prompt.Env env) {
        names.add(env.property());
      } else if (part instanceof Prompt.Include include) {
        instructionEnv(include.prompt(), names, seen);
      }
    }
  }

  /** The models without a price that may speak or sum up in the agent's threads, by name. */
  Set<String> unpriced() {
    Set<String> names = new LinkedHashSet<>();
    prompts().forEach(prompt -> names.addAll(prompt.model().unpriced()));
    if (terms.compaction != null) {
      names.addAll(terms.compaction.model().unpriced());
    }
    return names;
  }

  private Set<Prompt> collectPrompts() {
    Set<Prompt> all = new LinkedHashSet<>();
    for (Side side : Side.values()) {
      if (side(side) instanceof Participant.Speaker speaker) {
        collect(speaker.prompt(), all);
      }
    }
    return all;
  }

  private static void collect(Prompt prompt, Set<Prompt> all) {
    if (all.add(prompt)) {
      prompt.tools().stream()
          .filter(SubPrompt.class::isInstance)
          .forEach(tool -> collect(((SubPrompt) tool).prompt(), all));
    }
  }

  /** The agents that its prompts may hand over to or call. */
  public Set<String> others() {
    Set<String> names = new LinkedHashSet<>();
    offered(Handoff.class).forEach(handoff -> names.add(handoff.agent()));
    offered(SubAgent.class).forEach(child -> names.add(child.agent()));
    return names;
  }

  public <T extends Offered> List<T> offered(Class<T> type) {
    return prompts().stream()
        .flatMap(prompt -> prompt.tools().stream())
        .filter(type::isInstance)
        .map(type::cast)
        .toList();
  }

  /** Rejects what cannot work; the prompts by name. */
  private Map<String, Prompt> check() {
    List<String> wrong = new ArrayList<>(Given.nulls("", terms));
    if (!wrong.isEmpty()) {
      throw new InvalidAgentException(terms.name, wrong);
    }
    if (terms.sideA instanceof Participant.Person && terms.sideB instanceof Participant.Person) {
      wrong.add("both sides are people; nobody would act");
    }
    Duration expiry = terms.expiry;
    if (expiry != null) {
      wrong.addAll(Limits.passing("its threads expire after", expiry));
    }
    checkNumber("maxSteps", terms.maxSteps, 1, wrong);
    checkNumber("maxSessionTurns", terms.maxSessionTurns, 0, wrong);
    Set<String> effects = new LinkedHashSet<>();
    for (ScheduledHandler effect : terms.effects) {
      if (!effects.add(effect.name())) {
        wrong.add("two effects are named " + effect.name() + "; rename one");
      }
      checkPolicy("the effect " + effect.name(), effect.policy(), wrong);
    }
    Map<String, Prompt> prompts = new LinkedHashMap<>();
    for (Prompt prompt : collectPrompts()) {
      Prompt other = prompts.put(prompt.name(), prompt);
      if (other != null) {
        wrong.add("two prompts are named " + prompt.name() + "; rename one");
      }
      checkTools(prompt, wrong);
    }
    for (Side side : Side.values()) {
      if (side(side) instanceof Participant.Speaker speaker) {
        checkNumber("maxSteps of the side " + speaker.label(), speaker.maxSteps(), 0, wrong);
        checkEndings(speaker, wrong);
      }
    }
    if (!wrong.isEmpty()) {
      throw new InvalidAgentException(terms.name, wrong);
    }
    return Collections.unmodifiableMap(prompts);
  }

  private static void checkTools(Prompt prompt, List<String> wrong) {
    for (Hook hook : prompt.hooks()) {
      if (hook instanceof Hook.AfterThreadCreated) {
        wrong.add(
            "the prompt %s lists the hook %s, but no prompt speaks when a thread is created; list it with the agent"
                .formatted(prompt.name(), hook.id()));
      }
    }
    Set<String> names = new LinkedHashSet<>();
    for (Offered tool : prompt.tools()) {
      if (!names.add(tool.name())) {
        wrong.add("the prompt %s offers two tools named %s".formatted(prompt.name(), tool.name()));
      }
      if (tool.description().isBlank()) {
        wrong.add(
            "the tool %s of the prompt %s has no description; a model needs one"
                .formatted(tool.name(), prompt.name()));
      }
      if (tool instanceof Tool work) {
        checkPolicy("the tool " + tool.name(), work.policy(), wrong);
      } else if (tool instanceof SubAgent child) {
        checkNumber("atMost of the sub-agent " + child.name(), child.maxInstances(), 0, wrong);
      }
    }
  }

  private static void checkPolicy(String what, Policy policy, List<String> wrong) {
    wrong.addAll(Limits.passing(what + " has the timeout", policy.timeout()));
    wrong.addAll(Limits.bounded(what + " is tried again after", policy.retry().longest()));
  }

  private static void checkNumber(String what, int number, int least, List<String> wrong) {
    if (number < least) {
      wrong.add("%s is %s; give at least %s".formatted(what, number, least));
    }
  }

  private static void checkEndings(Participant.Speaker speaker, List<String> wrong) {
    List<String> names = new ArrayList<>();
    if (speaker.stopTool() != null) {
      names.add(speaker.stopTool());
    }
    for (Participant.Ending ending :
        new Participant.@Nullable Ending[] {
          speaker.sessionStop(), speaker.sessionFail(), speaker.sessionStatus()
        }) {
      if (ending != null) {
        names.add(ending.tool());
      }
    }
    for (String tool : names) {
      if (speaker.prompt().tools().stream().noneMatch(offered -> offered.name().equals(tool))) {
        wrong.add(
            "the side %s ends with the tool %s, which its prompt %s does not offer"
                .formatted(speaker.label(), tool, speaker.prompt().name()));
      }
    }
  }

  private Agent with(Consumer<Terms> change) {
    return new Agent(terms.with(Terms.class, change));
  }

  private static final class Terms extends Options {
    final String name;
    Participant sideA;
    Participant sideB;
    String description = "";
    List<Hook> hooks = List.of();
    List<ParentHook> parentHooks = List.of();
    List<ScheduledHandler> effects = List.of();
    Map<String, String> env = Map.of();
    int maxSessionTurns;
    int maxSteps = STEPS;
    Budget budget = Budget.NONE;
    @Nullable Compaction compaction;
    @Nullable Duration expiry;
    boolean internal;
    ToolHints hints = ToolHints.CHANGES;

    Terms(String name, Participant sideA, Participant sideB) {
      this.name = name;
      this.sideA = sideA;
      this.sideB = sideB;
    }
  }
}
