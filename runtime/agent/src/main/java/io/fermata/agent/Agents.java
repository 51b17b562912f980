package io.fermata.agent;

import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Reached;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The agents of a host, by name. */
public final class Agents {
  private final Map<String, Agent> byName = new LinkedHashMap<>();

  /**
   * @throws InvalidAgentException if two have the same name, one refers to a missing one, or one
   *     has a budget that is a cost and reaches a model without a price
   */
  public Agents(Collection<Agent> agents) {
    for (Agent agent : agents) {
      if (byName.put(agent.name(), agent) != null) {
        throw new InvalidAgentException(
            agent.name(), List.of("two agents have this name; rename one"));
      }
    }
    for (Agent agent : agents) {
      List<String> wrong = new ArrayList<>();
      for (String other : agent.others()) {
        if (!byName.containsKey(other)) {
          wrong.add(
              "it refers to the agent %s, which is not registered; register it, too%s"
                  .formatted(other, Nearest.suggestion(other, othersThan(agent))));
        }
      }
      requirePrices(agent, wrong);
      if (!wrong.isEmpty()) {
        throw new InvalidAgentException(agent.name(), wrong);
      }
    }
  }

  private Set<String> othersThan(Agent agent) {
    Set<String> others = new LinkedHashSet<>(byName.keySet());
    others.remove(agent.name());
    return others;
  }

  /**
   * Money cannot be counted where a model has no price: not by the agent, nor by those it calls.
   */
  private void requirePrices(Agent agent, List<String> wrong) {
    if (agent.budget().cost() == null) {
      return;
    }
    for (Agent next : reached(agent.name(), Agent::others)) {
      for (String model : next.unpriced()) {
        wrong.add(
            "its budget is a cost, but the model %s%s has no price, so that its cost would count as nothing; give it price(input, output, cachedInput), with \"0\" for a free model, or bound tokens with Budget.tokens"
                .formatted(model, next == agent ? "" : " of the agent " + next.name()));
      }
    }
  }

  /**
   * The variables of a thread's environment that are part of its instructions: those of an agent
   * and of the agents that it may hand over to. Those that are missing have none.
   */
  public Set<String> instructionEnv(String agent) {
    Set<String> names = new LinkedHashSet<>();
    for (Agent next : reached(agent, Agents::successors)) {
      names.addAll(next.instructionEnv());
    }
    return names;
  }

  private static List<String> successors(Agent agent) {
    return agent.offered(Handoff.class).stream().map(Handoff::agent).toList();
  }

  /** An agent and those that it leads to; a missing one is passed over. */
  private List<Agent> reached(String from, Function<Agent, Collection<String>> ways) {
    return Reached.from(List.of(from), name -> known(name).map(ways).orElse(List.of())).stream()
        .flatMap(name -> known(name).stream())
        .toList();
  }

  private Optional<Agent> known(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /**
   * Whose budget a thread has spent; null if some of each is left. The agent that it began with
   * bounds it after a handoff, too, beside the one that acts now.
   */
  public @Nullable Agent overspent(ThreadState state) {
    for (String name : List.of(state.begun().agent(), state.agent())) {
      Agent agent = find(name);
      if (agent != null && agent.budget().spent(state.usage())) {
        return agent;
      }
    }
    return null;
  }

  public @Nullable Agent find(String name) {
    return byName.get(name);
  }

  public Agent get(String name) {
    return Objects.requireNonNull(byName.get(name), () -> unknown(name));
  }

  /** The refusal of a name that no agent has. */
  public String unknown(String name) {
    return unknown(name, byName.keySet());
  }

  /**
   * The refusal of a name that is none of these agents.
   *
   * @param known those that the caller may know of
   */
  public static String unknown(String name, Collection<String> known) {
    return "There is no agent %s; %s".formatted(name, Nearest.next(name, known, "there are "));
  }

  /** The agent of a step; a call that people decide stays with the agent that asked for it. */
  public Agent of(ThreadState state, StepFrame frame) {
    String detached = frame.level().detached();
    Agent own = detached == null ? null : find(detached);
    return own == null ? get(state.agent()) : own;
  }

  /** The handler of scheduled work; null if the agent no longer has it. */
  public @Nullable ScheduledHandler find(ScheduledEffect effect) {
    Agent agent = find(effect.agent());
    return agent == null ? null : agent.effect(effect.effect());
  }

  public Collection<Agent> all() {
    return List.copyOf(byName.values());
  }

  /** How many of the latest messages the state of an agent's thread must keep. */
  public int window(Agent agent) {
    int window = 1;
    for (Prompt prompt : agent.prompts()) {
      window = Math.max(window, prompt.window());
    }
    Compaction compaction = agent.compaction();
    return compaction == null ? window : Math.max(window, compaction.due());
  }
}
