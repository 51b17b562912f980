package io.fermata.session.telemetry;

import io.fermata.agent.model.Usage;
import io.fermata.flow.event.ErrorCode;
import io.fermata.persistence.spi.StorePool;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Meter.MeterProvider;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Counts and times what a host does in a Micrometer registry.
 *
 * <p>The README of {@code runtime/session} lists the meters and their tags, under "Telemetry".
 *
 * <p>Tags are registered names or come from a short list, so the number of meters does not grow
 * with sessions or callers. With several hosts in a process, give each its own registry, or one
 * that adds a tag.
 */
public final class Meters implements Telemetry {
  private static final String NO_CODE = "none";

  /** The range of the buckets of histograms. */
  private static final Duration SHORTEST = Duration.ofMillis(1);

  private static final Duration LONGEST = Duration.ofMinutes(1);

  /** What only hosts of a cluster do. */
  private enum Clustered {
    ACQUIRED("fermata.cluster.shards.acquire", "Time to take a shard in the store"),
    HANDED_OVER(
        "fermata.cluster.shards.handover",
        "Time to hand a shard over, until its sessions have stopped"),
    FORWARDED(
        "fermata.cluster.calls",
        "Calls of sessions on other hosts, until those replied, or confirmed that they arrived");

    private final String name;
    private final String description;

    Clustered(String name, String description) {
      this.name = name;
      this.description = description;
    }
  }

  private final MeterRegistry registry;
  private final MeterProvider<Timer> calls;
  private final MeterProvider<Timer> effects;
  private final MeterProvider<Counter> runs;
  private final MeterProvider<Counter> unreadable;
  private final MeterProvider<Counter> starts;
  private final MeterProvider<Timer> requests;
  private final MeterProvider<Counter> refusals;
  private final MeterProvider<Counter> tokens;
  private final MeterProvider<Counter> cost;
  private final Map<Gauged, List<Meter>> gauges = new ConcurrentHashMap<>();
  private final Timer append;
  private final DistributionSummary records;
  private final Timer wake;

  private Meters(MeterRegistry registry) {
    this.registry = registry;
    this.calls = timers("fermata.calls", "Calls of tools, threads and runs, until their reply");
    this.effects = timers("fermata.effects", "Attempts of effects of flows and agents");
    this.runs = counters("fermata.runs", "Changes of runs");
    this.unreadable =
        counters(
            "fermata.sessions.unreadable", "Sessions that were called or due and are unreadable");
    this.starts =
        counters(
            "fermata.schedules.starts", "Occurrences of schedules, and attempts that are repeated");
    this.requests = timers("fermata.mcp.requests", "Requests of MCP clients, until their response");
    this.refusals =
        counters("fermata.mcp.refusals", "Requests refused and connections closed by a server");
    this.tokens = counters("fermata.model.tokens", "Tokens that models read and wrote");
    this.cost =
        counters("fermata.model.cost", "US dollars that models cost, by their configured prices");
    this.append =
        timer("fermata.journal.append")
            .description("Time to append to a journal")
            .register(registry);
    this.records =
        DistributionSummary.builder("fermata.journal.entries")
            .description("Journal entries appended in one write")
            .register(registry);
    this.wake =
        timer("fermata.sessions.wake")
            .description("Time to wake a session, including the reading of its journal")
            .register(registry);
  }

  /** Its histogram lets a registry such as Prometheus compute percentiles over several hosts. */
  private static Timer.Builder timer(String name) {
    return Timer.builder(name)
        .publishPercentileHistogram()
        .minimumExpectedValue(SHORTEST)
        .maximumExpectedValue(LONGEST);
  }

  private MeterProvider<Timer> timers(String name, String what) {
    return timer(name).description(what).withRegistry(registry);
  }

  private MeterProvider<Counter> counters(String name, String what) {
    return Counter.builder(name).description(what).withRegistry(registry);
  }

  /** Meters in a registry. */
  public static Meters of(MeterRegistry registry) {
    return new Meters(registry);
  }

  @Override
  public Activity called(Call call) {
    long begun = System.nanoTime();
    return new Activity() {
      @Override
      public void end(End end) {
        calls
            .withTags(
                "tool", call.tool(),
                "kind", lower(call.kind()),
                "status", end.status(),
                "code", end.code() == null ? NO_CODE : end.code())
            .record(System.nanoTime() - begun, TimeUnit.NANOSECONDS);
      }
    };
  }

  @Override
  public Activity performing(Effect effect) {
    long begun = System.nanoTime();
    return new Activity() {
      @Override
      public void end(End end) {
        effects
            .withTags("flow", effect.name(), "node", effect.step(), "status", end.status())
            .record(System.nanoTime() - begun, TimeUnit.NANOSECONDS);
      }
    };
  }

  @Override
  public void changed(String flow, RunChange change, @Nullable ErrorCode code) {
    String why = code == null ? NO_CODE : code.wireName();
    runs.withTags("flow", flow, "change", lower(change), "code", why).increment();
  }

  @Override
  public void appended(int count, long nanos) {
    append.record(nanos, TimeUnit.NANOSECONDS);
    records.record(count);
  }

