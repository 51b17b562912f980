package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.replay.Inventions;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.flow.schema.StateSchema;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Which fields are secret, and what becomes of their values. */
class SecretFieldsTest {
  record Person(@Secret String licence, String town) {}

  record Car(@JsonProperty("plate_number") @Secret String plate, Person owner) {}

  record Vault(@Secret String word, String hint) {}

  record Home(
      @Secret String card,
      Person driver,
      List<Person> drivers,
      Map<String, Car> cars,
      @Secret List<String> codes,
      String named,
      @Computed @Secret String token,
      @Computed List<String> log) {}

  private static FlowBuilder<Home> home(Action<Home> action) {
    Flow<Vault> vault =
        Flow.of("vault", Vault.class)
            .description("Hears a word.")
            .ask("ask", q -> q.question("word", "The word?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile();
    return Flow.of("home", Home.class)
        .description("Keeps things.")
        .secret("named")
        .ask("ask", q -> q.question("card", "Card?"))
        .act("act", action)
        .subflow("inner", vault, m -> {})
        .forEach("each", vault, (ForEach<Home, String> e) -> e.items(h -> List.of("a")).atMost(2))
        .waitFor("wait", "signed", "named")
        .edge(START, "ask")
        .edge("ask", "act")
        .edge("act", "inner")
        .edge("inner", "each")
        .edge("each", "wait")
        .edge("wait", END);
  }

  @Test
  void theMarkIsFoundInRecordsListsMapsAndSubflowsAndInTheBuilder() {
    assertThat(home(run -> {}).compile().secretFields())
        .hasToString(
            "card, cars.*.owner.licence, cars.*.plate_number, codes, driver.licence,"
                + " drivers.*.licence, each.*.word, inner.word, named, token");
  }

  @Test
  void aFlowMayMarkItsOnlySecretFieldInTheBuilder() {
    record Plain(String name, String code) {}
    Flow<Plain> flow =
        Flow.of("plain", Plain.class)
            .description("Keeps a code.")
            .secret("code")
            .ask("ask", q -> q.question("code", "The code?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile();

    assertThat(flow.secretFields()).hasToString("code");
  }

  static class Account {
    @Secret public String number = "";
    public String bank = "";
  }

  record Box<T>(T content) {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
  @JsonSubTypes({@JsonSubTypes.Type(Cash.class), @JsonSubTypes.Type(Voucher.class)})
  interface Payment {}

  record Cash(String currency) implements Payment {}

  record Voucher(@Secret String code) implements Payment {}

  record Chain(Chain next, @Secret String word, List<Chain> others, String end) {}

  @Test
  @SuppressWarnings("ArrayRecordComponent") // authors may have them
  void theMarkIsFoundWhereverTheSchemaHasIt() {
    record Wallet(
        Optional<Person> owner,
        Optional<List<Person>> guests,
        Account account,
        Person[] heirs,
        Box<Person> box,
        List<Payment> payments,
        @Computed Optional<Account> computed,
        @Computed Chain chain) {}
    StateSchema<Wallet> schema = new StateSchema<>(Wallet.class);
    assertThat(schema.secrets())
        .containsExactlyInAnyOrder(
            "owner.licence",
            "guests.*.licence",
            "account.number",
            "heirs.*.licence",
            "box.content.licence",
            "payments.*.code",
            "computed.number",
            "chain.word",
            "chain.next.**.word",
            "chain.others.*.**.word");
    SecretFields fields = SecretFields.of(schema.secrets().toArray(String[]::new));
    assertThat(fields.names("chain.next.others.0.next.word")).isTrue();
    assertThat(fields.names("chain.next.others.0.next.end")).isFalse();
  }

  @Test
  void aFlowThatMarksNothingHasNoSecretFields() {
    assertThat(
            Flows.ask(Flows.talk(), "a")
                .edge(START, "ask_a")
                .edge("ask_a", END)
                .compile()
                .secretFields()
                .isEmpty())
        .isTrue();
  }

  @Test
  void theModelLearnsThatTheFieldIsNotForRepeating() {
    Flow<Home> flow = home(run -> {}).compile();
    assertThat(flow.fieldSchema("card").path("writeOnly").asBoolean()).isTrue();
    assertThat(flow.fieldSchema("card").path("type").asText()).isEqualTo("string");
    assertThat(flow.fieldSchema("named").path("writeOnly").asBoolean()).isTrue();
    assertThat(flow.fieldSchema("driver.town").has("writeOnly")).isFalse();
    assertThat(
            flow.updatesSchema().at("/properties/driver/properties/licence/writeOnly").asBoolean())
        .isTrue();
    assertThat(
            flow.updatesSchema()
                .at("/properties/drivers/items/properties/licence/writeOnly")
                .asBoolean())
        .isTrue();
  }

  @Test
  void aFlowThatKeepsAFieldSecretDoesNotDecideForOthersOfTheSameState() {
    assertThat(home(run -> {}).compile().fieldSchema("named").path("writeOnly").asBoolean())
        .isTrue();
    Flow<Home> open =
        Flow.of("open", Home.class)
            .description("Keeps nothing.")
            .ask("ask", q -> q.question("named", "Name?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile();
    assertThat(open.fieldSchema("named").has("writeOnly")).isFalse();
    assertThat(open.updatesSchema().at("/properties/named").has("writeOnly")).isFalse();
  }

  @Test
  void whetherAFieldIsSecretIsPartOfTheGraphAlsoOfOneThatIsComputed() {
    String before = home(run -> {}).compile().fingerprint();

    assertThat(home(run -> {}).secret("log").compile().fingerprint()).isNotEqualTo(before);
  }

  @Test
  void aSecretFieldThatDoesNotExistIsADefect() {
    assertThatThrownBy(() -> home(run -> {}).secret("crad").compile())
        .isInstanceOf(InvalidFlowException.class)
        .hasMessageContaining("There is no field crad; did you mean card?; it cannot be secret");
  }

  @Test
  void whatAFailedActionMeantToKeepSecretIsNotInWhatItThrew() {
    Driver run =
        new Driver(
            home(act -> {
                  act.set("token", "tok-123456");
                  throw new StepException("No one takes tok-123456");
                })
                .compile());
    run.start("card", "4111");
    assertThat(run.journal.toString()).contains("[redacted]").doesNotContain("tok-123456");
  }

  @Test
  void aValueThatCannotBeReadIsNotQuoted() {
    JsonNode card = Json.tree("4111-first");
    StateSchema<?> schema = home(run -> {}).compile().schema();
    Stream.<ThrowingCallable>of(
            () -> Json.value(card, Integer.class),
            () -> Json.value(card, (Type) Integer.class),
            () -> Json.value(Json.object().set("card", Json.tree(List.of(card))), Home.class),
            () -> Json.parse("4111-first"),
            () -> Json.parse("first"),
            () -> schema.value("card", Json.tree(List.of(card))))
        .forEach(
            reading ->
                assertThatThrownBy(reading)
                    .isInstanceOf(IllegalArgumentException.class)
                    .message()
                    .doesNotContain("4111", "first"));
    assertThatThrownBy(() -> Json.value(card, Integer.class))
        .hasMessage("it is not of type Integer");
    assertThatThrownBy(() -> Json.parse("{\n  first"))
        .hasMessageStartingWith("It is no JSON at line 2, column");
  }

  @Test
  void aTagThatRevealsASecretIsRefused() {
    Driver run = new Driver(home(act -> act.tag("card " + act.state().card())).compile());
    Outcome outcome = run.start("card", "4111-first");
    assertThat(Driver.code(outcome)).isEqualTo("step_failed");
    assertThat(Driver.failure(outcome).message()).contains("A tag of the run");
    assertThat(run.events(Event.Tagged.class)).isEmpty();
  }

  record Guarded(List<Person> guests, @Computed Chain chain, JsonNode notes, Optional<Car> car) {}

  @Test
  void aPathNamesWhatAFlowDeclaresOrWhatARunHasHad() {
    List<Flow<?>> flows =
        List.of(
            home(run -> {}).compile(),
            Flow.of("home", Guarded.class)
                .description("Guards a house.")
                .act("act", run -> {})
                .edge(START, "act")
                .edge("act", END)
                .compile());
    assertThat(
            List.of(
                "card",
                "driver.town",
                "drivers.*.town",
                "drivers.0.town",
                "cars.*.owner.town",
                "each",
                "each.0",
                "each.*.word",
                "each.3.hint",
                "inner.hint",
                "*.hint",
                "**.hint",
                "**.town",
                "**",
                "guests.**",
                "guests.**.town",
                "chain.next.others.*.next.end",
                "car.owner.town",
                "notes"))
        .allSatisfy(path -> assertThat(SecretFields.misnamed(path, flows, List.of())).isNull());
    Event written =
        new Event.Answered(
            Map.of("notes", Json.parse("{\"email\":\"x\"}"), "cars", Json.parse("{\"a\":{}}")),
            null,
            0,
            null,
            null);
    for (String path : List.of("notes.email", "**.email", "cars.a")) {
      assertThat(SecretFields.misnamed(path, flows, List.of()))
          .startsWith("The flow home has no field " + path + "; ");
      assertThat(SecretFields.misnamed(path, flows, List.of(written))).isNull();
    }
    assertThat(
            List.of(
                "",
                " ",
                "crad",
                "card.number",
                "card.*",
                "drivers.town",
                "drivers.*.twon",
                "cars.owner",
                "cars.*.*.twon",
                "each.word",
                "each.*.wrod",
                "inner.*.word",
                "guests.town",
                "guests.**.twon",
                "**.twon",
                "chain.others.end",
                "notes.emial"))
        .allSatisfy(
            path -> assertThat(SecretFields.misnamed(path, flows, List.of(written))).isNotNull());
  }

  @Test
  void aKeyOfAMapIsOnePartOfAPathWithDotsAndAll() {
    SecretFields fields = home(run -> {}).compile().secretFields();
    JsonNode owner = Json.tree(Map.of("licence", "B-owner", "town", "Graz"));
    JsonNode car = Json.object().put("plate_number", "KL 42 A").set("owner", owner);
    JsonNode state = Json.tree(Map.of("cars", Map.of("KL.42.A", car)));

    List<String> found = new ArrayList<>();
    fields.find("", state, value -> found.add(value.asText()));
    assertThat(found).containsExactlyInAnyOrder("KL 42 A", "B-owner");
    List<String> within = new ArrayList<>();
    fields.find("cars", state.path("cars"), value -> within.add(value.asText()));
    assertThat(within).containsExactlyInAnyOrderElementsOf(found);
    assertThat(fields.masked("", state).toString())
        .contains("\"plate_number\":\"[redacted]\"", "\"licence\":\"[redacted]\"", "Graz");
    JsonNode invented = new Inventions(1, false).tree(fields, "cars", state.path("cars"));
    assertThat(invented.toString()).contains("KL.42.A", "Graz").doesNotContain(found);
  }

  @Test
  void aNameWithDotsIsAlsoThePathOfAField() {
    SecretFields fields = SecretFields.of("driver.licence", "cars.*.owner.licence", "**.pin");
    JsonNode sent =
        Json.parse(
            "{\"driver.licence\":\"B-1\",\"driver.town\":\"Graz\",\"cars\":{\"KL.42.A\":"
                + "{\"owner.licence\":\"B-2\"}},\"a.b\":{\"c.pin\":1234,\"c.pint\":5678}}");

    List<String> found = new ArrayList<>();
    fields.find("", sent, value -> found.add(value.asText()));
    assertThat(found).containsExactly("B-1", "B-2", "1234");
    assertThat(fields.names("cars.KL.42.A.owner.licence")).isFalse();
  }

  record Registry(@Computed Map<String, Entry> entries, String checked) {
    record Entry(@Secret Boolean wanted, String name) {}
  }

  @Test
  void aTruthValueBehindAKeyWithDotsIsRedactedWhereACorrectionBringsItBack() {
    FlowBuilder<Registry> flow =
        Flow.of("registry", Registry.class)
            .description("Keeps entries.")
            .act("first", run -> run.set("entries", wanted(true)))
            .ask("check", q -> q.question("checked", "Checked?"))
            .act("second", run -> run.set("entries", wanted(false)))
            .waitFor("wait", "done")
            .edge(START, "first")
            .edge("first", "check")
            .edge("check", "second")
            .edge("second", "wait")
            .edge("wait", END);
    Driver run = new Driver(flow.compile());
    run.start();
    run.proceed("checked", "yes");
    run.reset("checked", "twice");
    Calls calls = new Calls();
    Flow<?> read = run.program.flow();
    RunObserver recording =
        RunObserver.of(read, "s", Redaction.ofSecrets(List.of(read)).over(calls.recorder));
    run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));

    assertThat(calls.observed(Observation.Written.class))
        .extracting(written -> String.valueOf(written.write().value()))
        .anyMatch(value -> value.contains("[redacted]"))
        .noneMatch(value -> value.contains("true") || value.contains("false"));
  }

  private static Map<String, Registry.Entry> wanted(boolean wanted) {
    return Map.of("ann.lee", new Registry.Entry(wanted, "Ann"));
  }

  @Test
  void theSecretsOfARunAreThoseThatCameIntoItsSecretFields() {
    Driver run =
        new Driver(
            home(act ->
                    act.append("drivers", Map.of("licence", "B-appended", "town", "Graz"))
                        .merge("driver", Map.of("licence", "B-merged"))
                        .set("codes", List.of("first-code"))
                        .delete("card"))
                .compile());
    run.start("card", "4111-first");
    run.proceed("inner.word", "inner-word");
    run.proceed("each.0.word", "each-word");
    run.signal("signed", "signal-word");
    SecretFields fields = run.program.flow().secretFields();
    Secrets secrets = new Secrets();
    run.journal.forEach(event -> secrets.learn(fields, event));
    for (String secret :
        List.of(
            "4111-first",
            "B-appended",
            "B-merged",
            "first-code",
            "inner-word",
            "each-word",
            "signal-word")) {
      assertThat(secrets.in("It is " + secret.toUpperCase(Locale.ROOT) + ".")).as(secret).isTrue();
    }
    assertThat(secrets.in("Graz")).isFalse();
    Secrets again = new Secrets();
    again.add(secrets.known());
    assertThat(again.masked("a B-merged b signal-word")).isEqualTo("a [redacted] b [redacted]");
  }

  @Test
  void aSignalIsSecretBeforeAnybodyTakesIt() {
    SecretFields fields = home(run -> {}).compile().secretFields();
    Secrets secrets = new Secrets();
    secrets.learn(fields, new Event.Signalled("signed", Json.tree("signal-word"), 1));
    assertThat(secrets.in("signal-word")).isTrue();
  }

  @Test
  void secretsThatOverlapAreMaskedTogether() {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree(List.of("first-word", "word-last", "a-word-again")));
    assertThat(secrets.masked("a first-WORD-last b")).isEqualTo("a [redacted] b");
    secrets.add(Json.tree("LAST b"));
    assertThat(secrets.masked("a first-word-last b")).isEqualTo("a [redacted]");
    assertThat(secrets.masked("a firs-word-las b")).isEqualTo("a firs-word-las b");
  }

  @Test
  void theBeginningOfASecretIsMaskedWhereATextWasCutOff() {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree(List.of("first-word", "word-last", "wait for it…")));
    assertThat(secrets.masked("a first-Wo…")).isEqualTo("a [redacted]…");
    assertThat(secrets.masked("a first-word-l…")).isEqualTo("a [redacted]…");
    assertThat(secrets.masked("a fir…")).isEqualTo("a fir…");
    assertThat(secrets.masked("a first-Wo")).isEqualTo("a first-Wo");
    assertThat(secrets.masked("WAIT for it…")).isEqualTo("[redacted]");
  }

  @Test
  void whatIsShorterThanEverySecretIsNotSearched() {
    Secrets secrets = new Secrets();
    long inShort = Long.MAX_VALUE;
    long inCut = Long.MAX_VALUE;
    for (int round = 0; round < 5; round++) {
      secrets = new Secrets();
      secrets.add(Json.tree("a long secret ".repeat(50_000)));
      long began = System.nanoTime();
      assertThat(secrets.in("a long secret")).isFalse();
      long afterShort = System.nanoTime();
      assertThat(secrets.in("a long secret…")).isTrue();
      inShort = Math.min(inShort, afterShort - began);
      inCut = Math.min(inCut, System.nanoTime() - afterShort);
    }

    // The first search takes as long as it takes to read all that is sought.
    assertThat(inCut).isGreaterThan(10 * inShort);
    secrets.add(Json.tree("secret"));
    assertThat(secrets.in("a long secret")).isTrue();
  }

  @Test
  void aSecretIsFoundWhereItsUnseenCharactersAreWrittenAsEscapes() {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree("two\n\u200dlines"));
    assertThat(secrets.masked("a two\\u000a\\u200dlines b")).isEqualTo("a [redacted] b");
    assertThat(secrets.masked("a two\\n\\u200dlines b")).isEqualTo("a [redacted] b");
    assertThat(secrets.masked("a two\n\u200dlines b")).isEqualTo("a [redacted] b");
  }

  @Test
  void everySecretIsFoundWhereverItIs() {
    Random random = new Random(7);
    for (int round = 0; round < 300; round++) {
      Secrets secrets = new Secrets();
      List<String> known = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        known.add(ofTwoLetters(random, 4 + random.nextInt(5)));
        secrets.add(Json.tree(known.get(i)));
        String text = ofTwoLetters(random, random.nextInt(30));
        char[] left = text.toCharArray();
        known.forEach(
            secret -> {
              for (int at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
                Arrays.fill(left, at, at + secret.length(), '!');
              }
            });
        assertThat(secrets.masked(text))
            .as("%s without %s", text, known)
            .isEqualTo(new String(left).replaceAll("!+", "[redacted]"));
        Secrets found = new Secrets();
        found.add(secrets.foundIn(Json.tree(text)));
        assertThat(found.masked(text)).isEqualTo(secrets.masked(text));
      }
    }
  }

  @Test
  void ofTheSecretsOfARunThoseThatAreInATreeAreFound() {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree(List.of("first-word", "abc", 12345, "other-word", "a name", 67890)));
    JsonNode found =
        secrets.foundIn(
            Json.tree(
                Map.of("a name of", List.of("The FIRST-word", "abc", "abcd", 12345, 7, true))));
    assertThat(found).map(JsonNode::asText).contains("FIRST-word", "abc", "12345", "a name");
    assertThat(found).map(JsonNode::asText).doesNotContain("other-word", "67890", "abcd", "7");
  }

