package io.fermata.flow.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.ThreadMXBean;
import io.fermata.flow.Driver;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import jakarta.validation.constraints.Digits;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Past;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a record says about a state: its schema, and what a client may send. */
class StateSchemaTest {
  enum Size3 {
    @JsonProperty("1-10")
    SMALL,
    @JsonProperty("51+")
    LARGE
  }

  record Person(
      @NotNull @Describe("Given name") String first,
      @Nullable String last,
      @Computed @Nullable Integer score) {}

  record All(
      @Describe("Full name") String name,
      @JsonProperty("e-mail") @Describe("Work email") @Email String email,
      @Min(1) @Max(9) Integer seats,
      Size3 size,
      @Pattern(regexp = "[a-z]+|[0-9]+") @Size(max = 5) String code,
      @Describe("Who drives") Person driver,
      List<Person> others,
      Map<String, Integer> extras,
      LocalDate day,
      Instant moment,
      BigDecimal price,
      Boolean agreed,
      @Computed Person winner,
      @Computed Integer total) {}

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final StateSchema<All> schema = new StateSchema<>(All.class);

  @Test
  void aTimeKeepsItsOffset() {
    record Flight(OffsetDateTime departure, ZonedDateTime arrival) {}
    ObjectNode data =
        Driver.object(
            "departure", "2026-05-01T00:30:00+02:00", "arrival", "2026-05-01T00:30:00-07:00");
    Flight flight = new StateSchema<>(Flight.class).view(data);
    assertThat(flight.departure().toLocalDate()).isEqualTo(LocalDate.of(2026, 5, 1));
    assertThat(flight.arrival().toLocalDate()).isEqualTo(LocalDate.of(2026, 5, 1));
    assertThat(Json.tree(flight)).isEqualTo(data);
    assertThat(Json.tree(ZonedDateTime.parse("2026-05-01T00:30+02:00[Europe/Berlin]")))
        .isEqualTo(data.get("departure"));
  }

  @Test
  void aTextOfAnotherFormIsReportedInTheWordsOfItsDescription() {
    record Call(@Describe("Digits only") @Pattern(regexp = "\\d+") String number) {}
    StateSchema<Call> call = new StateSchema<>(Call.class);
    assertThat(call.check(Driver.object("number", "x"), Limits.DEFAULT).violations())
        .containsExactly(
            new Violation("number", "does not have the form that is wanted: Digits only"));
  }

  @Test
  void aConstraintThatNobodyWouldCheckIsADefectOfItsState() {
    record Money(@Digits(integer = 3, fraction = 2) BigDecimal amount) {}
    record Stay(List<@Past LocalDate> nights) {}
    record Twice(@Pattern(regexp = "a.*") @Pattern(regexp = ".*b") String word) {}
    record Flagged(@Pattern(regexp = "a", flags = Pattern.Flag.CASE_INSENSITIVE) String word) {}
    record Broken(@Pattern(regexp = "[") String word) {}
    Map.of(
            Money.class, "amount has @Digits, which JSON Schema cannot express",
            Stay.class, "nights has @Past, which JSON Schema cannot express",
            Twice.class, "word has @Pattern, more than once",
            Flagged.class, "word has @Pattern, with flags",
            Broken.class, "the @Pattern of word is no regular expression: Unclosed character class")
        .forEach(
            (state, defect) ->
                assertThat(new StateSchema<>(state).defects())
                    .singleElement(STRING)
                    .contains(defect));
  }

  @Test
  void aTextThatMustNotBeBlankHasMoreThanSpaces() {
    record Named(@NotBlank String name, @NotBlank @Pattern(regexp = "[a-z ]+") String word) {}
    StateSchema<Named> named = new StateSchema<>(Named.class);
    ObjectNode usual = Driver.object("name", " Ann ", "word", " a ");
    assertThat(named.check(usual, Limits.DEFAULT).violations()).isEmpty();
    ObjectNode blank = Driver.object("name", " ", "word", " ");
    assertThat(named.check(blank, Limits.DEFAULT).violations())
        .hasSize(2)
        .contains(new Violation("name", "must not be blank"));
  }

