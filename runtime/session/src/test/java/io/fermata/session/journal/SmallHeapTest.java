package io.fermata.session.journal;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.WhatIf;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Journals that are larger than the heap of who reads them. */
@Tag("long")
final class SmallHeapTest {
  private static final int ENTRIES = 35_000;
  private static final String SAID = "word ".repeat(250);
  private static final long HEAP = 64L << 20;

  @TempDir Path folder;

  record Chat(@Nullable String word) {}

  private static Flow<Chat> chat() {
    return chat("bye");
  }

  private static Flow<Chat> chat(String last) {
    return Flow.of("chat", Chat.class)
        .description("Chats.")
        .ask("hear", q -> q.question("word", "And?"))
        .edge(START, "hear")
        .decide("hear", d -> d.when("bye", eq("word", last)).to(END).otherwise("hear"))
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

  /**
   * Reads the journals of a store in a process with a small heap, and imports them into another
   * one; prints how many entries it saw.
   */
  static final class Reader {
    private Reader() {}

    public static void main(String[] names) throws IOException {
      AtomicLong events = new AtomicLong();
      Recorder recorder =
          new Recorder() {
            @Override
            public void onEvent(Observation event) {
              events.incrementAndGet();
            }
          };
      Path run = Path.of(names[0] + ".run");
      Path thread = Path.of(names[0] + ".thread");
      try (Fermata host = host(Path.of(names[0]));
          OutputStream ofRun = Files.newOutputStream(run);
          OutputStream ofThread = Files.newOutputStream(thread)) {
        System.out.println("run " + now(host.journals().run("chat", names[1]).export(ofRun)));
        System.out.println("thread " + now(host.journals().thread(names[2]).export(ofThread)));
        now(host.journals().run("chat", names[1]).replay(recorder));
        System.out.println("events " + events.get());
        System.out.println("check " + now(host.journals().check(List.of(echo()), chat())).text());
      }
      WhatIf whatIf = WhatIf.of(chat()).agents(List.of(echo()));
      System.out.println("what if " + whatIf.over(Store.sqlite(Path.of(names[0]))).text());
      try (Fermata host = host(Path.of(names[0] + ".copy"))) {
        for (Path export : List.of(run, thread)) {
          try (InputStream from = Files.newInputStream(export)) {
            System.out.println("imported " + now(host.journals().importFrom(from)));
          }
        }
        String bye = "{\"action\":\"continue\",\"stateUpdates\":{\"word\":\"bye\"}}";
        System.out.println("bye " + now(host.call(call(bye), progress -> {})).structured());
      }
    }
  }

  @Test
  void journalsLargerThanTheHeapAreExportedReplayedCheckedDecidedAgainAndImportedInParts()
      throws Exception {
    Path few = folder.resolve("few.db");
    Path many = folder.resolve("many.db");
    String runId = "";
    String threadId = "";
    try (Fermata host = host(few)) {
      runId = spoken(host);
      Threads.NewThread thread =
          new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of());
      threadId = now(host.threads().create(thread)).threadId();
      for (int i = 0; i < 3; i++) {
        Threads.NewMessage message = new Threads.NewMessage(Message.user(SAID), List.of(), null);
        now(host.threads().post("ann", threadId, message));
        now(host.threads().settled("ann", threadId, Duration.ofMinutes(1)));
      }
    }
    multiply(few, many, SessionKey.entityOf("chat", runId), answered(SAID));
    long ofRun = Files.size(many);
    assertThat(ofRun).as("bytes of the run").isGreaterThan(HEAP);
    multiply(
        few,
        many,
        Objects.requireNonNull(ThreadKey.of(threadId)).entityId(),
        UnaryOperator.identity());
    assertThat(Files.size(many)).as("bytes of the thread").isGreaterThan(ofRun + HEAP);

    String said = inASmallHeap(Reader.class, many.toString(), runId, threadId);

    assertThat(said)
        .contains("run " + ENTRIES, "thread " + ENTRIES, "events ", "1 run(s): 1 continue")
        .contains("1 thread(s): 0 are held")
        .contains("id=" + runId + ", records=" + ENTRIES)
        .contains("id=" + threadId + ", records=" + ENTRIES)
        .contains("bye {\"status\":\"complete\"")
        .contains("what if 2 run(s): 1 are decided as they were, 1 otherwise");
  }

