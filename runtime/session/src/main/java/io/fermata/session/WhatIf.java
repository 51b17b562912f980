package io.fermata.session;

import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What other code would have decided in the runs of a store: the finished ones that are still kept,
 * and the unfinished ones so far. Their journals are decided again; nothing is changed, and no
 * effect is performed.
 *
 * <pre>{@code
 * WhatIf whatIf = WhatIf.over(Store.sqlite(copy), quoteVersion2, trip);
 * System.out.println(whatIf.text());
 * }</pre>
 *
 * @param same how many runs would have been decided as they were
 * @param groups those that would not, by where they first part, the most frequent first
 * @param skipped how many sessions have only runs of flows that were not given, that are swept, or
 *     that cannot be read
 */
public record WhatIf(int same, List<Group> groups, int skipped) {

  /**
   * Runs that part at the same place.
   *
   * @param node the node at which another thing would have been decided
   * @param example the run that comes first
   * @param text what was recorded of it, and what would come now; secrets are masked
   */
  public record Group(String flow, String node, int runs, String example, String text) {}

  public WhatIf {
    groups = List.copyOf(groups);
  }

  /**
   * Looks at a store that no host has open. Encrypted data is read with the keys from the
   * environment.
   *
   * @param flows the code to try, a flow for each id
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public static WhatIf over(Store store, Flow<?>... flows) {
    return over(store, Encryption.ofEnvironment(), flows);
  }

  /** Like {@link #over(Store, Flow...)}, with the given keys. */
  public static WhatIf over(Store store, KeyProvider keys, Flow<?>... flows) {
    return over(store, Encryption.reading(keys), flows);
  }

  private static WhatIf over(Store store, Encryption encryption, Flow<?>... flows) {
    FlowCatalog catalog =
        new FlowCatalog(Arrays.asList(flows), List.of(), List.of(), Limits.DEFAULT);
    try (OpenStore open = store.open()) {
      return new WhatIfCheck(open, encryption.knowing(catalog.secretFields()), flows).result();
    }
  }

  /** How many runs would have been decided otherwise. */
  public int otherwise() {
    return groups.stream().mapToInt(Group::runs).sum();
  }

  /** The counts, and an example of each place where runs part. */
  public String text() {
    String counts =
        "%d run(s): %d are decided as they were, %d otherwise%n"
            .formatted(same + otherwise(), same, otherwise());
    return counts
        + (skipped == 0
            ? ""
            : "%d session(s) were skipped: their flow was not given, or their runs are swept or unreadable%n"
                .formatted(skipped))
        + groups.stream().map(WhatIf::described).collect(Collectors.joining());
  }

  private static String described(Group group) {
    return "%n%d run(s) of %s at %s, for example %s:%n%s%n"
        .formatted(group.runs(), group.flow(), group.node(), group.example(), group.text());
  }
}