  @Test
  void aTextTooLongForItsExpressionDoesNotHaveItsForm() {
    record Named(@Describe("A full name") @Pattern(regexp = "\\S+( \\S+)*") String name) {}
    StateSchema<Named> named = new StateSchema<>(Named.class);
    ObjectNode usual = Driver.object("name", "Ann Lee");
    assertThat(named.check(usual, Limits.DEFAULT).violations()).isEmpty();
    ObjectNode tooLong = Driver.object("name", "ab" + " ab".repeat(80_000));
    assertThat(named.check(tooLong, Limits.DEFAULT).violations())
        .containsExactly(
            new Violation("name", "does not have the form that is wanted: A full name"));
  }

  @Test
  void anAddressThatIsNotBlankMatchesItsOwnExpressionAsAWholeAndElementsMatchTheirs() {
    record Mails(
        @NotBlank @Email(regexp = "[^@]+@acme\\.com") String mail,
        @NotBlank @Email String any,
        List<@NotBlank String> names,
        List<@Pattern(regexp = "yes") String> words) {}
    StateSchema<Mails> mails = new StateSchema<>(Mails.class);
    assertThat(wrong(mails, "mail", "ann@acme.com")).isEmpty();
    assertThat(wrong(mails, "any", "ann@other.org")).isEmpty();
    assertThat(wrong(mails, "names", List.of("Ann"))).isEmpty();
    assertThat(wrong(mails, "words", List.of("yes"))).isEmpty();
    assertThat(wrong(mails, "mail", "eve@evil.org")).isNotEmpty();
    assertThat(wrong(mails, "mail", "eve@evil.org, ann@acme.com.org")).isNotEmpty();
    assertThat(wrong(mails, "any", " ")).isNotEmpty();
    assertThat(wrong(mails, "names", List.of(" "))).isNotEmpty();
    assertThat(wrong(mails, "words", List.of("eyes"))).isNotEmpty();
  }

  private static List<Violation> wrong(StateSchema<?> schema, String field, Object value) {
    return schema.check(Driver.object(field, value), Limits.DEFAULT).violations();
  }

  @Test
  void aSentenceThatListsWhatIsWrongEndsWithOneMark() {
    assertThat(Violation.listed("Wrong", List.of(new Violation("a", "is b; did you mean c?"))))
        .isEqualTo("Wrong: a is b; did you mean c?");
    assertThat(Violation.listed("Wrong", List.of(new Violation("a", "is b"))))
        .isEqualTo("Wrong: a is b.");
  }

  @Test
  void aLocalTimeIsAnsweredAsPeopleWriteIt() {
    record Times(LocalTime at, LocalDateTime on) {}
    StateSchema<Times> times = new StateSchema<>(Times.class);
    for (String at : List.of("19:30", "19:30:05", "00:00", "23:59:59.123")) {
      StateSchema.Checked checked =
          times.check(Driver.object("at", at, "on", "2026-11-21T" + at), Limits.DEFAULT);
      assertThat(checked.violations()).isEmpty();
      assertThat(times.view(Driver.object("at", at)).at()).isEqualTo(LocalTime.parse(at));
    }
    assertThat(times.check(Driver.object("at", "half past", "on", "today"), Limits.DEFAULT))
        .extracting(StateSchema.Checked::violations)
        .isEqualTo(
            List.of(
                new Violation("at", "must be a time such as 19:30"),
                new Violation("on", "must be a date and time such as 2026-05-01T19:30")));
    for (String at : List.of("24:00", "7pm", "19:30Z", "1930")) {
      assertThat(times.check(Driver.object("at", at), Limits.DEFAULT).violations()).hasSize(1);
    }
  }

  // --- what is published ----------------------------------------------------------------------

  @Test
  void everyFieldIsOptionalAndNoOtherIsAllowed() {
    assertThat(schema.updates().path("type").asText()).isEqualTo("object");
    assertThat(schema.updates().has("required")).isFalse();
    assertThat(schema.updates().path("additionalProperties").asBoolean(true)).isFalse();
    assertThat(schema.updates().path("properties").fieldNames())
        .toIterable()
        .containsExactly(
            "name", "e-mail", "seats", "size", "code", "driver", "others", "extras", "day",
            "moment", "price", "agreed");
  }

  @Test
  void descriptionsConstraintsAndFormatsAreKept() throws Exception {
    assertField("name", "{'type':'string','description':'Full name'}");
    assertField("e-mail", "{'type':'string','description':'Work email','format':'email'}");
    assertField("seats", "{'type':'integer','minimum':1,'maximum':9}");
    assertField("size", "{'type':'string','enum':['1-10','51+']}");
    assertField("day", "{'type':'string','format':'date'}");
    assertField("moment", "{'type':'string','format':'date-time'}");
    assertField("extras", "{'type':'object','additionalProperties':{'type':'integer'}}");
  }

