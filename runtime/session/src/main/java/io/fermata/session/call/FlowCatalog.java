package io.fermata.session.call;

import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.TaskUse;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.engine.FlowVersions;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The flows of a host, in all their registered versions. */
public final class FlowCatalog {
  private final Map<String, FlowVersions> registered = new LinkedHashMap<>();
  private final Map<String, SecretFields> secretFields = new LinkedHashMap<>();

  /** Those that runs start on or migrate to; in a rollout the newest are not among them yet. */
  private volatile Map<String, FlowVersions> versions;

  private final Map<String, FlowTool> tools = new LinkedHashMap<>();
  private final Map<String, FlowTool> jobs = new LinkedHashMap<>();

  /** The tools and jobs, by the version of their flow. */
  private final Map<String, FlowTool> toolsByVersion = new HashMap<>();

  /**
   * @param flowTools the tools of agents and programs
   * @param clientJobs the tools of clients
   */
  public FlowCatalog(
      List<Flow<?>> flows, List<FlowTool> flowTools, List<FlowTool> clientJobs, Limits limits) {
    flowTools.forEach(tool -> tools.merge(tool.name(), tool, FlowCatalog::newer));
    clientJobs.forEach(job -> jobs.put(job.name(), job));
    Stream.concat(flowTools.stream(), clientJobs.stream())
        .forEach(tool -> toolsByVersion.put(tool.flow().toString(), tool));
    List<Flow<?>> all = new ArrayList<>(flows);
    flowTools.forEach(tool -> all.add(tool.flow()));
    clientJobs.forEach(job -> all.add(job.flow()));
    for (Flow<?> flow : all) {
      FlowProgram<?> program = FlowProgram.of(flow, limits);
      registered.compute(
          flow.id(),
          (id, others) -> others == null ? FlowVersions.of(program) : others.and(program));
    }
    registered.forEach((id, each) -> secretFields.put(id, marked(each)));
    versions = registered;
  }

  private static SecretFields marked(FlowVersions versions) {
    return versions.all().stream()
        .map(program -> program.flow().secretFields())
        .reduce(SecretFields.NONE, SecretFields::and);
  }

  /** The flows of a release, of which those of its agents are. */
  public FlowCatalog(List<Flow<?>> flows, Collection<Agent> agents, Limits limits) {
    this(flows, tools(List.of(), agents), List.of(), limits);
  }

  /**
   * The flows that are called as tools, each version once.
   *
   * @param given those that a program calls
   * @throws IllegalStateException if two of them differ in what they do
   */
  public static List<FlowTool> tools(List<FlowTool> given, Collection<Agent> agents) {
    Map<String, FlowTool> tools = new LinkedHashMap<>();
    Stream.concat(
            given.stream(),
            agents.stream().flatMap(agent -> agent.offered(FlowTool.class).stream()))
        .forEach(tool -> tools.merge(tool.flow().toString(), tool, FlowCatalog::same));
    return List.copyOf(tools.values());
  }

  private static FlowTool same(FlowTool one, FlowTool other) {
    if (!one.sameWork(other)) {
      throw new IllegalStateException(
          "Two different tools are %s; make the tool once, and give it to each of its agents"
              .formatted(one.flow()));
    }
    return one;
  }

  private static FlowTool newer(FlowTool one, FlowTool other) {
    return one.flow().version() < other.flow().version() ? other : one;
  }

  /** From now on runs start on these versions of flows at most, and migrate to no later ones. */
  public void confine(Map<String, Integer> newest) {
    Map<String, FlowVersions> confined = new LinkedHashMap<>(registered);
    newest.forEach(
        (flow, version) -> confined.computeIfPresent(flow, (id, all) -> all.upTo(version)));
    versions = confined;
  }

  /** The newest version of a flow if hosts have not agreed on it yet; null if runs start on it. */
  public @Nullable String newerThanAgreed(String flow) {
    Flow<?> newest = all(flow).newest().flow();
    return newest.equals(newest(flow).flow()) ? null : newest.toString();
  }

  public boolean has(String flow) {
    return registered.containsKey(flow);
  }

