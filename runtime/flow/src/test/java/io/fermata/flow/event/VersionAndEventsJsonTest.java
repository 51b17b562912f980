package io.fermata.flow.event;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.in;
import static io.fermata.flow.route.Condition.notIn;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.TokenBuffer;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.ForEach;
import io.fermata.flow.Hashed;
import io.fermata.flow.QuoteFlow;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.KindNames;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Condition;
import io.fermata.flow.route.Decision;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import jakarta.validation.constraints.Max;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a journal and a snapshot hold, and how a run knows the definition it began on. */
class VersionAndEventsJsonTest {
  private static final Place PLACE = new Place("ask_it", 2);

  /** One of each kind, with everything that may be absent once present and once not. */
  private static List<Event> everyKind() {
    Event.Question question =
        new Event.Question(
            "a", "a?", Json.object().put("type", "string"), List.of("x"), "hint", true);
    return List.of(
        new Event.Started("r", 3, "f00", "to test", 1),
        new Event.Answered(
            Map.of("a", Json.tree("x"), "n", Json.tree(new BigDecimal("1.50"))), PLACE, 2),
        new Event.Answered(Map.of("a", Json.MAPPER.nullNode()), null, 2),
        new Event.Answered(
            Map.of("a", Json.tree(1)),
            null,
            2,
            Map.of("a", List.of(PLACE.branch("x"))),
            List.of("b")),
        new Event.Accepted(PLACE, "a", Json.tree("X"), Map.of("b", Json.tree(List.of(1, 2)))),
        new Event.Accepted(PLACE, "a", null, Map.of()),
        new Event.Rejected(PLACE, "a", "No."),
        new Event.Misplaced(PLACE, List.of("each.2.age"), 2),
        new Event.Postponed(PLACE, "a"),
        new Event.Passed(PLACE, "a", Json.tree("x")),
        new Event.Passed(PLACE, "a", null),
        new Event.Asked(PLACE, List.of(question), "context", new Event.WaitLimits(5L, 6L), 3),
        new Event.Asked(
            PLACE,
            List.of(new Event.Question("a", "a?", null, List.of(), null, false)),
            null,
            null,
            3),
        new Event.Shown(
            PLACE,
            new Event.Widget("tool", Json.object(), true, "a", Json.object()),
            new Event.WaitLimits(null, 6L),
            4),
        new Event.Shown(PLACE, new Event.Widget("tool", null, false, null, null), null, 4),
        new Event.Slept(PLACE, 9, 4),
        new Event.Awaited(PLACE, "paid", new Event.WaitLimits(7L, null), 4),
        new Event.Unattended(true, 4),
        new Event.Unattended(false, 4),
        new Event.Signalled("paid", Json.tree(true), 4),
        new Event.Received(PLACE, "paid", "a", Json.tree(true)),
        new Event.Received(PLACE, "paid", null, null),
        new Event.Woken(PLACE, 4),
        new Event.DeadlinePassed(PLACE, "late", 4),
        new Event.Reminding(PLACE, 1, 2, 4),
        new Event.Reminded(PLACE, 1, "why", 5L),
        new Event.Reminded(PLACE, 1, null, null),
        new Event.Attempted(PLACE, null, 1, 5),
        new Event.Attempted(PLACE, "a", 2, 5),
        new Event.AttemptFailed(
            PLACE, 1, ErrorCode.STEP_FAILED, "message", "detail", 6_000_000_000L),
        new Event.Committed(
            PLACE,
            Arrays.stream(Write.Verb.values())
                .map(
                    verb ->
                        new Write(verb, "a.b", verb == Write.Verb.DELETE ? null : Json.tree("x")))
                .toList(),
            List.of("a", ""),
            List.of(new Event.Emitted("told", Json.tree(1)), new Event.Emitted("told", null)),
            true,
            null),
        new Event.Committed(PLACE, List.of(), List.of(), List.of(), false, "enough"),
        new Event.Tagged(PLACE, List.of("vip"), List.of("new")),
        new Event.Decided(
            PLACE,
            List.of(
                new Event.Tried(
                    "rule",
                    true,
                    List.of(
                        new Event.Seen("n", Json.tree(7), "gt", Json.tree(6.5), true),
                        new Event.Seen("a", null, "exists", null, false),
                        new Event.Seen("b", Json.tree("x"), null, null, null)))),
            List.of("next")),
        new Event.Decided(PLACE, List.of(new Event.Tried("rule", false, List.of())), List.of()),
        new Event.Moved(PLACE, new Place("next#odd", 1), true, 7),
        new Event.Forked(
            PLACE,
            List.of(
                new Event.Head("0", new Place(PLACE.branch("0"), "x/y", 1), true, Json.tree(1)),
                new Event.Head("1", new Place(PLACE.branch("1"), "x/y", 1), false, null)),
            true,
            7),
        new Event.Arrived(new Place(PLACE.branch("0"), "x/y", 1), Json.tree(1), 7),
        new Event.BranchFailed(
            new Place(PLACE.branch("0"), "x/y", 1),
            ErrorCode.STEP_FAILED,
            "message",
            7,
            List.of(PLACE)),
        new Event.Joined(
            PLACE,
            List.of("0"),
            List.of("1"),
            List.of(new Write(Write.Verb.SET, "a", Json.tree(1))),
            List.of(PLACE),
            "next",
            7,
            null),
        new Event.Joined(PLACE, List.of("0"), List.of(), List.of(), List.of(), null, 7, "enough"),
        new Event.Opened(PLACE, "x", Map.of("x.a", Json.tree(1)), List.of("x.b"), 7),
        new Event.Closed(
            PLACE, "x", List.of(new Write(Write.Verb.DELETE, "a", null)), Json.tree(1), 7),
        new Event.Broken(PLACE, "enough", Flow.END),
        new Event.Stopped(
            PLACE, Event.Resume.LEAVING, ErrorCode.VISIT_LIMIT, "message", "detail", 7),
        new Event.Retried(PLACE),
        new Event.Skipped(PLACE, false),
        new Event.Skipped(PLACE, true),
        new Event.Reset(
            List.of(new Event.Back(new Place(Flow.START, 2), Flow.START, true)),
            Map.of("a", Json.tree("y")),
            List.of(PLACE),
            8,
            null),
        new Event.Reset(
            List.of(), Map.of("a", Json.tree("y")), List.of(), 8, Map.of("a", List.of("b"))),
        new Event.Migrated(
            1,
            2,
            "f00",
            Map.of("ask_that", "ask_it"),
            Map.of("a", "b"),
            List.of(
                new Event.Rewrite(
                    "", "ask_it", null, List.of(new Write(Write.Verb.SET, "b", Json.tree(1)))),
                new Event.Rewrite("", null, PLACE, List.of())),
            List.of(
                new Event.Carried(
                    PLACE, PLACE, false, false, 9L, new PlaceState.Reminder(1, 8L, 0)),
                new Event.Carried(PLACE, PLACE, true, true, null, null)),
            8,
            null),
        new Event.Migrated(
            1,
            2,
            "f00",
            Map.of(),
            Map.of(),
            List.of(),
            List.of(),
            8,
            List.of(
                new Event.Relocated("", null, "ask_it", "b"),
                new Event.Relocated("ask_it#2:0", "ask_it", "ask_it", "b"))),
        new Event.ForkedFrom(
            new ForkOrigin("quote", "run-1", 7, 6, ForkOrigin.Mode.SANDBOX, "ops"),
            List.of(
                new RecordedResult(
                    0,
                    1,
                    PLACE,
                    null,
                    Map.of("a", Json.tree(1), "b", Json.MAPPER.nullNode()),
                    List.of(
                        new Event.Tagged(PLACE, List.of("vip"), List.of()),
                        new Event.Committed(
                            PLACE, List.of(), List.of("a", "b"), List.of(), true, null))),
                new RecordedResult(
                    9,
                    1,
                    PLACE,
                    "a",
                    Map.of("a", Json.tree(1)),
                    List.of(new Event.Rejected(PLACE, "a", "no")))),
            8),
        new Event.ForkedFrom(
            new ForkOrigin("quote", "run-1", 7, 6, ForkOrigin.Mode.LIVE, ""), List.of(), 8),
        new Event.Undoing(PLACE, 8),
        new Event.Undone(PLACE),
        new Event.Ending(ErrorCode.STEP_FAILED, "message", List.of(PLACE), 8),
        new Event.Ending(null, null, List.of(), 8),
        new Event.Failed(ErrorCode.STEP_FAILED, "message", 8),
        new Event.Completed(Json.object().put("done", true), "enough", 9),
        new Event.Completed(null, null, 9),
        new Event.Completed(Json.MAPPER.nullNode(), null, 9),
        new Event.Cancelled(10),
        new Event.Expired(10),
        new Event.Abandoned(11));
  }

