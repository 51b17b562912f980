package io.fermata.flow.engine;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Migration;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Renaming;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Which results of its source a fork takes, and how often. */
class ForkResultsTest {
  record Order(String name, String item, Integer more, @Computed Integer number) {}

  record Parcel(String item, @Computed Integer weight) {}

  record Parcels(Integer more, String name) {}

  record Card(@Secret String cvc, @Secret Boolean vip, String bank) {}

  /** What was done outside. */
  private final List<String> done = new ArrayList<>();

  /** Writes a mail, which reads nothing, as long as there is more. */
  private Flow<Order> mails() {
    return Flow.of("mails", Order.class)
        .description("Sends mails.")
        .ask("ask_name", q -> q.question("name", "Who are you?"))
        .ask("ask_more", q -> q.question("more", "How many more?"))
        .act(
            "mail",
            run -> {
              done.add("mail");
              run.set("number", done.size());
            })
        .edge(START, "ask_name")
        .edge("ask_name", "ask_more")
        .edge("ask_more", "mail")
        .decide("mail", d -> d.when("more", gt("more", 0)).to("ask_more").otherwise(END))
        .compile();
  }

  private Driver twoMails(Flow<Order> flow) {
    Driver run = new Driver(flow);
    run.start();
    run.proceed("name", "Ann");
    run.proceed("more", 1);
    run.proceed("more", 0);
    assertThat(done).containsExactly("mail", "mail");
    return run;
  }

  /** The entry in which a field was asked for the how-manieth time. */
  private static long asks(Driver run, String field, int time) {
    int times = 0;
    for (Driver.Entry entry : run.entries) {
      for (Event event : entry.events()) {
        boolean asks =
            event instanceof Event.Asked asked && asked.questions().get(0).field().equals(field);
        times += asks ? 1 : 0;
        if (asks && times == time) {
          return entry.seq();
        }
      }
    }
    throw new AssertionError("It asks for " + field + " only " + times + " times");
  }

  private Driver fork(Flow<?> flow, Driver source, long entry, ForkOptions options) {
    done.clear();
    Driver fork = Objects.requireNonNull(ForkedRunTest.forked(flow, source, entry, options));
    fork.settle();
    return fork;
  }

  private static boolean diverged(Driver fork) {
    return Objects.requireNonNull(fork.state.fork()).diverged();
  }

  private static String code(Driver fork) {
    return Driver.code(Objects.requireNonNull(fork.program.now(fork.state)));
  }

  @Test
  void aVisitMoreThanTheSourceMadeIsPerformed() {
    Flow<Order> flow = mails();
    Driver source = twoMails(flow);

    Driver fork =
        fork(flow, source, asks(source, "more", 2), ForkOptions.replayEffects().answer("more", 1));

    assertThat(done).isEmpty();
    assertThat(diverged(fork)).isFalse();
    fork.proceed("more", 0);
    assertThat(done).containsExactly("mail");
    assertThat(diverged(fork)).isTrue();
    ForkedRunTest.decidedAgain(flow, fork);
  }

  @Test
  void andStopsInASandbox() {
    Flow<Order> flow = mails();
    Driver source = twoMails(flow);

    Driver fork =
        fork(flow, source, asks(source, "more", 2), ForkOptions.sandbox().answer("more", 1));
    fork.proceed("more", 0);

    assertThat(code(fork)).isEqualTo("sandboxed");
    assertThat(done).isEmpty();
  }

  /** Orders by mail; the second version calls the step and the field otherwise. */
  private <S extends Record> Flow<S> orders(Class<S> state, int version, String step, String item) {
    FlowBuilder<S> flow =
        Flow.of("orders", state)
            .version(version)
            .description("Orders.")
            .ask("ask", q -> q.question(item, "What?"))
            .act(
                step,
                run -> {
                  done.add("order " + run.get(item, String.class));
                  run.set("number", 7);
                })
            .edge(START, "ask")
            .edge("ask", step)
            .edge(step, END);
    if (version > 1) {
      flow.migrate(1, m -> m.node("order", step).field("item", item));
    }
    return flow.compile();
  }

  record Renamed(String thing, @Computed Integer number) {}

