package io.fermata.persistence.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.BootstrapSetup;
import org.apache.pekko.actor.setup.ActorSystemSetup;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.SpawnProtocol;
import org.apache.pekko.actor.typed.Terminated;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;

/** A host of notebooks: an actor system on an open store. */
public final class Host implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int TOGETHER = 100;
  private static final Config APPLICATION =
      ConfigFactory.parseString(
              """
              pekko {
                loglevel = WARNING
                log-dead-letters = off
                loggers = ["org.apache.pekko.event.slf4j.Slf4jLogger"]
                actor {
                  serializers.note = "io.fermata.persistence.contract.NoteSerializer"
                  serialization-bindings {
                    "io.fermata.persistence.contract.Note" = note
                    "io.fermata.persistence.contract.Note$Page" = note
                  }
                }
              }
              """)
          .withFallback(ConfigFactory.load());

  private final OpenStore store;
  private final ActorSystem<SpawnProtocol.Command> system;
  private final Map<String, Desk> desks = new HashMap<>();

  private Host(OpenStore store) {
    this.store = store;
    this.system =
        ActorSystem.create(
            SpawnProtocol.create(),
            "host",
            ActorSystemSetup.create(
                BootstrapSetup.create(store.config().withFallback(APPLICATION)), store.setup()));
  }

  public static Host on(Store store) {
    return new Host(store.open());
  }

  /** A host on a store that somebody else opened. */
  public static Host over(OpenStore store) {
    return new Host(store);
  }

  public OpenStore store() {
    return store;
  }

  public Desk open(String id) {
    return new Desk(spawn(Notebook.open(id)));
  }

  /** The notebook that is already open, or else a new one. */
  public Desk desk(String id) {
    return desks.computeIfAbsent(id, this::open);
  }

  public Desk openWithSnapshots(String id) {
    return new Desk(spawn(Notebook.withSnapshots(id)));
  }

  public Desk openDeleting(String id) {
    return new Desk(spawn(Notebook.deleting(id)));
  }

  public <T> ActorRef<T> spawn(Behavior<T> behavior) {
    return await(
        AskPattern.ask(
            system,
            (ActorRef<ActorRef<T>> reply) ->
                new SpawnProtocol.Spawn<>(behavior, "", Props.empty(), reply),
            PATIENCE,
            system.scheduler()));
  }

  /** The journals with unfinished work, read in pages of two. */
  public List<String> working() {
    Set<String> working = new TreeSet<>();
    String cursor = "";
    List<Unfinished> page;
    do {
      page = await(store.unfinished(cursor, 2));
      for (Unfinished each : page) {
        working.add(each.persistenceId());
        cursor = each.cursor();
      }
    } while (page.size() == 2);
    return List.copyOf(working);
  }

  public List<Due> due(long from, long until, int max) {
    return await(store.due(from, until, max));
  }

  public List<Due> due(long until, int max) {
    return await(store.due(until, max));
  }

  public int sweep() {
    return sweep(0);
  }

  public int sweep(long now) {
    return await(store.sweep(now));
  }

  public Deleted forget(String... ids) {
    return await(store.delete(List.of(ids)));
  }

  public List<String> read(String id, long fromSeq, int max) {
    return texts(await(store.read(id, fromSeq, max)));
  }

  public List<String> readBack(String id, long beforeSeq, int max) {
    return texts(await(store.readBack(id, beforeSeq, max)));
  }

  private static List<String> texts(List<StoredEntry> records) {
    return records.stream().map(record -> new String(record.payload(), UTF_8)).toList();
  }

  @Override
  public void close() {
    system.terminate();
    await(system.getWhenTerminated());
    store.close();
  }

  public static <T extends @Nullable Object> T await(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException | ExecutionException | TimeoutException failed) {
      throw new AssertionError(failed);
    }
  }

  /** A notebook stopped instead of writing. */
  public static final class RefusedException extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** One notebook on the desk. */
  public final class Desk {

    private final ActorRef<Notebook.Command> notebook;

    private Desk(ActorRef<Notebook.Command> notebook) {
      this.notebook = notebook;
    }

    public Desk write(Note... notes) {
      await(begin(notes));
      return this;
    }

    /** Writes what need not be written one by one, which takes a moment each. */
    public Desk writeTogether(List<? extends Note> notes) {
      for (int from = 0; from < notes.size(); from += TOGETHER) {
        int to = Math.min(from + TOGETHER, notes.size());
        write(notes.subList(from, to).toArray(Note[]::new));
      }
      return this;
    }

    public CompletionStage<Long> begin(Note... notes) {
      return begin(PATIENCE, notes);
    }

    public CompletionStage<Long> begin(Duration timeout, Note... notes) {
      return AskPattern.ask(
          notebook,
          (ActorRef<Long> acknowledge) -> new Notebook.Write(List.of(notes), acknowledge),
          timeout,
          system.scheduler());
    }

    /**
     * Writes, or fails as {@link RefusedException} when the notebook has stopped, as it does when
     * its write is refused.
     */
    public CompletionStage<Long> attempt(Note... notes) {
      CompletableFuture<Long> written = new CompletableFuture<>();
      Behavior<Long> attempt = attempt(List.of(notes), written);
      system.tell(new SpawnProtocol.Spawn<>(attempt, "", Props.empty(), system.ignoreRef()));
      return written.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private Behavior<Long> attempt(List<Note> notes, CompletableFuture<Long> written) {
      return Behaviors.setup(
          context -> {
            context.watch(notebook);
            notebook.tell(new Notebook.Write(notes, context.getSelf()));
            return Behaviors.receive(Long.class)
                .onMessage(
                    Long.class,
                    sequenceNr -> {
                      written.complete(sequenceNr);
                      return Behaviors.stopped();
                    })
                .onSignal(
                    Terminated.class,
                    refused -> {
                      written.completeExceptionally(new RefusedException());
                      return Behaviors.stopped();
                    })
                .build();
          });
    }

    public List<String> lines() {
      return content().lines();
    }

    public Notebook.Content content() {
      return await(AskPattern.ask(notebook, Notebook.Read::new, PATIENCE, system.scheduler()));
    }
  }
}
