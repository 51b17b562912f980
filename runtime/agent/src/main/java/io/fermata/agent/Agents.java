package io.fermata.agent;

import io.fermata.agent.state.ScheduledEffect;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The agents of a host, by name. */
public final class Agents {
  private final Map<String, Agent> byName = new LinkedHashMap<>();

  /**
   * @throws InvalidAgentException if two have the same name, or one refers to a missing one
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
              "it refers to the agent "
                  + other
                  + ", which is not registered;"
                  + " register it, too");
        }
      }
      if (!wrong.isEmpty()) {
        throw new InvalidAgentException(agent.name(), wrong);
      }
    }
  }

  public @Nullable Agent find(String name) {
    return byName.get(name);
  }

  public Agent get(String name) {
    return Objects.requireNonNull(byName.get(name), () -> "There is no agent " + name);
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
    return compaction == null ? window : Math.max(window, compaction.after() + compaction.keep());
  }
}
