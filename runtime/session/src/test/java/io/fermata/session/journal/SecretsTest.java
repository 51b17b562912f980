package io.fermata.session.journal;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.eventually;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Migrating;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.ExportedJournal;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.Rollout;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Scrubbing;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.RunRow;
import io.fermata.sqlite.Forgery;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** What is secret in a run is nowhere to be found outside of it. */
@Tag("slow")
class SecretsTest {
  private static final String CARD = "4111-2222-Geheim";
  private static final String LICENCE = "B0-Fuehrerschein";
  private static final String STREET = "Verborgene Gasse 7";
  private static final String TOKEN = "tok-Zwischenwert";
  private static final String INNER = "Innerstes-Wort";
  private static final String SIGNED = "Unterschrift-99";
  private static final String PASSWORD = "Passwort-hinter-Punkten";
  private static final long ACCOUNT = 8_273_645_192L;
  private static final List<String> MARKERS =
      List.of(CARD, LICENCE, STREET, TOKEN, INNER, SIGNED, PASSWORD, "" + ACCOUNT);

  private static final String K1 = DataKeys.generate("k1");
  private static final String K2 = DataKeys.generate("k2");

  record Address(String street, Integer door) {}

  record Driver(@Secret String licence, String town) {}

  record Login(String user, @Secret String password) {}

  record Vault(@Secret String word) {}

  record Pay(
      @Secret String card,
      @Secret Boolean vip,
      @Secret Long account,
      @Secret Address address,
      List<Driver> drivers,
      Map<String, Login> logins,
      @Secret String signature,
      String yes,
      String again,
      @Computed String copy,
      @Computed Map<String, String> byCard,
      @Computed @Secret String token,
      @Computed List<String> log) {}

  @TempDir Path folder;

  /** A flow that does with its secrets all that may be done with one. */
  private static Flow<Pay> pay() {
    Flow<Vault> vault =
        Flow.of("vault", Vault.class)
            .description("Hears a word.")
            .ask("ask_word", q -> q.question("word", "The word?"))
            .edge(START, "ask_word")
            .edge("ask_word", END)
            .result(v -> "said " + v.word())
            .compile();
    return Flow.of("pay", Pay.class)
        .description("Pays.")
        .ask(
            "ask_all",
            q ->
                q.question("card", "Your card?")
                    .question("vip", "Very important?")
                    .question("account", "Your account?")
                    .question("address", "Your address?")
                    .question("drivers", "Who drives?")
                    .question("logins", "Which logins?"))
        .act(
            "copy",
            run -> {
              Pay pay = run.state();
              run.set("copy", pay.card());
              run.set("byCard", Map.of(pay.card(), "a key"));
              run.append("log", "Account " + pay.account() + " of " + pay.card());
              run.append("log", pay.drivers().get(0).licence().toUpperCase(Locale.ROOT));
              run.append("log", Json.text(Json.tree(pay.address())));
              pay.logins().values().forEach(l -> run.append("log", "In with " + l.password()));
              run.emit("charged", Map.of("card", pay.card(), "vip", pay.vip()));
            })
        .act(
            "fail",
            run -> {
              run.set("token", TOKEN);
              if (run.attempt() == 1) {
                throw new IllegalStateException("No " + TOKEN + " for " + run.state().card());
              }
            },
            o -> o.retry(2, Duration.ofMillis(1)))
        .subflow("vault", vault, m -> m.into("copy"))
        .waitFor("sign", "signed", "signature")
        .ask(
            "confirm",
            q ->
                q.question(
                    "yes",
                    p -> "Charge " + p.copy() + " and " + p.card() + "?",
                    o -> o.suggest(p -> List.of("yes", String.valueOf(p.card())))))
        .act(
            "refuse",
            run -> {
              if (!"really".equals(run.state().again())) {
                throw new StepException("The card " + run.state().card() + " is refused");
              }
            })
        .ask("ask_again", q -> q.question("again", "Really?"))
        .edge(START, "ask_all")
        .edge("ask_all", "copy")
        .decide("copy", d -> d.when("c", eq("copy", CARD)).to("fail").otherwise("fail"))
        .edge("fail", "vault")
        .edge("vault", "sign")
        .edge("sign", "confirm")
        .edge("confirm", "ask_again")
        .edge("ask_again", "refuse")
        .edge("refuse", END)
        .result(p -> p)
        .compile();
  }

  private static Object[] answers() {
    return new Object[] {
      "card",
      CARD,
      "vip",
      true,
      "account",
      ACCOUNT,
      "address",
      Map.of("street", STREET, "door", 3),
      "drivers",
      List.of(Map.of("licence", LICENCE, "town", "Graz")),
      "logins",
      Map.of("mail.example.com", Map.of("user", "ann", "password", PASSWORD))
    };
  }

  private Store store() {
    return Store.sqlite(folder.resolve("s.db"));
  }

  private HostBuilder host(Flow<?> flow, String keys) {
    return Fermata.host()
        .store(store())
        .flow(flow)
        .keys(DataKeys.parse(keys))
        .settings(Settings.DEFAULT.snapshotEvery(2));
  }

  private static JsonNode call(Fermata host, String action, Object... updates) {
    return reply(host, "1", action, updates).structured();
  }

  private static ToolReply reply(Fermata host, String callId, String action, Object... updates) {
    var arguments = Json.object().put("action", action).put("intent", "to pay");
    var given = arguments.putObject("stateUpdates");
    for (int i = 0; i < updates.length; i += 2) {
      given.set((String) updates[i], Json.tree(updates[i + 1]));
    }
    if (!action.equals("start")) {
      arguments.remove("intent");
    }
    var meta =
        Json.object()
            .put("fermata/sessionId", "s")
            .put("fermata/callId", callId + action + given.toString().hashCode());
    ToolCall call = new ToolCall("pay", "ann", arguments, meta, null);
    return got(host.call(call).toCompletableFuture());
  }

  /** Nothing in the store's files has a secret in it, in any case. */
  private void silent(Path where) throws IOException {
    new StoreFiles(where).texts().forEach(SecretsTest::silent);
  }

  private static void silent(String what, String text) {
    String lower = text.toLowerCase(Locale.ROOT);
    for (String marker : MARKERS) {
      assertThat(lower.contains(marker.toLowerCase(Locale.ROOT)))
          .as(what + " has " + marker)
          .isFalse();
    }
  }

