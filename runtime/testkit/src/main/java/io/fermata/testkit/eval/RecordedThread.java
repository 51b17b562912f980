package io.fermata.testkit.eval;

import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.Hook;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.state.History;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A thread that was exported: what happened in it, and where it can be continued. */
final class RecordedThread {
  private final JournaledEvents events;

  /** Where a user's message was taken into the conversation; its step had ended. */
  private final List<Integer> taken;

  private RecordedThread(JournaledEvents events) {
    this.events = events;
    this.taken = new ArrayList<>();
    for (int i = 0; i < events.all().size(); i++) {
      if (events.all().get(i).event() instanceof ThreadEvent.Taken said
          && said.message().role() == Role.USER) {
        taken.add(i);
      }
    }
  }

  static RecordedThread read(Path export) throws IOException {
    return new RecordedThread(JournaledEvents.of(Fermata.readThreadJournal(export).whole()));
  }

  /** How many messages users said. */
  int said() {
    return taken.size();
  }

  /** The conversation before a user's message, and the messages from it on. */
  Fork fork(int message) {
    int position = taken.get(message - 1);
    JournaledEvents before = events.before(position);
    JournaledEvents after = events.from(position);
    List<Threads.NewMessage> next = new ArrayList<>();
    for (int at : taken.subList(message - 1, taken.size())) {
      next.add(posted(at));
    }
    return new Fork(
        before.state(),
        files(before),
        List.copyOf(next),
        new RecordedResults(before.ended(events), after.ended(events)));
  }

  /** The message as it was received, before any hook changed it, with its files. */
  private Threads.NewMessage posted(int position) {
    Message said = ((ThreadEvent.Taken) events.all().get(position).event()).message();
    List<Attachment> files = new ArrayList<>();
    for (JournaledEvents.Happened each : events.before(position).all()) {
      if (each.event() instanceof ThreadEvent.Received received
          && received.message().id().equals(said.id())) {
        said = received.message();
      } else if (each.event() instanceof ThreadEvent.FileWritten file
          && said.attachments().contains(file.path())) {
        String name = file.path().substring(file.path().lastIndexOf('/') + 1);
        files.add(new Attachment(name, file.mimeType(), file.data()));
      }
    }
    return new Threads.NewMessage(said.withAttachments(List.of()), files, null);
  }

  /** The files of the thread that are still there. */
  private static List<ThreadEvent.FileWritten> files(JournaledEvents before) {
    List<ThreadEvent.FileWritten> files = new ArrayList<>();
    for (ThreadStorage.StoredFile file : before.state().stored().files().values()) {
      for (JournaledEvents.Happened each : before.all()) {
        if (each.offset() == file.seq()
            && each.index() == file.index()
            && each.event() instanceof ThreadEvent.FileWritten written) {
          files.add(
              new ThreadEvent.FileWritten(file.path(), file.mimeType(), written.data(), file.at()));
        }
      }
    }
    return files;
  }

  /**
   * A point of a recording to continue from.
   *
   * @param state the thread as it was
   * @param files its files, with their bytes
   * @param next what the user says from here on
   */
  record Fork(
      ThreadState state,
      List<ThreadEvent.FileWritten> files,
      List<Threads.NewMessage> next,
      RecordedResults results) {

    /** A thread that begins as this one was. */
    Threads.NewThread thread(String principal) {
      return new Threads.NewThread(
          principal, state.agent(), null, state.stored().tags(), state.stored().env(), history());
    }

    private List<Message> history() {
      History history = state.history();
      List<Message> messages = new ArrayList<>();
      if (history.summary() != null) {
        messages.add(Message.system("Summary of the conversation so far:\n" + history.summary()));
      }
      messages.addAll(history.tail(Integer.MAX_VALUE));
      return messages;
    }

    /** An agent whose new threads get what the recorded one had stored. */
    Agent storing(Agent agent) {
      return agent.hooks(Hook.afterThreadCreated("recorded", (flow, thread) -> store(flow)));
    }

    private void store(FlowState flow) {
      state.stored().storage().forEach(flow.storage()::put);
      state.stored().context().forEach(flow::context);
      files.forEach(file -> flow.files().write(file.path(), file.mimeType(), file.data()));
    }
  }
}