  @Test
  void everyKindOfEventHasANameAndIsTestedHere() {
    Collection<Class<?>> named = KindNames.of(Event.class).values();
    assertThat(named).containsAll(everyKind().stream().<Class<?>>map(Object::getClass).toList());
    assertThat(everyKind().stream().map(Object::getClass).distinct()).hasSameSizeAs(named);
    List<Class<?>> permitted =
        Arrays.stream(Event.class.getPermittedSubclasses()).<Class<?>>map(c -> c).toList();
    assertThat(permitted).hasSameSizeAs(named);
  }

  @Test
  void everyEventReadsBackAsItWas() throws Exception {
    for (Event event : everyKind()) {
      String text = Json.MAPPER.writeValueAsString(event);
      assertThat(Json.MAPPER.readValue(text, Event.class)).as(text).isEqualTo(event);
      assertThat(throughTokens(event, Event.class)).as(text).isEqualTo(event);
    }
  }

  @Test
  void theNamesInAJournalAreThese() throws Exception {
    assertThat(Json.MAPPER.writeValueAsString(new Event.Retried(PLACE)))
        .isEqualTo("{\"e\":\"retried\",\"place\":\"ask_it#2\"}");
    assertThat(Json.MAPPER.writeValueAsString(new Event.Attempted(PLACE, "a", 2, 5)))
        .isEqualTo(
            "{\"e\":\"attempted\",\"place\":\"ask_it#2\",\"field\":\"a\",\"attempt\":2,\"at\":5}");
  }

