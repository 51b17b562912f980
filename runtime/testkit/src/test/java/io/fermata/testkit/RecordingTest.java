package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.ExportedJournal;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.RecordingException;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Scrubbing;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.SessionKey;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A run of production becomes a test that needs no key and has nobody's secrets. */
class RecordingTest {
  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));
  private static final String CARD = "4111-1111-1111-1117";
  private static final String DIGITS = "4111111111111117";

  enum Brand {
    VISA,
    MASTERCARD,
    AMEX
  }

  record Holder(String name, @Secret String code, @Secret Brand brand, @Secret String born) {}

  record Order(
      @Secret String card,
      @Secret Long limit,
      @Secret Boolean insured,
      Holder holder,
      String email,
      @Computed String receipt,
      @Computed String charged) {}

  @TempDir Path folder;

  /** Cards are valid if the sum of their digits can be divided by five. */
  private static Verdict checked(String card) {
    String digits = card.replaceAll("\\D", "");
    return digits.chars().map(c -> c - '0').sum() % 5 == 0
        ? Verdict.accept(digits)
        : Verdict.reject(card + " is no card.");
  }

  private static Flow<Order> order(String visa, long rich) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask(
            "ask_card",
            q -> q.question("card", "Which card?", o -> o.validate(RecordingTest::checked)))
        .ask("ask_limit", q -> q.question("limit", "Limit?").question("insured", "Insured?"))
        .ask(
            "ask_holder",
            q ->
                q.question("holder.name", o -> "Who has " + o.card() + "?")
                    .question("holder.code", "Code?")
                    .question("holder.brand", "Brand?")
                    .question("holder.born", "Born?")
                    .question("email", "Email?"))
        .act(
            "pay",
            run -> {
              Order o = run.state();
              run.set(
                  "receipt", "Paid %s by %s, %s".formatted(o.card(), o.email(), o.holder().name()));
              run.set("charged", run.state().card());
            })
        .act("decline", run -> run.set("receipt", "No."))
        .edge(START, "ask_card")
        .decide("ask_card", d -> d.when("visa", eq("card", visa)).to(END).otherwise("ask_limit"))
        .decide(
            "ask_limit",
            d -> d.when("rich", gt("limit", rich)).to("ask_holder").otherwise("decline"))
        .edge("ask_holder", "pay")
        .decide(
            "pay",
            d ->
                d.when(
                        "same",
                        o ->
                            Objects.equals(
                                o.get("card", String.class), o.get("charged", String.class)))
                    .to(END)
                    .otherwise("decline"))
        .edge("decline", END)
        .result(o -> o.receipt())
        .compile();
  }

  private static Flow<Order> order() {
    return order("5500", 4_000);
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private Fermata host(Flow<?> flow) {
    return Fermata.host()
        .store(Store.memory())
        .keys(KEYS)
        .retention(Retention.ofJournals(Duration.ofDays(1)))
        .flow(flow)
        .start();
  }

  private static String called(Fermata host, String action, Object... updates) {
    ObjectNode arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "to pay with " + CARD);
    }
    ObjectNode values = arguments.putObject("stateUpdates");
    for (int i = 0; i < updates.length; i += 2) {
      values.set((String) updates[i], Json.tree(updates[i + 1]));
    }
    ObjectNode meta = Json.object().put("fermata/sessionId", "chat-of-ann");
    ToolReply reply =
        now(host.call(new ToolCall("order", "ann@acme.com", arguments, meta, null), p -> {}));
    return reply.meta().at("/fermata~1run/runId").asText();
  }

  private static String bought(Fermata host) {
    String run = called(host, "start", "card", CARD);
    called(host, "continue", "limit", 5_000L, "insured", true);
    called(
        host,
        "continue",
        "holder.name",
        "Ann Li",
        "holder.code",
        "x/7",
        "holder.brand",
        "AMEX",
        "holder.born",
        "1987-12-24",
        "email",
        "ann@acme.com");
    return run;
  }

  private Path recorded(Fermata host, String run, Scrubbing scrubbing) throws Exception {
    ByteArrayOutputStream recording = new ByteArrayOutputStream();
    host.journals().run("order", run).record(scrubbing, recording).toCompletableFuture().join();
    return Files.write(folder.resolve("order.jsonl"), recording.toByteArray());
  }

  @Test
  void aRunIsRecordedWithInventedValuesAndReplayedWithoutAKey() throws Exception {
    Path recording;
    try (Fermata host = host(order())) {
      String first = called(host, "start", "card", CARD);
      String run = bought(host);
      assertThat(first).isNotEqualTo(run);
      recording = recorded(host, run, Scrubbing.SECRETS.and("email", "*.name"));
    }

    assertThatCode(
            () -> RecordedRuns.requireSame(recording, false, Limits.DEFAULT, List.of(), order()))
        .doesNotThrowAnyException();
    assertThat(Files.readString(recording))
        .doesNotContain(
            CARD, DIGITS, "x/7", "1987-12-24", "acme", "chat-of-ann", "$binary", "Ann Li")
        .doesNotContain(SessionKey.ownerOf("ann@acme.com"));
    RunJournal journal = ExportedJournal.read(recording).run();
    JsonNode data = journal.state().data();
    assertThat(data.path("card").asText()).matches("[1-9]\\d{15}").isNotEqualTo(DIGITS);
    assertThat(data.path("charged")).isEqualTo(data.path("card"));
    assertThat(data.path("limit").asLong()).isGreaterThan(4_000);
    assertThat(data.path("insured").isBoolean()).isTrue();
    assertThat(data.at("/holder/code").asText()).matches("[a-z]/\\d").isNotEqualTo("x/7");
    assertThat(data.at("/holder/brand").asText()).isIn("VISA", "MASTERCARD");
    assertThat(data.at("/holder/born").asText()).matches("1987-[01]\\d-[0-2]\\d");
    assertThat(data.path("email").asText()).matches("[a-z]{3}@[a-z]{4}\\.[a-z]{3}");
    assertThat(data.at("/holder/name").asText()).matches("[A-Z][a-z]{2} [A-Z][a-z]");
    assertThat(data.path("receipt").asText())
        .isEqualTo(
            "Paid %s by %s, %s"
                .formatted(
                    data.path("card").asText(),
                    data.path("email").asText(),
                    data.at("/holder/name").asText()));
    assertThat(journal.entries().get(0).seq()).isEqualTo(1);
    assertThat(journal.entries().get(0).principal()).isEqualTo("user");
    assertThat(journal.events().get(0).toString())
        .contains("to pay with ")
        .containsPattern("\\d{4}-\\d{4}-\\d{4}-\\d{4}");
  }

  @Test
  void aMistypedFieldIsRefusedAndItsValueNotRecordedInClear() throws Exception {
    try (Fermata host = host(order())) {
      String run = bought(host);
      for (String path : List.of("emial", "**.emial", "holder.emial", "", " ")) {
        assertThatThrownBy(() -> recorded(host, run, Scrubbing.SECRETS.and("limit", path)))
            .as(path)
            .cause()
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageStartingWith("The flow order has no field " + path + "; ");
      }
      assertThatThrownBy(() -> recorded(host, run, Scrubbing.SECRETS.and("emial")))
          .hasMessageEndingWith("did you mean email?");
      assertThat(folder.resolve("order.jsonl")).doesNotExist();
      for (String path : List.of("holder", "holder.name", "*.name", "**.name")) {
        assertThat(recorded(host, run, Scrubbing.SECRETS.and(path))).exists();
      }
    }
  }

  record Guest(String email) {}

  record Party(List<Guest> guests, String email) {}

  @Test
  void aFieldOfTheItemsOfAListIsNamedWithAStar() throws Exception {
    Flow<Party> flow =
        Flow.of("order", Party.class)
            .description("Sells seats.")
            .ask("ask_guests", q -> q.question("guests", "Who?").question("email", "Email?"))
            .edge(START, "ask_guests")
            .edge("ask_guests", END)
            .compile();
    try (Fermata host = host(flow)) {
      String empty = called(host, "start");
      assertThat(recorded(host, empty, Scrubbing.SECRETS.and("guests.*.email", "**.email")))
          .exists();
      Files.delete(folder.resolve("order.jsonl"));
    }
    try (Fermata host = host(flow)) {
      List<Guest> guests = List.of(new Guest("ann@acme.com"));
      String run = called(host, "start", "guests", guests, "email", "bob@acme.com");
      for (String path : List.of("guests.email", "guests.*.emial", "email.adress", "email.*")) {
        assertThatThrownBy(() -> recorded(host, run, Scrubbing.SECRETS.and(path)))
            .as(path)
            .cause()
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageStartingWith("The flow order has no field " + path + "; ");
      }
      assertThat(folder.resolve("order.jsonl")).doesNotExist();
      assertThat(recorded(host, run, Scrubbing.SECRETS.and("guests.*.email")))
          .content()
          .contains("bob@acme.com")
          .doesNotContain("ann@acme.com");
    }
  }

  record Facts(String seat, @Computed Map<String, String> known) {}

  @Test
  void aFieldOfWhichOnlyTheJournalKnowsIsInvented() throws Exception {
    Flow<Facts> flow =
        Flow.of("order", Facts.class)
            .description("Sells a seat.")
            .act("look_up", run -> run.set("known", Map.of("email", "ann@acme.com")))
            .ask("ask_seat", q -> q.question("seat", "Which seat?"))
            .edge(START, "look_up")
            .edge("look_up", "ask_seat")
            .edge("ask_seat", END)
            .compile();
    try (Fermata host = host(flow)) {
      String run = called(host, "start");
      assertThat(recorded(host, run, Scrubbing.SECRETS.and("**.email")))
          .content()
          .doesNotContain("acme.com");
    }
  }

  @Test
  void theSameRunIsRecordedAlikeEachTime() throws Exception {
    try (Fermata host = host(order())) {
      String run = bought(host);
      String once = Files.readString(recorded(host, run, Scrubbing.SECRETS));
      String again = Files.readString(recorded(host, run, Scrubbing.SECRETS));

      assertThat(again).isEqualTo(once);
    }
  }

  record Ticket(String seat, @Computed String link) {}

  @Test
  void anIdBecomesTheSameOtherOneWhereverItIs() throws Exception {
    Flow<Ticket> flow =
        Flow.of("order", Ticket.class)
            .description("Sells a seat.")
            .act("reserve", run -> run.set("link", "https://acme.com/" + run.idempotencyKey()))
            .ask("ask_seat", q -> q.question("seat", "Which seat?"))
            .edge(START, "reserve")
            .edge("reserve", "ask_seat")
            .edge("ask_seat", END)
            .compile();
    Path recording;
    String run;
    try (Fermata host = host(flow)) {
      run = called(host, "start");
      recording = recorded(host, run, Scrubbing.SECRETS);
    }

    RecordedRuns.requireSame(recording, false, Limits.DEFAULT, List.of(), flow);
    assertThat(Files.readString(recording))
        .doesNotContain(run.substring(run.indexOf('.')))
        .doesNotContain(SessionKey.ownerOf("ann@acme.com"))
        .doesNotContain(SessionKey.brief(SessionKey.CHOSEN + "chat-of-ann"));
    RunJournal journal = ExportedJournal.read(recording).run();
    assertThat(journal.state().data().path("link").asText())
        .isEqualTo("https://acme.com/" + journal.runId() + "/reserve#1");
  }

  @Test
  void aBranchThatNoInventedValueTakesIsNamedAndRefused() throws Exception {
    Flow<Order> flow = order(DIGITS, 4_000);
    try (Fermata host = host(flow)) {
      String run = called(host, "start", "card", CARD);

      assertThatThrownBy(() -> recorded(host, run, Scrubbing.SECRETS))
          .isInstanceOf(CompletionException.class)
          .cause()
          .isInstanceOf(RecordingException.class)
          .message()
          .contains(
              "with invented values it is decided otherwise",
              "Recorded: After ask_card the run went to its end",
              "Now:      After ask_card the run went to ask_limit",
              "write the recording anyway")
          .doesNotContain(DIGITS, CARD);

      Path anyway = recorded(host, run, Scrubbing.SECRETS.writtenAnyway());
      assertThat(Files.readString(anyway)).doesNotContain(DIGITS, CARD);
      assertThatThrownBy(
              () -> RecordedRuns.requireSame(anyway, false, Limits.DEFAULT, List.of(), flow))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("the run went to ask_limit");
    }
  }

  @Test
  void aRunThatIsDecidedOtherwiseAlreadySaysSo() throws Exception {
    Store store = Store.sqlite(folder.resolve("runs.db"));
    String run;
    try (Fermata host = Fermata.host().store(store).keys(KEYS).flow(order()).start()) {
      run = called(host, "start", "card", CARD);
      called(host, "continue", "limit", 5_000L, "insured", true);
    }
    Flow<Order> other = order("5500", 6_000);
    try (Fermata host = Fermata.host().store(store).keys(KEYS).flow(other).start()) {
      assertThatThrownBy(() -> recorded(host, run, Scrubbing.SECRETS))
          .cause()
          .isInstanceOf(RecordingException.class)
          .message()
          .contains("this release decides it otherwise already", "ask_limit")
          .doesNotContain("5000");
    }
  }

  record Stay(Integer nights, @Secret String guest) {}

  /** Groups that stay more than so many nights are asked for a guest under the name of a node. */
  private static FlowBuilder<Stay> stay(int version, int many, String last) {
    return Flow.of("order", Stay.class)
        .version(version)
        .description("Books a stay.")
        .ask("ask_nights", q -> q.question("nights", "How many nights?"))
        .ask(last, q -> q.question("guest", "Who?"))
        .edge(START, "ask_nights")
        .decide("ask_nights", d -> d.when("many", gt("nights", many)).to(last).otherwise(END))
        .edge(last, END);
  }

  private static Fermata release(Store store, Flow<?>... flows) {
    return releasing(store, flows).start();
  }

  private static HostBuilder releasing(Store store, Flow<?>... flows) {
    HostBuilder host =
        Fermata.host().store(store).keys(KEYS).retention(Retention.ofJournals(Duration.ofDays(1)));
    for (Flow<?> flow : flows) {
      host.flow(flow);
    }
    return host;
  }

  /** A stay of 8 nights whose guest only the second of two releases asks for. */
  private static String stayed(Store store, Flow<?> first, Flow<?> second) {
    String run;
    try (Fermata host = release(store, first)) {
      run = called(host, "start", "nights", 8);
    }
    try (Fermata host = release(store, second)) {
      called(host, "continue", "guest", "Ann Li");
    }
    return run;
  }

  @Test
  void aRunOnAnEarlierVersionThatIsStillRegisteredIsRecordedAndItsTestPasses() throws Exception {
    Store store = Store.sqlite(folder.resolve("runs.db"));
    Flow<?> first = stay(1, 6, "ask_guest").compile();
    Flow<?> second = stay(2, 10, "ask_guest").compile();
    String run = stayed(store, first, first);
    Path recording;
    try (Fermata host = releasing(store, first, second).dormant().start()) {
      recording = recorded(host, run, Scrubbing.SECRETS);
    }

    RecordedRuns.requireSame(recording, false, Limits.DEFAULT, List.of(), first, second);
    RecordedRuns.requireSame(recording, false, Limits.DEFAULT, List.of(), second, first);
    assertThat(Files.readString(recording)).doesNotContain("Ann Li");
  }

  @Test
  void aRunWhoseRestTheReleaseCannotCompareIsNotRecorded() throws Exception {
    Store store = Store.sqlite(folder.resolve("runs.db"));
    Flow<?> first = stay(1, 6, "ask_guest").compile();
    Flow<?> second =
        stay(2, 6, "ask_name").migrate(1, m -> m.node("ask_guest", "ask_name")).compile();
    String run = stayed(store, first, second);
    Flow<?> third = stay(3, 6, "ask_guest").compile();
    try (Fermata host = releasing(store, third).dormant().start()) {
      assertThatThrownBy(() -> recorded(host, run, Scrubbing.SECRETS))
          .cause()
          .isInstanceOf(RecordingException.class)
          .message()
          .contains(
              "as its test would fail: this release cannot continue it.",
              "It is not compared from entry 2 on, because it is at ask_name");

      Path anyway = recorded(host, run, Scrubbing.SECRETS.writtenAnyway());
      assertThat(Files.readString(anyway)).doesNotContain("Ann Li");
      assertThatThrownBy(
              () -> RecordedRuns.requireSame(anyway, false, Limits.DEFAULT, List.of(), third))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("It is not compared from entry 2 on");
    }
  }

  // --- threads ----------------------------------------------------------------------------------

  record Payment(String order, @Secret String card, @Secret Brand brand, @Secret String cvv) {}

  private static Agent desk(Model model) {
    Tool pay =
        Tool.of(
                "pay",
                "Pays an order.",
                Payment.class,
                (flow, args) -> {
                  flow.storage().put("paid", Map.of("email", "ann@acme.com"));
                  flow.files().write("/receipt", "paid with " + args.card());
                  return "Paid with " + args.card() + " of " + args.brand();
                })
            .approval("Pay?");
    Hook shout =
        Hook.beforeCreateMessage(
            "shout",
            (flow, m) ->
                m.content() == null ? m : m.withContent(m.content().replace("Paid", "PAID")));
    return Agent.aiHuman("desk", Prompt.of("desk", model).text("Pay.").tools(pay)).hooks(shout);
  }

  private static Model script() {
    return ScriptedModel.script()
        .say("Your card?")
        .turn(
            Turn.call("pay", Map.of("order", "B-1", "card", CARD, "brand", "AMEX", "cvv", "123"))
                .thinking("The card is " + CARD + "."))
        .say("Done with " + CARD + ".")
        .model("scripted")
        .price("0", "0", "0");
  }

  @Test
  void aThreadIsRecordedWithInventedArgumentsWhereverTheyAreQuoted() throws Exception {
    Path recording = folder.resolve("thread.jsonl");
    List<RequestDigest> asked;
    String id;
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .keys(KEYS)
            .encrypt(EncryptedFields.EVERYTHING)
            .agent(desk(script()))
            .start()) {
      Threads threads = host.threads();
      id =
          now(threads.create(
                  new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      for (String said : List.of("Pay B-1", "It is " + CARD)) {
        now(threads.post("ann", id, new Threads.NewMessage(Message.user(said), List.of(), null)));
        now(threads.settled("ann", id, Duration.ofSeconds(60)));
      }
      String call = now(threads.get("ann", id)).questions().get(0).call();
      now(threads.answer("ann", id, new Threads.Answer(call, "a1", true, null, null)));
      now(threads.settled("ann", id, Duration.ofSeconds(60)));
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      for (String name : List.of("emial", "result", "text", "name", "agent")) {
        assertThatThrownBy(
                () ->
                    host.journals()
                        .thread(id)
                        .record(Scrubbing.SECRETS.and(name), out)
                        .toCompletableFuture()
                        .join())
            .cause()
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessage(
                "Nothing in the thread has the name " + name + "; check it, or leave it out");
      }
      assertThat(out.size()).isZero();
      now(host.journals().thread(id).record(Scrubbing.SECRETS.and("email"), out));
      asked = asked(now(host.journals().thread(id).readWithSecrets()));
      Files.write(recording, out.toByteArray());
    }

    List<Agent> desk = List.of(desk(script()));
    assertThatCode(() -> RecordedRuns.requireSame(recording, false, Limits.DEFAULT, desk))
        .doesNotThrowAnyException();
    assertThat(Files.readString(recording))
        .doesNotContain(
            CARD, "AMEX", "123\\\"", "ann@acme", "\"ann\"", SessionKey.ownerOf("ann"), id)
        .contains("B-1");
    ThreadJournal journal = ExportedJournal.read(recording).thread();
    assertThat(asked(journal)).hasSameSizeAs(asked).startsWith(asked.get(0));
    assertThat(asked(journal).subList(1, asked.size()))
        .as("digests of the card's number")
        .doesNotContainAnyElementsOf(asked);
    List<String> said = new ArrayList<>();
    journal.messages().forEach(m -> said.add(String.valueOf(m.content())));
    String card = said.get(2).substring("It is ".length());
    assertThat(card).matches("\\d{4}-\\d{4}-\\d{4}-\\d{4}").isNotEqualTo(CARD);
    assertThat(said.get(4)).startsWith("PAID with " + card + " of ").doesNotContain("AMEX");
    assertThat(said.get(5)).isEqualTo("Done with " + card + ".");
    assertThat(journal.events())
        .filteredOn(ThreadEvent.FileWritten.class::isInstance)
        .singleElement()
        .satisfies(
            e ->
                assertThat(((ThreadEvent.FileWritten) e).data())
                    .asString(StandardCharsets.UTF_8)
                    .isEqualTo("paid with " + card));
  }

  private static List<RequestDigest> asked(ThreadJournal journal) {
    return journal.events().stream()
        .filter(ThreadEvent.StepEnded.class::isInstance)
        .map(event -> Objects.requireNonNull(((ThreadEvent.StepEnded) event).log().asked()))
        .toList();
  }

  @Test
  void aThreadThatIsDecidedOtherwiseIsRecordedWithoutWhatItsModelsWereAskedFromThereOn()
      throws Exception {
    Path recording = folder.resolve("thread.jsonl");
    Store store = Store.sqlite(folder.resolve("threads.db"));
    String id;
    try (Fermata host = Fermata.host().store(store).keys(KEYS).agent(desk(script())).start()) {
      Threads threads = host.threads();
      id =
          now(threads.create(
                  new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      for (String said : List.of("Pay B-1", "It is " + CARD)) {
        now(threads.post("ann", id, new Threads.NewMessage(Message.user(said), List.of(), null)));
        now(threads.settled("ann", id, Duration.ofSeconds(60)));
      }
    }
    Agent mute =
        desk(script())
            .hooks(Hook.afterCreateMessage("note", (flow, message) -> flow.setStatus("noted")));
    try (Fermata host = Fermata.host().store(store).keys(KEYS).agent(mute).start();
        OutputStream out = Files.newOutputStream(recording)) {
      now(host.journals().thread(id).record(Scrubbing.SECRETS.writtenAnyway(), out));
    }

    assertThat(Files.readString(recording)).contains("step_ended").doesNotContain("\"asked\"");
  }
}
