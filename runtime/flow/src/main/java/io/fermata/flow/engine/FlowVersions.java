package io.fermata.flow.engine;

import io.fermata.flow.Flow;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The registered versions of one flow, and which of them a run may continue on. */
public final class FlowVersions {
  private final List<FlowProgram<?>> newestFirst;

  private FlowVersions(List<FlowProgram<?>> newestFirst) {
    this.newestFirst = newestFirst;
  }

  /** The only version of a flow. */
  public static FlowVersions of(FlowProgram<?> program) {
    return new FlowVersions(List.of(program));
  }

  /**
   * These versions and one more.
   *
   * @throws IllegalArgumentException if its number is taken
   */
  public FlowVersions and(FlowProgram<?> program) {
    Flow<?> flow = program.flow();
    if (has(flow.version())) {
      throw new IllegalArgumentException(
          "Flow " + flow + " is registered twice; use a new version for a changed graph");
    }
    return new FlowVersions(
        Stream.<FlowProgram<?>>concat(newestFirst.stream(), Stream.of(program))
            .sorted(Comparator.comparingInt(p -> -p.flow().version()))
            .toList());
  }

  /**
   * The flow that decides the journal of a run again: as a host chooses, the version that the run
   * is on, else the newest.
   *
   * @param flows of one id or of several, in any order
   */
  public static Optional<Flow<?>> deciding(
      Collection<? extends Flow<?>> flows, String id, RunState run) {
    return flows.stream()
        .filter(flow -> flow.id().equals(id))
        .<Flow<?>>map(flow -> flow)
        .max(
            Comparator.<Flow<?>, Boolean>comparing(flow -> flow.version() == run.version())
                .thenComparing(Flow::version));
  }

  public FlowProgram<?> newest() {
    return newestFirst.get(0);
  }

  /** Those up to a version; all if there is none. */
  public FlowVersions upTo(int version) {
    List<FlowProgram<?>> some = new ArrayList<>(newestFirst);
    some.removeIf(program -> program.flow().version() > version);
    return some.isEmpty() ? this : new FlowVersions(List.copyOf(some));
  }

  public List<FlowProgram<?>> all() {
    return newestFirst;
  }

  /** The program of a version, if it is registered. */
  public Optional<FlowProgram<?>> of(int version) {
    return newestFirst.stream()
        .filter(p -> p.flow().version() == version)
        .<FlowProgram<?>>map(p -> p)
        .findFirst();
  }

  private boolean has(int version) {
    return newestFirst.stream().anyMatch(p -> p.flow().version() == version);
  }

  /** The program of a run's version, if it is registered unchanged. */
  public Optional<FlowProgram<?>> of(RunState run) {
    for (FlowProgram<?> program : newestFirst) {
      Flow<?> flow = program.flow();
      if (flow.version() == run.version() && flow.fingerprint().equals(run.fingerprint())) {
        return Optional.of(program);
      }
    }
    return Optional.empty();
  }

  /**
   * The newest program that migrates a run whose own version is not registered. There is none if
   * that version is registered with another graph, as it is unclear which of both the migration is
   * from.
   */
  public Optional<FlowProgram<?>> takingOver(RunState run) {
    return newestFirst.stream()
        .filter(p -> !has(run.version()) && run.running() && p.migratesFrom(run.version()))
        .<FlowProgram<?>>map(p -> p)
        .findFirst();
  }

  /** Why a run whose version is neither registered unchanged nor migrated cannot continue. */
  public Outcome.Failure changed(RunState run) {
    return Outcome.Failure.of(
        ErrorCode.VERSION_CHANGED,
        of(run.version())
            .map(same -> changedGraph(run, same.flow()))
            .orElseGet(() -> missing(run)));
  }

  /** No version can migrate from a number that is registered. */
  private String changedGraph(RunState run, Flow<?> changed) {
    int began = run.version();
    int newest = newest().flow().version();
    String advice =
        began == newest
            ? "Give the changed graph version %s with migrate(%s, …)".formatted(newest + 1, began)
            : "Leave version %s out and let version %s migrate(%s, …)"
                .formatted(began, newest, began);
    return "The run began on %s version %s (%s), whose graph has changed under the same version (%s). %s, or restore the graph."
        .formatted(changed.id(), began, run.fingerprint(), changed.fingerprint(), advice);
  }

  private String missing(RunState run) {
    Flow<?> newest = newest().flow();
    return "The run began on %s version %s (%s); this server has version %s (%s). %s."
        .formatted(
            newest.id(),
            run.version(),
            run.fingerprint(),
            newest.version(),
            newest.fingerprint(),
            ErrorCode.VERSION_CHANGED.repair());
  }
}
