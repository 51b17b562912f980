package io.fermata.session;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.replay.ThreadSecrets;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.ServerKey;
import io.fermata.session.actor.Gateway;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolContract;
import io.fermata.session.cluster.CheckedCalls;
import io.fermata.session.host.Timetable;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.EntryCipher;
import io.fermata.session.observe.ScheduleObserver;
import io.fermata.session.observe.StepInterceptor;
import io.fermata.session.observe.Telemetry;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Configures a host and starts it; see {@link Fermata#host}.
 *
 * <pre>{@code
 * Fermata.host().store(Store.sqlite(Path.of("fermata.db"))).flow(quote).start()
 * }</pre>
 */
public final class HostBuilder {
  final List<Flow<?>> flows = new ArrayList<>();
  final List<DisplayTool> displays = new ArrayList<>();
  final List<FlowTool> flowTools = new ArrayList<>();
  final List<FlowTool> jobs = new ArrayList<>();
  final List<Schedule> schedules = new ArrayList<>();
  final List<Recorder> recorders = new ArrayList<>();
  final List<Recorder> recordersWithSecrets = new ArrayList<>();
  final List<Agent> agents = new ArrayList<>();
  final List<Telemetry> telemetries = new ArrayList<>();
  final Map<String, String> env = new LinkedHashMap<>();
  final Map<String, Retention> retentions = new LinkedHashMap<>();
  Settings settings = Settings.DEFAULT;
  Retention retention = Retention.DEFAULT;
  InstantSource clock = InstantSource.system();
  StepInterceptor steps = StepInterceptor.NONE;
  ScheduleObserver scheduleObserver = ScheduleObserver.NONE;
  Gateway.Carrier carrier = Gateway.Carrier.DIRECT;
  LongSupplier nanos = System::nanoTime;
  UnaryOperator<ExecutorService> handlers = threads -> threads;
  Config config = ConfigFactory.empty();
  EncryptedFields encrypted = EncryptedFields.SECRETS;
  @Nullable KeyProvider keys;
  @Nullable KeyProvider spareKeys;
  final List<byte[]> acceptedKeys = new ArrayList<>();
  @Nullable Store store;
  boolean dormant;
  @Nullable ClusterSettings cluster;
  boolean explains;

  HostBuilder() {}

  /**
   * The store of sessions. The default comes from the environment, see {@link
   * Store#fromEnvironment}.
   */
  public HostBuilder store(Store where) {
    store = Objects.requireNonNull(where, "where");
    return this;
  }

  /**
   * Accepts the session handles of another store as well, so that clients can continue runs that
   * were imported from it.
   *
   * <p>Only handles are recognised. A key or a call id that named a thread or a session of the
   * other store, and a session of a transport, begin another one here: continue with the thread's
   * id or the session's handle.
   *
   * @param serverKey the {@link OpenStore#serverKey} of that store; keep it secret, as it can sign
   *     handles
   * @throws IllegalArgumentException if it is no such key
   */
  public HostBuilder acceptHandlesOf(byte[] serverKey) {
    if (serverKey.length != ServerKey.BYTES) {
      throw new IllegalArgumentException(
          "A serverKey of %s bytes is no store's, whose keys have %s; pass OpenStore.serverKey() of the other store"
              .formatted(serverKey.length, ServerKey.BYTES));
    }
    acceptedKeys.add(serverKey.clone());
    return this;
  }

  /** Offers a flow. Several versions of one flow may be registered; the newest is offered. */
  public HostBuilder flow(Flow<?> flow) {
    flows.add(Objects.requireNonNull(flow, "flow"));
    return this;
  }

  /**
   * Offers a flow as a tool, for {@link Fermata#use}. Those of agents need no call: the host has
   * them with the agents. Earlier versions of a tool's flow may be registered, too; the newest is
   * called. Clients of the host do not see them.
   */
  public HostBuilder tool(FlowTool tool) {
    flowTools.add(Objects.requireNonNull(tool, "tool"));
    return this;
  }

  /**
   * Offers a flow as a plain tool without sessions: arguments in, result out. A permanent failure
   * of a step ends the run. Questions of the flow are put to the client's user, if the client
   * supports it.
   */
  public HostBuilder job(FlowTool tool) {
    jobs.add(Objects.requireNonNull(tool, "tool").asJob());
    return this;
  }

  /** Runs threads of an agent. */
  public HostBuilder agent(Agent agent) {
    agents.add(Objects.requireNonNull(agent, "agent"));
    return this;
  }

  /** A default property of the environment of every thread. */
  public HostBuilder env(String property, String value) {
    env.put(Objects.requireNonNull(property, "property"), Objects.requireNonNull(value, "value"));
    return this;
  }

  /** Offers a tool that renders widgets. */
  public HostBuilder display(DisplayTool tool) {
    displays.add(Objects.requireNonNull(tool, "tool"));
    return this;
  }

  /** Starts runs of a flow on a schedule. */
  public HostBuilder schedule(Schedule schedule) {
    schedules.add(Objects.requireNonNull(schedule, "schedule"));
    return this;
  }

  /**
   * Adds a recorder of all runs of the host, including those of its tools. It receives journaled
   * events on its own thread; exceptions and slowness affect nothing else. If it lags by more than
   * {@link Settings#recorderBacklog} journal entries, the newest are dropped and it is notified how
   * many. Events that are journaled but not delivered when the process crashes are not delivered
   * again: a recorder that must not miss any reads the journal.
   *
   * <p>From a flow with {@link io.fermata.flow.schema.Secret} fields it receives no secret values,
   * and no {@link Recorder#onEntry}, which contains them.
   */
  public HostBuilder recorder(Recorder recorder) {
    recorders.add(Objects.requireNonNull(recorder, "recorder"));
    return this;
  }

  /** Adds telemetry of the host and its servers. May be called several times. */
  public HostBuilder telemetry(Telemetry telemetry) {
    telemetries.add(Objects.requireNonNull(telemetry, "telemetry"));
    return this;
  }

  /** As {@link #recorder}, including secrets. */
  public HostBuilder recorderWithSecrets(Recorder recorder) {
    recordersWithSecrets.add(Objects.requireNonNull(recorder, "recorder"));
    return this;
  }

  /**
   * The encryption keys. The default comes from the environment variables FERMATA_KEYS or
   * FERMATA_KEYS_FILE, in the format of {@link DataKeys#parse}.
   */
  public HostBuilder keys(KeyProvider provider) {
    keys = Objects.requireNonNull(provider, "provider");
    return this;
  }

  /** The scope of encryption; by default {@link EncryptedFields#SECRETS}. */
  public HostBuilder encrypt(EncryptedFields what) {
    encrypted = Objects.requireNonNull(what, "what");
    return this;
  }

  public HostBuilder settings(Settings chosen) {
    settings = Objects.requireNonNull(chosen, "chosen");
    return this;
  }

  /** Changes the bounds and times that are set so far, such as {@code s -> s.awake(1_000)}. */
  public HostBuilder settings(UnaryOperator<Settings> change) {
    return settings(Objects.requireNonNull(change, "change").apply(settings));
  }

  /** How long the store keeps ended runs. */
  public HostBuilder retention(Retention time) {
    retention = Objects.requireNonNull(time, "time");
    return this;
  }

  /** How long the store keeps ended runs of one flow. */
  public HostBuilder retention(String flow, Retention time) {
    retentions.put(Objects.requireNonNull(flow, "flow"), Objects.requireNonNull(time, "time"));
    return this;
  }

  /**
   * Offers the tool {@code explain_run}, with which a model asks about the latest run of its own
   * conversation: what happened, what was asked, which rule chose, why a field has its value.
   * Secrets are masked.
   */
  public HostBuilder explainRuns() {
    explains = true;
    return this;
  }

  /**
   * Disables background work: no unfinished work is resumed, no timers or schedules run, nothing is
   * swept. For tools that export, import or erase while no server has the store open.
   */
  public HostBuilder dormant() {
    dormant = true;
    return this;
  }

  /** As {@link #cluster(ClusterSettings)}, with all hosts on this machine. */
  public HostBuilder cluster() {
    return cluster(ClusterSettings.LOCAL);
  }

  /**
   * Shares the store with other hosts, which form a cluster: each runs a part of the sessions, and
   * any of them takes any call. They find each other in the store, which must be PostgreSQL. {@link
   * #start} returns when the host has joined.
   */
  public HostBuilder cluster(ClusterSettings how) {
    cluster = Objects.requireNonNull(how, "how");
    return this;
  }

  /** Settings of the actor system, which override the host's own and those given before. */
  public HostBuilder config(Config overrides) {
    config = Objects.requireNonNull(overrides, "overrides").withFallback(config);
    return this;
  }

  /**
   * What deadlines of calls and idling are measured by, in nanoseconds; it must never go back. For
   * tests.
   */
  public HostBuilder monotonicClock(LongSupplier source) {
    nanos = Objects.requireNonNull(source, "source");
    return this;
  }

  /**
   * Stands in front of the threads that run handlers, so that a test knows whether any is at work.
   */
  public HostBuilder handlers(UnaryOperator<ExecutorService> inFront) {
    handlers = Objects.requireNonNull(inFront, "inFront");
    return this;
  }

  /** Stands between runs and the code of their steps; for tests. */
  public HostBuilder steps(StepInterceptor interceptor) {
    steps = Objects.requireNonNull(interceptor, "interceptor");
    return this;
  }

  /** Keys for what must be encrypted, if no others are named anywhere; for tests. */
  public HostBuilder spareKeys(KeyProvider provider) {
    spareKeys = Objects.requireNonNull(provider, "provider");
    return this;
  }

  /** Sees what the schedules wait for; for tests. */
  public HostBuilder occurrences(ScheduleObserver observer) {
    scheduleObserver = Objects.requireNonNull(observer, "observer");
    return this;
  }

  /**
   * Writes and reads every call of a session, its replies and its progress as hosts of a cluster
   * do, although they stay here; for tests.
   *
   * @param failed receives what does not arrive as it was sent
   */
  public HostBuilder checkCalls(Consumer<String> failed) {
    carrier = new CheckedCalls(Objects.requireNonNull(failed, "failed"));
    return this;
  }

  /** The clock of moments, such as the end of a sleep; for tests. */
  public HostBuilder clock(InstantSource source) {
    clock = Objects.requireNonNull(source, "source");
    return this;
  }

  /**
   * Opens the store and starts the host.
   *
   * @throws IllegalStateException if no store is named, a flow needs a display tool that is not
   *     registered, a schedule never occurs or has updates that do not fit its flow, or there is no
   *     key for secrets
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public Fermata start() {
    Timetable timetable = checked();
    if (cluster != null && dormant) {
      throw new IllegalStateException(
          "A dormant host works on a store alone; call either dormant() or cluster()");
    }
    OpenStore open = cluster == null ? chosenStore().open() : chosenStore().openShared();
    try {
      return new Fermata(new HostParts(this, open), timetable);
    } catch (RuntimeException | Error e) {
      open.close();
      throw e;
    }
  }

  /**
   * Checks what needs neither a store nor keys, and finds the schedules.
   *
   * @throws IllegalStateException if the host could not start
   */
  Timetable checked() {
    checkNames();
    checkDisplays();
    checkRetentions();
    Map<String, Flow<?>> newest =
        flows.stream()
            .collect(
                Collectors.toMap(
                    Flow::id,
                    flow -> flow,
                    BinaryOperator.maxBy(Comparator.comparingInt(Flow::version))));
    return Timetable.of(schedules, newest, settings.limits(), clock.instant(), scheduleObserver);
  }

  Encryption encryption(Map<String, SecretFields> fields) {
    boolean needed = !fields.isEmpty() || encrypted == EncryptedFields.EVERYTHING;
    KeyProvider named = keys == null ? DataKeys.fromEnvironment().orElse(null) : keys;
    KeyProvider chosen = named == null && needed ? spareKeys : named;
    if (chosen == null && needed) {
      throw new IllegalStateException(
          (encrypted == EncryptedFields.EVERYTHING
                  ? "The host should encrypt everything"
                  : "Fields are marked as secret (" + listed(fields) + ")")
              + ", but there is no key. Set FERMATA_KEYS to id:base64 of 32 random bytes,"
              + " or FERMATA_KEYS_FILE to a file with it, or call keys(…) on the"
              + " host; DataKeys.generate creates a key");
    }
    ThreadSecrets marked = ThreadSecrets.of(agents);
    return new Encryption(
        new EntryCipher(chosen == null ? null : EntryCipher.checked(chosen)),
        encrypted,
        Map.copyOf(fields),
        marked,
        marked.marked() || asksForSecrets(fields.keySet()));
  }

  private boolean asksForSecrets(Set<String> flows) {
    return FlowCatalog.tools(List.of(), agents).stream()
        .anyMatch(tool -> flows.contains(tool.flow().id()));
  }

  private static String listed(Map<String, SecretFields> fields) {
    return fields.entrySet().stream()
        .map(e -> e.getKey() + ": " + e.getValue())
        .collect(Collectors.joining("; "));
  }

  Store chosenStore() {
    if (store != null) {
      return store;
    }
    return Store.fromEnvironment()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "No store is named. Call store(Store.sqlite(path)) on the host, or set"
                        + " FERMATA_STORE to sqlite:<file>, postgres://… or redis://…, or, with"
                        + " fermata-keyvalue, WANIWANI_API_KEY; for tests only, Store.memory() or"
                        + " FERMATA_STORE=memory"));
  }

  private void checkNames() {
    if (flows.isEmpty() && flowTools.isEmpty() && jobs.isEmpty() && agents.isEmpty()) {
      throw new IllegalStateException(
          "The host has no flow and no agent; call flow(…) or agent(…) at least once");
    }
    TreeSet<String> names = new TreeSet<>();
    flows.forEach(flow -> names.add(flow.id()));
    tools().stream().map(FlowTool::name).distinct().forEach(name -> requireNew(names, name));
    jobs.forEach(job -> requireNew(names, job.name()));
    displays.forEach(display -> requireNew(names, display.name()));
    agents.forEach(agent -> requireNew(names, agent.name()));
  }

  private static void requireNew(Set<String> names, String name) {
    if (!names.add(name)) {
      throw new IllegalStateException("Two tools are named " + name + "; rename one");
    }
  }

  /** The flows that are called as tools, by a program or by agents. */
  List<FlowTool> tools() {
    return FlowCatalog.tools(flowTools, agents);
  }

  /** The store that was named; empty if none was. */
  public Optional<Store> store() {
    return Optional.ofNullable(store);
  }

  /** The agents that were added. */
  public List<Agent> agents() {
    return List.copyOf(agents);
  }

  /** The flows that do not come with an agent. */
  List<Flow<?>> flowsWithoutAgents() {
    Set<String> ofAgents =
        FlowCatalog.tools(List.of(), agents).stream()
            .map(tool -> tool.flow().toString())
            .collect(Collectors.toSet());
    return flows().stream().filter(flow -> !ofAgents.contains(flow.toString())).toList();
  }

  /** The flows that were added, each version, with those of tools, jobs and agents. */
  public List<Flow<?>> flows() {
    List<Flow<?>> all = new ArrayList<>(flows);
    tools().forEach(tool -> all.add(tool.flow()));
    jobs.forEach(job -> all.add(job.flow()));
    return all;
  }

  /**
   * The names of the tools that clients of the host will have: its flows, jobs, agents and display
   * tools, and {@code explain_run} if it {@linkplain #explainRuns explains runs}.
   *
   * @throws IllegalStateException if two different tools of agents are one version of a flow
   */
  public Set<String> toolNames() {
    FlowCatalog catalog = new FlowCatalog(flows, tools(), jobs, settings.limits());
    Set<String> names = new TreeSet<>(catalog.jobs().keySet());
    catalog.offered().forEach(flow -> names.add(flow.id()));
    agents.stream().filter(agent -> !agent.isInternal()).map(Agent::name).forEach(names::add);
    displays.forEach(display -> names.add(display.name()));
    if (explains) {
      names.add(ToolContract.EXPLAIN_RUN);
    }
    return names;
  }

  private void checkRetentions() {
    TreeSet<String> unknown = new TreeSet<>(retentions.keySet());
    flows().forEach(flow -> unknown.remove(flow.id()));
    if (!unknown.isEmpty()) {
      throw new IllegalStateException(
          "A retention is set for "
              + String.join(", ", unknown)
              + ", which is not a flow of the host; name a registered flow");
    }
  }

  private void checkDisplays() {
    List<String> registered = displays.stream().map(DisplayTool::name).toList();
    for (Flow<?> flow : flows()) {
      TreeSet<String> missing = new TreeSet<>(flow.displayTools());
      registered.forEach(missing::remove);
      if (!missing.isEmpty()) {
        throw new IllegalStateException(
            "Flow "
                + flow.id()
                + " shows widgets with "
                + String.join(", ", missing)
                + ", which is not registered; call display(…) for it");
      }
    }
  }
}
