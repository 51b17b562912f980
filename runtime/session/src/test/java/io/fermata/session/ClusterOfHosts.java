package io.fermata.session;

import static io.fermata.session.TestHost.got;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/** Several hosts in this process that share a schema of a real PostgreSQL server. */
abstract class ClusterOfHosts {
  final String database = PostgresServer.shared().newDatabase();
  final List<Fermata> hosts = new ArrayList<>();
  final Random random = new Random(17);

  final Fermata host(UnaryOperator<HostBuilder> what) {
    Fermata host = what.apply(Fermata.host().store(Store.postgres(database)).cluster()).start();
    hosts.add(host);
    return host;
  }

  final Fermata host(Flow<?> flow) {
    return host(builder -> builder.flow(flow));
  }

  /** No host is left that could take over, so they need not hand over. */
  @AfterEach
  final void end() {
    hosts.forEach(Fermata::crash);
  }

  final Fermata any() {
    return hosts.get(random.nextInt(hosts.size()));
  }

  /** A client that calls another host each time. */
  final class Client {
    private final String flow;
    private @Nullable String session;

    Client(String flow) {
      this.flow = flow;
    }

    ObjectNode arguments(String action, Object... updates) {
      ObjectNode arguments = Json.object().put("action", action);
      if (action.equals("start")) {
        arguments.put("intent", "to test");
      } else {
        arguments.put("sessionId", session);
      }
      for (int i = 0; i < updates.length; i += 2) {
        arguments.withObject("/stateUpdates").set((String) updates[i], Json.tree(updates[i + 1]));
      }
      return arguments;
    }

    CompletionStage<ToolReply> sent(Fermata by, String action, Object... updates) {
      return by.call(new ToolCall(flow, "ann", arguments(action, updates), Json.object(), null));
    }

    JsonNode call(String action, Object... updates) {
      ToolReply reply = got(sent(any(), action, updates).toCompletableFuture());
      JsonNode handle = reply.structured().path("sessionId");
      if (handle.isTextual()) {
        session = handle.textValue();
      }
      return reply.structured();
    }

    /** Calls again as long as the reply says so, as a client does. */
    JsonNode persistently(String action, Object... updates) {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (true) {
        JsonNode reply = call(action, updates);
        boolean again = Set.of("moved", "store_unavailable").contains(reply.path("code").asText());
        if (!again || System.nanoTime() - end > 0) {
          return reply;
        }
      }
    }
  }

  static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }
}