  private static String runId(ToolReply reply) {
    return reply.meta().path("fermata/run").path("runId").asText();
  }

  private static final class Observed implements Recorder {
    final List<String> observed = new CopyOnWriteArrayList<>();

    @Override
    public void onEvent(Observation event) {
      observed.add(event.toString());
    }
  }

  @Test
  void theyAreInNoFileNoLogAndNoRecorderThroughAWholeRun() throws Exception {
    Observed observed = new Observed();
    Observed replayed = new Observed();
    Observed trusted = new Observed();
    try (Logged log = new Logged()) {
      String runId;
      try (Fermata host = host(pay(), K1).recorder(observed).recorderWithSecrets(trusted).start()) {
        runId = runId(reply(host, "1", "start"));
        JsonNode asked = call(host, "continue", answers());
        assertThat(asked.path("field").asText()).as(asked.toString()).isEqualTo("vault.word");
        silent(folder);
        assertThat(call(host, "continue", "vault.word", INNER).path("status").asText())
            .isEqualTo("waiting");
        silent(folder);
      }
      silent(folder);
      try (Fermata host = host(pay(), K1).recorder(observed).start()) {
        got(host.signal("pay", runId, "signed", SIGNED, null).toCompletableFuture());
        JsonNode confirm = call(host, "continue");
        assertThat(confirm.path("question").asText()).contains(CARD);
        silent(folder);
        assertThat(call(host, "continue", "yes", "yes").path("field").asText()).isEqualTo("again");
        JsonNode failed = call(host, "continue", "again", "no");
        assertThat(failed.path("error").asText()).contains(CARD);
        host.journals()
            .run("pay", runId)
            .replay(replayed)
            .toCompletableFuture()
            .get(60, TimeUnit.SECONDS);
        silent(folder);
      }
      try (Fermata host = host(pay(), K1).recorder(observed).start()) {
        JsonNode done = call(host, "reset", "again", "really");
        assertThat(done.path("status").asText()).as(done.toString()).isEqualTo("complete");
        assertThat(done.path("result").path("card").asText()).isEqualTo(CARD);
        assertThat(done.path("result").path("copy").asText()).isEqualTo("said " + INNER);
        assertThat(done.path("result").path("vip").asBoolean()).isTrue();
        silent(folder);
      }
      silent(folder);
      log.silent("No [redacted] for");
    }
    assertThat(observed.observed).isNotEmpty();
    assertThat(replayed.observed).isNotEmpty();
    observed.observed.forEach(event -> silent("a recorder", event));
    replayed.observed.forEach(event -> silent("a replay", event));
    assertThat(trusted.observed).anySatisfy(event -> assertThat(event).contains(CARD));
  }

  /** A flow whose functions quote the card that was just typed in what they throw. */
  private static Flow<Marked> quoting(
      Consumer<QuestionOptions<Marked>> check, UnaryOperator<FlowBuilder<Marked>> next) {
    FlowBuilder<Marked> flow =
        Flow.of("pay", Marked.class)
            .description("Takes a card in vain.")
            .ask("ask", q -> q.question("card", "Card?", check))
            .edge(START, "ask");
    return next.apply(flow).compile();
  }

  private static IllegalStateException unfit(@Nullable Object card) {
    return new IllegalStateException("Unfit: " + card);
  }

  @Test
  void noLogQuotesASecretThatTheJournalDoesNotHaveYet() throws Exception {
    UnaryOperator<FlowBuilder<Marked>> ends = flow -> flow.edge("ask", END);
    Map<String, Flow<Marked>> flows =
        Map.of(
            "a check",
            quoting(
                card ->
                    card.validate(
                        c -> {
                          throw unfit(c);
                        }),
                ends),
            "an asynchronous check",
            quoting(
                card ->
                    card.validateAsync(
                        c -> {
                          throw unfit(c);
                        },
                        check -> check.idempotent()),
                ends),
            "a question",
            quoting(
                card -> {},
                flow ->
                    flow.ask(
                            "next",
                            q ->
                                q.question(
                                    "more",
                                    run -> {
                                      throw unfit(run.card());
                                    }))
                        .edge("ask", "next")
                        .edge("next", END)),
            "a decision",
            quoting(
                card -> {},
                flow ->
                    flow.decide(
                        "ask",
                        d ->
                            d.when(
                                    "never",
                                    read -> {
                                      throw unfit(read.get("card", String.class));
                                    })
                                .to(END)
                                .otherwise(END))),
            "an action that may run before its entry",
            quoting(
                card -> {},
                flow ->
                    flow.act(
                            "charge",
                            run -> {
                              throw unfit(run.state().card());
                            },
                            o -> o.idempotent())
                        .edge("ask", "charge")
                        .edge("charge", END)));
    for (Map.Entry<String, Flow<Marked>> flow : flows.entrySet()) {
      HostBuilder builder = host(flow.getValue(), K1).store(Store.memory());
      try (Logged log = new Logged();
          Fermata host = builder.start()) {
        call(host, "start");
        call(host, "continue", "card", CARD);
        log.silent("Unfit: [redacted]");
      } catch (AssertionError e) {
        throw new AssertionError(flow.getKey(), e);
      }
    }
  }

  @Test
  void noLogQuotesASecretOfTheSourceOfAForkThatCannotBeCarriedOver() throws Exception {
    String runId;
    try (Fermata host = host(before(), K1).start()) {
      runId = runId(reply(host, "1", "start", "card", CARD, "pin", TOKEN));
    }
    Flow<After> flow =
        after(
            state -> {
              throw unfit(state.get("pin", String.class));
            });
    try (Logged log = new Logged();
        Fermata host = host(flow, K1).start()) {
      CompletionStage<?> fork = host.fork("pay", runId, 1, ForkOptions.live());
      assertThatThrownBy(() -> now(fork)).hasMessageContaining("cannot be carried over");
      log.silent("Unfit: [redacted]");
    }
  }

  /** What is logged meanwhile. */
  private static final class Logged implements AutoCloseable {
    private final Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private final Logger own = (Logger) LoggerFactory.getLogger("io.fermata");
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    Logged() {
      log.start();
      root.addAppender(log);
      own.setLevel(Level.DEBUG);
    }