  public Set<String> ids() {
    return Collections.unmodifiableSet(registered.keySet());
  }

  /** All versions of all flows. */
  public List<FlowProgram<?>> programs() {
    return registered.values().stream().flatMap(each -> each.all().stream()).toList();
  }

  /** The flows of {@link #programs()}. */
  public List<Flow<?>> flows() {
    List<Flow<?>> flows = new ArrayList<>();
    programs().forEach(program -> flows.add(program.flow()));
    return flows;
  }

  /** The fields that flows mark as secret in any version; flows without secrets are absent. */
  public Map<String, SecretFields> secretFields() {
    Map<String, SecretFields> fields = new LinkedHashMap<>(secretFields);
    fields.values().removeIf(SecretFields::isEmpty);
    return fields;
  }

  /** The fields that a flow marks as secret in any version. */
  public SecretFields secretFields(String flow) {
    return known(flow, secretFields.get(flow));
  }

  /** Whether a flow is called as a tool, and not directly by clients. */
  public boolean isTool(String flow) {
    return tools.containsKey(flow) || jobs.containsKey(flow);
  }

  /** The tool of this version of a flow; null if clients call the flow directly. */
  public @Nullable FlowTool tool(Flow<?> flow) {
    return toolsByVersion.get(flow.toString());
  }

  /** The tools that agents call, each with the newest version of its flow. */
  public Map<String, FlowTool> tools() {
    return tools;
  }

  /** The tools that clients call without a session: every call is a run. */
  public Map<String, FlowTool> jobs() {
    return jobs;
  }

  /** Whether clients may call a flow, directly or as a job. */
  public boolean offers(String flow) {
    return has(flow) && !tools.containsKey(flow) && !isInternal(flow);
  }

  /** The reply mode for a caller that accepts tasks. */
  public ReplyMode replyMode(String tool) {
    if (!offers(tool)) {
      return ReplyMode.WAITS;
    }
    return newest(tool).flow().tasks() == TaskUse.WHEN_LATE
        ? ReplyMode.TAKES_A_TASK
        : ReplyMode.LEAVES;
  }

  /** The newest version of each flow that clients may call, in the order they were registered. */
  public List<Flow<?>> offered() {
    List<Flow<?>> newest = new ArrayList<>();
    registered.forEach(
        (id, each) -> {
          if (!isTool(id) && !isInternal(id)) {
            newest.add(each.newest().flow());
          }
        });
    return newest;
  }

  private boolean isInternal(String flow) {
    return all(flow).newest().flow().isInternal();
  }

  public FlowProgram<?> newest(String flow) {
    return versions(flow).newest();
  }

  /** The versions of a flow that runs start on or migrate to. */
  public FlowVersions versions(String flow) {
    return known(flow, versions.get(flow));
  }

  private FlowVersions all(String flow) {
    return known(flow, registered.get(flow));
  }

  private static <T> T known(String flow, @Nullable T found) {
    return Objects.requireNonNull(found, () -> "There is no flow " + flow);
  }

  /** Why an unfinished run cannot continue, by itself or after a migration; null if it can. */
  public @Nullable String stranded(String flow, RunState run, long at) {
    if (!run.running() || of(flow, run).isPresent()) {
      return null;
    }
    Optional<FlowProgram<?>> heir = versions(flow).takingOver(run);
    if (heir.isEmpty()) {
      return versions(flow).changed(run).message();
    }
    return heir.get().takeOver(run, at) instanceof Program.Refused<RunState, Event> refused
        ? refused.failure().message()
        : null;
  }

  /** The program of a run's version, if it is registered unchanged. */
  public Optional<FlowProgram<?>> of(String flow, RunState run) {
    return all(flow).of(run);
  }

  /** The program that continues a run, perhaps after a migration. */
  public Optional<FlowProgram<?>> continuing(String flow, RunState run) {
    return of(flow, run).or(() -> versions(flow).takingOver(run));
  }

  /**
   * The flow that describes a run to recorders: its own version, or the newest if that is not
   * registered.
   */
  public Flow<?> describing(String flow, RunState run) {
    return of(flow, run).orElse(newest(flow)).flow();
  }
}