  private static Flow<Flows.Talk> nothing() {
    return Flow.of("nothing", Flows.Talk.class)
        .description("Does nothing.")
        .edge(START, END)
        .compile();
  }

  /** Drives a run through every phase and collects the states it was in. */
  private static List<RunState> everyPhase() {
    List<RunState> states = new ArrayList<>();
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada");
    quote.proceed("email", "nobody");
    quote.proceed("email", "ada@example.com");
    quote.proceed("companySize", "51+");
    quote.reset("seats", 2);
    quote.proceed("selectedPlan", "gold");
    Driver failing =
        Flows.drive(
            Flows.talk()
                .act(
                    "act",
                    run -> {
                      throw new StepException("No.");
                    },
                    o -> o.retry(2, Duration.ofSeconds(1))),
            "act");
    failing.start();
    Driver waiting =
        new Driver(
            ask(Flows.talk(), "a")
                .sleep("sleep", Duration.ofDays(1))
                .waitFor("await", "paid", "computed")
                .act("act", run -> run.end("enough"))
                .forEach("each", nothing(), e -> e.items(talk -> List.of(1)).atMost(1))
                .edge(START, "each")
                .fork(
                    "each",
                    f -> f.branch("ask_a").branch("sleep").branch("await").branch("act").join(END))
                .edge("ask_a", END)
                .edge("act", END)
                .edge("sleep", END)
                .edge("await", END)
                .compile());
    waiting.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect act = waiting.pendingEffect();
    waiting.feed(new Input.EffectEnded(act, waiting.result(act), 3));
    for (Driver driver : List.of(quote, failing, waiting)) {
      RunState state = RunState.NONE;
      for (Event event : driver.journal) {
        state = state.apply(event);
        states.add(state);
      }
    }
    return states;
  }

  @Test
  void everyStateReadsBackAsItWas() throws Exception {
    List<RunState> states = everyPhase();
    assertThat(
            states.stream()
                .flatMap(state -> state.places().values().stream())
                .<Class<?>>map(at -> at.phase().getClass())
                .distinct())
        .hasSize(KindNames.of(Phase.class).size());
    for (RunState state : states) {
      String text = Json.MAPPER.writeValueAsString(state);
      assertThat(Json.MAPPER.readValue(text, RunState.class)).as(text).isEqualTo(state);
      assertThat(throughTokens(state, RunState.class)).as(text).isEqualTo(state);
    }
  }

  /** A binary format hands typed tokens over, not text: so does a token buffer. */
  private static <T> T throughTokens(T value, Class<T> type) throws IOException {
    ObjectMapper mapper = Json.MAPPER;
    try (TokenBuffer tokens = new TokenBuffer(mapper, false)) {
      mapper.writerFor(type).writeValue(tokens, value);
      return mapper.readValue(tokens.asParser(), type);
    }
  }

