package io.fermata.bench.crash;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.bench.load.HttpTarget;
import io.fermata.session.call.ToolReply;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * One client's connections. Each call goes to a host at random; one that takes long is given up,
 * but its reply is still compared with that of the next attempt when it arrives. A host that is
 * silent is left out for a while, as a load balancer does.
 */
final class AnyHost implements Bookkeeper.Server {
  private static final int PATIENCE_SECONDS = 5;

  /** Of how many calls one is sent twice. */
  private static final int REPEATS = 8;

  /** What a server replies that ends: repeating a call that has an id is safe. */
  private static final Set<String> ENDS = Set.of("shutting_down", "cut_off");

  private final List<ClusterHost> hosts;
  private final Random random;
  private final Replies replies;
  private final ExecutorService threads;
  private final Map<ClusterHost, Connection> connections = new HashMap<>();

  /**
   * @param since when the server that it leads to was started
   */
  private record Connection(HttpTarget to, long since) {}

  AnyHost(List<ClusterHost> hosts, Random random, Replies replies, ExecutorService threads) {
    this.hosts = hosts;
    this.random = random;
    this.replies = replies;
    this.threads = threads;
  }

  @Override
  public ToolReply call(ObjectNode arguments, ObjectNode meta) throws IOException {
    ToolReply reply = at(any(), arguments, meta);
    if (meta.has("fermata/callId") && random.nextInt(REPEATS) == 0) {
      try {
        at(any(), arguments, meta);
      } catch (IOException e) {
        // The first reply counts.
      }
    }
    return reply;
  }

  private ClusterHost any() {
    List<ClusterHost> trusted = hosts.stream().filter(host -> !host.isAvoided()).toList();
    List<ClusterHost> some = trusted.isEmpty() ? hosts : trusted;
    return some.get(random.nextInt(some.size()));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // a late reply is remembered, and nobody waits
  private ToolReply at(ClusterHost host, ObjectNode arguments, ObjectNode meta) throws IOException {
    Connection connection = connection(host);
    CompletableFuture<ToolReply> reply =
        CompletableFuture.supplyAsync(() -> sent(connection.to(), arguments, meta), threads);
    try {
      ToolReply received = reply.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      connections.put(host, connection);
      return received;
    } catch (TimeoutException e) {
      reply.whenComplete((late, thrown) -> close(connection.to()));
      host.avoidIfSilent();
      throw new IOException("The reply takes long", e);
    } catch (ExecutionException e) {
      close(connection.to());
      host.avoid();
      if (e.getCause() instanceof IOException
          || (e.getCause() instanceof HttpTarget.Refused refused
              && ENDS.contains(refused.code()))) {
        throw new IOException(e.getCause());
      }
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** One to a server that has ended meanwhile says nothing about the server that is there now. */
  private Connection connection(ClusterHost host) throws IOException {
    @Nullable Connection known = connections.remove(host);
    if (known != null && known.since() == host.since()) {
      return known;
    } else if (known != null) {
      close(known.to());
    }
    return new Connection(new HttpTarget(host.port()), host.since());
  }

  private ToolReply sent(HttpTarget connection, ObjectNode arguments, ObjectNode meta) {
    try {
      ToolReply reply = connection.call("ledger", arguments.deepCopy(), meta.deepCopy());
      replies.received(arguments, meta, reply);
      return reply;
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  private static void close(HttpTarget connection) {
    try {
      connection.close();
    } catch (IOException e) {
      // It is not used any more.
    }
  }
}
