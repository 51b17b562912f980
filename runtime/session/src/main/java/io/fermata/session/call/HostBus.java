package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * What the servers of a host and of its cluster have in common: messages, and names that one of the
 * hosts has at a time. A message is sent once: it is lost with a connection or a host, so it must
 * be one whose loss a client can repair.
 */
public interface HostBus {
  /**
   * Sends a message to all who subscribed at this host, and to all other hosts, those included that
   * become known within half a minute.
   *
   * @throws IllegalArgumentException if it is larger than 3 MiB
   */
  void publish(JsonNode message);

  /**
   * Receives what is published at this host and at others.
   *
   * @param receiver is called in the order of each sender. It must not block, and should ignore
   *     what it does not know, as other hosts may be of another release
   * @return ends the subscription
   */
  Runnable subscribe(Consumer<JsonNode> receiver);

  /**
   * Takes a name for this host, or keeps it for longer.
   *
   * @return whether this host has it now; false if another has taken it and it has not expired. It
   *     fails if the store cannot be reached, with a {@link
   *     java.util.concurrent.RejectedExecutionException} if too many claims wait for it. It may
   *     complete on a thread of the store, which must not be held up
   */
  CompletionStage<Boolean> claim(String name, Duration timeToLive);

  /**
   * Lets others take a name that this host has.
   *
   * @return completes when they can; with false if the store cannot be reached, so the name stays
   *     with this host until it expires
   */
  CompletionStage<Boolean> giveUp(String name);
}
