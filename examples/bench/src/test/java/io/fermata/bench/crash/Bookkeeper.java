package io.fermata.bench.crash;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.bench.load.HttpTarget;
import io.fermata.flow.json.Json;
import io.fermata.session.call.ToolReply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One client: it books amounts, remembers what was acknowledged, and continues after a crash as a
 * careful client would. Half of the clients give their calls ids and repeat them; the others check
 * the run first.
 */
final class Bookkeeper {
  /** What a client is to answer by calling again. */
  private static final Set<String> TRANSIENT =
      Set.of("store_unavailable", "still_working", "overloaded", "busy");

  private static final Duration PAUSE = Duration.ofMillis(50);

  private final boolean sendsCallIds;
  private final Path effects;
  private final List<Integer> acknowledged = new ArrayList<>();
  private final AtomicInteger answers = new AtomicInteger();
  private final Map<String, Long> acknowledgedAt = new HashMap<>();
  private @Nullable String sessionId;
  private String runId = "";
  private int next = 1;

  Bookkeeper(boolean sendsCallIds, Path effects) {
    this.sendsCallIds = sendsCallIds;
    this.effects = effects;
  }

  /** Books until the connection breaks. */
  void work(int port) {
    try (HttpTarget server = new HttpTarget(port)) {
      boolean sure = false;
      while (true) {
        sure = sessionId == null ? begin(server) : sure ? book(server) : catchUp(server);
      }
    } catch (IOException e) {
      // The server was killed, as intended.
    }
  }

  private boolean begin(HttpTarget server) throws IOException {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to be killed");
    ToolReply reply = server.call("ledger", start, Json.object());
    if (mayTryAgain(reply.structured())) {
      return false;
    }
    if (reply.error()) {
      throw new IllegalStateException("The start returned " + reply.structured());
    }
    sessionId = reply.structured().path("sessionId").textValue();
    runId = reply.meta().at("/fermata~1run/runId").asText();
    return true;
  }

  /** Whether the amount was acknowledged. */
  private boolean book(HttpTarget server) throws IOException {
    JsonNode reply = send(server, Json.object().put("amount", next)).structured();
    if (mayTryAgain(reply)) {
      return false;
    }
    if (!reply.path("status").asText().equals("interrupt")) {
      throw new IllegalStateException("Booking " + next + " returned " + reply);
    }
    acknowledgeNext();
    return true;
  }

  private ToolReply send(HttpTarget server, ObjectNode updates) throws IOException {
    ObjectNode arguments = Json.object().put("action", "continue").put("sessionId", sessionId);
    arguments.set("stateUpdates", updates);
    ObjectNode meta = Json.object();
    if (sendsCallIds) {
      meta.put("fermata/callId", "amount-" + next);
    }
    return server.call("ledger", arguments, meta);
  }

  /** Whether the store was away, or its work takes long for that reason. */
  private static boolean mayTryAgain(JsonNode reply) {
    if (!TRANSIENT.contains(reply.path("code").asText())) {
      return false;
    }
    LockSupport.parkNanos(PAUSE.toNanos());
    return true;
  }

  private void acknowledgeNext() throws IOException {
    acknowledged.add(next);
    acknowledgedAt.put(key(next), Files.size(effects));
    next++;
    answers.incrementAndGet();
  }

  /** Looks at the run; false if it cannot be seen now. */
  private boolean catchUp(HttpTarget server) throws IOException {
    JsonNode state = state(server);
    if (state == null) {
      return false;
    }
    List<Integer> booked = integers(state.path("booked"));
    check(booked);
    if (!sendsCallIds && booked.size() == next) {
      acknowledgeNext();
    }
    return true;
  }

  /** The state of the run, once it is idle. */
  private @Nullable JsonNode state(HttpTarget server) throws IOException {
    ObjectNode again = Json.object().put("action", "continue").put("sessionId", sessionId);
    JsonNode rest = server.call("ledger", again, Json.object()).structured();
    if (mayTryAgain(rest)) {
      return null;
    }
    if (!rest.path("status").asText().equals("interrupt")) {
      throw new IllegalStateException("A run did not continue after a crash: " + rest);
    }
    ObjectNode status = Json.object().put("action", "status").put("sessionId", sessionId);
    JsonNode seen = server.call("ledger", status, Json.object()).structured();
    return mayTryAgain(seen) ? null : seen.at("/run/state");
  }

  private static List<Integer> integers(JsonNode array) {
    List<Integer> integers = new ArrayList<>();
    array.forEach(one -> integers.add(one.intValue()));
    return integers;
  }

  /**
   * Checks that every acknowledged amount is booked once and in order, and besides them at most the
   * one in flight.
   */
  private void check(List<Integer> booked) {
    boolean prefix =
        booked.size() >= acknowledged.size()
            && booked.subList(0, acknowledged.size()).equals(acknowledged);
    boolean noMore =
        booked.size() <= acknowledged.size() + 1
            && (booked.size() == acknowledged.size() || booked.get(booked.size() - 1) == next);
    if (!prefix || !noMore) {
      throw new IllegalStateException(
          "Acknowledged were " + acknowledged + ", but the run has " + booked);
    }
  }

  boolean began() {
    return sessionId != null;
  }

  /** How many answers were acknowledged so far; may be called on any thread. */
  int acknowledged() {
    return answers.get();
  }

  Map<String, Long> acknowledgedAt() {
    return acknowledgedAt;
  }

  /** The attempts of its bookings whose results are in the journal, by their keys. */
  Map<String, Integer> checkAtRest(int port) throws IOException {
    try (HttpTarget server = new HttpTarget(port)) {
      JsonNode state = Objects.requireNonNull(state(server), "the store is away");
      List<Integer> booked = integers(state.path("booked"));
      check(booked);
      Map<String, Integer> journaled = new HashMap<>();
      for (int i = 0; i < booked.size(); i++) {
        journaled.put(key(booked.get(i)), state.path("attempts").path(i).intValue());
      }
      return journaled;
    }
  }

  private String key(int amount) {
    return runId + "/book#" + amount;
  }
}
