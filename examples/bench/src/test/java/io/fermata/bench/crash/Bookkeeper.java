package io.fermata.bench.crash;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
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
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One client: it books amounts in runs, remembers what was acknowledged, and continues after a
 * crash as a careful client would.
 */
final class Bookkeeper {
  /** What a client is to answer by calling again. */
  private static final Set<String> TRANSIENT =
      Set.of("store_unavailable", "still_working", "overloaded", "busy", "moved", "shutting_down");

  private static final Duration PAUSE = Duration.ofMillis(50);

  /** Where a client sends its calls. */
  interface Server {
    /**
     * Calls the ledger.
     *
     * @throws IOException if the connection broke before the reply
     */
    ToolReply call(ObjectNode arguments, ObjectNode meta) throws IOException;
  }

  /** How a client continues when it does not know whether its call was received. */
  enum Habit {
    /** It gives its calls no ids, and looks at the run. */
    LOOKS,
    /** It looks at the run, and then repeats its call with the same id. */
    LOOKS_AND_REPEATS,
    /** It repeats its call with the same id. */
    REPEATS
  }

  /**
   * An acknowledged answer.
   *
   * @param asked when its client first sent the call
   * @param sent when it sent the call that was answered
   */
  record Answer(long asked, long sent, long answered) {}

  private final String name;
  private final Habit habit;
  private final Path effects;
  private final int longestRun;
  private final List<Integer> acknowledged = new ArrayList<>();
  private final AtomicInteger count = new AtomicInteger();
  private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();
  private final Map<String, Long> acknowledgedAt = new HashMap<>();

  /** The attempts whose results the runs had when they were ended. */
  private final Map<String, Integer> journaled = new HashMap<>();

  private @Nullable String sessionId;

  /** Where the server names sessions, the id of a start is that of one run among all clients'. */
  private String startId = UUID.randomUUID().toString();

  private String runId = "";
  private int runs;
  private int next = 1;
  private boolean sure;

  /** Its run is at rest and checked, and is to be cancelled. */
  private boolean ending;

  private long asked;

  /**
   * @param name the beginning of the names of its sessions; if it is empty, the server names them
   * @param longestRun how many amounts it books in a run
   */
  Bookkeeper(String name, Habit habit, int longestRun, Path effects) {
    this.name = name;
    this.habit = habit;
    this.longestRun = longestRun;
    this.effects = effects;
  }

  /** Books until the connection breaks, or it is over. */
  void work(Server server, BooleanSupplier over) throws IOException {
    sure = habit == Habit.REPEATS && began();
    while (!over.getAsBoolean()) {
      if (!began()) {
        sure = begin(server);
      } else if (ending) {
        end(server);
      } else if (!sure) {
        sure = catchUp(server);
      } else if (next > longestRun) {
        ending = checkAtRest(server);
      } else {
        sure = book(server) || habit == Habit.REPEATS;
      }
    }
  }

  private boolean begin(Server server) throws IOException {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to be killed");
    ToolReply reply = server.call(start, meta(startId));
    if (mayTryAgain(reply.structured())) {
      return false;
    }
    if (reply.error()) {
      throw new IllegalStateException("The start returned " + reply.structured());
    }
    sessionId = name.isEmpty() ? reply.structured().path("sessionId").textValue() : session();
    runId = reply.meta().at("/fermata~1run/runId").asText();
    return true;
  }

  private String session() {
    return name + "-" + runs;
  }

  private ObjectNode meta(String callId) {
    ObjectNode meta = Json.object();
    if (!name.isEmpty()) {
      meta.put("fermata/sessionId", session());
    }
    if (habit != Habit.LOOKS && !callId.isEmpty()) {
      meta.put("fermata/callId", callId);
    }
    return meta;
  }

  private ObjectNode arguments(String action) {
    ObjectNode arguments = Json.object().put("action", action);
    if (name.isEmpty()) {
      arguments.put("sessionId", sessionId);
    }
    return arguments;
  }