  @Test
  void aPatternMatchesTheWholeTextAsBeanValidationMeansIt() {
    assertThat(schema.fieldSchema("code").path("pattern").asText())
        .isEqualTo("^(?:[a-z]+|[0-9]+)$");
    assertThat(violations("code", "a1")).containsExactly("code");
    assertThat(violations("code", "abc")).isEmpty();
  }

  @Test
  void aNestedRecordMayBeSentInParts() {
    JsonNode driver = schema.updates().path("properties").path("driver");
    assertThat(driver.has("required")).isFalse();
    assertThat(driver.path("description").asText()).isEqualTo("Who drives");
    assertThat(violations("driver", Map.of("last", "Lovelace"))).isEmpty();
  }

  @Test
  void aRecordInAListIsSentWhole() {
    assertThat(violations("others", List.of(Map.of("last", "Lovelace"))))
        .containsExactly("others.0");
  }

  @Test
  void whatTheFlowComputesIsNowhereInTheSchema() {
    assertThat(schema.updates().toString()).doesNotContain("winner", "total", "score");
    assertThat(schema.fieldSchema("driver").toString()).doesNotContain("score");
  }

  // --- what is checked ------------------------------------------------------------------------

  record Bill(String item, @Computed Integer total) {}

  @Test
  void onlyTheWholeStateHasAComputedFieldHoweverManyStatesShareIt() {
    record One(Bill bill) {}
    record Many(List<Bill> bills) {}
    for (StateSchema<?> each :
        List.of(
            new StateSchema<>(One.class),
            new StateSchema<>(Many.class),
            new StateSchema<>(Many.class))) {
      assertThat(each.whole().findValue("total")).isNotNull();
      assertThat(each.updates().findValue("item")).isNotNull();
      assertThat(each.updates().findValue("total")).isNull();
    }
  }

  @Test
  void aComputedFieldIsRefusedWhereverItIs() {
    assertThat(messages("total", 5)).containsExactly("is computed by the flow and cannot be set");
    assertThat(violations("driver", Map.of("score", 5))).containsExactly("driver.score");
    assertThat(violations("driver.score", 5)).containsExactly("driver.score");
    assertThat(violations("winner", Map.of("first", "Ada"))).containsExactly("winner");
    assertThat(violations("winner.first", "Ada")).containsExactly("winner.first");
    assertThat(violations("others", List.of(Map.of("first", "Ada", "score", 5)))).isNotEmpty();
  }

  @Test
  void anUnknownFieldNamesTheNearestOrElseAll() {
    assertThat(messages("nmae", "Ada"))
        .containsExactly("is not a field of this flow; did you mean name?");
    assertThat(messages("driver.frist", "Ada"))
        .containsExactly("is not a field of this flow; did you mean driver.first?");
    assertThat(messages("something_else", 1).get(0))
        .startsWith("is not a field of this flow; its fields are name, e-mail, seats")
        .doesNotContain("total");
  }

  @Test
  void aDottedKeyIsTheSameAsANestedOne() {
    assertThat(check("driver.first", "Ada", "driver.last", "Lovelace"))
        .isEqualTo(check("driver", Map.of("first", "Ada", "last", "Lovelace")));
    assertThat(check("driver.first", "Ada").values()).containsOnlyKeys("driver.first");
  }

  @Test
  void aDottedKeyCannotLeaveTheState() {
    for (String key :
        List.of(
            "__proto__.x",
            "a..b",
            ".name",
            "name.",
            ".",
            "",
            "..",
            "name.first",
            "extras.colour",
            "others.0.first",
            "driver..first",
            "driver.first.",
            "constructor.prototype")) {
      assertThat(violations(key, "x")).as(key).hasSize(1);
    }
  }

  @Test
  void aVeryLongKeyIsRefusedAndNotRepeated() {
    Violation violation = check("x".repeat(1_000_000), 1).violations().get(0);
    assertThat(violation.field()).hasSizeLessThan(100);
    assertThat(violation.message()).hasSizeLessThan(500);
  }

