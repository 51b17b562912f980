package io.fermata.session.runs;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.Stages;
import io.fermata.session.runs.RunJournals.Told;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Enters runs as their journals have them while sessions go on. A run may end between the reading
 * and the entering, and its own word of it come too early: so whatever was entered is compared with
 * its journal once more, until nothing has changed in between.
 */
public final class DirectoryWrites implements Consumer<List<String>> {
  private static final Logger LOG = LoggerFactory.getLogger(DirectoryWrites.class);
  private static final int PAGE = 200;

  private final RunJournals journals;
  private final Directory directory;
  private final RunEntering entering;
  private final InstantSource clock;
  private final Runnable between;

  /** Journals that were written to or erased meanwhile, with the runs that were entered of each. */
  private Map<String, Set<String>> moving = new HashMap<>();

  private long read;
  private long entered;

  /**
   * @param between what is to be done again and again, however long this takes
   */
  public DirectoryWrites(
      RunJournals journals,
      Directory directory,
      RunEntering entering,
      InstantSource clock,
      Runnable between) {
    this.journals = journals;
    this.directory = directory;
    this.entering = entering;
    this.clock = clock;
    this.between = between;
  }

  long read() {
    return read;
  }

  long entered() {
    return entered;
  }

  @Override
  public void accept(List<String> entityIds) {
    read += entityIds.size();
    enter(entityIds, Map.of());
  }

  /** Compares once more what was written to meanwhile. */
  public void settle() {
    while (!moving.isEmpty()) {
      Map<String, Set<String>> before = moving;
      moving = new HashMap<>();
      List<String> again = List.copyOf(before.keySet());
      for (int from = 0; from < again.size(); from += PAGE) {
        enter(again.subList(from, Math.min(from + PAGE, again.size())), before);
      }
    }
  }

  /**
   * @param before the runs that were entered of a journal when it was read before
   */
  private void enter(List<String> entityIds, Map<String, Set<String>> before) {
    List<CompletionStage<?>> writes = new ArrayList<>();
    List<Told> told = told(entityIds);
    for (Told journal : told) {
      write(journal, before.getOrDefault(journal.entityId(), Set.of()), writes);
    }
    Stages.all(writes);
    List<CompletionStage<Boolean>> moved = new ArrayList<>();
    for (Told journal : told) {
      moved.add(journals.lastSeq(journal.entityId()).thenApply(seq -> seq != journal.seq()));
    }
    for (int i = 0; i < told.size(); i++) {
      if (Stages.now(moved.get(i))) {
        Told journal = told.get(i);
        moving.put(journal.entityId(), listed(journal).map(RunRow::id).collect(Collectors.toSet()));
      }
    }
    between.run();
  }

  private List<Told> told(List<String> entityIds) {
    Map<String, CompletionStage<Told>> reading = new HashMap<>();
    entityIds.forEach(id -> reading.put(id, journals.read(id)));
    List<Told> told = new ArrayList<>();
    reading.forEach(
        (id, journal) -> {
          try {
            told.add(Stages.now(journal));
          } catch (RuntimeException e) {
            // Then it can be read another time, as opposed to what cannot be read at all.
            if (RootCauses.find(e, StoreException.class) != null) {
              throw e;
            }
            LOG.warn("What the journal {} says of its runs cannot be told", id, e);
          }
        });
    return told;
  }

  /** What the journal no longer tells of was erased meanwhile. */
  private void write(Told journal, Set<String> before, List<CompletionStage<?>> writes) {
    Set<String> gone = new HashSet<>(before);
    journal.ended().forEach(end -> gone.add(end.row().id()));
    listed(journal)
        .forEach(
            row -> {
              gone.remove(row.id());
              if (entering.put(row, writes)) {
                entered++;
              }
            });
    gone.forEach(id -> writes.add(directory.remove(id)));
  }

  /** The runs of a journal that are to be listed. */
  private Stream<RunRow> listed(Told journal) {
    long now = clock.millis();
    return Stream.concat(
        journal.ended().stream().filter(end -> end.keptUntil() > now).map(RunJournals.End::row),
        Stream.ofNullable(journal.live()));
  }

  /** Takes out what the journals know nothing of. Returns how much that was. */
  long removeStrangers() {
    long removed = 0;
    DirectoryQuery query =
        DirectoryQuery.of(RunRow.KIND).orderedBy(DirectoryQuery.Order.CREATION).limitedTo(PAGE);
    DirectoryPage page = Stages.now(directory.list(query));
    while (true) {
      removed += removeStrangers(page.entries());
      if (page.next() == null) {
        return removed;
      }
      page = Stages.now(directory.list(query.after(page.next())));
    }
  }

  private long removeStrangers(List<DirectoryEntry> entries) {
    Set<String> sessions = new HashSet<>();
    entries.forEach(entry -> sessions.add(session(entry)));
    Set<String> known = new HashSet<>();
    for (Told journal : told(List.copyOf(sessions))) {
      sessions.remove(journal.entityId());
      listed(journal).forEach(row -> known.add(row.id()));
    }
    List<CompletionStage<?>> removals = new ArrayList<>();
    for (DirectoryEntry entry : entries) {
      // Of a journal that could not be read nothing is known.
      if (!sessions.contains(session(entry)) && !known.contains(entry.persistenceId())) {
        removals.add(directory.remove(entry.persistenceId()));
      }
    }
    Stages.all(removals);
    between.run();
    return removals.size();
  }

  private static String session(DirectoryEntry entry) {
    return RunRow.session(entry.persistenceId());
  }
}