  @Override
  public void woke(long nanos) {
    wake.record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void unreadable(String code) {
    unreadable.withTag("code", code).increment();
  }

  @Override
  public void requested(String method, String outcome, long nanos) {
    requests.withTags("method", method, "outcome", outcome).record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void refused(Refusal reason) {
    refusals(reason).increment();
  }

  private Counter refusals(Refusal reason) {
    return refusals.withTag("reason", lower(reason));
  }

  @Override
  public void opened(Gauged of) {
    gauges.put(
        of,
        of instanceof Gauges host
            ? gauges(host)
            : of instanceof ClusterGauges cluster ? gauges(cluster) : gauges((ServerGauges) of));
  }

  private List<Meter> gauges(Gauges of) {
    List<Meter> all = new ArrayList<>();
    of.pools().forEach(pool -> all.addAll(gauges(pool)));
    all.addAll(
        List.of(
            gauge("fermata.sessions.awake", "Sessions in memory", of, Gauges::awake),
            gauge(
                "fermata.sessions.waking",
                "Sessions that are reading their journals",
                of,
                Gauges::waking),
            gauge("fermata.calls.waiting", "Calls in flight", of, Gauges::callsInFlight),
            gauge("fermata.timers.due", "Sessions whose timers are due soon", of, Gauges::due),
            gauge("fermata.schedules", "Schedules that start runs", of, Gauges::schedules),
            lag("timers", of, Gauges::timerLag),
            lag("unfinished", of, Gauges::resumeLag)));
    return all;
  }

  private Meter lag(String work, Gauges of, Function<Gauges, Duration> lag) {
    return seconds("fermata.upkeep.lag", of, lag)
        .description("How long sessions that this host is to wake have waited for it")
        .tag("work", work)
        .register(registry);
  }

  private static <T> TimeGauge.Builder<T> seconds(String name, T of, Function<T, Duration> time) {
    return TimeGauge.builder(name, of, TimeUnit.MILLISECONDS, each -> time.apply(each).toMillis());
  }

  private List<Gauge> gauges(StorePool pool) {
    return List.of(
        connections(pool, "used", StorePool::used),
        connections(pool, "idle", StorePool::idle),
        Gauge.builder("fermata.store.waiting", pool, StorePool::waiting)
            .description("Requests that wait for a connection of the store")
            .tag("pool", pool.name())
            .strongReference(true)
            .register(registry));
  }

  private Gauge connections(StorePool pool, String state, ToDoubleFunction<StorePool> count) {
    return Gauge.builder("fermata.store.connections", pool, count)
        .description("Open connections of the store")
        .tag("pool", pool.name())
        .tag("state", state)
        .strongReference(true)
        .register(registry);
  }

  private List<Meter> gauges(ClusterGauges of) {
    List.of(Clustered.values()).forEach(this::timer);
    return List.of(
        members("up", of, ClusterGauges::up),
        members("unreachable", of, ClusterGauges::unreachable),
        gauge("fermata.cluster.shards", "Shards that this host holds", of, ClusterGauges::shards),
        seconds("fermata.cluster.heartbeat", of, ClusterGauges::heartbeat)
            .description("Time since the store renewed this host's heartbeat and its lease")
            .register(registry),
        FunctionCounter.builder("fermata.cluster.resends", of, ClusterGauges::resends)
            .description("Calls sent again, as the host of their session did not confirm them")
            .register(registry),
        FunctionCounter.builder("fermata.cluster.refusals", of, ClusterGauges::refusals)
            .description("Writes that the store refused, as another host holds their shard")
            .register(registry));
  }

  private Gauge members(String status, ClusterGauges of, ToDoubleFunction<ClusterGauges> count) {
    return Gauge.builder("fermata.cluster.members", of, count)
        .description("Hosts of the cluster, as this one sees them")
        .tag("status", status)
        .register(registry);
  }

  @Override
  public void scheduled(String schedule, Start outcome) {
    starts.withTags("schedule", schedule, "outcome", lower(outcome)).increment();
  }

  @Override
  public void shardAcquired(long nanos) {
    timer(Clustered.ACQUIRED).record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void shardHandedOver(long nanos) {
    timer(Clustered.HANDED_OVER).record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void forwarded(long nanos) {
    timer(Clustered.FORWARDED).record(nanos, TimeUnit.NANOSECONDS);
  }

  private Timer timer(Clustered what) {
    return timer(what.name).description(what.description).register(registry);
  }

  private List<Meter> gauges(ServerGauges of) {
    // An alert needs a counter before its first event.
    List.of(Refusal.values()).forEach(this::refusals);
    return List.of(
        gauge("fermata.mcp.connections", "Open connections", of, ServerGauges::connections),
        gauge(
            "fermata.mcp.streams",
            "Open event streams of threads, and of changes",
            of,
            ServerGauges::streams));
  }

  @Override
  public void modelReplied(String agent, String model, Usage usage) {
    add(agent, model, "input", usage.inputTokens() - usage.cachedTokens());
    add(agent, model, "cached", usage.cachedTokens());
    add(agent, model, "output", usage.outputTokens());
    cost.withTags("agent", agent, "model", model).increment(usage.cost().doubleValue());
  }

  private void add(String agent, String model, String kind, long count) {
    tokens.withTags("agent", agent, "model", model, "kind", kind).increment((double) count);
  }

  private <T> Gauge gauge(String name, String what, T of, ToDoubleFunction<T> value) {
    return Gauge.builder(name, of, value).description(what).register(registry);
  }

  @Override
  public void closed(Gauged of) {
    List<Meter> over = gauges.remove(of);
    if (over != null) {
      over.stream().map(Meter::getId).forEach(registry::remove);
    }
  }

  private static String lower(Enum<?> name) {
    return name.name().toLowerCase(Locale.ROOT);
  }
}