  private static ToolCall call(String arguments) {
    return new ToolCall(
        "chat",
        "ann",
        (ObjectNode) Json.parse(arguments),
        Json.object().put("fermata/sessionId", "long"),
        null);
  }

  /** Decides the runs of a store otherwise in a process with a small heap. */
  static final class Trier {
    private Trier() {}

    public static void main(String[] names) {
      WhatIf whatIf = WhatIf.of(chat(names[1]));
      System.out.println("what if " + whatIf.over(Store.sqlite(Path.of(names[0]))).text());
    }
  }

  @Test
  void tenTimesAsManyJournalsAreDecidedOtherwiseInTheSameHeap() throws Exception {
    String word = "word ".repeat(600);
    Path one = folder.resolve("one.db");
    String journal;
    try (Fermata host = host(one)) {
      var started = now(host.call(call("{\"action\":\"start\",\"intent\":\"x\"}"), progress -> {}));
      journal = SessionKey.entityOf("chat", started.meta().at("/fermata~1run/runId").asText());
      for (int i = 0; i < 3; i++) {
        now(
            host.call(
                call("{\"action\":\"continue\",\"stateUpdates\":{\"word\":\"a word\"}}"),
                progress -> {}));
      }
    }
    List<Entry<?>> entries = entries(one, journal);
    int few = 35;
    for (int runs : List.of(few, 10 * few)) {
      Path store = folder.resolve(runs + ".db");
      try (OpenStore open = Store.sqlite(store).open()) {
        for (int run = 0; run < runs; run++) {
          multiply(entries, open, journal + run, 50, answered(word));
        }
      }
      if (runs > few) {
        assertThat(Files.size(store)).as("bytes on disk").isGreaterThan(HEAP);
      }

      assertThat(inASmallHeap(Trier.class, store.toString(), word))
          .contains(
              "what if %d run(s): 0 are decided as they were, %d otherwise".formatted(runs, runs));
    }
  }

  /** Asks about a run in a process with a small heap. */
  static final class Asker {
    private Asker() {}

    public static void main(String[] names) {
      try (Fermata host = asked(Path.of(names[0]))) {
        for (String about : List.of("path", "asked", "decisions", "why")) {
          System.out.println(about + " " + explained(host, about));
        }
        System.out.println("last " + listed(host, names[1], Integer.parseInt(names[2]) - 2));
      }
    }
  }

  private static Fermata asked(Path store) {
    return Fermata.host().store(Store.sqlite(store)).flow(chat()).explainRuns().start();
  }

  private static JsonNode explained(Fermata host, String about) {
    ObjectNode arguments = Json.object().put("flow", "chat").put("about", about);
    ObjectNode meta = Json.object().put("fermata/sessionId", "long");
    ToolCall call = new ToolCall("explain_run", "ann", arguments.put("field", "word"), meta, null);
    return now(host.call(call, progress -> {})).structured();
  }

  private static List<Long> listed(Fermata host, String runId, long after) {
    return now(host.runs().entries("chat", runId, after, 100)).stream()
        .map(Runs.Entry::entry)
        .toList();
  }

  @Test
  void aRunLargerThanTheHeapIsExplainedAndItsLastEntriesAreListed() throws Exception {
    Path file = folder.resolve("large.db");
    String runId = large(file, 500);
    assertThat(Files.size(file)).isGreaterThan(HEAP);

    assertThat(inASmallHeap(Asker.class, file.toString(), runId, "500"))
        .contains("path {\"status\":\"explained\"", "asked {\"status\":\"explained\"")
        .contains("decisions {\"status\":\"explained\",\"text\":\"…\\nAfter hear the run went")
        .contains("why {\"status\":\"error\"", "\"code\":\"run_too_large\"")
        .contains("last [499, 500]");
  }

