package io.fermata.session;

import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Checks what a release with other flows would do with the runs in a store, before it is deployed.
 * Nothing is changed.
 *
 * <pre>{@code
 * Rollout rollout = Rollout.check(Store.sqlite(copy), quoteVersion2, trip);
 * if (!rollout.complete()) {
 *   System.out.println(rollout.text());
 * }
 * }</pre>
 *
 * @param runs the runs that have not ended, in the order of their journals
 */
public record Rollout(List<RunResult> runs) {

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

  public Rollout {
    runs = List.copyOf(runs);
  }

  /**
   * Checks a store that no host has open. Encrypted data is read with the keys from the
   * environment.
   *
   * @param flows all flows of the release, in all versions, including tools of agents
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public static Rollout check(Store store, Flow<?>... flows) {
    return check(store, Encryption.ofEnvironment(), flows);
  }

  /** Like {@link #check(Store, Flow...)}, with the given keys. */
  public static Rollout check(Store store, KeyProvider keys, Flow<?>... flows) {
    return check(store, Encryption.reading(keys), flows);
  }

  private static Rollout check(Store store, Encryption encryption, Flow<?>... flows) {
    try (OpenStore open = store.open()) {
      return check(open, encryption, Limits.DEFAULT, Instant.now(), flows);
    }
  }

  static Rollout check(
      OpenStore store, Encryption encryption, Limits limits, Instant now, Flow<?>... flows) {
    FlowCatalog catalog = new FlowCatalog(Arrays.asList(flows), List.of(), List.of(), limits);
    return new Rollout(new RolloutCheck(store, encryption, catalog, now.toEpochMilli()).results());
  }

  /** Whether every run can continue. */
  public boolean complete() {
    return of(Verdict.STRANDED).isEmpty();
  }

  /** The runs with a verdict. */
  public List<RunResult> of(Verdict verdict) {
    return runs.stream().filter(run -> run.verdict() == verdict).toList();
  }

  /** The number of runs per verdict, and a line for each that does not continue unchanged. */
  public String text() {
    String counts =
        "%d run(s): %d continue, %d are migrated, %d cannot continue%n"
            .formatted(
                runs.size(),
                of(Verdict.CONTINUES).size(),
                of(Verdict.MIGRATES).size(),
                of(Verdict.STRANDED).size());
    return counts
        + runs.stream()
            .filter(run -> run.verdict() != Verdict.CONTINUES)
            .map(Rollout::line)
            .collect(Collectors.joining());
  }

  private static String line(RunResult run) {
    String verdict = run.verdict() == Verdict.MIGRATES ? "migrated" : "CANNOT CONTINUE";
    String title = "%-15s  %s run %s".formatted(verdict, run.flow(), run.runId());
    return "%s on version %d: %s%n".formatted(title, run.version(), run.why());
  }
}
