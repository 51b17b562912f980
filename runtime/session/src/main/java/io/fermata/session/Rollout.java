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
 * What becomes of the runs in a store when a release with other flows takes it over, found out
 * before that is done. Nothing is changed.
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
public record Rollout(List<Fate> runs) {

  /** What becomes of a run. */
  public enum Verdict {
    /** Its version is registered. */
    CONTINUES,
    /** It is carried over to another version when somebody calls it, or its time comes. */
    MIGRATES,
    /** It cannot go on. */
    STRANDED
  }

  /**
   * One run.
   *
   * @param version the version that it is on; 0 if that is not known
   * @param why what the verdict rests on, for a person
   */
  public record Fate(String flow, String runId, int version, Verdict verdict, String why) {}

  public Rollout {
    runs = List.copyOf(runs);
  }

  /**
   * Looks at a store that no host has open. What is encrypted there is read with the keys that the
   * environment names.
   *
   * @param flows all that the release registers, each in all its versions, tools of agents included
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public static Rollout check(Store store, Flow<?>... flows) {
    return check(store, Encryption.ofEnvironment(), flows);
  }

  /** Like {@link #check(Store, Flow...)}, with the keys that read what is encrypted there. */
  public static Rollout check(Store store, KeyProvider keys, Flow<?>... flows) {
    return check(store, Encryption.reading(keys), flows);
  }

  private static Rollout check(Store store, Encryption seals, Flow<?>... flows) {
    try (OpenStore open = store.open()) {
      return check(open, seals, Limits.DEFAULT, Instant.now(), flows);
    }
  }

  static Rollout check(
      OpenStore store, Encryption seals, Limits limits, Instant now, Flow<?>... flows) {
    FlowCatalog catalog = new FlowCatalog(Arrays.asList(flows), List.of(), List.of(), limits);
    return new Rollout(new RolloutCheck(store, seals, catalog, now.toEpochMilli()).fates());
  }

  /** Whether every run can go on. */
  public boolean complete() {
    return of(Verdict.STRANDED).isEmpty();
  }

  /** The runs of which the same becomes. */
  public List<Fate> of(Verdict verdict) {
    return runs.stream().filter(fate -> fate.verdict() == verdict).toList();
  }

  /** How many runs there are of each verdict, and a line for each that does not just continue. */
  public String text() {
    String counts =
        "%d run(s): %d continue, %d are carried over, %d cannot go on%n"
            .formatted(
                runs.size(),
                of(Verdict.CONTINUES).size(),
                of(Verdict.MIGRATES).size(),
                of(Verdict.STRANDED).size());
    return counts
        + runs.stream()
            .filter(fate -> fate.verdict() != Verdict.CONTINUES)
            .map(Rollout::line)
            .collect(Collectors.joining());
  }

  private static String line(Fate fate) {
    String verdict = fate.verdict() == Verdict.MIGRATES ? "carried over" : "CANNOT GO ON";
    String run = "%-12s  %s run %s".formatted(verdict, fate.flow(), fate.runId());
    return "%s on version %d: %s%n".formatted(run, fate.version(), fate.why());
  }
}
