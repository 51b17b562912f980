package io.fermata.bench.cluster;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Describe;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Runs that sleep until a time, and how late they wake up. */
final class Naps {
  static final String FLOW = "load_nap";

  record Nap(@Describe("When to wake up, in milliseconds since 1970") Long until) {}

  private static final List<Long> LATE = new ArrayList<>();

  private Naps() {}

  static Flow<Nap> flow() {
    return Flow.of(FLOW, Nap.class)
        .description("Sleeps until a time.")
        .ask("ask", q -> q.question("until", "Until when?"))
        .sleepUntil("nap", nap -> Instant.ofEpochMilli(nap.until()))
        .act("wake", run -> woken(run.state().until()), EffectOptions::idempotent)
        .edge(START, "ask")
        .edge("ask", "nap")
        .edge("nap", "wake")
        .edge("wake", END)
        .compile();
  }

  /** The arguments of the call that begins a nap. */
  static ObjectNode arguments(long until) {
    ObjectNode arguments = Json.object().put("action", "start").put("intent", "to measure");
    arguments.putObject("stateUpdates").put("until", until);
    return arguments;
  }

  private static void woken(long until) {
    synchronized (LATE) {
      LATE.add(System.currentTimeMillis() - until);
    }
  }

  /** By how many milliseconds the naps were too long that ended since the last call. */
  static long[] late() {
    synchronized (LATE) {
      long[] late = LATE.stream().mapToLong(Long::longValue).toArray();
      LATE.clear();
      return late;
    }
  }
}
