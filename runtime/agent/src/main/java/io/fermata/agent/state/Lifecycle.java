package io.fermata.agent.state;

import org.jspecify.annotations.Nullable;

/**
 * How a thread was created, which agent acts in it now, and whether it still exists.
 *
 * @param created the event that created it; null before that
 * @param agent the name of the agent that acts now
 * @param greeted whether the hooks for a new thread have run
 */
public record Lifecycle(
    ThreadEvent.@Nullable Created created, String agent, boolean greeted, boolean deleted) {

  static final Lifecycle NONE = new Lifecycle(null, "", false, false);

  static Lifecycle of(ThreadEvent.Created created) {
    return new Lifecycle(created, created.agent(), false, false);
  }

  Lifecycle asGreeted() {
    return new Lifecycle(created, agent, true, deleted);
  }

  Lifecycle handedOver(String newAgent) {
    return new Lifecycle(created, newAgent, greeted, deleted);
  }

  Lifecycle asDeleted() {
    return new Lifecycle(created, agent, false, true);
  }
}
