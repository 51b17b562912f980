package io.fermata.agent.state;

import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Fingerprint;
import io.fermata.agent.message.Message;
import io.fermata.flow.json.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a thread was created, which agent acts in it now, and whether it still exists.
 *
 * @param created the event that created it; null before that
 * @param agent the name of the agent that acts now
 * @param greeted whether the hooks for a new thread have run
 * @param fork where it was forked from; null if it was not
 * @param results what it takes from its source instead of performing it; null for nothing
 * @param opening a digest of its initial messages; empty without any
 */
public record Lifecycle(
    ThreadEvent.@Nullable Created created,
    String agent,
    boolean greeted,
    boolean deleted,
    @Nullable ThreadFork fork,
    @Nullable SourceResults results,
    String opening) {

  static final Lifecycle NONE = new Lifecycle(null, "", false, false, null, null, "");

  static Lifecycle of(ThreadEvent.Created created) {
    return new Lifecycle(created, created.agent(), false, false, null, null, "");
  }

  /** With one more initial message. */
  Lifecycle opened(Message message) {
    String more = opened(opening, message);
    return new Lifecycle(created, agent, greeted, deleted, fork, results, more);
  }

  private static String opened(String before, Message message) {
    return Fingerprint.of(Json.tree(List.of(before, message.digest(List.of()))));
  }

  /** Whether it was created in the same way. */
  public boolean repeats(ThreadInput.Create create) {
    String messages = "";
    for (Message message : create.messages()) {
      messages = opened(messages, message);
    }
    return created != null
        && created.tags().equals(Bounds.tags(create.tags()))
        && created.env().equals(create.env())
        && opening.equals(messages);
  }

  Lifecycle asGreeted() {
    return new Lifecycle(created, agent, true, deleted, fork, results, opening);
  }

  Lifecycle handedOver(String newAgent) {
    return new Lifecycle(created, newAgent, greeted, deleted, fork, results, opening);
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
    return new Lifecycle(own, acting, greeted, deleted, event.fork(), event.results(), opening);
  }

  /** With the results of its source as long as they still apply. */
  Lifecycle after(ThreadEvent event) {
    return results != null && results.endWith(event) ? withoutResults() : this;
  }

  /** Without the results, which may be large. */
  Lifecycle outline() {
    return withoutResults();
  }

  private Lifecycle withoutResults() {
    return results == null
        ? this
        : new Lifecycle(created, agent, greeted, deleted, fork, null, opening);
  }

  Lifecycle asDeleted() {
    return new Lifecycle(created, agent, false, true, fork, null, opening);
  }
}