    /** No line and no stack trace has a secret in it, and some line has this. */
    void silent(String contained) {
      List<ILoggingEvent> lines = List.copyOf(log.list);
      for (ILoggingEvent line : lines) {
        SecretsTest.silent("the log", line.getFormattedMessage());
        for (IThrowableProxy each = line.getThrowableProxy();
            each != null;
            each = each.getCause()) {
          SecretsTest.silent("a stack trace", each.getClassName() + ": " + each.getMessage());
        }
      }
      assertThat(lines)
          .anySatisfy(line -> assertThat(line.getFormattedMessage()).contains(contained));
    }

    @Override
    public void close() {
      own.setLevel(null);
      root.detachAppender(log);
    }
  }

  @Test
  void aRepeatedCallGetsTheSameReplyFromTheEncryptedJournal() throws Exception {
    JsonNode first;
    try (Fermata host = host(pay(), K1).start()) {
      call(host, "start");
      call(host, "continue", answers());
      first = call(host, "continue", "vault.word", INNER);
    }
    try (Fermata host = host(pay(), K1).start()) {
      assertThat(call(host, "continue", "vault.word", INNER)).isEqualTo(first);
    }
  }

  @Test
  void aStartNamesTheSecretAnswersOfTheRunThatItEndsWithoutTheirValues() {
    try (Fermata host = host(pay(), K1).start()) {
      call(host, "start");
      call(host, "continue", answers());
      JsonNode again = reply(host, "2", "start", "yes", "over").structured();
      silent("the reply", again.toString());
      assertThat(again.path("context").asText())
          .contains("account, address.door, address.street, card, drivers, logins, vip");
    }
  }

  @Test
  void aStatusShowsAMarkInPlaceOfWhatIsSecret() throws Exception {
    try (Fermata host = host(pay(), K1).start()) {
      call(host, "start", answers());
      String run = call(host, "status").path("run").toString();
      assertThat(run).contains("[redacted]").doesNotContainIgnoringCase(CARD);
      assertThat(MARKERS).noneMatch(run::contains);
    }
  }

  @Test
  void theEntriesOfARunAndItsRecordingShowNoneToAnOperator() throws Exception {
    try (Fermata host = host(pay(), K1).start()) {
      String runId = runId(reply(host, "1", "start", answers()));
      List<Runs.Entry> entries = now(host.runs().entries("pay", runId, 0, 100));
      assertThat(entries.toString()).contains("[redacted]", "mail.example.com");
      silent("a page of entries", entries.toString());
      ByteArrayOutputStream recorded = new ByteArrayOutputStream();
      now(host.journals().run("pay", runId).record(Scrubbing.SECRETS, recorded));
      String lines = recorded.toString(StandardCharsets.UTF_8);
      assertThat(lines).contains("mail.example.com");
      silent("a recording", lines);
    }
  }

  @Test
  void aHostWithSecretFieldsAndWithoutAKeyDoesNotStart() {
    HostBuilder builder = Fermata.host().store(Store.memory()).flow(pay());
    assertThatThrownBy(builder::start)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("pay: account, address, card, drivers.*.licence")
        .hasMessageContaining("FERMATA_KEYS")
        .hasMessageContaining("keys(");
    assertThatThrownBy(
            Fermata.host()
                    .store(Store.memory())
                    .flow(TestFlows.trip())
                    .encrypt(EncryptedFields.EVERYTHING)
                ::start)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("everything");
  }

  @Test
  void aNewKeyEncryptsFromThenOnAndTheOldOneStillOpens() throws Exception {
    try (Fermata host = host(pay(), K1).start()) {
      call(host, "start", answers());
    }
    try (Fermata host = host(pay(), K2 + "," + K1).start()) {
      assertThat(call(host, "continue", "vault.word", INNER).path("status").asText())
          .isEqualTo("waiting");
      assertThat(call(host, "status").path("run").toString()).isNotEmpty();
    }
    assertThat(new StoreFiles(folder).texts().get("s.db"))
        .contains("\u0001\u0002k1")
        .contains("\u0001\u0002k2");
  }

  @Test
  void aRunWhoseKeyIsMissingIsRefusedAndContinuesWhenTheKeyIsBack() throws Exception {
    try (Fermata host = host(pay(), K1).start()) {
      call(host, "start", answers());
    }
    long records = records();
    try (Fermata host = host(pay(), K2).start()) {
      for (int i = 0; i < 3; i++) {
        ToolReply refused = reply(host, "" + i, "continue", "vault.word", INNER);
        assertThat(code(refused)).isEqualTo("key_missing");
        assertThat(refused.structured().path("error").asText()).contains("key k1");
      }
      assertThat(code(reply(host, "x", "cancel"))).isEqualTo("key_missing");
      assertThat(code(reply(host, "x", "start"))).isEqualTo("key_missing");
    }
    assertThat(records()).isEqualTo(records);
    try (Fermata host = host(pay(), K2 + "\n" + K1).start()) {
      ToolReply resumed = reply(host, "9", "continue", "vault.word", INNER);
      assertThat(status(resumed)).isEqualTo("waiting");
    }
  }