  @Test
  void aForkThatIsCarriedOverTakesTheResultsOfStepsAndFieldsThatHaveOtherNames() {
    Driver source = new Driver(orders(Order.class, 1, "order", "item"));
    source.start();
    source.proceed("item", "soup");

    Flow<Renamed> next = orders(Renamed.class, 2, "buy", "thing");
    ForkOptions options = ForkOptions.replayEffects().answer("thing", "soup");
    Driver fork = fork(next, source, asks(source, "item", 1), options);

    assertThat(done).isEmpty();
    assertThat(diverged(fork)).isFalse();
    assertThat(fork.state.status()).isEqualTo(RunState.Status.COMPLETED);
    ForkedRunTest.decidedAgain(next, fork);
  }

  @Test
  void aForkIsComparedUnderTheNamesThatALaterVersionHasForTheResultsOfItsSource() {
    Flow<Order> first = orders(Order.class, 1, "order", "item");
    Driver source = new Driver(first);
    source.start();
    source.proceed("item", "soup");
    ForkOptions options = ForkOptions.sandbox().answer("item", "soup");
    Driver fork = fork(first, source, asks(source, "item", 1), options);
    assertThat(fork.state.status()).isEqualTo(RunState.Status.COMPLETED);

    Flow<Renamed> next = orders(Renamed.class, 2, "buy", "thing");
    Replay replay = Replay.of(next, ForkedRunTest.journal(fork));

    assertThat(replay.requireSame().decided()).isEqualTo(fork.entries.size());
  }

  record Named(String name) {}

  record Trip(String item, @Computed Named guest) {}

  record FullyNamed(String fullName) {}

  record LaterTrip(String item, @Computed FullyNamed guest) {}

  /** Looks a guest up; the second version calls a part of what it finds otherwise. */
  private <S extends Record> Flow<S> trips(Class<S> state, int version, Object guest) {
    return trips(state, version, guest, m -> m.field("guest.name", "guest.fullName"));
  }

  private <S extends Record> Flow<S> trips(
      Class<S> state, int version, Object guest, Consumer<Migration> migration) {
    FlowBuilder<S> flow =
        Flow.of("trips", state)
            .version(version)
            .description("Plans trips.")
            .ask("ask", q -> q.question("item", "What?"))
            .act(
                "load",
                run -> {
                  done.add("load");
                  run.set("guest", guest);
                })
            .edge(START, "ask")
            .edge("ask", "load")
            .edge("load", END);
    if (version > 1) {
      flow.migrate(1, migration);
    }
    return flow.compile();
  }

  @Test
  void aForkThatIsCarriedOverTakesAnObjectWithTheNewNamesOfItsParts() {
    Driver source = new Driver(trips(Trip.class, 1, new Named("Ann")));
    source.start();
    source.proceed("item", "soup");

    Flow<LaterTrip> next = trips(LaterTrip.class, 2, new FullyNamed("Bob"));
    ForkOptions options = ForkOptions.replayEffects().answer("item", "soup");
    Driver fork = fork(next, source, asks(source, "item", 1), options);

    assertThat(done).isEmpty();
    assertThat(fork.state.data().path("guest")).isEqualTo(Driver.object("fullName", "Ann"));
    ForkedRunTest.decidedAgain(next, fork);
  }

  @Test
  void aForkOfItsOwnVersionIsComparedThoughItsStateHasMoreThanItsRecord() {
    Flow<Trip> flow =
        Flow.of("trips", Trip.class)
            .description("Plans trips.")
            .act("load", run -> run.set("guest", Map.of("name", "Ann", "age", 3)))
            .ask("ask", q -> q.question("item", "What?"))
            .edge(START, "load")
            .edge("load", "ask")
            .edge("ask", END)
            .compile();
    Driver source = new Driver(flow);
    source.start();
    Driver fork = fork(flow, source, asks(source, "item", 1), ForkOptions.live());

    Replay replay = Replay.of(flow, ForkedRunTest.journal(fork));

    assertThat(replay.uncompared()).isNull();
    assertThat(replay.requireSame().decided()).isEqualTo(fork.entries.size());
  }

  record Vehicle(String plate) {}

  record FlatTrip(String item, @Computed String name, @Computed Vehicle guest) {}

  @Test
  void aForkThatIsCarriedOverTakesThePartsThatHaveLeftTheirObject() {
    Driver source = new Driver(trips(Trip.class, 1, new Named("Ann")));
    source.start();
    source.proceed("item", "soup");

    Flow<FlatTrip> next =
        trips(FlatTrip.class, 2, new Vehicle("B 1"), m -> m.field("guest.name", "name"));
    ForkOptions options = ForkOptions.replayEffects().answer("item", "soup");
    Driver fork = fork(next, source, asks(source, "item", 1), options);

    assertThat(done).isEmpty();
    assertThat(fork.state.data().path("name").asText()).isEqualTo("Ann");
    assertThat(fork.state.data().path("guest")).isEmpty();
  }

