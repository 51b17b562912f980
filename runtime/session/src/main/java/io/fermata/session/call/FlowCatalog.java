package io.fermata.session.call;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.TaskUse;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The flows of a host, in all their registered versions. */
public final class FlowCatalog {
  private final Map<String, List<FlowProgram<?>>> programs = new LinkedHashMap<>();

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
      List<FlowProgram<?>> versions = programs.computeIfAbsent(flow.id(), id -> new ArrayList<>());
      if (versions.stream().anyMatch(p -> p.flow().version() == flow.version())) {
        throw new IllegalArgumentException(
            "Flow " + flow + " is registered twice; use a new version for a changed graph");
      }
      versions.add(FlowProgram.of(flow, limits));
      versions.sort(Comparator.comparingInt(p -> -p.flow().version()));
    }
  }

  public boolean has(String flow) {
    return programs.containsKey(flow);
  }

  /** All versions of all flows. */
  public List<FlowProgram<?>> programs() {
    return programs.values().stream().<FlowProgram<?>>flatMap(List::stream).toList();
  }

  /** The fields that flows mark as secret in any version; flows without secrets are absent. */
  public Map<String, SecretFields> secretFields() {
    Map<String, SecretFields> fields = new LinkedHashMap<>();
    programs()
        .forEach(p -> fields.merge(p.flow().id(), p.flow().secretFields(), SecretFields::and));
    fields.values().removeIf(SecretFields::isEmpty);
    return fields;
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
    programs.forEach(
        (id, versions) -> {
          if (tool(id) == null) {
            newest.add(versions.get(0).flow());
          }
        });
    return newest;
  }

  public FlowProgram<?> newest(String flow) {
    return versions(flow).get(0);
  }

  /** The program of a run's version, if it is registered unchanged. */
  public Optional<FlowProgram<?>> of(String flow, RunState run) {
    return versions(flow).stream()
        .filter(p -> p.flow().version() == run.version())
        .filter(p -> p.flow().fingerprint().equals(run.fingerprint()))
        .findFirst()
        .map(p -> p);
  }

  /**
   * The newest program that migrates a run whose own version is not registered. There is none if
   * that version is registered with another graph, as it is unclear which of both the migration is
   * from.
   */
  public Optional<FlowProgram<?>> takingOver(String flow, RunState run) {
    List<FlowProgram<?>> all = versions(flow);
    boolean changed = all.stream().anyMatch(p -> p.flow().version() == run.version());
    return all.stream()
        .filter(p -> !changed && run.running() && p.migratesFrom(run.version()))
        .findFirst()
        .map(p -> p);
  }

  /**
   * The flow that describes a run to recorders: its own version, or the newest if that is not
   * registered.
   */
  public Flow<?> describing(String flow, RunState run) {
    return of(flow, run).orElse(newest(flow)).flow();
  }

  private List<FlowProgram<?>> versions(String flow) {
    return Objects.requireNonNull(programs.get(flow), () -> "There is no flow " + flow);
  }
}
