package io.fermata.agent.state;

import org.jspecify.annotations.Nullable;

/**
 * How a thread was created, which agent acts in it now, and whether it still exists.
 *
 * @param created the event that created it; null before that
 * @param agent the name of the agent that acts now
 * @param greeted whether the hooks for a new thread have run
 * @param fork where it was forked from; null if it was not
 */
public record Lifecycle(
    ThreadEvent.@Nullable Created created,
    String agent,
    boolean greeted,
    boolean deleted,
    @Nullable ThreadFork fork) {

  static final Lifecycle NONE = new Lifecycle(null, "", false, false, null);

  static Lifecycle of(ThreadEvent.Created created) {
    return new Lifecycle(created, created.agent(), false, false, null);
  }

  Lifecycle asGreeted() {
    return new Lifecycle(created, agent, true, deleted, fork);
  }

  Lifecycle handedOver(String newAgent) {
    return new Lifecycle(created, newAgent, greeted, deleted, fork);
  }

  /** A fork was created when it was forked, and by no other thread. */
  Lifecycle forked(ThreadEvent.ForkedFrom event) {
    ThreadEvent.Created source = created;
    if (source == null) {
      throw new IllegalStateException("A fork begins with the entries of its source");
    }
    ThreadEvent.Created own =
        new ThreadEvent.Created(
            source.threadId(),
            event.agent() == null ? source.agent() : event.agent(),
            source.principal(),
            source.tags(),
            source.env(),
            null,
            event.window(),
            event.at());
    String acting = event.agent() == null ? agent : event.agent();
    return new Lifecycle(own, acting, greeted, deleted, event.fork());
  }

  Lifecycle asDeleted() {
    return new Lifecycle(created, agent, false, true, fork);
  }
}