  @Test
  void whatHasLeftTheValueOfARecordedEventIsWrittenByItself() {
    Map<String, String> fields = Map.of("guest.name", "name");
    ObjectNode whole = Driver.object("name", "Ann", "age", 3);
    ObjectNode rest = Driver.object("age", 3);

    assertThat(
            renamed(
                fields,
                new Write(Write.Verb.SET, "guest", whole),
                new Write(Write.Verb.MERGE, "guest", rest),
                new Write(Write.Verb.SET, "guest", rest),
                new Write(Write.Verb.DELETE, "guest", null)))
        .containsExactly(
            new Write(Write.Verb.SET, "guest", rest),
            new Write(Write.Verb.SET, "name", Json.tree("Ann")),
            new Write(Write.Verb.MERGE, "guest", rest),
            new Write(Write.Verb.SET, "guest", rest),
            new Write(Write.Verb.DELETE, "name", null),
            new Write(Write.Verb.DELETE, "guest", null),
            new Write(Write.Verb.DELETE, "name", null));
    Event.Accepted accepted =
        new Event.Accepted(new Place("step", 1), "guest", whole, Map.of("other", whole));
    assertThat(new Renaming(Map.of(), fields).of(accepted))
        .isEqualTo(
            new Event.Accepted(
                new Place("step", 1),
                "guest",
                rest,
                Map.of("other", whole, "name", Json.tree("Ann"))));
  }

  @Test
  void whatHasLeftAValueYieldsToWhatIsGivenByNameAndGoesToWhoAloneGotTheValue() {
    Map<String, String> fields = Map.of("guest.name", "name");
    ObjectNode whole = Driver.object("name", "Ann", "age", 3);
    ObjectNode rest = Driver.object("age", 3);
    Event.Accepted accepted =
        new Event.Accepted(
            new Place("step", 1), "guest", whole, Map.of("guest.name", Json.tree("Bob")));
    assertThat(new Renaming(Map.of(), fields).of(accepted))
        .isEqualTo(
            new Event.Accepted(
                new Place("step", 1), "guest", rest, Map.of("name", Json.tree("Bob"))));

    JsonNode answered =
        Json.tree(
            new Renaming(Map.of(), fields)
                .of(
                    new Event.Answered(
                        Map.of("guest", whole), null, 1, Map.of("guest", List.of("")), null)));
    assertThat(answered.path("values")).isEqualTo(Driver.object("guest", rest, "name", "Ann"));
    assertThat(answered.path("recipients").path("name"))
        .isEqualTo(answered.path("recipients").path("guest"))
        .hasSize(1);
  }

  private static List<Write> renamed(Map<String, String> fields, Write... writes) {
    Event committed =
        new Event.Committed(
            new Place("step", 1), List.of(writes), List.of(), List.of(), false, null);
    return ((Event.Committed) new Renaming(Map.of(), fields).of(committed)).writes();
  }

  @Test
  void whatLiesInAValueOfARecordedEventHasItsNewName() {
    Place place = new Place("step", 1);
    ObjectNode old = Driver.object("name", "Ann");
    ObjectNode now = Driver.object("fullName", "Ann");
    Map<String, String> fields = Map.of("guest.name", "guest.fullName");

    assertThat(
            new Renaming(Map.of(), fields)
                .of(new Event.Accepted(place, "guest", old, Map.of("guest", old))))
        .isEqualTo(new Event.Accepted(place, "guest", now, Map.of("guest", now)));
    assertThat(
            new Renaming(Map.of(), fields)
                .of(
                    new Event.Committed(
                        place,
                        List.of(
                            new Write(Write.Verb.MERGE, "guest", old),
                            new Write(Write.Verb.SET, "other", old)),
                        List.of(),
                        List.of(),
                        false,
                        null)))
        .isEqualTo(
            new Event.Committed(
                place,
                List.of(
                    new Write(Write.Verb.MERGE, "guest", now),
                    new Write(Write.Verb.SET, "other", old)),
                List.of(),
                List.of(),
                false,
                null));
  }

