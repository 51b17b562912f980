package io.fermata.persistence.directory;

import io.fermata.persistence.spi.OpenStore;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What the journals of a store are about, so that they can be listed without being read.
 *
 * <p>It follows the journals and is never the truth: an entry is put after the record it speaks of,
 * so for a moment, and after a crash until the next record, it says what was true before. Changes
 * take effect in the order they are asked for.
 */
public interface Directory {

  /**
   * Enters a journal or what has become of it. An entry with a lower {@link DirectoryEntry#seq()}
   * than the one that is there changes nothing, so writes may arrive late and in any order.
   */
  CompletionStage<@Nullable Void> put(DirectoryEntry entry);

  /**
   * Takes an entry out of the directory; the journal itself stays. A later {@link #put} enters it
   * again, whatever its sequence number.
   */
  CompletionStage<@Nullable Void> remove(String persistenceId);

  /** The entry of a journal, empty if it has none. */
  CompletionStage<Optional<DirectoryEntry>> get(String persistenceId);

  /**
   * A page of the entries that match. The first of these that the query names is looked up: the
   * principal, the session, a tag, the standings, the name, or else the kind. The rest is compared
   * with every entry that this leaves, so a search that finds little costs as much as those are
   * many.
   */
  CompletionStage<DirectoryPage> list(DirectoryQuery query);

  /**
   * Notes up to which record of the store the directory has followed the journals, for whoever lets
   * it follow. It is noted after all that was asked for before.
   *
   * @param number as {@link OpenStore#newest()} tells it
   */
  CompletionStage<@Nullable Void> mark(long number);

  /** What was marked last; 0 if nothing was. */
  CompletionStage<Long> marked();
}