  @Test
  void aFieldMayBeGivenTwiceOnlyWithOneValue() {
    assertThat(check("driver.first", "Ada", "driver", Map.of("first", "Ada")).violations())
        .isEmpty();
    assertThat(check("driver.first", "Ada", "driver", Map.of("first", "Eve")).violations())
        .containsExactly(new Violation("driver.first", "is given twice with different values"));
    assertThat(violations("driver.first", "Ada", "driver", JsonNodeFactory.instance.nullNode()))
        .containsExactly("driver");
  }

  @Test
  void nullAndTheEmptyTextAreKeptAsUnfilled() {
    assertThat(check("name", "", "seats", JsonNodeFactory.instance.nullNode()).values().values())
        .allMatch(JsonNode::isNull);
    assertThat(violations("name", "", "seats", JsonNodeFactory.instance.nullNode())).isEmpty();
  }

  @Test
  void everyViolationIsReported() {
    assertThat(
            violations(
                "name",
                5,
                "seats",
                10,
                "size",
                "huge",
                "e-mail",
                "nobody",
                "day",
                "2026-02-30",
                "code",
                "ABCDEFG",
                "agreed",
                "yes",
                "extras",
                Map.of("a", "b"),
                "who",
                1))
        .contains("name", "seats", "size", "e-mail", "day", "code", "agreed", "extras.a", "who");
  }

  @Test
  void theReplyToVeryManyViolationsIsBounded() {
    ObjectNode many = Json.object();
    for (int i = 0; i < 5_000; i++) {
      many.put("unknown_field_" + i, i);
    }
    List<Violation> violations = schema.check(many, Limits.DEFAULT).violations();
    assertThat(violations).hasSize(101);
    assertThat(violations.get(100).message()).isEqualTo("has 4900 more violations");
  }

  record Wide(
      String argument0,
      String argument1,
      String argument2,
      String argument3,
      String argument4,
      String argument5,
      String argument6,
      String argument7) {}

  @Test
  void onlyWhatTheReplyListsIsPutInWords() {
    StateSchema<Wide> wide = new StateSchema<>(Wide.class);
    ObjectNode many = Json.object();
    for (int i = 0; i < 50_000; i++) {
      many.put("unknown" + i, i);
    }
    wide.check(many, Limits.DEFAULT);
    long before = THREADS.getCurrentThreadAllocatedBytes();
    List<Violation> violations = wide.check(many, Limits.DEFAULT).violations();
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;

    assertThat(violations.get(100))
        .isEqualTo(new Violation("stateUpdates", "has 49900 more violations"));
    assertThat(allocated / 50_000).isLessThan(500);
  }

  record Worded(
      @Min(1) @Max(9) Integer seats,
      String name,
      @Email String email,
      Size3 size,
      LocalDate day,
      Boolean agreed,
      @Size(min = 2, max = 3) String code,
      @Pattern(regexp = "[a-z]+") String word,
      @Size(min = 1) List<Integer> numbers,
      Person driver,
      List<Person> others,
      @Secret @Min(1000) Integer pin) {}

  @Test
  void aViolationSaysInPlainWordsWhatIsAcceptedAndWhatWasSent() {
    assertThat(worded("name", 7)).isEqualTo("name must be a text, not 7");
    assertThat(worded("name", List.of())).isEqualTo("name must be a text, not a list");
    assertThat(worded("seats", 0)).isEqualTo("seats must be 1 or more, not 0");
    assertThat(worded("seats", 10)).isEqualTo("seats must be 9 or less, not 10");
    assertThat(worded("size", "huge")).isEqualTo("size must be one of 1-10, 51+, not \"huge\"");
    assertThat(worded("email", "nope"))
        .isEqualTo("email must be an e-mail address such as ann@example.com, not \"nope\"");
    assertThat(worded("day", "tomorrow"))
        .isEqualTo("day must be a date such as 2026-12-24, not \"tomorrow\"");
    assertThat(worded("agreed", "yes")).isEqualTo("agreed must be true or false, not \"yes\"");
    assertThat(worded("code", "a")).isEqualTo("code must have at least 2 characters");
    assertThat(worded("code", "abcd")).isEqualTo("code must have at most 3 characters");
    assertThat(worded("word", "A"))
        .isEqualTo("word must match the regular expression ^(?:[a-z]+)$, not \"A\"");
    assertThat(worded("numbers", List.of("x")))
        .isEqualTo("numbers.0 must be a whole number, not \"x\"");
    assertThat(worded("numbers", List.of())).isEqualTo("numbers must have at least 1 element");
    assertThat(worded("others", List.of(Map.of("last", "x")))).isEqualTo("others.0 lacks first");
    assertThat(worded("others", List.of(Map.of("first", "a", "x", 1))))
        .isEqualTo("others.0 has x, which is not known here");
    assertThat(worded("driver", "Ann")).isEqualTo("driver must be an object, not \"Ann\"");
    assertThat(worded("name", Map.of("first", "x".repeat(99)))).hasSizeLessThan(99);
  }

