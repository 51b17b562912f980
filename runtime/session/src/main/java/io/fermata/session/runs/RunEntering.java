package io.fermata.session.runs;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Enters runs. One that the directory refuses is left out, so that it keeps no other from being
 * listed; of each this is said once. Of one thread at a time.
 */
public final class RunEntering {
  private static final Logger LOG = LoggerFactory.getLogger(RunEntering.class);

  /** Runs that are remembered to have been spoken of. */
  private static final int MOST = 1_000;

  private final Directory directory;
  private final Set<String> refused = new HashSet<>();

  public RunEntering(Directory directory) {
    this.directory = directory;
  }

  /** Adds what enters the row. Returns whether the directory takes it. */
  boolean put(RunRow row, List<CompletionStage<?>> writes) {
    DirectoryEntry entry;
    try {
      entry = row.entry();
    } catch (IllegalArgumentException e) {
      if (refused.size() >= MOST) {
        refused.clear();
      }
      if (refused.add(row.id())) {
        LOG.warn("The run {} cannot be listed", row.id(), e);
      }
      return false;
    }
    writes.add(directory.put(entry));
    return true;
  }
}
