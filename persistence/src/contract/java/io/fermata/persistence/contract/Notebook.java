package io.fermata.persistence.contract;

import io.fermata.persistence.spi.JournalTags;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.RetentionCriteria;

/** A persistent actor that remembers its lines and the sequence number of the last. */
public final class Notebook extends EventSourcedBehavior<Notebook.Command, Note, Note.Page> {

  public sealed interface Command {}

  public record Write(List<Note> notes, ActorRef<Long> acknowledge) implements Command {}

  public record Read(ActorRef<Content> reply) implements Command {}

  public record Close() implements Command {}

  public record Content(List<String> lines, long sequenceNr) {}

  private final ActorContext<Command> context;
  private final RetentionCriteria retention;

  private Notebook(ActorContext<Command> context, String id, RetentionCriteria retention) {
    super(PersistenceId.ofUniqueId(id));
    this.context = context;
    this.retention = retention;
  }

  public static Behavior<Command> open(String id) {
    return Behaviors.setup(context -> new Notebook(context, id, RetentionCriteria.disabled()));
  }

  public static Behavior<Command> withSnapshots(String id) {
    return Behaviors.setup(
        context -> new Notebook(context, id, RetentionCriteria.snapshotEvery(2, 5)));
  }

  /** Of every second note it takes a snapshot, and then deletes what only the one before needs. */
  public static Behavior<Command> deleting(String id) {
    return Behaviors.setup(
        context ->
            new Notebook(
                context, id, RetentionCriteria.snapshotEvery(2, 1).withDeleteEventsOnSnapshot()));
  }

  @Override
  public Note.Page emptyState() {
    return new Note.Page(List.of());
  }

  @Override
  public CommandHandler<Command, Note, Note.Page> commandHandler() {
    return newCommandHandlerBuilder()
        .forAnyState()
        .onCommand(
            Write.class,
            write ->
                Effect()
                    .persist(write.notes())
                    .thenRun(page -> write.acknowledge().tell(lastSequenceNumber())))
        .onCommand(
            Read.class,
            (page, read) ->
                Effect()
                    .none()
                    .thenRun(
                        same -> read.reply().tell(new Content(page.lines(), lastSequenceNumber()))))
        .onCommand(Close.class, close -> Effect().stop())
        .build();
  }

  private long lastSequenceNumber() {
    return lastSequenceNumber(context);
  }

  @Override
  public EventHandler<Note.Page, Note> eventHandler() {
    return Notebook::add;
  }

  private static Note.Page add(Note.Page page, Note note) {
    if (note instanceof Note.Conclusion conclusion) {
      return new Note.Page(List.of(conclusion.text()));
    }
    List<String> lines = new ArrayList<>(page.lines());
    if (note instanceof Note.Line line) {
      lines.add(line.text());
    } else if (note instanceof Note.Plan plan) {
      lines.add(plan.text());
    }
    return new Note.Page(List.copyOf(lines));
  }

  @Override
  public Set<String> tagsFor(Note note) {
    return tags(note);
  }

  public static Set<String> tags(Note note) {
    if (note instanceof Note.Plan) {
      return Set.of(JournalTags.UNFINISHED);
    }
    if (note instanceof Note.Appointment appointment) {
      return Set.of(JournalTags.due(appointment.at()));
    }
    return note instanceof Note.Conclusion end
        ? Set.of(JournalTags.sweep(end.sweepAt()), JournalTags.forget(end.forgetAt()))
        : Set.of();
  }

  @Override
  public RetentionCriteria retentionCriteria() {
    return retention;
  }
}
