package io.fermata.testkit.eval;

import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.session.ExportedJournal;
import io.fermata.session.admin.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A thread that was exported: what happened in it, and where it can be continued. */
final class RecordedThread {
  private final ThreadJournal journal;
  private final List<ThreadEvent> events;

  /** Where a user's message was taken into the conversation; its step had ended. */
  private final List<Integer> taken;

  private RecordedThread(ThreadJournal journal) {
    this.journal = journal;
    this.events = journal.events();
    this.taken = new ArrayList<>();
    Set<String> posted = new HashSet<>();
    for (int i = 0; i < events.size(); i++) {
      Message message = posted(events.get(i));
      if (message != null) {
        posted.add(message.id());
      } else if (events.get(i) instanceof ThreadEvent.Taken said
          && posted.contains(said.message().id())) {
        taken.add(i);
      }
    }
  }

  /** What a user posted; null for any other event, as where the host says how a call has ended. */
  private static @Nullable Message posted(ThreadEvent event) {
    return event instanceof ThreadEvent.Received received
            && !received.notice()
            && received.message().role() == Role.USER
        ? received.message()
        : null;
  }

  static RecordedThread read(Path export) throws IOException {
    return of(ExportedJournal.read(export).thread());
  }

  static RecordedThread of(ThreadJournal journal) {
    return new RecordedThread(journal.whole());
  }

  /** How many messages users said. */
  int said() {
    return taken.size();
  }

  /**
   * The thread when a user's message had been received and was about to be taken, and what users
   * said later.
   */
  Fork fork(int message) {
    int position = taken.get(message - 1);
    List<Threads.NewMessage> next = new ArrayList<>();
    for (int i = position; i < events.size(); i++) {
      Message said = posted(events.get(i));
      if (said != null) {
        next.add(again(said, i));
      }
    }
    return new Fork(before(position), next, RecordedResults.of(journal, position));
  }

  /** The journal up to one of its events; the last entry may be a part of one. */
  private ThreadJournal before(int position) {
    List<JournalEntry<ThreadEvent>> entries = new ArrayList<>();
    int left = position;
    for (JournalEntry<ThreadEvent> entry : journal.entries()) {
      if (left == 0) {
        break;
      }
      // An entry without events stays, as the number of an entry is its place.
      List<ThreadEvent> some = entry.events().subList(0, Math.min(left, entry.events().size()));
      left -= some.size();
      entries.add(entry.with(some));
    }
    return new ThreadJournal(journal.agent(), journal.threadId(), entries);
  }

  /** A message as it was received, before any hook changed it, with its files. */
  private Threads.NewMessage again(Message said, int position) {
    List<Attachment> files = new ArrayList<>();
    for (ThreadEvent each : events.subList(0, position)) {
      if (each instanceof ThreadEvent.FileWritten file
          && said.attachments().contains(file.path())) {
        String name = file.path().substring(file.path().lastIndexOf('/') + 1);
        files.add(new Attachment(name, file.mimeType(), file.data()));
      }
    }
    return new Threads.NewMessage(said.withAttachments(List.of()), files, null);
  }

  /**
   * A point of a recording to continue from.
   *
   * @param before the thread up to there; the message that the user says first waits in it
   * @param next what the user says then
   */
  record Fork(ThreadJournal before, List<Threads.NewMessage> next, RecordedResults results) {}
}
