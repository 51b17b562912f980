package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Consumer;

/**
 * Messages between the servers of the hosts of a cluster. A message is sent once: it is lost with a
 * connection or a host, so it must be one whose loss a client can repair.
 */
public interface HostBus {
  /** That of a host that has no cluster. */
  HostBus ALONE =
      new HostBus() {
        @Override
        public void publish(JsonNode message) {}

        @Override
        public Runnable subscribe(Consumer<JsonNode> receiver) {
          return () -> {};
        }
      };

  /** Sends a message of at most 2 MiB to all other hosts that are known now. */
  void publish(JsonNode message);

  /**
   * Receives what other hosts publish.
   *
   * @param receiver is called on one thread, in the order of each sender. It must not block, and
   *     should ignore what it does not know, as other hosts may be of another release
   * @return ends the subscription
   */
  Runnable subscribe(Consumer<JsonNode> receiver);
}