  private static String ofTwoLetters(Random random, int length) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append(random.nextBoolean() ? 'x' : 'y');
    }
    return text.toString();
  }

  @Test
  void aRecorderBehindTheRedactionOfSecretsReceivesNone() {
    Driver run = new Driver(home(act -> act.append("log", "Card " + act.state().card())).compile());
    run.start();
    run.signal("signed", "signal-word");
    run.proceed("card", "4111-first");
    run.proceed("inner.word", "inner-word");
    run.proceed("each.0.word", "each-word");
    Narrative narrative = new Narrative();
    Flow<?> flow = run.program.flow();
    RunObserver recording =
        RunObserver.of(flow, "s", Redaction.ofSecrets(List.of(flow)).over(narrative));
    run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
    assertThat(narrative.text())
        .contains("[redacted]")
        .doesNotContain("signal-word")
        .doesNotContain("4111")
        .doesNotContain("inner-word")
        .doesNotContain("each-word");
  }

  @Test
  void aSchemaWithMoreWaysThanCanBeFollowedOrAnUnknownOneIsSecretAsAWhole() {
    ObjectNode schema = Json.object();
    ObjectNode parts = schema.putObject("$defs");
    for (int i = 0; i < 40; i++) {
      ObjectNode both = parts.putObject("d" + i).putObject("properties");
      both.putObject("a").put("$ref", "#/$defs/d" + (i + 1));
      both.putObject("b").put("$ref", "#/$defs/d" + (i + 1));
    }
    parts.putObject("d40").put("type", "string");
    schema.put("$ref", "#/$defs/d0");
    assertThat(SecretFields.marked("", schema).isEmpty()).isTrue();

    parts.withObject("/d40").put("writeOnly", true);
    assertThat(SecretFields.marked("", schema).names("anything")).isTrue();

    JsonNode anchored =
        Json.parse(
            "{\"properties\":{\"card\":{\"$ref\":\"#card\"},\"name\":{}},"
                + "\"$defs\":{\"c\":{\"$anchor\":\"card\",\"writeOnly\":true}}}");
    SecretFields fields = SecretFields.marked("", anchored);
    assertThat(fields.names("card.number")).isTrue();
    assertThat(fields.names("name")).isFalse();
  }
}