  private long records() {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("s.db"));
        ResultSet count = db.createStatement().executeQuery("select count(*) from event_journal")) {
      return count.getLong(1);
    } catch (SQLException e) {
      throw new AssertionError("The store could not be read", e);
    }
  }

  @Test
  void whatWasChangedInTheStoreOrComesFromAnotherJournalIsRefused() throws Exception {
    try (Fermata host = host(pay(), K1).start()) {
      call(host, "start", answers());
    }
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("s.db"))) {
      db.createStatement().executeUpdate("delete from snapshot");
      List<byte[]> payloads = new ArrayList<>();
      List<Long> places = new ArrayList<>();
      try (ResultSet all =
          db.createStatement().executeQuery("select rowid, event_payload from event_journal")) {
        while (all.next()) {
          places.add(all.getLong(1));
          payloads.add(all.getBytes(2));
        }
      }
      for (int i = 0; i < payloads.size(); i++) {
        byte[] bytes = payloads.get(i);
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("\u0001\u0002k1");
        if (at >= 0) {
          bytes[at + 20] ^= 1;
          try (PreparedStatement change =
              db.prepareStatement("update event_journal set event_payload = ? where rowid = ?")) {
            change.setBytes(1, bytes);
            change.setLong(2, places.get(i));
            change.executeUpdate();
          }
        }
      }
    }
    try (Fermata host = host(pay(), K1).start()) {
      assertThat(code(reply(host, "1", "continue"))).isEqualTo("damaged");
    }
    Forgery.seal(folder.resolve("s.db"));
    try (Fermata host = host(pay(), K1).start()) {
      assertThat(code(reply(host, "1", "continue"))).isEqualTo("decryption_failed");
    }
  }

  @Test
  void aFlowWithoutSecretsIsWrittenAsItIs() {
    EntryEncryption encryption =
        new Encryption(new EntryCipher(DataKeys.parse(K1)), EncryptedFields.SECRETS, Map.of())
            .of("trip|x");
    Entry<Event> step = Entry.of(1, 1, Entry.Origin.HOST, List.of());
    assertThat(encryption.stored(step)).isSameAs(step);
  }

  @Test
  void everythingIsEncryptedWhereTheHostSaysSo() throws Exception {
    Flow<TestFlows.Trip> trip = TestFlows.trip();
    for (int i = 0; i < 2; i++) {
      try (Fermata host = host(trip, K1).encrypt(EncryptedFields.EVERYTHING).start()) {
        var arguments = Json.object().put("action", i == 0 ? "start" : "continue");
        if (i == 0) {
          arguments.put("intent", "Reisegrund");
        }
        arguments.putObject("stateUpdates").put(i == 0 ? "from" : "to", "Hinterwald");
        var meta = Json.object().put("fermata/sessionId", "s");
        ToolReply reply =
            got(
                host.call(new ToolCall("trip", "ann", arguments, meta, null))
                    .toCompletableFuture());
        assertThat(status(reply)).isEqualTo(i == 0 ? "interrupt" : "complete");
        assertThat(field(reply)).isEqualTo(i == 0 ? "to" : "none");
      }
      for (String text : new StoreFiles(folder).texts().values()) {
        assertThat(text).doesNotContain("Hinterwald").doesNotContain("Reisegrund");
      }
    }
  }

  @Test
  void aThreadIsEncryptedWithItsMessagesAndFilesWhereTheHostSaysSo() throws Exception {
    Agent agent =
        Agent.aiHuman(
            "noter",
            Prompt.of("p", ScriptedModels.calling("note", "{}", result -> "Vermerkt: " + CARD))
                .tools(
                    Tool.of(
                        "note",
                        "Keeps a note.",
                        (flow, args) -> {
                          flow.files().write("/note.txt", "File of " + CARD);
                          return CARD;
                        })));
    String id = "";
    for (int i = 0; i < 2; i++) {
      try (Fermata host =
          Fermata.host()
              .store(store())
              .agent(agent)
              .keys(DataKeys.parse(K1))
              .encrypt(EncryptedFields.EVERYTHING)
              .settings(Settings.DEFAULT.snapshotEvery(2))
              .start()) {
        Threads threads = host.threads();
        if (i == 0) {
          var wanted =
              new Threads.NewThread("ann", "noter", null, Set.of("vip"), Map.of(), List.of());
          id = now(threads.create(wanted)).threadId();
        }
        var said = new Threads.NewMessage(Message.user("My card is " + CARD), List.of(), null);
        now(threads.post("ann", id, said));
        now(threads.settled("ann", id, Duration.ofSeconds(30)));
        assertThat(
                now(threads.messages("ann", id, Threads.MessageQuery.latest(10).withSilent()))
                    .messages()
                    .toString())
            .contains("Vermerkt: " + CARD);
        byte[] file = now(threads.file("ann", id, "/note.txt")).data();
        assertThat(new String(file, StandardCharsets.UTF_8)).isEqualTo("File of " + CARD);
      }
      silent(folder);
    }
    try (Fermata host =
        Fermata.host().store(store()).agent(agent).keys(DataKeys.parse(K2)).start()) {
      CompletionStage<?> refused = host.threads().settled("ann", id, Duration.ofSeconds(1));
      assertThatThrownBy(() -> now(refused))
          .cause()
          .isInstanceOfSatisfying(
              ThreadException.class, e -> assertThat(e.code()).isEqualTo("key_missing"));
    }
  }

  @Test
  void aThreadWhoseKeyIsMissingStaysAsItIsWhenItIsWoken() throws Exception {
    Agent agent = Agent.aiHuman("noter", Prompt.of("p", ScriptedModels.saying("Noted.")));
    HostBuilder builder =
        Fermata.host().store(store()).agent(agent).encrypt(EncryptedFields.EVERYTHING);
    String id;
    try (Fermata host = builder.keys(DataKeys.parse(K1)).start()) {
      var wanted = new Threads.NewThread("ann", "noter", null, Set.of(), Map.of(), List.of());
      id = now(host.threads().create(wanted)).threadId();
    }
    long records = records();
    String entityId = Objects.requireNonNull(ThreadKey.of(id)).entityId();
    try (Fermata host = builder.keys(DataKeys.parse(K2)).start()) {
      host.system().unsafeUpcast().tell(new SessionRegion.WakeUp(List.of(entityId)));
      assertThatThrownBy(() -> now(host.threads().get("ann", id))).hasMessageContaining("key k1");
    }
    assertThat(records()).isEqualTo(records);
  }

  /** A host whose agent calls a tool, and then says what came of it. */
  private HostBuilder desk(Offered tool, String arguments) {
    Model model = ScriptedModels.calling(tool.name(), arguments, result -> "Done: " + result);
    return Fermata.host()
        .store(store())
        .agent(Agent.aiHuman("desk", Prompt.of("desk", model).tools(tool)))
        .keys(DataKeys.parse(K1))
        .settings(Settings.DEFAULT.snapshotEvery(1));
  }

  private static Threads.View served(Threads threads) throws Exception {
    var wanted = new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of());
    String id = now(threads.create(wanted)).threadId();
    var said = new Threads.NewMessage(Message.user("Pay"), List.of(), null);
    now(threads.post("ann", id, said));
    return now(threads.settled("ann", id, Duration.ofSeconds(30)));
  }

  private static String messages(Threads threads, String id) throws Exception {
    return now(threads.messages("ann", id, Threads.MessageQuery.latest(10).withSilent()))
        .messages()
        .toString();
  }

  @Test
  void whatAPersonAnswersToAFlowOfAnAgentIsEncryptedInTheThreadToo() throws Exception {
    FlowTool pay = FlowTool.of("pay", "Pays.", taking(Marked.class));
    String id;
    String call;
    try (Fermata host = desk(pay, "{}").start()) {
      Threads.View asked = served(host.threads());
      id = asked.threadId();
      call = asked.questions().get(0).call();
    }
    ByteArrayOutputStream exported = new ByteArrayOutputStream();
    ByteArrayOutputStream open = new ByteArrayOutputStream();
    // What was asked is in its snapshot.
    try (Fermata host = desk(pay, "{}").start()) {
      var answers = Json.object().put("card", CARD);
      now(host.threads().answer("ann", id, new Threads.Answer(call, "a1", null, answers, null)));
      now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
      assertThat(messages(host.threads(), id)).contains(CARD);
      String fork = now(host.threads().fork("ann", id, Threads.NewFork.live())).threadId();
      assertThat(messages(host.threads(), fork)).contains(CARD);
      now(host.journals().thread(id).export(exported));
      now(host.journals().thread(id).exportWithSecrets(open));
    }
    silent(folder);
    silent("the export", exported.toString(StandardCharsets.UTF_8));
    assertThat(open.toString(StandardCharsets.UTF_8)).contains(CARD);
    Path file = Files.write(folder.resolve("thread.jsonl"), exported.toByteArray());
    ThreadJournal redacted = ExportedJournal.read(file, DataKeys.parse(K2)).thread();
    assertThat(redacted.redacted()).isTrue();
    assertThat(redacted.events()).isEmpty();
    for (ByteArrayOutputStream lines : List.of(exported, open)) {
      Path other = Files.createTempDirectory(folder, "other");
      Store empty = Store.sqlite(other.resolve("o.db"));
      try (Fermata host =
          desk(pay, "{}").store(empty).keys(DataKeys.parse(K2 + "," + K1)).start()) {
        now(host.journals().importFrom(new ByteArrayInputStream(lines.toByteArray())));
        assertThat(messages(host.threads(), id)).contains(CARD);
      }
      silent(other);
    }
    try (Fermata host = desk(pay, "{}").keys(DataKeys.parse(K2)).start()) {
      assertThatThrownBy(() -> now(host.threads().get("ann", id))).hasMessageContaining("key k1");
    }
  }

  record Payment(String order, @Secret String card, @Secret String pin) {}

  @Test
  void aMarkedArgumentOfAToolIsEncryptedInTheThreadAndInNoLog() throws Exception {
    Tool pay = paying();
    String arguments = PAYMENT + "}";
    String id;
    try (Logged log = new Logged();
        Fermata host = desk(pay, arguments).start()) {
      id = served(host.threads()).threadId();
      assertThat(messages(host.threads(), id)).contains(CARD);
      log.silent("Unfit: [redacted]");
    }
    silent(folder);
    encrypted(folder);
    try (Fermata host = desk(pay, arguments).start()) {
      assertThat(messages(host.threads(), id)).contains(CARD);
    }
  }

  private static final String PAYMENT =
      "{\"order\":\"B-1\",\"card\":\"" + CARD + "\",\"pin\":\"%7\"";

  private static Tool paying() {
    return Tool.of(
        "pay",
        "Pays an order.",
        Payment.class,
        (flow, args) -> {
          throw unfit(args.card());
        });
  }

  /** Every entry and snapshot is encrypted as a whole. */
  private static void encrypted(Path where) throws IOException {
    assertThat(new StoreFiles(where).records())
        .isNotEmpty()
        .allSatisfy(
            each -> assertThat(each).containsPattern("k[12]").doesNotContain("events", "program"));
  }

  @Test
  void argumentsThatAModelCutOffOrPutElsewhereAreEncryptedToo() throws Exception {
    for (String arguments : List.of(PAYMENT, "{\"order\":" + PAYMENT + "}}")) {
      try (Fermata host = desk(paying(), arguments).start()) {
        assertThat(messages(host.threads(), served(host.threads()).threadId())).contains(CARD);
      }
      silent(folder);
      encrypted(folder);
    }
  }

  record Order(String order, String card, String pin) {}

  @Test
  void aThreadStaysEncryptedInAReleaseWithoutTheMarkAsDoItsForksAndImports() throws Exception {
    String id;
    ByteArrayOutputStream exported = new ByteArrayOutputStream();
    try (Fermata host = desk(paying(), PAYMENT + "}").start()) {
      id = served(host.threads()).threadId();
      now(host.journals().thread(id).export(exported));
    }
    Tool unmarked = Tool.of("pay", "Pays an order.", Order.class, (flow, args) -> args.card());
    var said = new Threads.NewMessage(Message.user("It is " + CARD), List.of(), null);
    try (Fermata host = desk(unmarked, PAYMENT + "}").start()) {
      now(host.threads().post("ann", id, said));
      now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
      String fork = now(host.threads().fork("ann", id, Threads.NewFork.live())).threadId();
      assertThat(messages(host.threads(), fork)).contains("It is " + CARD);
    }
    silent(folder);
    encrypted(folder);
    Path other = Files.createTempDirectory(folder, "other");
    Path file = Files.write(folder.resolve("thread.jsonl"), exported.toByteArray());
    ThreadJournal journal = ExportedJournal.read(file, DataKeys.parse(K1)).thread();
    HostBuilder later =
        desk(unmarked, PAYMENT + "}")
            .store(Store.sqlite(other.resolve("o.db")))
            .keys(DataKeys.parse(K2 + "," + K1));
    try (Fermata host = later.start()) {
      now(host.journals().importFrom(new ByteArrayInputStream(exported.toByteArray())));
      now(host.threads().post("ann", id, said));
      now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
      String fork = now(host.threads().fork("bob", journal, Threads.NewFork.live())).threadId();
      assertThat(now(host.threads().get("bob", fork)).agent()).isEqualTo("desk");
    }
    silent(other);
    encrypted(other);
    try (Fermata host = later.start()) {
      served(host.threads());
    }
    assertThat(new StoreFiles(other).with(CARD)).as("a new thread without marks").isNotEmpty();
  }

  record Debit(@Secret Integer pin, @Secret Boolean vip) {}

  @Test
  void whatIsScheduledWithMarkedArgumentsIsEncryptedAfterARecovery() throws Exception {
    Tool schedule =
        Tool.of(
            "schedule",
            "Schedules a charge.",
            (flow, args) -> {
              var charge = Json.object().put("pin", 42).put("vip", true);
              flow.scheduleEffect("charge", charge, Duration.ofDays(1));
              return "scheduled";
            });
    Model model = ScriptedModels.calling("schedule", "{}", result -> "Done: " + result);
    HostBuilder builder =
        Fermata.host()
            .store(store())
            .agent(
                Agent.aiHuman("desk", Prompt.of("desk", model).tools(schedule))
                    .effects(ScheduledHandler.of("charge", "", Debit.class, (flow, args) -> {})))
            .keys(DataKeys.parse(K1))
            .settings(Settings.DEFAULT.snapshotEvery(1));
    String id;
    try (Fermata host = builder.start()) {
      id = served(host.threads()).threadId();
    }
    try (Fermata host = builder.start()) {
      now(
          host.threads()
              .post("ann", id, new Threads.NewMessage(Message.user("?"), List.of(), null)));
      now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
    }
    encrypted(folder);
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @Test
  void anExportIsEncryptedUnlessItIsAskedOtherwiseAndSoIsWhatIsImported() throws Exception {
    String runId;
    ByteArrayOutputStream exported = new ByteArrayOutputStream();
    ByteArrayOutputStream open = new ByteArrayOutputStream();
    try (Fermata host = host(pay(), K1).start()) {
      runId = runId(reply(host, "1", "start", answers()));
      now(host.journals().run("pay", runId).export(exported));
      now(host.journals().run("pay", runId).exportWithSecrets(open));
    }
    silent("the export", exported.toString(StandardCharsets.UTF_8));
    assertThat(open.toString(StandardCharsets.UTF_8)).contains(CARD).doesNotContain("sealed:1");
    for (ByteArrayOutputStream lines : List.of(exported, open)) {
      Path other = Files.createTempDirectory(folder, "other");
      try (Fermata host =
          host(pay(), K2 + "," + K1).store(Store.sqlite(other.resolve("o.db"))).start()) {
        now(host.journals().importFrom(new ByteArrayInputStream(lines.toByteArray())));
        assertThat(status(reply(host, "2", "continue", "vault.word", INNER))).isEqualTo("waiting");
      }
      silent(other);
    }
    try (Fermata host = host(pay(), K2).store(Store.sqlite(folder.resolve("third.db"))).start()) {
      var lines = new ByteArrayInputStream(exported.toByteArray());
      assertThatThrownBy(() -> now(host.journals().importFrom(lines)))
          .hasMessageContaining("key k1");
    }
  }

  @Test
  void whatIsImportedNeedsTheKeysOfThisHostAloneAlsoIfItWasEncryptedAsAWhole() throws Exception {
    Agent agent = Agent.aiHuman("noter", Prompt.of("p", ScriptedModels.saying("Noted.")));
    ByteArrayOutputStream run = new ByteArrayOutputStream();
    ByteArrayOutputStream thread = new ByteArrayOutputStream();
    String id;
    EncryptedFields all = EncryptedFields.EVERYTHING;
    try (Fermata host = host(before(), K1).agent(agent).encrypt(all).start()) {
      String runId = runId(reply(host, "1", "start", "card", CARD));
      var wanted = new Threads.NewThread("ann", "noter", null, Set.of(), Map.of(), List.of());
      id = now(host.threads().create(wanted)).threadId();
      now(host.journals().run("pay", runId).export(run));
      now(host.journals().thread(id).export(thread));
    }
    HostBuilder other = host(before(), K2 + "," + K1).agent(agent);
    try (Fermata host = other.store(Store.sqlite(folder.resolve("o.db"))).start()) {
      now(host.journals().importFrom(new ByteArrayInputStream(run.toByteArray())));
      now(host.journals().importFrom(new ByteArrayInputStream(thread.toByteArray())));
    }
    HostBuilder newKeyAlone = host(before(), K2).agent(agent);
    try (Fermata host = newKeyAlone.store(Store.sqlite(folder.resolve("o.db"))).start()) {
      assertThat(status(reply(host, "2", "continue", "pin", TOKEN))).isEqualTo("interrupt");
      var said = new Threads.NewMessage(Message.user("Hello"), List.of(), null);
      now(host.threads().post("ann", id, said));
      now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
      assertThat(
              now(host.threads().messages("ann", id, Threads.MessageQuery.latest(10).withSilent()))
                  .messages()
                  .toString())
          .contains("Noted.");
    }
  }

  record Charge(@Secret String card, @Computed String said) {}

  private static Flow<Charge> charge() {
    return Flow.of("pay", Charge.class)
        .description("Charges a card on request.")
        .ask("ask", q -> q.question("card", "Card?"))
        .waitFor("wait", "go", "said")
        .edge(START, "ask")
        .edge("ask", "wait")
        .edge("wait", END)
        .result(charge -> "Charged " + charge.card())
        .compile();
  }

  /** The end of a run that no client waited for, when nothing else of the run is left. */
  private String sweptCharge() throws Exception {
    String runId;
    // A snapshot that is written with the end would have the secrets of the run.
    try (Fermata host = host(charge(), K1).settings(Settings.DEFAULT.snapshotEvery(99)).start()) {
      runId = runId(reply(host, "1", "start", "card", CARD));
      got(host.signal("pay", runId, "go", "now", null).toCompletableFuture());
      eventually(() -> records() == 1);
    }
    return runId;
  }

  @Test
  void whatAnEndedRunReturnedStaysEncryptedWhenItIsFetchedAfterASweepAndWhenAnotherRunFollows()
      throws Exception {
    sweptCharge();
    HostBuilder builder = host(charge(), K1).settings(Settings.DEFAULT.snapshotEvery(1));
    try (Fermata host = builder.start()) {
      JsonNode fetched = call(host, "continue");
      assertThat(fetched.path("result").asText()).isEqualTo("Charged " + CARD);
      silent(folder);
      assertThat(status(reply(host, "2", "start", "card", TOKEN))).isEqualTo("waiting");
      silent(folder);
    }
    silent(folder);
    try (Fermata host = builder.store(store()).start()) {
      assertThat(call(host, "continue").path("result").asText()).isEqualTo("Charged " + CARD);
      assertThat(status(reply(host, "3", "start", "card", LICENCE))).isEqualTo("waiting");
    }
    silent(folder);
  }

  @Test
  void aCallThatComesAfterARunHasCompletedByItselfGetsTheSecretsThatItReturns() throws Exception {
    String runId = sweptCharge();
    try (Fermata host = host(charge(), K1).start()) {
      JsonNode late = call(host, "cancel");
      assertThat(late.path("code").asText()).isEqualTo("run_completed");
      assertThat(late.path("result").asText()).isEqualTo("Charged " + CARD);
      assertThat(call(host, "status").path("result")).isEqualTo(late.path("result"));
      silent("an operator", now(host.runs().cancel("pay", runId, "bob")).structured().toString());
    }
    silent(folder);
  }

  record Unmarked(String card) {}

  record Marked(@Secret String card, String more) {}

  private static <S extends Record> Flow<S> taking(Class<S> card) {
    return Flow.of("pay", card)
        .description("Takes a card.")
        .ask("ask", q -> q.question("card", "Card?"))
        .edge(START, "ask")
        .edge("ask", END)
        .result(state -> state)
        .compile();
  }

  @Test
  void anOperatorSeesNothingOfWhatARunReturnedBeforeItsFieldWasSecret() throws Exception {
    String runId;
    try (Fermata host = host(taking(Unmarked.class), K1).settings(Settings.DEFAULT).start()) {
      runId = runId(reply(host, "1", "start", "card", CARD));
      eventually(() -> records() == 1);
    }
    try (Fermata host = host(taking(Marked.class), K1).start()) {
      assertThat(call(host, "status").path("result").path("card").asText()).isEqualTo(CARD);
      JsonNode seen = now(host.runs().status("pay", runId)).structured();
      assertThat(seen.path("status").asText()).isEqualTo("complete");
      silent("an operator", seen.toString());
    }
  }

  @Test
  void aCallThatIsRepeatedAtAReleaseThatMarksItsFieldGetsItsReply() throws Exception {
    ToolReply first;
    try (Fermata host = host(taking(Unmarked.class), K1).start()) {
      first = reply(host, "1", "start", "card", CARD);
      assertThat(first.structured().at("/result/card").asText()).isEqualTo(CARD);
    }
    try (Fermata host = host(taking(Marked.class), K1).start()) {
      ToolReply again = reply(host, "1", "start", "card", CARD);
      assertThat(again.structured()).isEqualTo(first.structured());
      assertThat(runId(again)).isEqualTo(runId(first));
    }
  }

  @Test
  void theBeginningOfASecretInAReasonThatWasCutIsInNoFile() throws Exception {
    Flow<Charge> flow =
        Flow.of("pay", Charge.class)
            .description("Charges a card in vain.")
            .ask("ask", q -> q.question("card", "Card?"))
            .waitFor("wait", "go", "said")
            .act(
                "charge",
                run -> {
                  throw new StepException("x".repeat(1_990) + run.get("card", String.class));
                })
            .edge(START, "ask")
            .edge("ask", "wait")
            .edge("wait", "charge")
            .edge("charge", END)
            .endOnFailure()
            .compile();
    try (Fermata host = host(flow, K1).start()) {
      String runId = runId(reply(host, "1", "start", "card", CARD));
      got(host.signal("pay", runId, "go", "now", null).toCompletableFuture());
      eventually(() -> records() == 1);
    }
    new StoreFiles(folder)
        .texts()
        .forEach((file, text) -> assertThat(text).as(file).doesNotContain(CARD.substring(0, 6)));
  }

  @Test
  void whatIsLeftOfASweptRunIsEncryptedWhereItIsImported() throws Exception {
    String runId = sweptCharge();
    ByteArrayOutputStream exported = new ByteArrayOutputStream();
    ByteArrayOutputStream open = new ByteArrayOutputStream();
    try (Fermata host = host(charge(), K1).start()) {
      now(host.journals().run("pay", runId).export(exported));
      now(host.journals().run("pay", runId).exportWithSecrets(open));
    }
    silent("the export", exported.toString(StandardCharsets.UTF_8));
    for (ByteArrayOutputStream lines : List.of(exported, open)) {
      Path other = Files.createTempDirectory(folder, "other");
      try (Fermata host =
          host(charge(), K2 + "," + K1).store(Store.sqlite(other.resolve("o.db"))).start()) {
        now(host.journals().importFrom(new ByteArrayInputStream(lines.toByteArray())));
        assertThat(call(host, "continue").path("result").asText()).isEqualTo("Charged " + CARD);
      }
      silent(other);
    }
  }

  @Test
  void aSleepingHostForgetsNoSecretThatIsNoLongerInAField() throws Exception {
    record Word(@Secret String word, @Computed String kept, String more) {}
    Flow<Word> flow =
        Flow.of("pay", Word.class)
            .description("Keeps a word.")
            .ask("ask", q -> q.question("word", "Word?"))
            .act("keep", run -> run.set("kept", "It was " + run.state().word()).delete("word"))
            .ask("more", q -> q.question("more", "More?"))
            .act("tell", run -> run.emit("told", run.state().kept().substring(7)))
            .edge(START, "ask")
            .edge("ask", "keep")
            .edge("keep", "more")
            .edge("more", "tell")
            .edge("tell", END)
            .compile();
    HostBuilder builder = host(flow, K1).settings(Settings.DEFAULT.snapshotEvery(1)).store(store());
    try (Fermata host = builder.start()) {
      call(host, "start", "word", CARD);
    }
    Observed observed = new Observed();
    try (Fermata host = builder.recorder(observed).start()) {
      assertThat(call(host, "continue", "more", "x").path("status").asText()).isEqualTo("complete");
    }
    silent(folder);
  }

  @Test
  void aStoreThatNoHostHasOpenIsReadWithTheKeysThatAreGiven() throws Exception {
    String runId;
    try (Fermata host = host(pay(), K1).encrypt(EncryptedFields.EVERYTHING).start()) {
      runId = runId(reply(host, "1", "start", answers()));
    }
    assertThat(Rollout.check(store(), pay()).text()).contains("key k1");
    String unread = Rollout.check(store(), pay()).runs().get(0).runId();
    assertThat(SessionKey.entityOf("pay", unread)).isEqualTo(SessionKey.entityOf("pay", runId));
    assertThat(Rollout.check(host(pay(), K1).store(store())).runs())
        .extracting(Rollout.RunResult::runId, Rollout.RunResult::verdict)
        .containsExactly(tuple(runId, Rollout.Verdict.CONTINUES));
    try (OpenStore open = store().open()) {
      now(open.directory().remove(RunRow.id("pay", runId)));
    }
    try (Runs.Opened runs = Fermata.openRuns(store())) {
      assertThat(now(runs.rebuild())).isEqualTo(new Runs.Rebuilt(1, 0, 0));
    }
    try (Runs.Opened runs = Fermata.openRuns(store(), DataKeys.parse(K1))) {
      assertThat(now(runs.rebuild())).isEqualTo(new Runs.Rebuilt(1, 1, 0));
      assertThat(now(runs.get("pay", runId))).isPresent();
    }
  }

  @Test
  void aCheckWithoutTheOldKeyNamesWhatStillNeedsIt() throws Exception {
    Agent agent = Agent.aiHuman("noter", Prompt.of("p", ScriptedModels.saying("Noted.")));
    EncryptedFields all = EncryptedFields.EVERYTHING;
    String ended;
    String thread;
    try (Fermata host = host(before(), K1).agent(agent).encrypt(all).start()) {
      ToolReply reply = reply(host, "1", "start", "card", CARD, "pin", TOKEN, "more", "none");
      assertThat(status(reply)).isEqualTo("complete");
      ended = runId(reply);
      var wanted = new Threads.NewThread("ann", "noter", null, Set.of(), Map.of(), List.of());
      thread = now(host.threads().create(wanted)).threadId();
    }
    HostBuilder newKeyAlone = host(before(), K2).agent(agent);
    try (Fermata host = host(before(), K2 + "," + K1).agent(agent).encrypt(all).start()) {
      var said = new Threads.NewMessage(Message.user("Hello"), List.of(), null);
      now(host.threads().post("ann", thread, said));
      now(host.threads().settled("ann", thread, Duration.ofSeconds(30)));
    }
    Rollout rotated = Rollout.check(newKeyAlone);
    assertThat(rotated.complete()).isFalse();
    assertThat(rotated.held())
        .singleElement()
        .satisfies(
            held -> {
              assertThat(held.threadId()).isEqualTo(thread);
              assertThat(held.missing()).singleElement().asString().contains("key k1");
            });
    assertThat(rotated.of(Rollout.Verdict.STRANDED))
        .singleElement()
        .satisfies(
            run -> {
              assertThat(run.runId()).isEqualTo(ended.substring(0, ended.indexOf('.')));
              assertThat(run.why()).contains("key k1");
            });
    try (Fermata host = host(before(), K2 + "," + K1).agent(agent).encrypt(all).start()) {
      now(host.threads().delete("ann", thread));
      now(host.runs().erase("pay", ended));
    }
    assertThat(Rollout.check(newKeyAlone).complete()).isTrue();
  }

  @Test
  void aSessionWhoseSnapshotAloneNeedsARemovedKeyRecoversFromItsEntries() throws Exception {
    Settings often = Settings.DEFAULT.snapshotEvery(1);
    try (Fermata host = host(before(), K1).settings(often).start()) {
      ToolReply ended = reply(host, "1", "start", "card", CARD, "pin", TOKEN, "more", "none");
      assertThat(status(ended)).isEqualTo("complete");
      eventually(() -> records() == 1);
    }
    assertThat(new StoreFiles(folder).records()).anyMatch(each -> each.contains("\u0001\u0002k1"));
    assertThat(Rollout.check(host(before(), K2)).complete()).isTrue();
    try (Fermata host = host(before(), K2).settings(often).start()) {
      assertThat(code(reply(host, "2", "continue"))).isEqualTo("run_completed");
      assertThat(status(reply(host, "3", "start", "card", LICENCE))).isEqualTo("interrupt");
    }
    silent(folder);
  }

  @Test
  void aCheckBeforeARolloutQuotesNoSecret() throws Exception {
    try (Fermata host = host(before(), K1).start()) {
      reply(host, "1", "start", "card", CARD, "pin", TOKEN);
    }
    Consumer<Migrating> quotes =
        state -> {
          throw new StepException(
              state.get("cardNumber", String.class) + " and " + state.get("pin", String.class));
        };
    String said = Rollout.check(host(after(quotes), K1).store(store())).text();
    assertThat(said).contains("CANNOT CONTINUE", "[redacted] and [redacted]");
    silent("the check", said);
  }

  record Before(@Secret String card, @Secret String pin, String more) {}

  record After(@Secret String cardNumber, String more) {}

  private static Flow<Before> before() {
    return Flow.of("pay", Before.class)
        .description("Pays.")
        .ask("ask", q -> q.question("card", "Card?").question("pin", "Pin?"))
        .ask("more", q -> q.question("more", "More?"))
        .edge(START, "ask")
        .edge("ask", "more")
        .edge("more", END)
        .compile();
  }

  private static Flow<After> after() {
    return after(state -> state.delete("pin"));
  }

  private static Flow<After> after(Consumer<Migrating> change) {
    return Flow.of("pay", After.class)
        .description("Pays.")
        .version(2)
        .migrate(1, m -> m.field("card", "cardNumber").secret("pin").state(change))
        .ask("ask", q -> q.question("cardNumber", "Card?"))
        .ask("more", q -> q.question("more", "More?"))
        .edge(START, "ask")
        .edge("ask", "more")
        .edge("more", END)
        .compile();
  }

  @Test
  void aSecretOfAVersionThatIsGoneIsKeptWhateverBecameOfItsField() throws Exception {
    String runId;
    try (Fermata host = host(before(), K1).settings(Settings.DEFAULT).start()) {
      runId = runId(reply(host, "1", "start", "card", CARD, "pin", TOKEN));
    }
    Observed replayed = new Observed();
    try (Fermata host = host(after(), K1).settings(Settings.DEFAULT).start()) {
      now(host.journals().run("pay", runId).replay(replayed));
      assertThat(call(host, "continue", "more", "No " + TOKEN).path("status").asText())
          .isEqualTo("complete");
      now(host.journals().run("pay", runId).replay(replayed));
    }
    assertThat(replayed.observed).isNotEmpty();
    replayed.observed.forEach(event -> silent("a replay", event));
    silent(folder);
  }
}