  /** Whether the amount was acknowledged. */
  private boolean book(Server server) throws IOException {
    ObjectNode booking = arguments("continue");
    booking.putObject("stateUpdates").put("amount", next);
    long sent = System.nanoTime();
    if (asked == 0) {
      asked = sent;
    }
    JsonNode reply = decided(server, server.call(booking, meta("amount-" + next)).structured());
    if (mayTryAgain(reply)) {
      return false;
    }
    if (!isAtRest(reply)) {
      throw new IllegalStateException("Booking " + next + " returned " + reply);
    }
    acknowledgeNext(sent);
    return true;
  }

  private static boolean isAtRest(JsonNode reply) {
    return reply.path("status").asText().equals("interrupt");
  }

  /** It is not known whether the amount was sealed; the run continues without. */
  private JsonNode decided(Server server, JsonNode reply) throws IOException {
    if (!reply.path("code").asText().equals("outcome_unknown")) {
      return reply;
    }
    ObjectNode skip = meta("amount-" + next + "-unsealed").put("fermata/resolve", "skip");
    return server.call(arguments("continue"), skip).structured();
  }

  /** Whether the store was away, or its work takes long for that reason. */
  private static boolean mayTryAgain(JsonNode reply) {
    if (!TRANSIENT.contains(reply.path("code").asText())) {
      return false;
    }
    LockSupport.parkNanos(PAUSE.toNanos());
    return true;
  }

  private void acknowledgeNext(long sent) throws IOException {
    acknowledged.add(next);
    acknowledgedAt.put(key(next), Files.size(effects));
    next++;
    count.incrementAndGet();
    answers.add(new Answer(asked, sent, System.nanoTime()));
    asked = 0;
  }

  /** Looks at the run; false if it cannot be seen now. */
  private boolean catchUp(Server server) throws IOException {
    long sent = System.nanoTime();
    JsonNode state = state(server);
    if (state == null) {
      return false;
    }
    List<Integer> booked = integers(state.path("booked"));
    check(booked);
    if (habit == Habit.LOOKS && booked.size() == next) {
      acknowledgeNext(sent);
    }
    return true;
  }

  /** The state of the run, once it is idle. */
  private @Nullable JsonNode state(Server server) throws IOException {
    JsonNode rest = decided(server, server.call(arguments("continue"), meta("")).structured());
    if (mayTryAgain(rest)) {
      return null;
    }
    if (!isAtRest(rest)) {
      throw new IllegalStateException("A run did not continue after a crash: " + rest);
    }
    JsonNode seen = server.call(arguments("status"), meta("")).structured();
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
          "In the run "
              + runId
              + " acknowledged were "
              + acknowledged
              + ", but the run has "
              + booked);
    }
  }

  private void end(Server server) throws IOException {
    JsonNode reply = server.call(arguments("cancel"), meta("cancel")).structured();
    if (mayTryAgain(reply)) {
      return;
    }
    boolean ended =
        reply.path("status").asText().equals("complete")
            || reply.path("code").asText().equals("run_cancelled");
    if (!ended) {
      throw new IllegalStateException("Cancelling a run returned " + reply);
    }
    sessionId = null;
    startId = UUID.randomUUID().toString();
    ending = false;
    acknowledged.clear();
    next = 1;
    runs++;
  }

  boolean began() {
    return sessionId != null;
  }

  /** How many answers were acknowledged so far; may be called on any thread. */
  int acknowledged() {
    return count.get();
  }

  /** The answers that were not taken yet; may be called on any thread. */
  Queue<Answer> answers() {
    return answers;
  }

  Map<String, Long> acknowledgedAt() {
    return acknowledgedAt;
  }

  /** The attempts of its bookings whose results are in the journal, by their keys. */
  Map<String, Integer> journaled() {
    return journaled;
  }

  /** Compares the run with what was acknowledged; false if it cannot be seen now. */
  boolean checkAtRest(Server server) throws IOException {
    JsonNode state = state(server);
    if (state == null) {
      return false;
    }
    List<Integer> booked = integers(state.path("booked"));
    check(booked);
    for (int i = 0; i < booked.size(); i++) {
      journaled.put(key(booked.get(i)), state.path("attempts").path(i).intValue());
    }
    return true;
  }

  private String key(int amount) {
    return runId + "/book#" + amount;
  }
}
