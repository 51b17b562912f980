package io.fermata.session;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Checks what a release with other flows and agents would do with the runs and threads in a store,
 * before it is deployed. Nothing is changed.
 *
 * <pre>{@code
 * Rollout rollout = Rollout.check(Store.sqlite(copy), List.of(desk), quoteVersion2, trip);
 * if (!rollout.complete()) {
 *   System.out.println(rollout.text());
 * }
 * }</pre>
 *
 * @param runs the runs that have not ended, in the order of their journals
 * @param threads the threads, in the order of their journals
 */
public record Rollout(List<RunResult> runs, List<ThreadResult> threads) {

  /** The result for a run. */
  public enum Verdict {
    /** Its version is registered. */
    CONTINUES,
    /** It is migrated to another version at its next call or timer. */
    MIGRATES,
    /** It cannot continue. */
    STRANDED
  }

  /**
   * One run.
   *
   * @param version its version; 0 if unknown
   * @param why the reason, for a person
   */
  public record RunResult(String flow, String runId, int version, Verdict verdict, String why) {}

  /**
   * One thread.
   *
   * @param missing what it waits for that the release does not have: its agent, the handler of a
   *     scheduled effect, the tool of an open call. It is held until a release has it
   */
  public record ThreadResult(String agent, String threadId, List<String> missing) {
    public ThreadResult {
      missing = List.copyOf(missing);
    }
  }

  public Rollout {
    runs = List.copyOf(runs);
    threads = List.copyOf(threads);
  }

  /**
   * Checks a store that no host has open, or that the hosts of a cluster share. Encrypted data is
   * read with the keys from the environment.
   *
   * @param flows all flows of the release, in all versions, including tools of agents
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public static Rollout check(Store store, Flow<?>... flows) {
    return check(store, List.of(), flows);
  }

  /** Like {@link #check(Store, Flow...)}, with the agents of the release. */
  public static Rollout check(Store store, Collection<Agent> agents, Flow<?>... flows) {
    return check(store, Encryption.ofEnvironment(), Limits.DEFAULT, agents, flows);
  }

  /**
   * Checks the store of a host before it is started, with its flows, agents, limits and keys.
   *
   * @throws IllegalStateException if the host could not start, other than for want of a key
   */
  public static Rollout check(HostBuilder host) {
    host.checked();
    return check(
        host.chosenStore(),
        Encryption.reading(host.keys),
        host.settings.limits(),
        host.agents(),
        host.flowsWithoutAgents().toArray(Flow<?>[]::new));
  }

  private static Rollout check(
      Store store,
      Encryption encryption,
      Limits limits,
      Collection<Agent> agents,
      Flow<?>... flows) {
    try (OpenStore open = store.openToRead()) {
      return check(open, encryption, limits, Instant.now(), agents, flows);
    }
  }

  static Rollout check(
      OpenStore store,
      Encryption encryption,
      Limits limits,
      Instant now,
      Collection<Agent> agents,
      Flow<?>... flows) {
    FlowCatalog catalog = new FlowCatalog(Arrays.asList(flows), agents, limits);
    ThreadProgram threads = new ThreadProgram(new Agents(agents));
    return new RolloutCheck(store, encryption, catalog, threads, now.toEpochMilli()).result();
  }

  /** Whether every run and every thread can continue. */
  public boolean complete() {
    return of(Verdict.STRANDED).isEmpty() && held().isEmpty();
  }

  /** The threads that wait for what the release does not have. */
  public List<ThreadResult> held() {
    return threads.stream().filter(thread -> !thread.missing().isEmpty()).toList();
  }

  /** The runs with a verdict. */
  public List<RunResult> of(Verdict verdict) {
    return runs.stream().filter(run -> run.verdict() == verdict).toList();
  }

  /**
   * The number of runs per verdict and of threads, and a line for each that does not continue
   * unchanged.
   */
  public String text() {
    String counts =
        "%s run(s): %s continue, %s are migrated, %s cannot continue%n"
            .formatted(
                runs.size(),
                of(Verdict.CONTINUES).size(),
                of(Verdict.MIGRATES).size(),
                of(Verdict.STRANDED).size());
    String held = "%s thread(s): %s are held%n".formatted(threads.size(), held().size());
    return counts
        + runs.stream()
            .filter(run -> run.verdict() != Verdict.CONTINUES)
            .map(Rollout::line)
            .collect(Collectors.joining())
        + (threads.isEmpty() ? "" : held)
        + held().stream().map(Rollout::line).collect(Collectors.joining());
  }

  private static String line(ThreadResult thread) {
    return "%-15s  %s thread %s: %s%n"
        .formatted("HELD", thread.agent(), thread.threadId(), String.join("; ", thread.missing()));
  }

  private static String line(RunResult run) {
    String verdict = run.verdict() == Verdict.MIGRATES ? "migrated" : "CANNOT CONTINUE";
    String title = "%-15s  %s run %s".formatted(verdict, run.flow(), run.runId());
    return "%s on version %s: %s%n".formatted(title, run.version(), run.why());
  }
}
