package io.fermata.flow.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.EnumNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.ThreadMXBean;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.flow.schema.ArgumentSchema.Argument;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.NotBlank;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URL;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.MonthDay;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.util.BitSet;
import java.util.Collections;
import java.util.Currency;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ArgumentSchemaTest {
  record Place(@NotBlank String city, @Nullable String street) {}

  record Search(
      @Describe("What to look for") String query,
      @Nullable @Max(50) Integer limit,
      boolean exact,
      @Nullable @Email String replyTo,
      @Nullable List<Place> near) {
    Search {
      if (query.equals("*")) {
        throw new IllegalArgumentException("a query has to name something");
      }
    }
  }

  record Circle(Circle inner) {}

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** Bytes that the check of one value allocates with room to spare, and its words exceed. */
  private static final long LEAST_WORDS = 1_000;

  private final ArgumentSchema schema = ArgumentSchema.of(Search.class);

  @Test
  void aRecordDescribesEachArgumentAndWhichAreRequired() {
    ObjectNode json = schema.json();
    assertThat(json.path("type").asText()).isEqualTo("object");
    assertThat(json.has("$schema")).isFalse();
    assertThat(json.at("/properties/query/description").asText()).isEqualTo("What to look for");
    assertThat(json.at("/properties/limit/maximum").asInt()).isEqualTo(50);
    assertThat(json.path("required"))
        .extracting(JsonNode::asText)
        .containsExactlyInAnyOrder("query", "exact");
    assertThat(json.at("/properties/near/items/required/0").asText()).isEqualTo("city");
    assertThat(json.path("additionalProperties").asBoolean(true)).isFalse();
  }

  record Note(String text, Optional<String> tag) {}

  @Test
  void anOptionalMayBeAbsent() {
    ArgumentSchema note = ArgumentSchema.of(Note.class);
    assertThat(note.check(Json.object().put("text", "a"))).isEmpty();
    assertThat(note.check(Json.object().put("text", "a").put("tag", "b"))).isEmpty();
    assertThat(note.check(Json.object().put("tag", "b")))
        .containsExactly(new Violation("text", "is required"));
    assertThat(Json.value(Json.object().put("text", "a"), Note.class).tag()).isEmpty();
  }

  @Test
  void argumentsThatFitHaveNoViolationsAndNullIsAbsent() {
    assertThat(check("{'query':'a','exact':true}")).isEmpty();
    assertThat(check("{'query':'a','exact':true,'limit':null,'replyTo':null}")).isEmpty();
    assertThat(check("{'query':'a','exact':null}"))
        .containsExactly(new Violation("exact", "is required"));
  }

  @EnumNaming(SnakeCaseStrategy.class)
  enum Pace {
    AT_ONCE,
    LATER
  }

  record Order(Pace pace, @Nullable ObjectNode notes) {}

  @Test
  void anEnumAndAnObjectAreDescribedAsTheyAreRead() {
    ArgumentSchema order = ArgumentSchema.of(Order.class);

    assertThat(order.json().at("/properties/pace/enum")).hasToString("[\"at_once\",\"later\"]");
    assertThat(order.json().at("/properties/notes")).hasToString("{\"type\":\"object\"}");
    assertThat(order.check(tree("{'pace':'at_once','notes':{'a':[1]}}"))).isEmpty();
    assertThat(order.check(tree("{'pace':'AT_ONCE','notes':[]}")))
        .containsExactly(
            new Violation("pace", "must be one of at_once, later, not \"AT_ONCE\""),
            new Violation("notes", "must be an object, not a list"));
  }

  record Anything(JsonNode any, ArrayNode list, Object value, List<byte[]> bytes) {}

  @Test
  void aTreeMayBeAnythingAnArrayAnyListAndBytesAText() {
    ArgumentSchema anything = ArgumentSchema.of(Anything.class);

    assertThat(anything.check(tree("{'any':5,'list':[1,{'a':[]}],'value':[{}],'bytes':['AQI=']}")))
        .isEmpty();
    assertThat(anything.check(tree("{'any':{'a':1},'list':{},'value':'','bytes':[[1]]}")))
        .containsExactlyInAnyOrder(
            new Violation("list", "must be a list, not an object"),
            new Violation("bytes.0", "must be a text, not a list"));
  }

  enum Grade {
    PASSED(1),
    FAILED(5);

    private final int number;

    Grade(int number) {
      this.number = number;
    }

    @JsonValue
    int number() {
      return number;
    }
  }

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
  @JsonSubTypes({
    @JsonSubTypes.Type(value = Disc.class, name = "disc"),
    @JsonSubTypes.Type(value = Box.class, name = "box")
  })
  sealed interface Shape permits Disc, Box {}

  record Disc(int radius) implements Shape {}

  record Box(int width, @Nullable Place within) implements Shape {}

  record OfTypes(
      Year year,
      YearMonth month,
      MonthDay day,
      ZoneOffset offset,
      Duration length,
      Currency currency,
      Locale locale,
      URL url,
      Charset charset,
      UUID id,
      AtomicInteger count,
      OptionalInt some,
      OptionalInt none,
      Map.Entry<String, Integer> entry,
      List<YearMonth> months,
      Map<String, Currency> byName,
      Grade grade,
      Map<String, Grade> grades,
      List<Shape> shapes,
      Map<String, Shape> shapesByName) {}

  @Test
  void whatIsWrittenOfATypeFitsItsSchema() throws Exception {
    OfTypes all =
        new OfTypes(
            Year.of(2027),
            YearMonth.of(2027, 5),
            MonthDay.of(12, 24),
            ZoneOffset.ofHours(2),
            Duration.ofMinutes(90),
            Currency.getInstance("EUR"),
            Locale.GERMANY,
            URI.create("https://example.com/a").toURL(),
            StandardCharsets.UTF_8,
            new UUID(1, 2),
            new AtomicInteger(3),
            OptionalInt.of(4),
            OptionalInt.empty(),
            Map.entry("a", 1),
            List.of(YearMonth.of(2027, 5)),
            Map.of("a", Currency.getInstance("EUR")),
            Grade.FAILED,
            Map.of("a", Grade.PASSED),
            List.of(new Disc(1)),
            Map.of("a", new Box(2, null)));
    JsonNode written = Json.tree(all);
    ArgumentSchema types = ArgumentSchema.of(OfTypes.class);

    assertThat(types.check(written)).isEmpty();
    assertThat(Json.tree(Json.value(written, OfTypes.class))).isEqualTo(written);
    ((ObjectNode) written).put("month", "May").put("currency", 1).put("grade", 2).put("id", "x");
    assertThat(types.check(written))
        .extracting(Violation::field)
        .containsExactlyInAnyOrder("month", "currency", "grade", "id");
  }

  @Test
  void aTypeOfTheJdkWhoseJsonIsNotKnownIsRefused() {
    record Unknown(String text, Map<String, BitSet> sets) {}
    for (int again = 0; again < 2; again++) {
      assertThatThrownBy(() -> ArgumentSchema.of(Unknown.class))
          .hasMessage(
              "Unknown cannot be described as JSON Schema: the JSON of a BitSet is not known; make it a record, a list, a text or a JsonNode");
    }
  }

  @Test
  void aTextTooLongForTheCheckOfItsFormIsRefused() {
    ArgumentSchema schema =
        ArgumentSchema.of(
            (ObjectNode)
                tree(
                    "{'type':'object','properties':{'words':{'pattern':'^(a |b )*$'},'at':{'format':'json-pointer'}}}"));
    assertThat(schema.check(Json.object().put("words", "a b ").put("at", "/a/b"))).isEmpty();
    assertThat(schema.check(Json.object().put("words", "a b ".repeat(80_000))))
        .extracting(Violation::field)
        .containsExactly("words");
    assertThat(schema.check(Json.object().put("at", "/a".repeat(80_000))))
        .containsExactly(new Violation("arguments", "has a text that is too long to be checked"));
  }

  @Test
  void nullCountsAsAbsentInTheElementsOfAListAndIsNoElement() {
    assertThat(check("{'query':'a','exact':true,'near':[{'city':'b','street':null}]}")).isEmpty();
    assertThat(check("{'query':'a','exact':true,'near':[{'city':null}]}"))
        .containsExactly(new Violation("near.0.city", "is required"));
    assertThat(check("{'query':'a','exact':true,'near':[null]}"))
        .containsExactly(new Violation("near.0", "must be an object, not null"));
  }

  record Patch(
      ObjectNode patch,
      @Nullable Map<String, Object> free,
      @Nullable JsonNode any,
      @Nullable List<Shape> shapes,
      @Nullable Map<String, Integer> counts,
      Optional<Place> place) {}

  @Test
  void nullIsAValueWhereTheSchemaLetsEverythingBe() {
    ArgumentSchema patch = ArgumentSchema.of(Patch.class);
    ObjectNode sent =
        (ObjectNode)
            tree(
                "{'patch':{'phone':null,'at':[{'a':null}]},'free':{'a':{'b':null}},'any':[{'c':null}],"
                    + "'shapes':[{'@type':'box','width':1,'within':null},{'@type':'disc','radius':2,'within':null},"
                    + "{'@type':'box','width':1.0,'within':{'city':'d','street':null}}],"
                    + "'counts':{'a':null,'b':1},'place':{'city':'c','street':null},'unknown':null}");

    assertThat(patch.check(sent)).isEmpty();
    assertThat(patch.meant(sent))
        .isEqualTo(
            tree(
                "{'patch':{'phone':null,'at':[{'a':null}]},'free':{'a':{'b':null}},'any':[{'c':null}],"
                    + "'shapes':[{'@type':'box','width':1},{'@type':'disc','radius':2},"
                    + "{'@type':'box','width':1,'within':{'city':'d'}}],"
                    + "'counts':{'b':1},'place':{'city':'c'}}"));
    assertThat(patch.check(tree("{'patch':null}")))
        .containsExactly(new Violation("patch", "is required"));
  }

  @Test
  void everyViolationNamesTheArgumentAndTheReason() {
    assertThat(check("{'limit':70,'qery':'a','exact':'yes','replyTo':'nobody','near':[{}]}"))
        .contains(
            new Violation("query", "is required"),
            new Violation("near.0.city", "is required"),
            new Violation("limit", "must be 50 or less, not 70"),
            new Violation("exact", "must be true or false, not \"yes\""),
            new Violation("qery", "is not known here; did you mean query?"))
        .extracting(Violation::field)
        .containsOnly("query", "near.0.city", "limit", "exact", "qery", "replyTo");
    assertThat(check("{'query':'a','exact':true,'colour':1}"))
        .containsExactly(
            new Violation(
                "colour", "is not known here; there are query, limit, exact, replyTo, near"));
    assertThat(check("{'query':'a','exact':true,'near':[{'city':'b','zip':1}]}"))
        .containsExactly(new Violation("near.0.zip", "is not known here"));
    assertThat(check("[]")).containsExactly(new Violation("arguments", "must be an object"));
  }

  @Test
  void whatFitsTheSchemaAndNotTheTypeIsAViolation() {
    assertThat(check("{'query':'*','exact':true}"))
        .containsExactly(new Violation("arguments", "a query has to name something"));
    assertThat(check("{'query':'a','exact':true,'limit':-3000000000}"))
        .containsExactly(new Violation("limit", "cannot be read as what is expected"));
  }

  @Test
  void aJsonSchemaOfTheAuthorIsKeptAsItIs() {
    ObjectNode json = (ObjectNode) tree("{'type':'object','properties':{'n':{'type':'integer'}}}");
    ArgumentSchema own = ArgumentSchema.of(json);
    assertThat(own.json()).isEqualTo(json).isNotSameAs(json);
    json.removeAll();
    assertThat(own.check(tree("{'n':1,'m':2}"))).isEmpty();
    assertThat(own.check(tree("{'n':'a'}")))
        .containsExactly(new Violation("n", "must be a whole number, not \"a\""));
  }

  record Copies(@Max(100) Long copies, List<@Max(100) Long> more, BigDecimal price) {}

  @Test
  void anIntegerBeyondItsMaximumIsRefusedHoweverItIsWritten() {
    ArgumentSchema foreign =
        foreign(
            """
            {'n':{'type':'integer','minimum':-9,'maximum':100},
             'each':{'items':{'$ref':'#/properties/n'}},
             'any':{'anyOf':[{'type':'integer','exclusiveMaximum':100},{'type':'null'}]},
             'of':{'additionalProperties':{'type':['integer','null'],'maximum':100}}}\
            """);
    ArgumentSchema record = ArgumentSchema.of(Copies.class);
    for (String beyond :
        List.of(
            "101", "101.0", "1.01e2", "18446744073709551617", "18446744073709551617.0", "1e70")) {
      for (String place :
          List.of("'n':%s", "'n':-%s", "'each':[%s]", "'any':%s", "'of':{'a':%s}")) {
        assertThat(foreign.check(tree("{" + place.formatted(beyond) + "}")))
            .as(place, beyond)
            .isNotEmpty();
      }
      assertThat(record.check(tree("{'copies':%s,'more':[],'price':1}".formatted(beyond))))
          .extracting(Violation::field)
          .containsExactly("copies");
      assertThat(record.check(tree("{'copies':1,'more':[1.0,%s],'price':1}".formatted(beyond))))
          .extracting(Violation::field)
          .containsExactly("more.1");
    }
    for (String huge : List.of("1e1000", "1e999999999", "1e-999999999")) {
      assertThat(foreign.check(tree("{'n':%s}".formatted(huge))))
          .containsExactly(new Violation("arguments", "has a number that is too long"));
    }
  }

  @Test
  void anIntegerIsMeantHoweverItIsWrittenAndOtherNumbersKeepTheirDecimals() {
    ArgumentSchema record = ArgumentSchema.of(Copies.class);
    ObjectNode sent = (ObjectNode) tree("{'copies':5.0,'more':[1e1,7],'price':10.00}");

    assertThat(record.check(sent)).isEmpty();
    assertThat(Json.text(record.meant(sent)))
        .isEqualTo("{\"copies\":5,\"more\":[10,7],\"price\":10.00}");
    assertThat(Json.value(record.meant(sent), Copies.class))
        .isEqualTo(new Copies(5L, List.of(10L, 7L), new BigDecimal("10.00")));
  }

  record Tags(Map<String, List<String>> tags) {}

  @Test
  void ofVeryManyViolationsTheFirstAreSaidAndTheOthersCounted() {
    JsonNode zeros = Json.object().set("a", Json.tree(Collections.nCopies(5_000, 0)));
    List<Violation> violations =
        ArgumentSchema.of(Tags.class).check(Json.object().set("tags", zeros));
    assertThat(violations)
        .hasSize(101)
        .startsWith(new Violation("tags.a.0", "must be a text, not 0"));
    assertThat(violations.get(100))
        .isEqualTo(new Violation("arguments", "has 4900 more violations"));
  }

  @Test
  void onlyWhatIsListedIsPutInWords() {
    ArgumentSchema tags = ArgumentSchema.of(Tags.class);
    JsonNode zeros = Json.object().set("a", Json.tree(Collections.nCopies(50_000, 0)));
    JsonNode wrong = Json.object().set("tags", zeros);
    assertThat(allocated(() -> tags.check(wrong)) / 50_000).isLessThan(LEAST_WORDS);

    ArgumentSchema wide =
        ArgumentSchema.of(
            IntStream.range(0, 100)
                .mapToObj(i -> new Argument("argument" + i, String.class, false, null))
                .toList());
    ObjectNode unknown = Json.object();
    IntStream.range(0, 50_000).forEach(i -> unknown.put("unknown" + i, i));
    assertThat(allocated(() -> wide.check(unknown)) / 50_000).isLessThan(LEAST_WORDS);
  }

  @Test
  void aLongNameInAPathIsNotRepeatedAsAWhole() {
    JsonNode zeros = Json.object().set("a".repeat(10_000), Json.tree(List.of(0, 0, 0)));
    assertThat(ArgumentSchema.of(Tags.class).check(Json.object().set("tags", zeros)))
        .allSatisfy(violation -> assertThat(violation.field()).hasSizeLessThan(600))
        .first()
        .extracting(Violation::field, STRING)
        .startsWith("tags.aaa")
        .endsWith("…");
  }

  private static long allocated(Runnable check) {
    check.run();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    check.run();
    return THREADS.getCurrentThreadAllocatedBytes() - before;
  }

  @Test
  void whatCannotDescribeArgumentsIsRefused() {
    assertThatThrownBy(() -> ArgumentSchema.of(Json.object()))
        .hasMessage("A schema of arguments must have the type object");
    assertThatThrownBy(() -> ArgumentSchema.of(Circle.class))
        .hasMessageStartingWith("Circle contains itself");
    assertThatThrownBy(() -> foreign("{'n':{'type':'text'}}"))
        .hasMessageStartingWith("It is not a JSON Schema: properties.n.type ");
    assertThatThrownBy(() -> foreign("{'n':{'$ref':'http://localhost:1/far.json'}}"))
        .hasMessageStartingWith("It is not a JSON Schema: ")
        .hasMessageContaining("http://localhost:1/far.json");
  }

  private static ArgumentSchema foreign(String properties) {
    return ArgumentSchema.of(
        (ObjectNode) tree("{'type':'object','properties':%s}".formatted(properties)));
  }

  private List<Violation> check(String arguments) {
    return schema.check(tree(arguments));
  }

  private static JsonNode tree(String json) {
    try {
      return Json.MAPPER.readTree(json.replace('\'', '"'));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
