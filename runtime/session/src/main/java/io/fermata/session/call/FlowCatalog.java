package io.fermata.session.call;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.TaskUse;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.engine.FlowVersions;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The flows of a host, in all their registered versions. */
public final class FlowCatalog {
  private final Map<String, FlowVersions> versions = new LinkedHashMap<>();

  private final Map<String, FlowTool> tools = new LinkedHashMap<>();
  private final Map<String, FlowTool> jobs = new LinkedHashMap<>();

  /**
   * @param flowTools the tools of agents
   * @param clientJobs the tools of clients
   */
  public FlowCatalog(
      List<Flow<?>> flows, List<FlowTool> flowTools, List<FlowTool> clientJobs, Limits limits) {
    flowTools.forEach(tool -> tools.put(tool.name(), tool));
    clientJobs.forEach(job -> jobs.put(job.name(), job));
    List<Flow<?>> all = new ArrayList<>(flows);
    flowTools.forEach(tool -> all.add(tool.flow()));
    clientJobs.forEach(job -> all.add(job.flow()));
    for (Flow<?> flow : all) {
      FlowProgram<?> program = FlowProgram.of(flow, limits);
      versions.compute(
          flow.id(),
          (id, others) -> others == null ? FlowVersions.of(program) : others.and(program));
    }
  }

  public boolean has(String flow) {
    return versions.containsKey(flow);
  }

  /** All versions of all flows. */
  public List<FlowProgram<?>> programs() {
    return versions.values().stream().flatMap(each -> each.all().stream()).toList();
  }

  /** The fields that flows mark as secret in any version; flows without secrets are absent. */
  public Map<String, SecretFields> secretFields() {
    Map<String, SecretFields> fields = new LinkedHashMap<>();
    versions.keySet().forEach(flow -> fields.put(flow, secretFields(flow)));
    fields.values().removeIf(SecretFields::isEmpty);
    return fields;
  }

  /** The fields that a flow marks as secret in any version. */
  public SecretFields secretFields(String flow) {
    return versions(flow).all().stream()
        .map(p -> p.flow().secretFields())
        .reduce(SecretFields.NONE, SecretFields::and);
  }

  /** The tool of a flow; null if clients call the flow directly. */
  public @Nullable FlowTool tool(String flow) {
    FlowTool tool = tools.get(flow);
    return tool == null ? jobs.get(flow) : tool;
  }

  /** The tools that agents call. */
  public Map<String, FlowTool> tools() {
    return tools;
  }

  /** The tools that clients call without a session: every call is a run. */
  public Map<String, FlowTool> jobs() {
    return jobs;
  }

  /** Whether clients may call a flow, directly or as a job. */
  public boolean offers(String flow) {
    return has(flow) && !tools.containsKey(flow);
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
    versions.forEach(
        (id, each) -> {
          if (tool(id) == null) {
            newest.add(each.newest().flow());
          }
        });
    return newest;
  }

  public FlowProgram<?> newest(String flow) {
    return versions(flow).newest();
  }

  /** The versions of a flow. */
  public FlowVersions versions(String flow) {
    return Objects.requireNonNull(versions.get(flow), () -> "There is no flow " + flow);
  }

  /** The program of a run's version, if it is registered unchanged. */
  public Optional<FlowProgram<?>> of(String flow, RunState run) {
    return versions(flow).of(run);
  }

  /**
   * The flow that describes a run to recorders: its own version, or the newest if that is not
   * registered.
   */
  public Flow<?> describing(String flow, RunState run) {
    return of(flow, run).orElse(newest(flow)).flow();
  }
}
