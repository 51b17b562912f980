package io.fermata.session;

import io.fermata.agent.Agent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import java.time.Instant;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What other code would have decided in runs and threads that happened: the finished ones that are
 * still kept, and the unfinished ones so far. Their journals are decided again; nothing is changed,
 * and no effect is performed.
 *
 * <pre>{@code
 * WhatIfResult result = WhatIf.of(quoteVersion2, trip).since(lastMonth).over(Store.sqlite(copy));
 * System.out.println(result.text());
 * }</pre>
 */
public final class WhatIf {
  private final List<Flow<?>> flows;
  private final List<Agent> agents;
  private final @Nullable Limits limits;
  private final @Nullable Instant since;
  private final @Nullable KeyProvider keys;

  private WhatIf(
      List<Flow<?>> flows,
      List<Agent> agents,
      @Nullable Limits limits,
      @Nullable Instant since,
      @Nullable KeyProvider keys) {
    this.flows = flows;
    this.agents = agents;
    this.limits = limits;
    this.since = since;
    this.keys = keys;
  }

  /**
   * Tries this code.
   *
   * @param flows the release to try; of several versions of a flow the newest decides
   */
  public static WhatIf of(Flow<?>... flows) {
    return new WhatIf(Arrays.asList(flows), List.of(), null, null, null);
  }

  /**
   * Tries the flows and agents of a host before it is started, with its limits and keys.
   *
   * @throws IllegalStateException if the host could not start, other than for want of a key
   */
  public static WhatIf of(HostBuilder host) {
    host.checked();
    return new WhatIf(
        host.flowsWithoutAgents(), host.agents(), host.settings.limits(), null, host.keys);
  }

  /**
   * Tries these agents on their threads, and their flows on the runs of these, too. A thread counts
   * as a run of its agent.
   */
  public WhatIf agents(List<Agent> all) {
    return new WhatIf(flows, List.copyOf(all), limits, since, keys);
  }

  /** Looks only at runs that have changed since then. */
  public WhatIf since(@Nullable Instant moment) {
    return new WhatIf(flows, agents, limits, moment, keys);
  }

  /**
   * Decides within these limits, those of the host that ran the runs; by default those of the host
   * whose runs they are, and of stores and exports the usual ones.
   */
  public WhatIf limits(Limits ofHost) {
    return new WhatIf(flows, agents, ofHost, since, keys);
  }

  /**
   * Decrypts with these keys; by default with those of the host whose runs they are, and of stores
   * with those from the environment.
   */
  public WhatIf keys(KeyProvider provider) {
    return new WhatIf(flows, agents, limits, since, provider);
  }

  /**
   * Looks at a store that no host has open, or that the hosts of a cluster share. It uses all
   * processors, and the memory of a few of the runs that are decided otherwise; those that are
   * decided as they were may be larger than the memory.
   *
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be opened
   */
  public WhatIfResult over(Store store) {
    try (OpenStore open = store.openToRead()) {
      return over(open);
    }
  }

  WhatIfResult over(OpenStore store) {
    return check(Limits.DEFAULT)
        .over(
            store, Encryption.reading(keys), Runtime.getRuntime().availableProcessors(), () -> {});
  }

  /**
   * Looks at the store of a running host, whose sessions keep the other processors.
   *
   * @param open fails when the host is closed
   */
  WhatIfResult over(OpenStore store, Encryption ofHost, Limits limitsOfHost, Runnable open) {
    Encryption encryption = keys == null ? ofHost : Encryption.reading(keys);
    return check(limitsOfHost).over(store, encryption, 1, open);
  }

  /** Looks at runs and threads that were exported, one after the other. */
  public WhatIfResult over(Iterator<ExportedJournal> exports) {
    return check(Limits.DEFAULT).over(exports);
  }

  private WhatIfCheck check(Limits usual) {
    Limits within = limits == null ? usual : limits;
    return new WhatIfCheck(new FlowCatalog(flows, agents, within), agents, within, since);
  }
}
