package io.fermata.session.archive;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.ExportedJournal;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.admin.Imported;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.Lossless;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A journal that is taken out of one store goes on in another, or is refused before it is in. */
@Tag("slow")
class ArchiveTest {
  record Order(String dish, @Computed BigDecimal price, @Computed String told) {}

  @TempDir Path directory;

  private static Flow<Order> order() {
    return Flow.of("order", Order.class)
        .description("Takes an order.")
        .act("price", run -> run.set("price", new BigDecimal("7.50")))
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .sleep("cook", Duration.ofSeconds(2))
        .act("serve", run -> run.set("told", run.state().dish() + " for " + run.state().price()))
        .edge(START, "price")
        .edge("price", "ask_dish")
        .edge("ask_dish", "cook")
        .edge("cook", "serve")
        .edge("serve", END)
        .result(state -> state)
        .compile();
  }

  private Store store(String name) {
    return Store.sqlite(directory.resolve(name + ".db"));
  }

  /** Its calls do not wait for the cooking, which is a pause of more than half of their time. */
  private HostBuilder host(String name) {
    return Fermata.host()
        .store(store(name))
        .settings(Settings.DEFAULT.callDeadline(Duration.ofSeconds(3)))
        .flow(order());
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("It did not end well", e);
    }
  }

  private static ToolReply call(Fermata host, ObjectNode arguments, String session) {
    ObjectNode meta = Json.object();
    if (!session.isEmpty()) {
      meta.put("fermata/sessionId", session);
    }
    return now(host.call(new ToolCall("order", "ann", arguments, meta, null), progress -> {}));
  }

  private static ObjectNode start() {
    return Json.object().put("action", "start").put("intent", "to eat");
  }

  private static ObjectNode eat(String dish) {
    ObjectNode arguments = Json.object().put("action", "continue");
    arguments.putObject("stateUpdates").put("dish", dish);
    return arguments;
  }

  private static String run(ToolReply reply) {
    return reply.meta().path("fermata/run").path("runId").asText();
  }

  private static String exported(Fermata host, String run) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    now(host.journals().run("order", run).export(out));
    return out.toString(UTF_8);
  }

  private static Imported imported(Fermata host, String lines) {
    return now(host.journals().importFrom(new ByteArrayInputStream(lines.getBytes(UTF_8))));
  }

  private static void refused(Fermata host, String lines, String why) {
    assertThatThrownBy(
            () ->
                host.journals()
                    .importFrom(new ByteArrayInputStream(lines.getBytes(UTF_8)))
                    .toCompletableFuture()
                    .join())
        .isInstanceOf(CompletionException.class)
        .cause()
        .hasMessageContaining(why);
  }

  @Test
  void anImportedRunContinuesWhereItWas() throws Exception {
    String lines;
    String run;
    try (Fermata host = host("old").start()) {
      run = run(call(host, start(), "s"));
      lines = exported(host, run);
    }
    try (Fermata host = host("new").start()) {
      assertThat(imported(host, lines))
          .isEqualTo(
              new Imported(
                  "run", "order", run, (int) lines.lines().count() - 2, ExportSignature.UNSIGNED));

      ToolReply reply = call(host, eat("soup"), "s");
      assertThat(run(reply)).isEqualTo(run);
      assertThat(TestHost.status(reply)).isEqualTo("waiting");
      ToolReply[] last = {reply};
      TestHost.eventually(
          () -> {
            last[0] = call(host, Json.object().put("action", "continue"), "s");
            return TestHost.status(last[0]).equals("complete");
          });
      assertThat(last[0].structured().path("result").path("told").asText())
          .isEqualTo("soup for 7.50");
    }
  }

  @Test
  void theTimeThatAnImportedRunWaitsForComesThoughNobodyCalls() throws Exception {
    String lines;
    String run;
    try (Fermata host = host("old").start()) {
      run = run(call(host, start(), "s"));
      call(host, eat("soup"), "s");
      lines = exported(host, run);
    }
    try (Fermata host = host("new").retention(Retention.ofJournals(Duration.ofDays(1))).start()) {
      imported(host, lines);
      TestHost.eventually(() -> exported(host, run).contains("\"end\":{\"runId\""));
    }
  }

  @Test
  void theFirstLineSaysWhatItIsAndTheOthersCanBeRead() throws Exception {
    try (Fermata host = host("old").start()) {
      String run = run(call(host, start(), "s"));
      List<String> lines = exported(host, run).lines().toList();

      JsonNode header = Lossless.parse(lines.get(0));
      assertThat(header.path("fermata").asText()).isEqualTo("journal");
      assertThat(header.path("format").asInt()).isEqualTo(1);
      assertThat(header.path("kind").asText()).isEqualTo("run");
      assertThat(header.path("name").asText()).isEqualTo("order");
      assertThat(header.path("id").asText()).isEqualTo(run);
      assertThat(header.path("principal").asText()).isEqualTo("ann");
      assertThat(lines.get(1)).startsWith("{\"seq\":1,\"type\":\"run:1\",\"record\":{");
      assertThat(lines).anyMatch(line -> line.contains("7.50"));
      assertThat(lines.get(lines.size() - 1))
          .matches("\\{\"end\":" + (lines.size() - 2) + ",\"chain\":\"[0-9a-f]{64}\"}");
    }
  }

  @Test
  void whatIsNotCompleteAndConsistentIsRefusedAndNothingIsWritten() {
    try (Fermata host = host("old").start()) {
      String run = run(call(host, start(), "s"));
      call(host, eat("soup"), "s");
      String good = exported(host, run);
      List<String> lines = good.lines().toList();

      refused(host, good, "already has the run order/" + run + "; erase it first");
      now(host.erase(Erasure.run("order", run)));
      refused(host, change(lines, all -> all.remove(all.size() - 1)), "the file is truncated");
      refused(host, change(lines, all -> all.remove(2)), "follows record 1");
      refused(host, change(lines, all -> all.add(2, all.get(1))), "record 1 follows record 1");
      refused(host, good + "{}\n", "after the end");
      refused(host, good.replaceFirst("run:1", "run:9"), "run:9");
      refused(host, good.replaceFirst("\"format\":1", "\"format\":2"), "this release reads 1");
      refused(host, good.replaceFirst("\"name\":\"order\"", "\"name\":\"other\""), "Line 1");
      refused(host, good.replaceFirst("\"origin\":", "\"origni\":"), "Line 2");
      refused(
          host, good.replace("\"principal\":\"ann\"", "\"principal\":\"bob\""), "another journal");
      refused(host, "", "missing");
      refused(host, "soup\n", "not JSON");
      refused(host, change(lines, all -> all.set(all.size() - 1, "{\"end\":99}")), "end states 99");
      String altered = "The export was altered";
      refused(host, good.replace("\"to eat\"", "\"to sit\""), altered);
      refused(host, change(lines, all -> Collections.swap(all, 1, 2)), "follows record");
      refused(host, change(lines, ArchiveTest::cutAndCounted), altered);

      assertThat(now(host.erase(Erasure.run("order", run))).nothing()).isTrue();
      assertThat(imported(host, good).id()).isEqualTo(run);
    }
  }

  /** Imports an archive in a process that ends in the middle of it, as if it were killed. */
  static final class Killed {
    private Killed() {}

    public static void main(String[] names) throws Exception {
      byte[] archive = Files.readAllBytes(Path.of(names[1]));
      InputStream half =
          new SequenceInputStream(
              new ByteArrayInputStream(archive, 0, archive.length / 2),
              new InputStream() {
                @Override
                public int read() {
                  Runtime.getRuntime().halt(9);
                  return -1;
                }

                @Override
                public int read(byte[] bytes, int from, int length) {
                  return read();
                }
              });
      Store store = Store.sqlite(Path.of(names[0]));
      try (Fermata host = Fermata.host().store(store).flow(order()).dormant().start()) {
        now(host.journals().importFrom(half));
      }
    }
  }

  @Test
  @Tag("faults")
  void nothingIsLeftOfAnImportWhoseHostIsKilled() throws Exception {
    String lines;
    String run;
    try (Fermata host = host("old").start()) {
      run = run(call(host, start(), "s"));
      lines = exported(host, run);
    }
    Path export = Files.writeString(directory.resolve("run.jsonl"), lines);
    Path temporary = Files.createDirectory(directory.resolve("temporary"));
    Process killed =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                Killed.class.getName(),
                directory.resolve("new.db").toString(),
                export.toString())
            .inheritIO()
            .start();
    assertThat(killed.waitFor()).isEqualTo(9);

    try (Stream<Path> left = Files.list(temporary)) {
      assertThat(left).noneMatch(file -> file.getFileName().toString().contains("import"));
    }
    try (OpenStore open = store("new").open()) {
      assertThat(now(open.journals("", 10))).isEmpty();
    }
    try (Fermata host = host("new").start()) {
      assertThat(imported(host, lines).id()).isEqualTo(run);
    }
  }

  private static String change(List<String> lines, Consumer<List<String>> how) {
    List<String> all = new ArrayList<>(lines);
    how.accept(all);
    return String.join("\n", all) + "\n";
  }

  /** An export without its last entry, with an end that knows nothing of it. */
  private static void cutAndCounted(List<String> lines) {
    lines.remove(lines.size() - 2);
    String end = lines.remove(lines.size() - 1);
    lines.add(end.replaceFirst("\"end\":[0-9]+", "\"end\":" + (lines.size() - 1)));
  }

  @Test
  void anExportIsSignedWithTheKeyOfItsHostAndVerifiedByThoseWhoHaveIt() throws Exception {
    String key = DataKeys.generate("k1");
    String run;
    String lines;
    try (Fermata host = host("old").keys(DataKeys.parse(key)).start()) {
      run = run(call(host, start(), "s"));
      lines = exported(host, run);
    }
    try (Fermata host = host("with").keys(DataKeys.parse(key)).start()) {
      refused(host, altered(lines), "its signature is not one of the key k1");
      assertThat(imported(host, lines).signature()).isEqualTo(ExportSignature.VERIFIED);
    }
    try (Fermata host = host("without").start()) {
      refused(host, lines.replace("\"to eat\"", "\"to sit\""), "The export was altered");
      assertThat(imported(host, lines).signature()).isEqualTo(ExportSignature.NOT_VERIFIED);
    }
    try (Fermata host = host("accepted").keys(DataKeys.parse(key)).start()) {
      Path edited = directory.resolve("edited.jsonl");
      Files.writeString(edited, lines.replace("\"to eat\"", "\"to sit\""));
      ExportedJournal.acceptEdits(edited);
      assertThat(imported(host, Files.readString(edited)).signature())
          .isEqualTo(ExportSignature.UNSIGNED);
    }
  }

  /** By somebody who computes the chain again, and keeps the signature. */
  private static String altered(String good) {
    List<String> lines = good.replace("\"to eat\"", "\"to sit\"").lines().toList();
    String signed = lines.get(lines.size() - 1);
    List<String> all = new ArrayList<>(Archive.accepted(lines));
    String end = all.remove(all.size() - 1);
    all.add(end.replace("}", "") + signed.substring(signed.indexOf(",\"key\"")));
    return String.join("\n", all) + "\n";
  }

  @Test
  void aHandleOfTheOtherStoreIsRecognisedOnlyWhereTheHostSaysSo() {
    String lines;
    ObjectNode next = Json.object().put("action", "continue");
    try (Fermata host = host("old").start()) {
      ToolReply begun = call(host, start(), "");
      next.set("sessionId", begun.structured().path("sessionId"));
      lines = exported(host, run(begun));
    }
    byte[] key;
    try (OpenStore old = store("old").open()) {
      key = old.serverKey();
    }
    try (Fermata host = host("new").start()) {
      imported(host, lines);
      assertThat(TestHost.code(call(host, next, ""))).isEqualTo("unknown_session");
    }
    try (Fermata host = host("new").acceptHandlesOf(key).start()) {
      assertThat(TestHost.field(call(host, next, ""))).isEqualTo("dish");
    }
  }

  private static Fermata desk(Store store, UnaryOperator<HostBuilder> how) {
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.saying("Good morning.")));
    return how.apply(Fermata.host().store(store).agent(desk)).start();
  }

  private static String talked(Fermata host) {
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "desk", null, Set.of("vip"), Map.of(), List.of());
    String id = now(host.threads().create(wanted)).threadId();
    now(
        host.threads()
            .post("ann", id, new Threads.NewMessage(Message.user("hello"), List.of(), null)));
    now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
    return id;
  }

  private static String exportedThread(Fermata host, String id) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    now(host.journals().thread(id).export(out));
    return out.toString(UTF_8);
  }

  private static List<Threads.Listed> listed(Fermata host) {
    return now(host.threads()
            .list(new Threads.Query("ann", null, Set.of(), null, null, true, 5, null)))
        .threads();
  }

  private static List<String> said(Fermata host, String id) {
    return now(host.threads().messages("ann", id, Threads.MessageQuery.latest(5).withSilent()))
        .messages()
        .stream()
        .map(Message::content)
        .toList();
  }

  @Test
  void aThreadIsTakenAlongWithWhatWasSaid() throws Exception {
    String lines;
    String id;
    try (Fermata host = desk(store("old"), here -> here)) {
      id = talked(host);
      lines = exportedThread(host, id);
    }
    try (Fermata host = desk(store("new"), here -> here)) {
      assertThat(imported(host, lines).kind()).isEqualTo("thread");
      assertThat(now(host.threads().get("ann", id)).about().tags()).containsExactly("vip");
      TestHost.eventually(() -> !listed(host).isEmpty());
      assertThat(said(host, id)).anyMatch(text -> text.contains("Good morning."));
    }
  }

  @Test
  void aThreadOfAnotherOwnerThanItsNameSaysIsRefused() {
    try (Fermata host = desk(store("old"), here -> here)) {
      String id = talked(host);
      List<String> good = exportedThread(host, id).lines().toList();
      now(host.erase(Erasure.thread(id)));
      List<String> bobs =
          good.stream()
              .map(line -> line.replace("\"principal\":\"ann\"", "\"principal\":\"bob\""))
              .toList();

      refused(host, String.join("\n", Archive.accepted(bobs)) + "\n", "another journal");
      assertThat(now(host.erase(Erasure.principal("bob"))).nothing()).isTrue();
      imported(host, String.join("\n", good) + "\n");
      assertThat(now(host.erase(Erasure.principal("ann"))).nothing()).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"memory", "sqlite", "postgres"})
  void anImportedThreadIsListedAtOnceAndAfterARestartAlthoughItSleeps(String kind)
      throws Exception {
    Store store =
        switch (kind) {
          case "memory" -> Store.memory();
          case "sqlite" -> store("new");
          default -> Store.postgres(PostgresServer.shared().newDatabase());
        };
    String id;
    String lines;
    long createdAt;
    long last;
    try (Fermata host = desk(store("old"), here -> here)) {
      id = talked(host);
      createdAt = listed(host).get(0).createdAt();
      List<JournalEntry<ThreadEvent>> entries =
          now(host.journals().thread(id).readWithSecrets()).entries();
      last = entries.get(entries.size() - 1).at();
      lines = exportedThread(host, id);
    }
    Threads.Listed imported =
        new Threads.Listed(id, "desk", Set.of("vip"), createdAt, last, "resting");
    try (Fermata host = desk(store, HostBuilder::dormant)) {
      imported(host, lines);
      assertThat(listed(host)).containsExactly(imported);
    }
    try (Fermata host = desk(store, here -> here)) {
      assertThat(listed(host)).containsExactly(imported);
      assertThat(said(host, id)).anyMatch(text -> text.contains("Good morning."));
      assertThat(host.awake()).isZero();
    }
  }

  @Test
  void whatIsErasedOrSweptWhileItIsExportedIsNoExport() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.talk())) {
      TestHost.Client erased = host.client();
      String first = longRun(erased);
      deletedMeanwhile(host, first, () -> now(host.fermata().erase(Erasure.run("talk", first))));

      TestHost.Client swept = host.client();
      String second = longRun(swept);
      deletedMeanwhile(
          host,
          second,
          () -> {
            swept.proceed("word", "bye");
            awaitSwept(host, second);
          });
    }
  }

  private static String longRun(TestHost.Client client) {
    String run = run(client.start());
    for (int i = 0; i < 100; i++) {
      client.proceed("word", "x".repeat(400));
    }
    return run;
  }

  private static void awaitSwept(TestHost host, String run) {
    OutputStream nowhere = OutputStream.nullOutputStream();
    boolean swept = false;
    while (!swept) {
      swept =
          now(
              host.fermata()
                  .journals()
                  .run("talk", run)
                  .export(nowhere)
                  .handle((entries, thrown) -> thrown == null && entries == 1));
    }
  }

  /** The first page is written before the second is read. */
  private static void deletedMeanwhile(TestHost host, String run, Runnable deletion) {
    AtomicBoolean begun = new AtomicBoolean();
    OutputStream to =
        new OutputStream() {
          @Override
          public void write(int letter) {
            if (!begun.getAndSet(true)) {
              deletion.run();
            }
          }
        };
    assertThatThrownBy(
            () ->
                host.fermata().journals().run("talk", run).export(to).toCompletableFuture().join())
        .cause()
        .isInstanceOf(ArchiveException.class)
        .hasMessageContainingAll(run, "deleted while it was exported");
    assertThat(begun).isTrue();
  }

  @Test
  void aRecordThatCannotBeReadIsNotExportedAndNamed() {
    byte[] later = {2, 0, 0, 9};
    assertThatThrownBy(() -> Archive.line(new StoredEntry(5, 1, "step:1", later)))
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("Record 5 (step:1) cannot be exported")
        .hasMessageContaining("release that wrote it");
  }

  @Test
  void nothingIsLostBetweenTheJournalAndItsText() throws Exception {
    ObjectNode all = Json.object();
    all.put("price", new BigDecimal("7.50")).put("round", new BigDecimal("7"));
    all.put("huge", new BigDecimal("1E+30")).put("long", Long.MAX_VALUE);
    all.put("big", new BigInteger("123456789012345678901234567890")).put("int", 7);
    all.put("bytes", new byte[] {0, -1, 7}).put("text", "ä\u0000\n\"").putNull("none");
    all.putObject("looks").put("$binary", "AAAA");
    all.putObject("really").putObject("looks").put("$$decimal", "1");
    all.putArray("list").add(true).addObject().put("$binary", 1).put("$decimal", 2);

    byte[] payload = JournalSerializer.cbor(all);
    JsonNode read = Lossless.parse(Lossless.text(Lossless.json(payload)));

    assertThat(Lossless.payload(read)).isEqualTo(payload);
  }
}