  @Test
  void whatAnAuthorHandsOverBecomesTheTreeThatItsTextReadsAs() throws Exception {
    for (Object value :
        List.of(
            5L,
            5,
            1.5,
            1.5f,
            new BigDecimal("10"),
            new BigDecimal("10.00"),
            "x",
            true,
            List.of(1L),
            LocalDate.of(2026, 1, 2),
            new byte[] {1})) {
      assertThat(Json.tree(value)).isEqualTo(Json.MAPPER.readTree(Json.text(Json.tree(value))));
    }
    assertThat(Json.tree(5L)).isEqualTo(Json.tree(5));
    assertThat(Json.text(Json.tree(new BigDecimal("10.00")))).isEqualTo("10.00");
  }

  @Test
  void whatHasNoOrderBecomesTheSameTreeInEveryProcess() {
    Set<@Nullable Object> mixed = new HashSet<>(Arrays.asList("b", null, 10, 2, "a"));
    mixed.add(Hashed.set("BB", "Aa"));
    assertThat(
            List.of(mixed, Map.of("tags", new Tags(Set.of("c", "b", "a"))), Map.of("b", 1, "a", 2)))
        .extracting(value -> Json.text(Json.tree(value)))
        .containsExactly(
            "[10,2,[\"Aa\",\"BB\"],\"a\",\"b\",null]",
            "{\"tags\":{\"tags\":[\"a\",\"b\",\"c\"]}}",
            "{\"a\":2,\"b\":1}");

    Set<String> linked = Collections.unmodifiableSet(new LinkedHashSet<>(List.of("b", "c", "a")));
    Set<Duration> sorted = new TreeSet<>(List.of(Duration.ofMinutes(10), Duration.ofMinutes(9)));
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("b", linked);
    map.put("a", sorted);
    map.put("kinds", EnumSet.of(Outcomes.WON, Outcomes.LOST));
    assertThat(Json.text(Json.tree(map)))
        .isEqualTo(
            "{\"b\":[\"b\",\"c\",\"a\"],\"a\":[\"PT9M\",\"PT10M\"],\"kinds\":[\"WON\",\"LOST\"]}");
  }

  enum Outcomes {
    WON,
    LOST
  }

  // --- versions -------------------------------------------------------------------------------

  @Test
  void aRunRemembersTheVersionAndShapeItBeganOn() {
    Flow<QuoteFlow.Quote> flow = QuoteFlow.builder().version(7).compile();
    Driver quote = new Driver(flow);
    quote.start();
    assertThat(quote.state.version()).isEqualTo(7);
    assertThat(quote.state.fingerprint()).isEqualTo(flow.fingerprint());
    quote.start();
    assertThat(quote.state.version()).isEqualTo(7);
  }

  @Test
  void theFingerprintChangesWithTheGraphAndNotWithTheWords() {
    String one = QuoteFlow.builder().compile().fingerprint();
    assertThat(QuoteFlow.builder().title("Another").version(2).compile().fingerprint())
        .isEqualTo(one);
    Flow<Flows.Talk> a = Flows.chain(Flows.ask(Flows.talk(), "a"), "ask_a").compile();
    Flow<Flows.Talk> ab = Flows.chain(Flows.ask(Flows.talk(), "a", "b"), "ask_a").compile();
    assertThat(a.fingerprint()).isNotEqualTo(ab.fingerprint()).isNotEqualTo(one);
  }

  record Plain(@Max(9) Integer count, PlainPart part, @Computed List<PlainPart> parts) {}

  record PlainPart(String name, String description) {}

  record Worded(
      @Describe("How many") @Max(9) Integer count,
      @Describe("Which one") WordedPart part,
      @Describe("All of them") @Computed List<WordedPart> parts) {}

  record WordedPart(
      @Describe("What it is called") String name, @Describe("What it is") String description) {}

  record Bounded(@Max(8) Integer count, PlainPart part, @Computed List<PlainPart> parts) {}

  record Undescribed(@Max(9) Integer count, Part part, @Computed List<Part> parts) {}

  record Part(String name) {}

  record Whole(@Max(9) Integer count, @Computed List<Whole> parts) {}

  record WordedWhole(
      @Max(9) Integer count, @Describe("Its parts") @Computed List<WordedWhole> parts) {}