  @Test
  void itDoesNotRepeatASecret() {
    assertThat(worded("pin", "hunter22")).isEqualTo("pin must be a whole number");
    assertThat(worded("pin", 12)).isEqualTo("pin must be 1000 or more");
  }

  private static String worded(String field, Object value) {
    StateSchema<Worded> worded = new StateSchema<>(Worded.class);
    List<Violation> found = worded.check(Driver.object(field, value), Limits.DEFAULT).violations();
    assertThat(found).as(found.toString()).hasSize(1);
    return found.get(0).field() + " " + found.get(0).message();
  }

  @Test
  void violationsReadTheSameInEveryLocale() {
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.GERMANY);
      assertThat(messages("seats", "x")).containsExactly("must be a whole number, not \"x\"");
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void aWholeNumberMayBeWrittenWithAFraction() {
    assertThat(check("seats", new BigDecimal("5.0")).values()).containsEntry("seats", Json.tree(5));
    assertThat(violations("seats", new BigDecimal("5.5"))).containsExactly("seats");
  }

  @Test
  void aNumberBeyondItsJavaTypeIsAViolation() {
    record Big(Integer n, Long m) {}
    StateSchema<Big> big = new StateSchema<>(Big.class);
    ObjectNode sent = Driver.object("n", 3_000_000_000L, "m", 3_000_000_000L);
    assertThat(big.check(sent, Limits.DEFAULT).violations())
        .containsExactly(new Violation("n", "cannot be read as what the flow expects"));
  }

  record Weights(Double w, Float f, List<Double> all, Map<String, Weight> by, BigDecimal exact) {}

  record Weight(Double w) {}

  @Test
  void aNumberThatADoubleReadsAsInfiniteIsRefusedForIt() throws Exception {
    StateSchema<Weights> weights = new StateSchema<>(Weights.class);
    for (String wrong :
        List.of(
            "'w': 1e400",
            "'w': -1e400",
            "'f': 1e39",
            "'f': 1" + "0".repeat(39),
            "'all': [1, 1e400]",
            "'by': {'a': {'w': 1e400}}")) {
      assertThat(weights.check((ObjectNode) json("{" + wrong + "}"), Limits.DEFAULT).violations())
          .as(wrong)
          .extracting(Violation::message)
          .containsExactly("cannot be read as what the flow expects");
    }
    ObjectNode right =
        (ObjectNode) json("{'w': 1e300, 'f': 1e38, 'all': [1e-400, 1e39], 'exact': 1e400}");
    assertThat(weights.check(right, Limits.DEFAULT).violations()).isEmpty();
  }

  @Test
  void aHugeExponentIsNotSpeltOut() throws Exception {
    for (String field : List.of("seats", "price")) {
      for (String number : List.of("1e1000000", "1e-1000000", "1e5000")) {
        ObjectNode bomb = (ObjectNode) json("{'" + field + "': " + number + "}");
        assertThat(schema.check(bomb, Limits.DEFAULT).violations())
            .as(number)
            .containsExactly(new Violation(field, "has a number or a name that is too long"));
      }
    }
  }

  @Test
  void deepNestingIsRefusedBeforeItIsLookedAt() {
    ObjectNode bomb = Json.object();
    for (int i = 0; i < 900; i++) {
      ObjectNode outer = Json.object();
      outer.set("driver", bomb);
      bomb = outer;
    }
    assertThat(schema.check(bomb, Limits.DEFAULT).violations())
        .containsExactly(new Violation("stateUpdates", "is nested deeper than 32 levels"));
  }

  // --- what an author may write ---------------------------------------------------------------