  @Test
  void whatASandboxSaysOfAStepHasNoSecretsHoweverShort() {
    Flow<Card> card =
        Flow.of("card", Card.class)
            .description("Pays by card.")
            .ask("ask", q -> q.question("cvc", "The code?").question("bank", "Which bank?"))
            .act("pay", run -> {})
            .edge(START, "ask")
            .edge("ask", "pay")
            .edge("pay", END)
            .compile();
    Flow<Parcels> flow =
        Flow.of("parcels", Parcels.class)
            .description("Pays for parcels.")
            .subflow("card", card, m -> m.input(parcels -> Map.of("vip", true)))
            .edge(START, "card")
            .edge("card", END)
            .compile();
    Driver source = new Driver(flow);
    source.start();

    Driver fork = fork(flow, source, source.entries.size(), ForkOptions.sandbox());
    fork.proceed("card.cvc", "123", "card.bank", "Giro");

    assertThat(Driver.failure(Objects.requireNonNull(fork.program.now(fork.state))).message())
        .contains("card/pay")
        .contains("{\"vip\":\"[redacted]\",\"cvc\":\"[redacted]\",\"bank\":\"Giro\"}");
  }

  @Test
  void aCorrectionLeadsBackBeforeResultsThatAreTakenInTheirOrderAndOnce() {
    Flow<Order> flow = mails();
    Driver source = twoMails(flow);

    Driver fork =
        fork(flow, source, asks(source, "more", 2), ForkOptions.sandbox().answer("name", "Bob"));

    // The answer of the first pass stands, as with any correction.
    assertThat(Driver.asked(fork.program.open(fork.state))).containsExactly("more");
    assertThat(fork.state.data().path("number").asInt()).isEqualTo(1);
    fork.proceed("more", 1);
    assertThat(fork.state.data().path("number").asInt()).isEqualTo(2);
    fork.proceed("more", 0);
    assertThat(code(fork)).isEqualTo("sandboxed");
    ForkedRunTest.decidedAgain(flow, fork);
  }

  @Test
  void whatAForkHasTakenItTakesAgainAfterACorrection() {
    Flow<Order> flow = mails();
    Driver source = twoMails(flow);

    Driver fork =
        fork(flow, source, asks(source, "more", 1), ForkOptions.replayEffects().answer("more", 1));
    fork.reset("name", "Bob");

    assertThat(fork.state.data().path("number").asInt()).isEqualTo(1);
    fork.proceed("more", 0);
    assertThat(fork.state.status()).isEqualTo(RunState.Status.COMPLETED);
    assertThat(fork.state.data().path("number").asInt()).isEqualTo(2);
    assertThat(done).isEmpty();
    assertThat(diverged(fork)).isFalse();
  }

  @Test
  void whatTheSourceDidAgainAfterACorrectionCountsOnce() {
    Flow<Order> flow = mails();
    Driver source = new Driver(flow);
    source.start();
    source.proceed("name", "Ann");
    source.proceed("more", 1);
    source.reset("name", "Bob");
    assertThat(done).containsExactly("mail", "mail");

    Driver fork =
        fork(flow, source, source.entries.size(), ForkOptions.sandbox().answer("name", "Eve"));

    assertThat(fork.state.data().path("number").asInt()).isEqualTo(2);
    fork.proceed("more", 0);
    assertThat(code(fork)).isEqualTo("sandboxed");
  }

  @Test
  void anAnswerThatTheSourceCorrectedLeadsToTheResultItHadThen() {
    Flow<Order> flow =
        Flow.of("prices", Order.class)
            .description("Looks prices up.")
            .ask("ask_item", q -> q.question("item", "Which item?"))
            .act(
                "price",
                run -> {
                  String item = Objects.requireNonNull(run.get("item", String.class));
                  done.add("price of " + item);
                  run.set("number", item.length());
                })
            .ask("ask_more", q -> q.question("more", "How many more?"))
            .edge(START, "ask_item")
            .edge("ask_item", "price")
            .edge("price", "ask_more")
            .decide("ask_more", d -> d.when("more", gt("more", 0)).to("ask_item").otherwise(END))
            .compile();
    Driver source = new Driver(flow);
    source.start();
    source.proceed("item", "pen");
    source.reset("item", "paper");
    assertThat(done).containsExactly("price of pen", "price of paper");
    long last = source.entries.size();

    Driver corrected = fork(flow, source, last, ForkOptions.sandbox().answer("item", "pen"));
    Driver later = fork(flow, source, last, ForkOptions.sandbox().answer("more", 1));
    later.proceed("item", "pen");

    assertThat(corrected.state.data().path("number").asInt()).isEqualTo(3);
    assertThat(Driver.asked(corrected.program.open(corrected.state))).containsExactly("more");
    assertThat(code(later))
        .as("the source has priced no pen in a second pass")
        .isEqualTo("sandboxed");
  }