  @Test
  void theFingerprintChangesWithTheConstraintsOfFieldsAndNotWithTheirDescriptions() {
    assertThat(counting(Worded.class)).isEqualTo(counting(Plain.class));
    assertThat(counting(WordedWhole.class)).isEqualTo(counting(Whole.class));
    assertThat(
            Stream.of(Plain.class, Bounded.class, Undescribed.class, Whole.class)
                .map(VersionAndEventsJsonTest::counting))
        .doesNotHaveDuplicates();
  }

  /** The fingerprints of a flow that asks how many, and of one that has it as a sub-flow. */
  private static <S extends Record> List<String> counting(Class<S> state) {
    Flow<S> flow =
        Flows.chain(
                Flow.of("counts", state)
                    .description("Counts.")
                    .ask("ask", q -> q.question("count", "How many?")),
                "ask")
            .compile();
    return Stream.of(
            flow,
            Flows.chain(Flows.talk().subflow("counting", flow, m -> {}), "counting").compile())
        .map(Flow::fingerprint)
        .toList();
  }

  @Test
  void theFingerprintDoesNotChangeWithTheLabelOfACondition() {
    assertThat(deciding(d -> d.when("It is red", eq("a", "red")).to("act").otherwise("ask_b")))
        .isEqualTo(deciding(d -> d.when(eq("a", "red")).to("act").otherwise("ask_b")));
  }

  @Test
  void theFingerprintChangesWithTheWaysAndTheirConditions() {
    assertThat(
            Stream.of(
                deciding(d -> d.when("red", eq("a", "red")).to("act").otherwise("ask_b")),
                deciding(d -> d.when("red", eq("a", "blue")).to("act").otherwise("ask_b")),
                deciding(d -> d.when("red", eq("a", "red")).to("ask_b").otherwise("act")),
                deciding(d -> d.when("red", s -> s.has("a")).to("act").otherwise("ask_b")),
                deciding(d -> d.when("blue", s -> s.has("a")).to("act").otherwise("ask_b")),
                deciding(d -> twice(d, "act").otherwise("act")),
                deciding(d -> twice(d, "act").otherwise("ask_b")),
                deciding(d -> twice(d, "ask_b").otherwise("act"))))
        .doesNotHaveDuplicates();
    assertThat(
            Stream.of(
                branching(s -> s.branch("act").branch("ask_b")),
                branching(s -> s.when("red", eq("a", "red")).to("act").branch("ask_b")),
                branching(s -> s.when("red", eq("a", "red")).to("act").otherwise("ask_b")),
                branching(s -> s.branch("act").when("red", eq("a", "red")).to("ask_b"))))
        .doesNotHaveDuplicates();
  }

  /** Red leads to the action, blue to the question, and green to one of them. */
  private static Decision twice(Decision decision, String green) {
    return decision
        .when(eq("a", "red"))
        .to("act")
        .when(eq("a", "blue"))
        .to("ask_b")
        .when(eq("a", "green"))
        .to(green);
  }

  private static String deciding(Consumer<Decision> decision) {
    return twoWays().decide("ask_a", decision).compile().fingerprint();
  }

  private static String branching(Consumer<Branches> branches) {
    return twoWays().select("ask_a", s -> branches.accept(s.join("last"))).compile().fingerprint();
  }

  private static FlowBuilder<Flows.Talk> twoWays() {
    return Flows.ask(Flows.ask(Flows.talk(), "a"), "b")
        .act("act", run -> {})
        .act("last", run -> {})
        .edge(START, "ask_a")
        .edge("act", "last")
        .edge("ask_b", "last")
        .edge("last", END);
  }

  record Country(
      String a,
      Map<String, Tags> labels,
      JsonNode tags,
      Map<String, Integer> counts,
      List<String> list) {}

  record Tags(Set<String> tags) {}