  @Test
  void anActionWritesFieldsThatExistAndAnythingBelowAMap() {
    assertThatCode(
            () ->
                List.of("name", "total", "driver.score", "winner.first", "extras.any.thing")
                    .forEach(schema::requireWritable))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> schema.requireWritable("driver.scor"))
        .hasMessage("There is no field driver.scor; did you mean driver.score?");
    assertThatThrownBy(() -> schema.requireWritable("totals.x")).hasMessageContaining("totals.x");
  }

  @Test
  void theViewHasEveryTypeOfTheRecord() throws Exception {
    All all =
        schema.view(
            (ObjectNode)
                json(
                    "{'e-mail':'a@b','size':'51+','driver':{'first':'Ada','score':3},"
                        + "'others':[{'first':'Eve'}],'day':'2026-01-02','price':1.50}"));
    assertThat(all.email()).isEqualTo("a@b");
    assertThat(all.size()).isEqualTo(Size3.LARGE);
    assertThat(all.driver()).isEqualTo(new Person("Ada", null, 3));
    assertThat(all.others()).containsExactly(new Person("Eve", null, null));
    assertThat(all.day()).isEqualTo(LocalDate.of(2026, 1, 2));
    assertThat(all.price()).isEqualTo("1.50");
    assertThat(all.name()).isNull();
  }

  @Test
  void noValueIsTakenForOneOfAnotherType() {
    for (String wrong :
        List.of("{'seats':'5'}", "{'seats':1.5}", "{'name':5}", "{'agreed':1}", "{'agreed':'x'}")) {
      assertThatThrownBy(() -> schema.view((ObjectNode) json(wrong)))
          .as(wrong)
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aValidatorGetsListsOfTheDeclaredType() throws Exception {
    assertThat(schema.value("others", json("[{'first':'Eve'}]")))
        .isEqualTo(List.of(new Person("Eve", null, null)));
  }

  private StateSchema.Checked check(Object... pairs) {
    return schema.check(Driver.object(pairs), Limits.DEFAULT);
  }

  private List<String> violations(Object... pairs) {
    return check(pairs).violations().stream().map(Violation::field).distinct().toList();
  }

  private List<String> messages(Object... pairs) {
    return check(pairs).violations().stream().map(Violation::message).toList();
  }

  private void assertField(String path, String expected) throws JsonProcessingException {
    assertThat(Json.same(schema.fieldSchema(path), json(expected))).as(path).isTrue();
  }

  private static JsonNode json(String text) throws JsonProcessingException {
    return Json.MAPPER.readTree(text.replace('\'', '"'));
  }

  @Test
  void aFieldThatNoAnswerCanFillIsADefectOfItsStateUnlessItIsComputed() {
    record Rota(String name, BitSet days, @Computed Runnable work) {}
    record Computes(String name, @Computed Runnable work) {}
    assertThat(new StateSchema<>(Rota.class).defects())
        .singleElement(STRING)
        .startsWith(
            "State Rota cannot be described as JSON Schema: the JSON of a BitSet is not known");
    assertThat(new StateSchema<>(Computes.class).defects()).isEmpty();
    assertThat(new StateSchema<>(Computes.class).whole().at("/properties/work")).hasToString("{}");
  }

  record Leg(String to, Optional<Leg> next) {}

  record Legs(@Computed List<Leg> legs, @Computed Map<String, Leg> byName, @Computed Leg first) {}

  @Test
  void whatIsUnknownIsFoundInListsMapsAndOptionalsToo() {
    ObjectNode leg = Json.object().put("to", "Rome").put("from", "Ulm");
    leg.putObject("next").put("to", "Bari").put("via", "Bonn");
    ObjectNode state = Json.object().put("more", 1);
    state.putArray("legs").add(leg).add(leg);
    state.putObject("byName").set("ann", leg);

    assertThat(new StateSchema<>(Legs.class).unknown(state))
        .containsExactlyInAnyOrder(
            "more", "legs.*.from", "legs.*.next.via", "byName.ann.from", "byName.ann.next.via");

    ObjectNode items = Json.object();
    items.putObject("each").set("7", Json.object().set("legs", state.path("legs")));
    StateSchema.Inner each = new StateSchema.Inner(new StateSchema<>(Legs.class), true);
    assertThat(new StateSchema<>(Legs.class, Map.of("each", each), Set.of()).unknown(items))
        .containsExactlyInAnyOrder("each.7.legs.*.from", "each.7.legs.*.next.via");
  }
}
