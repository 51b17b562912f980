package io.fermata.persistence.directory;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.SharedStore;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The index of a store's journals: sessions are listed and searched without reading them.
 *
 * <p>It follows the journals and is never authoritative. An entry is written after the journal
 * record that it describes, so it may be out of date for a moment, and after a crash until the next
 * record. Changes take effect in the order in which they are requested.
 */
public interface Directory {

  /**
   * Adds or updates the entry of a journal. An entry whose {@link DirectoryEntry#seq()} is lower
   * than that of the stored one changes nothing, so writes may arrive late and in any order.
   */
  CompletionStage<@Nullable Void> put(DirectoryEntry entry);

  /**
   * Removes an entry; the journal itself stays. A later {@link #put} adds it again with any
   * sequence number.
   */
  CompletionStage<@Nullable Void> remove(String persistenceId);

  /** The entry of a journal, empty if it has none. */
  CompletionStage<Optional<DirectoryEntry>> get(String persistenceId);

  /**
   * A page of the matching entries. One criterion of the query is looked up in an index: the
   * session, the principal, the statuses, a tag, the name, or else the kind; of a list by activity
   * only the session, the principal or the kind. The others are checked on the entries that the
   * index yields, a bounded number of them for each page. If these do not fill the page, a text of
   * three characters or more is looked up in an index of texts, which finds up to some thousand
   * entries. A search for anything else that is rare takes many short pages, and none of them holds
   * up others.
   */
  CompletionStage<DirectoryPage> list(DirectoryQuery query);

  /**
   * The number of matching entries, counted up to {@code most}; the page of the query is ignored.
   * All entries that the index yields are counted; if others of the criteria are checked on them,
   * as many as for a page, so that of more entries the number is the least that match. The statuses
   * of a principal are looked up in an index, too, and a text as for a list.
   */
  CompletionStage<Integer> count(DirectoryQuery query, int most);

  /**
   * Stores the number of the last journal record that the directory reflects. It takes effect after
   * all changes requested before. Hosts that share a store use {@link SharedStore#mark} instead.
   *
   * @param number as {@link OpenStore#newest()} returns it
   */
  CompletionStage<@Nullable Void> mark(long number);

  /**
   * The number that was marked last; 0 if none was. In a store that several hosts share, the lowest
   * of all shards.
   */
  CompletionStage<Long> marked();
}