  @Test
  void aCorrectionBeforeBranchesTakesTheResultsThatTheyHad() {
    Flow<Order> flow =
        Flow.of("branches", Order.class)
            .description("Works on two sides.")
            .ask("ask_name", q -> q.question("name", "Who are you?"))
            .act("left", run -> done.add("left"))
            .act("right", run -> done.add("right"))
            .ask("ask_more", q -> q.question("more", "How many more?"))
            .edge(START, "ask_name")
            .fork("ask_name", f -> f.branch("left").branch("right").join("ask_more"))
            .edge("left", "ask_more")
            .edge("right", "ask_more")
            .decide("ask_more", d -> d.when("more", gt("more", 0)).to("ask_name").otherwise(END))
            .compile();
    Driver source = new Driver(flow);
    source.start();
    source.proceed("name", "Ann");
    assertThat(done).containsExactlyInAnyOrder("left", "right");

    Driver fork =
        fork(
            flow, source, source.entries.size(), ForkOptions.replayEffects().answer("name", "Bob"));

    assertThat(Driver.asked(fork.program.open(fork.state))).containsExactly("more");
    assertThat(done).isEmpty();
    fork.proceed("more", 1);
    fork.proceed("name", "Eve");
    assertThat(done).containsExactlyInAnyOrder("left", "right");
    ForkedRunTest.decidedAgain(flow, fork);
  }

  @Test
  void aSubflowInALoopTakesEachResultOnce() {
    Flow<Parcel> parcel =
        Flow.of("parcel", Parcel.class)
            .description("Packs a parcel.")
            .ask("ask_item", q -> q.question("item", "Which item?"))
            .act(
                "weigh",
                run -> {
                  done.add("weigh");
                  run.set("weight", done.size());
                })
            .edge(START, "ask_item")
            .edge("ask_item", "weigh")
            .edge("weigh", END)
            .compile();
    Flow<Parcels> flow =
        Flow.of("parcels", Parcels.class)
            .description("Packs parcels.")
            .ask("ask_name", q -> q.question("name", "Who are you?"))
            .subflow("parcel", parcel, m -> {})
            .ask("ask_more", q -> q.question("more", "How many more?"))
            .edge(START, "ask_name")
            .edge("ask_name", "parcel")
            .edge("parcel", "ask_more")
            .decide("ask_more", d -> d.when("more", gt("more", 0)).to("parcel").otherwise(END))
            .compile();
    Driver source = new Driver(flow);
    source.start();
    source.proceed("name", "Ann");
    source.proceed("parcel.item", "pen");
    source.proceed("more", 1);
    source.proceed("parcel.item", "pen");

    Driver fork =
        fork(
            flow,
            source,
            asks(source, "parcel.item", 2),
            ForkOptions.replayEffects().answer("parcel.item", "pen"));

    assertThat(done).isEmpty();
    fork.proceed("more", 1);
    fork.proceed("parcel.item", "pen");
    assertThat(done).containsExactly("weigh");
    ForkedRunTest.decidedAgain(flow, fork);
  }

  @Test
  void aForkOfAForkHasEachResultOfTheirSourceOnce() {
    Flow<Order> flow = mails();
    Driver source = twoMails(flow);
    Driver first = fork(flow, source, asks(source, "more", 1), ForkOptions.replayEffects());
    first.proceed("more", 1);
    first.proceed("more", 0);
    assertThat(done).isEmpty();

    Driver second = fork(flow, first, 1, ForkOptions.replayEffects().answer("more", 1));
    second.proceed("more", 1);
    assertThat(done).isEmpty();
    second.proceed("more", 0);

    assertThat(done).containsExactly("mail");
  }

  @Test
  void aForkOfASandboxPerformsWhatThatStoppedAt() {
    Flow<Order> flow = mails();
    Driver source = new Driver(flow);
    source.start();
    source.proceed("name", "Ann");
    Driver sandbox = fork(flow, source, source.entries.size(), ForkOptions.sandbox());
    sandbox.proceed("more", 0);
    assertThat(code(sandbox)).isEqualTo("sandboxed");

    Driver fork = fork(flow, sandbox, 1, ForkOptions.replayEffects().answer("more", 0));

    assertThat(done).containsExactly("mail");
    assertThat(fork.state.status()).isEqualTo(RunState.Status.COMPLETED);
  }
}
