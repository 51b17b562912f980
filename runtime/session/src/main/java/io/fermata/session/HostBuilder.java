package io.fermata.session;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.agent.Agent;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.FlowTool;
import io.fermata.session.host.Timetable;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.EntryCipher;
import io.fermata.session.observe.Telemetry;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
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
  Config config = ConfigFactory.empty();
  EncryptedFields seal = EncryptedFields.SECRETS;
  @Nullable KeyProvider keys;
  final List<byte[]> acceptedKeys = new ArrayList<>();
  @Nullable Store store;
  boolean dormant;

  HostBuilder() {}

  /**
   * Where sessions live. Without this the environment names it, see {@link Store#fromEnvironment}.
   */
  public HostBuilder store(Store where) {
    store = where;
    return this;
  }

  /**
   * Recognises the session handles of another store as well, so that clients go on with runs that
   * were imported from it.
   *
   * @param serverKey what {@link OpenStore#serverKey} of that store returns; whoever has it can
   *     make handles
   */
  public HostBuilder acceptHandlesOf(byte[] serverKey) {
    acceptedKeys.add(serverKey.clone());
    return this;
  }

  /** Offers a flow. Several versions of one flow may be registered; the newest is offered. */
  public HostBuilder flow(Flow<?> flow) {
    flows.add(flow);
    return this;
  }

  /** Offers a flow as a tool of agents. Clients of the host do not see it. */
  public HostBuilder tool(FlowTool tool) {
    flowTools.add(tool);
    return this;
  }

  /**
   * Offers a flow as a plain tool: a call gives arguments and is told the result, and nobody has to
   * know of sessions. A step that fails for good ends the run. What the flow asks is asked of the
   * client's user, where the client can do that.
   */
  public HostBuilder job(FlowTool tool) {
    jobs.add(tool.asJob());
    return this;
  }

  /** Runs threads of an agent. */
  public HostBuilder agent(Agent agent) {
    agents.add(agent);
    return this;
  }

  /** What the environment of every thread has where neither it nor its agent says otherwise. */
  public HostBuilder env(String property, String value) {
    env.put(property, value);
    return this;
  }

  /** Offers a tool that renders widgets. */
  public HostBuilder display(DisplayTool tool) {
    displays.add(tool);
    return this;
  }

  /** Starts runs of a flow when their time comes. */
  public HostBuilder schedule(Schedule schedule) {
    schedules.add(schedule);
    return this;
  }

  /**
   * Lets a recorder hear of all runs of the host, those of its tools, too. It hears what the
   * journal has, on a thread of its own; what it throws, and how slow it is, disturbs nobody. One
   * that falls behind by more than {@link Settings#recorderBacklog} journal records loses the
   * newest and is told how many. What was journaled but not yet told when the process dies is not
   * told again: a recorder that must miss nothing reads the journal.
   *
   * <p>Of a flow with {@link io.fermata.flow.schema.Secret} fields it hears without their values,
   * and without {@link Recorder#onEntry}, which has them.
   */
  public HostBuilder recorder(Recorder recorder) {
    recorders.add(recorder);
    return this;
  }

  /**
   * Lets meters count and spans time what the host does, with the servers that offer it. May be
   * called several times.
   */
  public HostBuilder telemetry(Telemetry telemetry) {
    telemetries.add(telemetry);
    return this;
  }

  /** As {@link #recorder}, for one that may hear what runs keep secret. */
  public HostBuilder recorderWithSecrets(Recorder recorder) {
    recordersWithSecrets.add(recorder);
    return this;
  }

  /**
   * The keys that encrypt what is secret. Without this the environment variables FERMATA_KEYS or
   * FERMATA_KEYS_FILE have them, as {@link DataKeys#parse} reads them.
   */
  public HostBuilder keys(KeyProvider provider) {
    keys = provider;
    return this;
  }

  /** What is encrypted; without this what flows mark as secret. */
  public HostBuilder seal(EncryptedFields what) {
    seal = what;
    return this;
  }

  public HostBuilder settings(Settings chosen) {
    settings = chosen;
    return this;
  }

  /** How long the store keeps what is over. */
  public HostBuilder retention(Retention time) {
    retention = time;
    return this;
  }

  /** How long the store keeps the runs of one flow when they are over. */
  public HostBuilder retention(String flow, Retention time) {
    retentions.put(flow, time);
    return this;
  }

  /**
   * Leaves the store as it is but for what the host is told to do: no unfinished work is taken up
   * when it starts, no timer and no schedule is kept, nothing is swept. For tools that export,
   * import or erase while no server has the store open.
   */
  public HostBuilder dormant() {
    dormant = true;
    return this;
  }

  /** Settings of the actor system that go before the host's own. */
  public HostBuilder config(Config overrides) {
    config = overrides;
    return this;
  }

  /** Where the time comes from; for tests. */
  public HostBuilder clock(InstantSource source) {
    clock = source;
    return this;
  }

  /**
   * Opens the store and starts the host.
   *
   * @throws IllegalStateException if no store is named, a flow needs a display tool that is not
   *     registered, a schedule can never start a run, or there is no key for what is secret
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public Fermata start() {
    checkNames();
    checkDisplays();
    checkRetentions();
    Timetable timetable =
        Timetable.of(schedules, flows.stream().map(Flow::id).toList(), clock.instant());
    OpenStore open = chosenStore().open();
    try {
      return new Fermata(new HostParts(this, open), timetable);
    } catch (RuntimeException e) {
      open.close();
      throw e;
    }
  }

  Encryption seals(Map<String, SecretFields> fields) {
    KeyProvider chosen = keys == null ? DataKeys.fromEnvironment().orElse(null) : keys;
    if (chosen == null && (!fields.isEmpty() || seal == EncryptedFields.EVERYTHING)) {
      throw new IllegalStateException(
          (seal == EncryptedFields.EVERYTHING
                  ? "The host is to encrypt everything"
                  : "Fields are marked as secret (" + listed(fields) + ")")
              + ", and there is no key. Set FERMATA_KEYS to id:base64 of 32 random bytes, or"
              + " FERMATA_KEYS_FILE to a file of it, or call keys(…) on the host; Keys.generate"
              + " makes a new key");
    }
    return new Encryption(
        new EntryCipher(chosen == null ? null : EntryCipher.checked(chosen)),
        seal,
        Map.copyOf(fields));
  }

  private static String listed(Map<String, SecretFields> fields) {
    return fields.entrySet().stream()
        .map(e -> e.getKey() + ": " + e.getValue())
        .collect(Collectors.joining("; "));
  }

  private Store chosenStore() {
    if (store != null) {
      return store;
    }
    return Store.fromEnvironment()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "No store is named. Call store(Store.sqlite(path)) on the host, or set"
                        + " FERMATA_STORE to sqlite:<file>, postgres://… or redis://…; for tests"
                        + " only, Store.memory() or FERMATA_STORE=memory"));
  }

  private void checkNames() {
    if (flows.isEmpty() && flowTools.isEmpty() && jobs.isEmpty() && agents.isEmpty()) {
      throw new IllegalStateException(
          "The host has no flow and no agent; call flow(…) or agent(…) at least once");
    }
    TreeSet<String> names = new TreeSet<>();
    flows.forEach(flow -> names.add(flow.id()));
    flowTools.forEach(tool -> requireNew(names, tool.name()));
    jobs.forEach(job -> requireNew(names, job.name()));
    displays.forEach(display -> requireNew(names, display.name()));
    agents.forEach(agent -> requireNew(names, agent.name()));
  }

  private static void requireNew(Set<String> names, String name) {
    if (!names.add(name)) {
      throw new IllegalStateException(
          "Two tools are named " + name + "; nobody could tell them apart; rename one");
    }
  }

  private List<Flow<?>> all() {
    List<Flow<?>> all = new ArrayList<>(flows);
    flowTools.forEach(tool -> all.add(tool.flow()));
    jobs.forEach(job -> all.add(job.flow()));
    return all;
  }

  private void checkRetentions() {
    TreeSet<String> unknown = new TreeSet<>(retentions.keySet());
    all().forEach(flow -> unknown.remove(flow.id()));
    if (!unknown.isEmpty()) {
      throw new IllegalStateException(
          "There is a retention for "
              + String.join(", ", unknown)
              + ", and no such flow; name a flow of the host");
    }
  }

  private void checkDisplays() {
    List<String> registered = displays.stream().map(DisplayTool::name).toList();
    for (Flow<?> flow : all()) {
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
