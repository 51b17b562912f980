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
 * Writes directory entries of runs. A run that the directory refuses is skipped and logged once, so
 * that it does not block others. Not thread-safe.
 */
public final class RunEntryWriter {
  private static final Logger LOG = LoggerFactory.getLogger(RunEntryWriter.class);

  /** The number of remembered refusals. */
  private static final int MOST = 1_000;

  private final Directory directory;
  private final Set<String> refused = new HashSet<>();

  public RunEntryWriter(Directory directory) {
    this.directory = directory;
  }

  /** Adds the write of a row. Returns whether the directory accepts it. */
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
