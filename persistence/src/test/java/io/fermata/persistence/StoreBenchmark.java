package io.fermata.persistence;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.contract.Notebook;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.Effect;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;

/** Measures a SQLite store: {@code <directory>}. Run it by hand, it asserts nothing. */
final class StoreBenchmark {

  private static final int SECONDS = 5;

  private StoreBenchmark() {}

  public static void main(String[] arguments) throws Exception {
    Path directory = Files.createDirectories(Path.of(arguments[0]));
    try (Host host = Host.on(Store.sqlite(directory.resolve("bench.db")))) {
      report(host, "warm-up", 64, StoreBenchmark::untagged, false);
      for (int actors : new int[] {1, 64, 512}) {
        report(host, "untagged", actors, StoreBenchmark::untagged, false);
        report(host, "1 in 2 tagged", actors, StoreBenchmark::halfTagged, false);
        report(host, "runs of 10, swept", actors, StoreBenchmark::runOfTen, true);
      }
      backlog(host);
    }
  }

  private static Note untagged(long line) {
    return new Line("line " + line % 100);
  }

  private static Note halfTagged(long line) {
    return line % 2 == 0 ? new Plan("plan") : new Line("line");
  }

  private static Note runOfTen(long line) {
    return line % 10 == 9 ? new Conclusion("done") : new Line("line");
  }

  private static void report(
      Host host, String name, int actors, LongFunction<Note> note, boolean sweeping)
      throws InterruptedException {
    AtomicLong events = new AtomicLong();
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    CountDownLatch writing = new CountDownLatch(actors);
    for (int actor = 0; actor < actors; actor++) {
      host.spawn(Writer.of(name + actors + "." + actor, note, end, events, writing));
    }
    List<Long> sweeps = new ArrayList<>();
    while (sweeping && System.nanoTime() < end) {
      long begin = System.nanoTime();
      int swept = host.sweep();
      sweeps.add((System.nanoTime() - begin) / 1000);
      System.out.println(
          "  swept " + swept + " journals in " + sweeps.get(sweeps.size() - 1) + " us");
      Thread.sleep(500);
    }
    writing.await();
    System.out.println(name + ", " + actors + " actors: " + events.get() / SECONDS + " events/s");
    host.sweep();
  }

  private static void backlog(Host host) {
    List<CompletionStage<?>> writes = new ArrayList<>();
    for (int journal = 0; journal < 2_000; journal++) {
      Host.Desk desk = host.open("backlog" + journal);
      for (int line = 0; line < 10; line++) {
        writes.add(desk.begin(runOfTen(line)));
      }
    }
    writes.forEach(Host::await);
    for (int time = 0; time < 4; time++) {
      long begin = System.nanoTime();
      int swept = host.sweep();
      System.out.println(
          "quiet sweep of " + swept + " journals: " + (System.nanoTime() - begin) / 1000 + " us");
    }
  }

  /** Writes note after note, each when the one before is acknowledged. */
  private static final class Writer extends EventSourcedBehavior<Long, Note, Note.Page> {

    private final ActorContext<Long> context;
    private final LongFunction<Note> note;
    private final long end;
    private final AtomicLong events;
    private final CountDownLatch writing;

    private Writer(
        ActorContext<Long> context,
        String id,
        LongFunction<Note> note,
        long end,
        AtomicLong events,
        CountDownLatch writing) {
      super(PersistenceId.ofUniqueId(id));
      this.context = context;
      this.note = note;
      this.end = end;
      this.events = events;
      this.writing = writing;
    }

    static Behavior<Long> of(
        String id, LongFunction<Note> note, long end, AtomicLong events, CountDownLatch writing) {
      return Behaviors.setup(
          context -> {
            context.getSelf().tell(0L);
            return new Writer(context, id, note, end, events, writing);
          });
    }

    @Override
    public Note.Page emptyState() {
      return new Note.Page(List.of());
    }

    @Override
    public CommandHandler<Long, Note, Note.Page> commandHandler() {
      return newCommandHandlerBuilder().forAnyState().onAnyCommand(this::write);
    }

    private Effect<Note, Note.Page> write(Note.Page page, long line) {
      if (System.nanoTime() > end) {
        writing.countDown();
        return Effect().stop();
      }
      return Effect().persist(note.apply(line)).thenRun(same -> next(line));
    }

    private void next(long line) {
      events.incrementAndGet();
      context.getSelf().tell(line + 1);
    }

    @Override
    public EventHandler<Note.Page, Note> eventHandler() {
      return (page, written) -> page;
    }

    @Override
    public Set<String> tagsFor(Note written) {
      return Notebook.tags(written);
    }
  }
}
