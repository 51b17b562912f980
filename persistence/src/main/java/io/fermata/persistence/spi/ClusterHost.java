package io.fermata.persistence.spi;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * A host that shares a store.
 *
 * @param id names the host while its process lives; a restarted host has another
 * @param address where other hosts reach it, as host:port
 * @param description what it runs, as JSON, for other hosts and for operators
 */
public record ClusterHost(String id, String address, String description) {

  /**
   * Refuses an address at which this process cannot listen for other hosts.
   *
   * @throws IOException if another program listens there, or it is no address of this machine
   */
  public static void requireFree(String host, int port) throws IOException {
    try (Socket socket = new Socket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(host, port));
    }
  }
}
