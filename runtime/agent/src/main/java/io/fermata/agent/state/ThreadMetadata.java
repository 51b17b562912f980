package io.fermata.agent.state;

import java.util.Collections;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Data about a thread.
 *
 * @param agent the agent that acts in it now
 * @param origin the agent that it began with
 * @param principal the owner
 * @param createdAt milliseconds of the epoch
 * @param parent the thread that created it; null if it was created from outside
 * @param fork where it was forked from; null if it was not
 */
public record ThreadMetadata(
    String threadId,
    String agent,
    String origin,
    String principal,
    Set<String> tags,
    long createdAt,
    @Nullable String parent,
    @Nullable ThreadFork fork) {
  public ThreadMetadata {
    tags = Collections.unmodifiableSet(tags);
  }
}
