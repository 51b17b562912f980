package io.fermata.session.host;

import io.fermata.agent.engine.SourceJournal;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.SourceResults;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.Request;
import io.fermata.session.call.UnreachableAgentException;
import io.fermata.session.key.HostError;
import io.fermata.session.key.ThreadKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The beginning of a fork: the entries of its source up to one of them, under its own id. The
 * messages and files of the source stay where they are read from.
 *
 * @param source the journal of the source
 * @param encrypted whether the source is encrypted, or may be
 */
record ThreadForks(ThreadJournal source, boolean encrypted) {

  /** A thread of the store, which belongs to a principal. */
  static ThreadForks of(String principal, String threadId, ThreadJournals.WholeThread read) {
    ThreadJournal journal = new ThreadJournal("", threadId, read.entries());
    ThreadForks forks = of(journal, read.encrypted());
    if (!forks.created().principal().equals(principal)) {
      throw ThreadJournals.unknown();
    }
    return forks;
  }

  /** A thread of which only the journal is known; its owner does not matter. */
  static ThreadForks of(ThreadJournal journal) {
    return of(journal, true);
  }

  private static ThreadForks of(ThreadJournal journal, boolean encrypted) {
    if (journal.redacted()) {
      throw new ThreadException(
          HostError.KEY_MISSING,
          "The journal of thread %s was read without the key that encrypts it; configure that key, or export the thread in clear, with exportWithSecrets"
              .formatted(journal.threadId()));
    }
    if (created(journal).isEmpty() || deletes(journal.events())) {
      throw ThreadJournals.unknown();
    }
    return new ThreadForks(journal, encrypted);
  }

  static boolean deletes(List<ThreadEvent> events) {
    return events.stream().anyMatch(ThreadEvent.Deleted.class::isInstance);
  }

  private static Optional<ThreadEvent.Created> created(ThreadJournal journal) {
    return journal.events().stream()
        .filter(ThreadEvent.Created.class::isInstance)
        .map(ThreadEvent.Created.class::cast)
        .findFirst();
  }

  ThreadEvent.Created created() {
    return created(source).orElseThrow();
  }

  /** The agent that the fork is named after. */
  String agent(Threads.NewFork how) {
    return how.agent() == null ? source.state().metadata().origin() : how.agent();
  }

  /**
   * @param principal whose thread the fork is
   * @throws UnreachableAgentException if who forks may not use an agent whose work it continues
   */
  Request.ForkThread as(ThreadKey key, String principal, Threads.NewFork how, long now) {
    JournalEntry<ThreadEvent> last = last(how);
    ThreadJournal cut = source.upTo(last.seq());
    requireReach(cut.state(), how);
    List<JournalEntry<ThreadEvent>> copied = new ArrayList<>();
    for (JournalEntry<ThreadEvent> entry : cut.entries()) {
      List<ThreadEvent> events =
          entry.events().stream().map(event -> under(key.threadId(), principal, event)).toList();
      copied.add(entry.with(events));
    }
    String by = how.by() == null ? principal : how.by();
    ThreadFork fork = new ThreadFork(source.threadId(), last.seq(), last.at(), how.mode(), by);
    return new Request.ForkThread(
        new ThreadJournal(key.agent(), key.threadId(), copied),
        new ThreadInput.Fork(
            fork, how.agent(), how.env(), how.message(), results(copied.size(), how), now),
        encrypted);
  }

  /** An agent that has acted in the source may be one that who forks may not use. */
  private static void requireReach(ThreadState then, Threads.NewFork how) {
    Stream<String> acting =
        how.agent() == null
            ? Stream.of(then.begun().agent(), then.agent())
            : Stream.of(how.agent());
    Stream<String> calling =
        then.frames().values().stream()
            .flatMap(frame -> Stream.ofNullable(frame.level().detached()));
    Stream.concat(acting, calling)
        .filter(how.mayReach().negate())
        .findFirst()
        .ifPresent(
            agent -> {
              throw new UnreachableAgentException(agent);
            });
  }

  private @Nullable SourceResults results(int entries, Threads.NewFork how) {
    return how.mode() == ForkOrigin.Mode.REPLAY_EFFECTS
        ? SourceJournal.after(source.entries().stream().map(JournalEntry::events).toList(), entries)
        : null;
  }

  private static ThreadEvent under(String threadId, String principal, ThreadEvent event) {
    return event instanceof ThreadEvent.Created created
        ? new ThreadEvent.Created(
            threadId,
            created.agent(),
            principal,
            created.tags(),
            created.env(),
            created.parent(),
            created.window(),
            created.at())
        : event;
  }

  /** The entry after which the fork continues. */
  private JournalEntry<ThreadEvent> last(Threads.NewFork how) {
    List<JournalEntry<ThreadEvent>> entries = source.entries();
    JournalEntry<ThreadEvent> latest = entries.get(entries.size() - 1);
    Long wanted = how.before() == null ? how.entry() : Long.valueOf(before(how.before()));
    return wanted == null
        ? latest
        : entries.stream()
            .filter(entry -> entry.seq() == wanted)
            .findFirst()
            .orElseThrow(
                () ->
                    new ThreadException(
                        HostError.UNKNOWN_ENTRY,
                        "The thread %s has no entry %s; its entries are 1 to %s"
                            .formatted(source.threadId(), wanted, latest.seq())));
  }

  /** The entry before that in which a message came. */
  private long before(String message) {
    for (JournalEntry<ThreadEvent> entry : source.entries()) {
      if (entry.events().stream().anyMatch(event -> brings(event, message))) {
        if (entry.seq() == 1) {
          throw new ThreadException(
              HostError.UNKNOWN_ENTRY,
              "The thread %s began with the message %s; create a thread instead"
                  .formatted(source.threadId(), message));
        }
        return entry.seq() - 1;
      }
    }
    throw new ThreadException(
        HostError.UNKNOWN_MESSAGE,
        "The thread %s has no message %s to fork before; pass the id of one of its messages"
            .formatted(source.threadId(), message));
  }

  private static boolean brings(ThreadEvent event, String message) {
    return event.messages().stream().anyMatch(brought -> brought.id().equals(message));
  }
}
