package io.fermata.session;

import io.fermata.persistence.Directory;
import io.fermata.persistence.DirectoryEntry;
import io.fermata.persistence.DirectoryPage;
import io.fermata.persistence.DirectoryQuery;
import io.fermata.persistence.StoreException;
import io.fermata.session.RunJournals.Told;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Enters runs as their journals have them while sessions go on. A run may end between the reading
 * and the entering, and its own word of it come too early: so whatever was entered is compared with
 * its journal once more, until nothing has changed in between.
 */
final class RunCatch implements Consumer<List<String>> {
  private static final Logger LOG = LoggerFactory.getLogger(RunCatch.class);
  private static final int PAGE = 200;

  private final RunJournals journals;
  private final Directory directory;
  private final RunEntering entering;
  private final InstantSource clock;
  private final Runnable between;
  private List<String> moving = new ArrayList<>();
  private long read;
  private long entered;

  /**
   * @param between what is to be done again and again, however long this takes
   */
  RunCatch(
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
    enter(entityIds);
  }

  /** Compares once more what was written to meanwhile. */
  void settle() {
    while (!moving.isEmpty()) {
      List<String> again = moving;
      moving = new ArrayList<>();
      for (int from = 0; from < again.size(); from += PAGE) {
        enter(again.subList(from, Math.min(from + PAGE, again.size())));
      }
    }
  }

  private void enter(List<String> entityIds) {
    List<CompletionStage<?>> writes = new ArrayList<>();
    List<Told> told = told(entityIds);
    told.forEach(journal -> write(journal, writes));
    Stages.all(writes);
    List<CompletionStage<Boolean>> moved = new ArrayList<>();
    for (Told journal : told) {
      moved.add(journals.lastSeq(journal.entityId()).thenApply(seq -> seq != journal.seq()));
    }
    for (int i = 0; i < told.size(); i++) {
      if (Stages.now(moved.get(i))) {
        moving.add(told.get(i).entityId());
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
            if (Causes.find(e, StoreException.class) != null) {
              throw e;
            }
            LOG.warn("What the journal {} says of its runs cannot be told", id, e);
          }
        });
    return told;
  }

  private void write(Told journal, List<CompletionStage<?>> writes) {
    for (RunJournals.End end : journal.ended()) {
      if (end.keptUntil() > clock.millis()) {
        enter(end.row(), writes);
      } else {
        writes.add(directory.remove(end.row().id()));
      }
    }
    RunRow live = journal.live();
    if (live != null) {
      enter(live, writes);
    }
  }

  private void enter(RunRow row, List<CompletionStage<?>> writes) {
    if (entering.put(row, writes)) {
      entered++;
    }
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
      RunRow live = journal.live();
      if (live != null) {
        known.add(live.id());
      }
      journal.ended().stream()
          .filter(end -> end.keptUntil() > clock.millis())
          .forEach(end -> known.add(end.row().id()));
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
