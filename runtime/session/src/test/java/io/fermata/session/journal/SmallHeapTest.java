package io.fermata.session.journal;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Journals that are larger than the heap of who reads them. */
@Tag("long")
final class SmallHeapTest {
  private static final int ENTRIES = 300_000;
  private static final String HEAP = "-Xmx64m";

  @TempDir Path folder;

  record Chat(@Nullable String word) {}

  private static Flow<Chat> chat() {
    return Flow.of("chat", Chat.class)
        .description("Chats.")
        .ask("hear", q -> q.question("word", "And?"))
        .edge(START, "hear")
        .decide("hear", d -> d.when("bye", eq("word", "bye")).to(END).otherwise("hear"))
        .compile();
  }

  private static Agent echo() {
    return Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
  }

  private static Fermata host(Path store) {
    return Fermata.host().store(Store.sqlite(store)).flow(chat()).agent(echo()).start();
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(10, TimeUnit.MINUTES).join();
  }

  /** Reads the journals in a process with a small heap; prints how many entries it saw. */
  static final class Reader {
    private Reader() {}

    public static void main(String[] names) {
      AtomicLong events = new AtomicLong();
      Recorder recorder =
          new Recorder() {
            @Override
            public void onEvent(Observation event) {
              events.incrementAndGet();
            }
          };
      try (Fermata host = host(Path.of(names[0]))) {
        System.out.println("run " + now(host.export("chat", names[1], discarded())));
        System.out.println("thread " + now(host.exportThread(names[2], discarded())));
        now(host.replay("chat", names[1], recorder));
        System.out.println("events " + events.get());
        System.out.println("check " + now(host.check(List.of(echo()), chat())).text());
      }
    }

    private static OutputStream discarded() {
      return OutputStream.nullOutputStream();
    }
  }

  @Test
  void exportReplayAndCheckOfJournalsLargerThanTheHeapReadThemInPages() throws Exception {
    Path few = folder.resolve("few.db");
    Path many = folder.resolve("many.db");
    String runId = "";
    String threadId = "";
    try (Fermata host = host(few)) {
      var started = now(host.call(call("{\"action\":\"start\",\"intent\":\"x\"}"), progress -> {}));
      runId = started.meta().at("/fermata~1run/runId").asText();
      for (int i = 0; i < 3; i++) {
        now(
            host.call(
                call("{\"action\":\"continue\",\"stateUpdates\":{\"word\":\"a word\"}}"),
                progress -> {}));
      }
      Threads.NewThread thread =
          new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of());
      threadId = now(host.threads().create(thread)).threadId();
      for (int i = 0; i < 3; i++) {
        Threads.NewMessage message =
            new Threads.NewMessage(Message.user("Hello?"), List.of(), null);
        now(host.threads().post("ann", threadId, message));
        now(host.threads().settled("ann", threadId, Duration.ofMinutes(1)));
      }
    }
    multiply(few, many, SessionKey.entityOf("chat", runId));
    multiply(few, many, Objects.requireNonNull(ThreadKey.of(threadId)).entityId());
    assertThat(Files.size(many)).as("bytes on disk").isGreaterThan(64L << 20);

    String said = readInASmallHeap(many.toString(), runId, threadId);

    assertThat(said)
        .contains("run " + ENTRIES, "thread " + ENTRIES, "events ", "1 run(s): 1 continue")
        .contains("1 thread(s): 0 are held");
  }

  private static ToolCall call(String arguments) {
    return new ToolCall(
        "chat",
        "ann",
        (ObjectNode) Json.parse(arguments),
        Json.object().put("fermata/sessionId", "long"),
        null);
  }

  /** Copies a journal, and what its last turns wrote again and again, to another store. */
  private static void multiply(Path from, Path to, String journal) {
    List<Entry<?>> entries = new ArrayList<>();
    JournalSerializer serializer = new JournalSerializer();
    try (OpenStore store = Store.sqlite(from).open()) {
      for (StoredEntry stored : now(store.read(journal, 1, 500))) {
        entries.add((Entry<?>) serializer.fromBinary(stored.payload(), stored.manifest()));
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    int turns = entries.size() / 3;
    List<NewEntry> all = new ArrayList<>();
    for (int seq = 1; seq <= ENTRIES; seq++) {
      boolean known = seq <= entries.size();
      int again = entries.size() - turns + (seq - entries.size() - 1) % turns;
      Entry<?> entry = numbered(seq, entries.get(known ? seq - 1 : again));
      StoredEntry stored =
          new StoredEntry(
              seq, serializer.identifier(), serializer.manifest(entry), serializer.toBinary(entry));
      all.add(new NewEntry(stored, entry.at(), Set.of()));
    }
    try (OpenStore store = Store.sqlite(to).open()) {
      now(store.importJournal(journal, all));
    }
  }

  private static <E> Entry<E> numbered(long seq, Entry<E> entry) {
    return new Entry<>(
        seq,
        entry.at(),
        entry.origin(),
        entry.callId(),
        entry.reply(),
        entry.wake(),
        entry.events(),
        entry.end(),
        entry.task());
  }

  private String readInASmallHeap(String... names) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(HEAP, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Reader.class.getName()));
    command.addAll(List.of(names));
    Path said = folder.resolve("said.txt");
    Process reader =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    int code = reader.waitFor();
    assertThat(code).as(Files.readString(said)).isZero();
    return Files.readString(said);
  }
}
