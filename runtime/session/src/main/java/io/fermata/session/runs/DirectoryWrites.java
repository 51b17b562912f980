package io.fermata.session.runs;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.Stages;
import io.fermata.session.runs.RunJournals.JournalRuns;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Updates the directory from journals while sessions continue. A run may change between the read
 * and the write, so every journal is compared again after the write, until nothing has changed in
 * between.
 */
public final class DirectoryWrites implements Consumer<List<String>> {
  private static final Logger LOG = LoggerFactory.getLogger(DirectoryWrites.class);
  private static final int PAGE = 200;

  private final RunJournals journals;
  private final Directory directory;
  private final RunEntryWriter writer;
  private final InstantSource clock;
  private final Runnable between;

  /** Journals that changed meanwhile, with the runs that were listed of each. */
  private Map<String, Set<String>> changing = new HashMap<>();

  private long read;
  private long entered;

  /**
   * @param between runs repeatedly in between
   */
  public DirectoryWrites(
      RunJournals journals,
      Directory directory,
      RunEntryWriter writer,
      InstantSource clock,
      Runnable between) {
    this.journals = journals;
    this.directory = directory;
    this.writer = writer;
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

  /** Compares journals that changed meanwhile again. */
  public void settle() {
    while (!changing.isEmpty()) {
      Map<String, Set<String>> before = changing;
      changing = new HashMap<>();
      List<String> again = List.copyOf(before.keySet());
      for (int from = 0; from < again.size(); from += PAGE) {
        enter(again.subList(from, Math.min(from + PAGE, again.size())), before);
      }
    }
  }

  /**
   * @param before the runs that were listed of each journal at the previous read
   */
  private void enter(List<String> entityIds, Map<String, Set<String>> before) {
    List<CompletionStage<?>> writes = new ArrayList<>();
    List<JournalRuns> found = readAll(entityIds);
    for (JournalRuns journal : found) {
      write(journal, before.getOrDefault(journal.entityId(), Set.of()), writes);
    }
    Stages.all(writes);
    List<CompletionStage<Long>> last =
        found.stream().map(journal -> journals.lastSeq(journal.entityId())).toList();
    List<CompletionStage<?>> removals = new ArrayList<>();
    for (int i = 0; i < found.size(); i++) {
      JournalRuns journal = found.get(i);
      long seq = Stages.now(last.get(i));
      if (seq != journal.seq()) {
        Set<String> ids = listed(journal).map(RunRow::id).collect(Collectors.toSet());
        changing.put(journal.entityId(), ids);
        if (seq == 0) {
          // What was erased meanwhile is not to be listed until the other journals are read.
          ids.forEach(id -> removals.add(directory.remove(id)));
        }
      }
    }
    Stages.all(removals);
    between.run();
  }

  private List<JournalRuns> readAll(List<String> entityIds) {
    Map<String, CompletionStage<JournalRuns>> reading = new HashMap<>();
    entityIds.forEach(id -> reading.put(id, journals.read(id)));
    List<JournalRuns> found = new ArrayList<>();
    reading.forEach(
        (id, journal) -> {
          try {
            found.add(Stages.now(journal));
          } catch (RuntimeException e) {
            // The store failed, so a later attempt may succeed; an unreadable journal is skipped.
            if (RootCauses.find(e, StoreException.class) != null
                && RootCauses.find(e, DamagedException.class) == null) {
              throw e;
            }
            LOG.warn("The journal {} cannot be read, so its runs are not listed", id, e);
          }
        });
    return found;
  }

  /** Removes entries of runs that are no longer in the journal. */
  private void write(JournalRuns journal, Set<String> before, List<CompletionStage<?>> writes) {
    Set<String> gone = new HashSet<>(before);
    journal.ended().forEach(end -> gone.add(end.row().id()));
    listed(journal)
        .forEach(
            row -> {
              gone.remove(row.id());
              if (writer.put(row, writes)) {
                entered++;
              }
            });
    gone.forEach(id -> writes.add(directory.remove(id)));
  }

  /** The runs of a journal to list. */
  private Stream<RunRow> listed(JournalRuns journal) {
    long now = clock.millis();
    return Stream.concat(
        journal.ended().stream().filter(end -> end.keptUntil() > now).map(RunJournals.End::row),
        Stream.ofNullable(journal.live()));
  }

  /** Removes entries of these sessions without a run. Returns how many. */
  long removeUnknown(Predicate<String> entityIds) {
    return RunRow.KINDS.stream().mapToLong(kind -> removeUnknown(kind, entityIds)).sum();
  }

  private long removeUnknown(String kind, Predicate<String> entityIds) {
    long removed = 0;
    DirectoryQuery query =
        DirectoryQuery.of(kind).orderedBy(DirectoryQuery.Order.CREATION).limitedTo(PAGE);
    DirectoryPage page = Stages.now(directory.list(query));
    while (true) {
      removed +=
          removeUnknown(
              page.entries().stream().filter(entry -> entityIds.test(session(entry))).toList());
      if (page.next() == null) {
        return removed;
      }
      page = Stages.now(directory.list(query.after(page.next())));
    }
  }

  private long removeUnknown(List<DirectoryEntry> entries) {
    Set<String> sessions = new HashSet<>();
    entries.forEach(entry -> sessions.add(session(entry)));
    Set<String> known = new HashSet<>();
    for (JournalRuns journal : readAll(List.copyOf(sessions))) {
      sessions.remove(journal.entityId());
      listed(journal).forEach(row -> known.add(row.id()));
    }
    List<CompletionStage<?>> removals = new ArrayList<>();
    for (DirectoryEntry entry : entries) {
      // Entries of unreadable journals stay.
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