  @Test
  void theFingerprintDoesNotDependOnTheOrderInWhichASetIsIterated() {
    Set<String> one = new LinkedHashSet<>(List.of("x", "y"));
    Set<String> other = new LinkedHashSet<>(List.of("y", "x"));
    assertThat(one.toString()).isNotEqualTo(other.toString());
    assertThat(when(in("a", one))).isEqualTo(when(in("a", other)));
    assertThat(when(notIn("a", one))).isEqualTo(when(notIn("a", other)));
    assertThat(when(in("a", one))).isEqualTo(when(in("a", "x", "y")));
    assertThat(when(in("a", "x", "y"))).isNotEqualTo(when(in("a", "y", "x")));

    Set<String> hashed = Hashed.set("Aa", "BB");
    Set<String> hashedOtherwise = Hashed.set("BB", "Aa");
    assertThat(when(eq("tags", hashed))).isEqualTo(when(eq("tags", hashedOtherwise)));
    assertThat(byDefault("list", hashed)).isEqualTo(byDefault("list", hashedOtherwise));
    assertThat(byDefault("list", List.of("x", "y")))
        .isNotEqualTo(byDefault("list", List.of("y", "x")));
    assertThat(byDefault("list", one)).isNotEqualTo(byDefault("list", other));

    assertThat(byDefault("counts", Hashed.map("Aa", "BB")))
        .isEqualTo(byDefault("counts", Hashed.map("BB", "Aa")));
    assertThat(byDefault("labels", Map.of("all", new Tags(hashed))))
        .isEqualTo(byDefault("labels", Map.of("all", new Tags(hashedOtherwise))));
    Map<String, Integer> counts = new LinkedHashMap<>(Map.of("y", 2));
    counts.put("x", 1);
    assertThat(byDefault("counts", counts)).isEqualTo(byDefault("counts", new TreeMap<>(counts)));
  }

  private static String when(Condition condition) {
    return Flow.of("countries", Country.class)
        .description("Asks for a country.")
        .ask("ask_a", q -> q.question("a", "Which?"))
        .act("act", run -> {})
        .edge(START, "ask_a")
        .decide("ask_a", d -> d.when("here", condition).to("act").otherwise(END))
        .edge("act", END)
        .compile()
        .fingerprint();
  }

  private static String byDefault(String field, Object value) {
    return Flow.of("countries", Country.class)
        .description("Asks for a country.")
        .ask("ask", q -> q.question(field, "Which?", o -> o.defaultsTo(value)))
        .edge(START, "ask")
        .edge("ask", END)
        .compile()
        .fingerprint();
  }

  record Priced(String item, @Computed Integer price) {}

  record Renamed(String item, @Computed Integer cost) {}

  record Retyped(String item, @Computed String price) {}

  record Within(String item, @Computed List<Priced> parts) {}

  record WithinRenamed(String item, @Computed List<Renamed> parts) {}

  record Containing(String item, @Computed List<Containing> parts) {}

  @Test
  void theFingerprintChangesWithTheComputedFields() {
    assertThat(
            Stream.of(
                    Priced.class,
                    Renamed.class,
                    Retyped.class,
                    Within.class,
                    WithinRenamed.class,
                    Containing.class)
                .map(state -> Flows.chain(asking(state), "ask").compile().fingerprint()))
        .doesNotHaveDuplicates();
  }

  @Test
  void theFingerprintChangesWithWhatIsUndoneAndWithWhereResultsGo() {
    Flow<Priced> inner =
        Flows.chain(asking(Priced.class), "ask").result(priced -> priced).compile();
    assertThat(
            Stream.of(
                    Flows.talk().act("act", run -> {}),
                    Flows.talk().act("act", run -> {}).compensate("act", run -> {}),
                    Flows.talk().subflow("act", inner, m -> {}),
                    Flows.talk().subflow("act", inner, m -> m.into("computed")),
                    each(inner, each -> {}),
                    each(inner, each -> each.into("log")),
                    each(inner, each -> each.into("failures")),
                    each(inner, each -> each.first()))
                .map(flow -> Flows.chain(flow, "act").compile().fingerprint()))
        .doesNotHaveDuplicates();
  }

  private static FlowBuilder<Flows.Talk> each(
      Flow<Priced> inner, Consumer<ForEach<Flows.Talk, String>> options) {
    return Flows.talk()
        .<Priced, String>forEach(
            "act", inner, each -> options.accept(each.items(talk -> talk.list()).atMost(2)));
  }

  private static <S extends Record> FlowBuilder<S> asking(Class<S> state) {
    return Flow.of("asks", state)
        .description("Asks.")
        .ask("ask", q -> q.question("item", "Which item?"));
  }

  @Test
  void aPlaceIsWrittenAsNodeAndVisit() throws JsonProcessingException {
    assertThat(Place.parse("a#b#12")).isEqualTo(new Place("a#b", 12));
    assertThat(Json.MAPPER.writeValueAsString(Map.of(PLACE, 1))).isEqualTo("{\"ask_it#2\":1}");
  }
}