  @Test
  void aForkOfARunThatIsTooLongIsRefusedAsOneOfAThreadIs() {
    Path file = folder.resolve("large.db");
    String runId = large(file, 200);
    try (Fermata host = asked(file)) {
      assertThatThrownBy(() -> now(host.fork("chat", runId, 3, ForkOptions.sandbox())))
          .hasMessageContaining("has more than 32 MiB, so it cannot be forked; start a new run")
          .cause()
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("run_too_large"));
    }
  }

  /** The id of a run that was given a few words. */
  private static String spoken(Fermata host) {
    var started = now(host.call(call("{\"action\":\"start\",\"intent\":\"x\"}"), progress -> {}));
    for (int i = 0; i < 3; i++) {
      now(
          host.call(
              call("{\"action\":\"continue\",\"stateUpdates\":{\"word\":\"a word\"}}"),
              progress -> {}));
    }
    return started.meta().at("/fermata~1run/runId").asText();
  }

  /** Writes a run that was given a large word again and again. */
  private String large(Path to, int entries) {
    Path few = folder.resolve("few.db");
    String runId = "";
    try (Fermata host = host(few)) {
      runId = spoken(host);
    }
    String journal = SessionKey.entityOf("chat", runId);
    try (OpenStore store = Store.sqlite(to).open()) {
      multiply(entries(few, journal), store, journal, entries, answered("word ".repeat(40_000)));
    }
    return runId;
  }

  private static void multiply(Path from, Path to, String journal, UnaryOperator<Entry<?>> next) {
    List<Entry<?>> entries = entries(from, journal);
    try (OpenStore store = Store.sqlite(to).open()) {
      multiply(entries, store, journal, ENTRIES, next);
      // As if a host had listed it, which then wakes no thread to catch up.
      now(store.directory().mark(now(store.newest())));
    }
  }

  /**
   * Copies a journal, and what its last turns wrote again and again, to another store.
   *
   * @param next what an entry becomes
   */
  private static void multiply(
      List<Entry<?>> entries,
      OpenStore store,
      String journal,
      int many,
      UnaryOperator<Entry<?>> next) {
    JournalSerializer serializer = new JournalSerializer();
    int turns = entries.size() / 3;
    Iterator<NewEntry> all =
        IntStream.rangeClosed(1, many)
            .mapToObj(
                seq -> {
                  int again = entries.size() - turns + (seq - entries.size() - 1) % turns;
                  int copied = seq <= entries.size() ? seq - 1 : again;
                  Entry<?> template = entries.get(copied);
                  Entry<?> entry = next.apply(with(seq, template, template.events()));
                  StoredEntry stored =
                      new StoredEntry(
                          seq,
                          serializer.identifier(),
                          serializer.manifest(entry),
                          serializer.toBinary(entry));
                  return new NewEntry(stored, entry.at(), Set.of());
                })
            .iterator();
    now(store.importJournal(journal, () -> all));
  }

  /** Answers the question of a run again and again. */
  @SuppressWarnings("unchecked") // the entries of a run hold its events
  private static UnaryOperator<Entry<?>> answered(String answer) {
    FlowProgram<?> program = FlowProgram.of(chat(), Limits.DEFAULT);
    ObjectNode word = Json.object().put("word", answer);
    RunState[] run = {RunState.NONE};
    return template -> {
      Entry<?> next = template;
      if (template.seq() > 1) {
        Input input = new Input.Continue(word, template.at());
        Program.Acceptance<RunState, Event> answered = program.accept(run[0], input);
        next =
            with(template.seq(), template, ((Program.Accepted<RunState, Event>) answered).events());
      }
      run[0] = run[0].apply((List<Event>) next.events());
      return next;
    };
  }

  private static Entry<?> with(long seq, Entry<?> entry, List<?> events) {
    return new Entry<>(
        seq,
        entry.at(),
        entry.origin(),
        entry.callIds(),
        entry.reply(),
        entry.wake(),
        events,
        entry.end(),
        entry.task());
  }

  private static List<Entry<?>> entries(Path file, String journal) {
    JournalSerializer serializer = new JournalSerializer();
    List<Entry<?>> entries = new ArrayList<>();
    try (OpenStore store = Store.sqlite(file).open()) {
      for (StoredEntry stored : now(store.read(journal, 1, 500))) {
        entries.add((Entry<?>) serializer.fromBinary(stored.payload(), stored.manifest()));
      }
    }
    return entries;
  }

  private String inASmallHeap(Class<?> main, String... names) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx" + HEAP, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(names));
    Path said = folder.resolve("said.txt");
    Process reader =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    int code = reader.waitFor();
    assertThat(code).as(Files.readString(said)).isZero();
    return Files.readString(said);
  }
}
