package io.fermata.flow.route;

import static io.fermata.flow.route.Condition.and;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.exists;
import static io.fermata.flow.route.Condition.field;
import static io.fermata.flow.route.Condition.gt;
import static io.fermata.flow.route.Condition.gte;
import static io.fermata.flow.route.Condition.in;
import static io.fermata.flow.route.Condition.lt;
import static io.fermata.flow.route.Condition.lte;
import static io.fermata.flow.route.Condition.matches;
import static io.fermata.flow.route.Condition.ne;
import static io.fermata.flow.route.Condition.not;
import static io.fermata.flow.route.Condition.notIn;
import static io.fermata.flow.route.Condition.or;
import static io.fermata.flow.route.Condition.visits;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.StateSchema;
import jakarta.validation.constraints.Min;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a condition means, what it leaves as evidence, and what is refused before it is tested. */
class ConditionTest {
  enum Segment {
    @JsonProperty("company")
    COMPANY,
    @JsonProperty("personal")
    PERSONAL
  }

  enum Colour {
    RED
  }

  record Part(String name, Integer weight) {}

  record Order(
      @Min(1) Integer seats,
      Integer limit,
      Long total,
      BigDecimal price,
      String name,
      String other,
      Segment segment,
      Segment wanted,
      @Computed Colour colour,
      Boolean agreed,
      LocalDate day,
      LocalDate until,
      LocalTime at,
      LocalDateTime on,
      @Computed Instant moment,
      @Computed OffsetDateTime offset,
      Duration length,
      UUID id,
      List<String> tags,
      Part part,
      Map<String, Part> parts,
      Map<String, Integer> counts,
      JsonNode any) {}

  private static final StateSchema<Order> SCHEMA = new StateSchema<>(Order.class);

  /** Facts about a state with these values, in a run that has entered ask_pin twice. */
  private record Known(ObjectNode data) implements Facts {
    @Override
    public JsonNode value(String path) {
      return Paths.get(data, path);
    }

    @Override
    public int visits(String node) {
      return node.equals("ask_pin") ? 2 : 0;
    }
  }

  private static boolean holds(Condition condition, Object... values) {
    assertThat(defects(condition)).as(condition.text()).isEmpty();
    return new ConditionEvaluator(new Known(Driver.object(values)), SCHEMA, new Evidence())
        .holds(condition);
  }

  private static List<Event.Seen> seen(Condition condition, Object... values) {
    Evidence evidence = new Evidence();
    boolean held =
        new ConditionEvaluator(new Known(Driver.object(values)), SCHEMA, evidence).holds(condition);
    assertThat(held).isEqualTo(holds(condition, values));
    return evidence.seen();
  }

  private static List<String> defects(Condition condition) {
    return ConditionCheck.condition(condition, SCHEMA, Set.of("ask_pin"));
  }

  private static Event.Seen look(
      String what, @Nullable Object is, String op, @Nullable Object than, boolean held) {
    JsonNode value = is == null ? null : Json.tree(is);
    return new Event.Seen(what, value, op, than == null ? null : Json.tree(than), held);
  }

  // --- operators ------------------------------------------------------------------------------

  @Test
  void everyOperatorComparesNumbers() {
    assertThat(holds(eq("seats", 6), "seats", 6)).isTrue();
    assertThat(holds(eq("seats", 6), "seats", 7)).isFalse();
    assertThat(holds(ne("seats", 6), "seats", 7)).isTrue();
    assertThat(holds(ne("seats", 6), "seats", 6)).isFalse();
    assertThat(holds(gt("seats", 6), "seats", 7)).isTrue();
    assertThat(holds(gt("seats", 6), "seats", 6)).isFalse();
    assertThat(holds(gte("seats", 6), "seats", 6)).isTrue();
    assertThat(holds(gte("seats", 6), "seats", 5)).isFalse();
    assertThat(holds(lt("seats", 6), "seats", 5)).isTrue();
    assertThat(holds(lt("seats", 6), "seats", 6)).isFalse();
    assertThat(holds(lte("seats", 6), "seats", 6)).isTrue();
    assertThat(holds(lte("seats", 6), "seats", 7)).isFalse();
    assertThat(holds(in("seats", 6, 7), "seats", 7)).isTrue();
    assertThat(holds(in("seats", List.of(6, 7)), "seats", 8)).isFalse();
    assertThat(holds(notIn("seats", 6, 7), "seats", 8)).isTrue();
    assertThat(holds(notIn("seats", List.of(6, 7)), "seats", 6)).isFalse();
  }

  @Test
  void numbersCompareByValue() {
    assertThat(holds(eq("price", 1), "price", new BigDecimal("1.00"))).isTrue();
    assertThat(holds(eq("price", new BigDecimal("10.0")), "price", 10)).isTrue();
    assertThat(holds(eq("seats", 1.0), "seats", 1)).isTrue();
    assertThat(holds(in("price", 1, 2L), "price", 2.0)).isTrue();
    assertThat(holds(gt("price", 0.1), "price", new BigDecimal("0.11"))).isTrue();
    assertThat(holds(gt("seats", 6.5), "seats", 7)).isTrue();
    assertThat(holds(lt("total", Long.MAX_VALUE), "total", Long.MAX_VALUE - 1)).isTrue();
    assertThat(holds(gt("seats", 9), "seats", 10)).as("by value, not as texts").isTrue();
  }

  @Test
  void textsCompareByTheirCharacters() {
    assertThat(holds(eq("name", "Ann"), "name", "Ann")).isTrue();
    assertThat(holds(eq("name", "Ann"), "name", "ann")).isFalse();
    assertThat(holds(lt("name", "Bob"), "name", "Ann")).isTrue();
    assertThat(holds(gt("name", "10"), "name", "9")).isTrue();
    assertThat(holds(eq("name", "19:30"), "name", "19:30:00")).as("a text is no time").isFalse();
    UUID id = UUID.fromString("00000000-0000-0000-0000-000000000001");
    assertThat(holds(eq("id", id), "id", id.toString())).isTrue();
  }

  @Test
  void datesAndTimesCompareByValueAsJavaValuesOrIsoTexts() {
    assertThat(holds(gt("day", LocalDate.of(2026, 12, 24)), "day", "2026-12-25")).isTrue();
    assertThat(holds(gt("day", "2026-12-24"), "day", "2026-12-24")).isFalse();
    assertThat(holds(lte("day", field("until")), "day", "2026-12-24", "until", "2027-01-01"))
        .isTrue();
    assertThat(holds(eq("at", LocalTime.of(19, 30)), "at", "19:30")).isTrue();
    assertThat(holds(in("at", "18:00", "19:30"), "at", "19:30:00.000")).isTrue();
    assertThat(holds(gte("at", "19:30"), "at", "19:29:59")).isFalse();
    assertThat(holds(lt("on", "2026-12-24T19:30"), "on", "2026-12-24T19:29:59.9")).isTrue();
    assertThat(holds(gt("moment", "2026-01-01T00:00:00Z"), "moment", "2026-01-01T00:00:00.5Z"))
        .isTrue();
    assertThat(holds(eq("moment", Instant.EPOCH), "moment", "1970-01-01T01:00:00+01:00")).isTrue();
    assertThat(
            holds(
                eq("offset", OffsetDateTime.of(2026, 1, 1, 10, 0, 0, 0, ZoneOffset.ofHours(2))),
                "offset",
                "2026-01-01T08:00:00Z"))
        .isTrue();
    assertThat(
            holds(
                eq("offset", field("moment")),
                "offset",
                "2026-01-01T10:00:00+02:00",
                "moment",
                "2026-01-01T08:00:00Z"))
        .isTrue();
    assertThat(holds(gt("length", Duration.ofMinutes(90)), "length", "PT2H")).isTrue();
    assertThat(holds(eq("length", "PT120M"), "length", "PT2H")).isTrue();
  }

  @Test
  void anEnumIsComparedAsItselfOrByItsName() {
    assertThat(holds(eq("segment", Segment.COMPANY), "segment", "company")).isTrue();
    assertThat(holds(eq("segment", "company"), "segment", "company")).isTrue();
    assertThat(holds(ne("segment", Segment.COMPANY), "segment", "personal")).isTrue();
    assertThat(holds(in("segment", EnumSet.allOf(Segment.class)), "segment", "personal")).isTrue();
    assertThat(holds(eq("segment", field("wanted")), "segment", "company", "wanted", "company"))
        .isTrue();
    assertThat(holds(eq("segment", field("name")), "segment", "company", "name", "company"))
        .isTrue();
  }

  @Test
  void aFlagIsComparedWithTrueAndFalse() {
    assertThat(holds(eq("agreed", true), "agreed", true)).isTrue();
    assertThat(holds(eq("agreed", true), "agreed", false)).isFalse();
    assertThat(holds(ne("agreed", true), "agreed", false)).isTrue();
  }

  @Test
  void aListAndARecordAreComparedAsAWhole() {
    assertThat(holds(eq("tags", List.of("a", "b")), "tags", List.of("a", "b"))).isTrue();
    assertThat(holds(eq("tags", List.of("a")), "tags", List.of("a", "b"))).isFalse();
    Part part = new Part("wheel", 3);
    assertThat(holds(eq("part", part), "part", Map.of("name", "wheel", "weight", 3.0))).isTrue();
  }

  @Test
  void aPathMayLeadIntoRecordsMapsAndTrees() {
    ObjectNode part = Driver.object("part", Map.of("name", "wheel"));
    assertThat(holds(eq("part.name", "wheel"), "part", part.path("part"))).isTrue();
    assertThat(holds(gt("counts.any", 3), "counts", Map.of("any", 4))).isTrue();
    assertThat(holds(eq("parts.left.weight", 3), "parts", Map.of("left", Map.of("weight", 3))))
        .isTrue();
    JsonNode any = Driver.object("deep", Map.of("down", 3));
    assertThat(holds(gt("any.deep.down", 2), "any", any)).isTrue();
    assertThat(holds(gt("any.deep.down", "text"), "any", any)).isFalse();
    assertThat(holds(exists("any.deep.up"), "any", any)).isFalse();
  }

  @Test
  void aFieldExistsIfItHasAValueThatIsNotTheEmptyText() {
    assertThat(holds(exists("name"), "name", "Ann")).isTrue();
    assertThat(holds(exists("agreed"), "agreed", false)).isTrue();
    assertThat(holds(exists("tags"), "tags", List.of())).isTrue();
    assertThat(holds(exists("name"), "name", "")).isFalse();
    assertThat(holds(exists("name"))).isFalse();
    assertThat(holds(not(exists("name")))).isTrue();
  }

  @Test
  void aTextMatchesAsAWhole() {
    assertThat(holds(matches("name", "[a-z]+"), "name", "abc")).isTrue();
    assertThat(holds(matches("name", "[a-z]+"), "name", "abc1")).isFalse();
    assertThat(holds(matches("any", "a.*"), "any", "abc")).isTrue();
    assertThat(holds(matches("any", "1"), "any", 1)).isFalse();
  }

  @Test
  void aTextThatIsTooLongDoesNotMatch() {
    assertThat(holds(matches("name", "a*"), "name", "a".repeat(10_000))).isTrue();
    assertThat(holds(matches("name", "a*"), "name", "a".repeat(10_001))).isFalse();
  }

  @Test
  void visitsAreCounted() {
    assertThat(holds(visits("ask_pin").eq(2))).isTrue();
    assertThat(holds(visits("ask_pin").ne(2))).isFalse();
    assertThat(holds(visits("ask_pin").gt(1))).isTrue();
    assertThat(holds(visits("ask_pin").gte(3))).isFalse();
    assertThat(holds(visits("ask_pin").lt(3))).isTrue();
    assertThat(holds(visits("ask_pin").lte(1))).isFalse();
  }

  // --- absent values --------------------------------------------------------------------------

  @Test
  void ofAFieldWithoutAValueOnlyTheNegativeOperatorsHold() {
    for (Condition condition :
        List.of(
            eq("seats", 6),
            gt("seats", 6),
            gte("seats", 6),
            lt("seats", 6),
            lte("seats", 6),
            in("seats", 6),
            matches("name", ".*"),
            exists("seats"))) {
      assertThat(holds(condition)).as(condition.text()).isFalse();
      assertThat(holds(not(condition))).as(condition.text()).isTrue();
    }
    assertThat(holds(ne("seats", 6))).isTrue();
    assertThat(holds(notIn("seats", 6))).isTrue();
  }

  @Test
  void aFieldWithoutAValueEqualsNoOtherEither() {
    assertThat(holds(eq("seats", field("limit")))).isFalse();
    assertThat(holds(eq("seats", field("limit")), "seats", 1)).isFalse();
    assertThat(holds(ne("seats", field("limit")), "seats", 1)).isTrue();
    assertThat(holds(gt("seats", field("limit")), "seats", 1)).isFalse();
  }

  @Test
  void theEvidenceSaysThatAValueIsAbsent() {
    assertThat(seen(eq("seats", 6))).containsExactly(look("seats", null, "eq", 6, false));
    assertThat(seen(ne("seats", 6))).containsExactly(look("seats", null, "ne", 6, true));
    assertThat(seen(eq("seats", field("limit")), "seats", 1))
        .containsExactly(look("seats", 1, "eq limit", null, false));
    assertThat(seen(exists("name"))).containsExactly(look("name", null, "exists", null, false));
  }

  // --- evidence -------------------------------------------------------------------------------

  @Test
  void theEvidenceSaysWhatWasComparedWithWhat() {
    assertThat(seen(gt("seats", 6), "seats", 7)).containsExactly(look("seats", 7, "gt", 6, true));
    assertThat(seen(gt("seats", field("limit")), "seats", 7, "limit", 9))
        .containsExactly(look("seats", 7, "gt limit", 9, false));
    assertThat(seen(in("segment", Segment.COMPANY, "personal"), "segment", "company"))
        .containsExactly(look("segment", "company", "in", List.of("company", "personal"), true));
    assertThat(seen(notIn("seats", 1), "seats", 2))
        .containsExactly(look("seats", 2, "not in", List.of(1), true));
    assertThat(seen(matches("name", "a+"), "name", "b"))
        .containsExactly(look("name", "b", "matches", "a+", false));
    assertThat(seen(visits("ask_pin").gte(3)))
        .containsExactly(look("visits of ask_pin", 2, "gte", 3, false));
    assertThat(seen(exists("part"), "part", Map.of("name", "wheel")))
        .containsExactly(look("part", Map.of("name", "wheel"), "exists", null, true));
    assertThat(seen(not(eq("agreed", true)), "agreed", true))
        .containsExactly(look("agreed", true, "eq", true, true));
  }

  @Test
  void andStopsAtTheFirstThatDoesNotHoldAndOrAtTheFirstThatDoes() {
    assertThat(seen(and(gt("seats", 1), gt("seats", 9), exists("name")), "seats", 7))
        .containsExactly(look("seats", 7, "gt", 1, true), look("seats", 7, "gt", 9, false));
    assertThat(seen(or(gt("seats", 9), gt("seats", 1), exists("name")), "seats", 7))
        .containsExactly(look("seats", 7, "gt", 9, false), look("seats", 7, "gt", 1, true));
  }

  @Test
  void nestedConditionsAreLookedAtInOrderAndTheSameLookIsReportedOnce() {
    Condition small = lt("seats", 3);
    Condition nested =
        or(
            and(not(small), eq("segment", Segment.COMPANY)),
            and(not(small), not(or(exists("name"), eq("agreed", true)))));
    assertThat(holds(nested, "seats", 7, "segment", "company")).isTrue();
    assertThat(seen(nested, "seats", 7, "segment", "personal"))
        .containsExactly(
            look("seats", 7, "lt", 3, false),
            look("segment", "personal", "eq", "company", false),
            look("name", null, "exists", null, false),
            look("agreed", null, "eq", true, false));
  }

  @Test
  void theEvidenceIsShortHoweverLongTheValues() {
    String longText = "x".repeat(5_000);
    Event.Seen seen = seen(eq("name", longText), "name", longText).get(0);
    assertThat(seen)
        .isEqualTo(look("name", "x".repeat(199) + "…", "eq", "x".repeat(199) + "…", true));
    List<String> many = Arrays.asList(longText.split("", -1));
    assertThat(Objects.requireNonNull(seen(exists("tags"), "tags", many).get(0).is()).textValue())
        .hasSize(200)
        .endsWith("…");
  }

  // --- text -----------------------------------------------------------------------------------

  @Test
  void everyConditionReadsAsAText() {
    assertThat(gt("seats", 6).text()).isEqualTo("seats gt 6");
    assertThat(eq("segment", Segment.COMPANY).text()).isEqualTo("segment eq \"company\"");
    assertThat(lte("day", LocalDate.of(2026, 12, 24)).text()).isEqualTo("day lte \"2026-12-24\"");
    assertThat(gt("seats", field("limit")).text()).isEqualTo("seats gt limit");
    assertThat(in("seats", 1, 2).text()).isEqualTo("seats in [1,2]");
    assertThat(notIn("seats", Set.of(1)).text()).isEqualTo("seats not in [1]");
    assertThat(exists("name").text()).isEqualTo("name exists");
    assertThat(matches("name", "\\d").text()).isEqualTo("name matches \"\\\\d\"");
    assertThat(and(exists("name"), gt("seats", 6)).text())
        .isEqualTo("(name exists and seats gt 6)");
    assertThat(or(exists("name"), not(gt("seats", 6))).text())
        .isEqualTo("(name exists or not (seats gt 6))");
    assertThat(not(and(exists("name"), exists("other"))).text())
        .isEqualTo("not (name exists and other exists)");
    assertThat(visits("ask_pin").gte(3).text()).isEqualTo("visits of ask_pin gte 3");
  }

  // --- what compile refuses -------------------------------------------------------------------

  @Test
  void aConditionReadsOnlyFieldsThatExist() {
    assertThat(defects(and(gt("seets", 1), exists("part.nam"), matches("tags.0", "a"))))
        .containsExactly(
            "reads seets, which the state does not have; did you mean seats?",
            "reads part.nam, which the state does not have; did you mean part.name?",
            "reads tags.0, which the state does not have; did you mean tags?");
    assertThat(defects(eq("seats", field("limmit"))))
        .containsExactly("reads limmit, which the state does not have; did you mean limit?");
    assertThat(defects(or(not(exists("parts.left.colour")), exists(""))))
        .containsExactly(
            "reads parts.left.colour, which the state does not have",
            "reads , which the state does not have; did you mean at?");
  }

  @Test
  void aConditionCountsOnlyVisitsOfNodesThatExist() {
    assertThat(defects(visits("ask_pn").gt(1)))
        .containsExactly(
            "counts the visits of ask_pn, but there is no such node; did you mean ask_pin?");
  }

  @Test
  void anOrderIsDemandedOnlyOfWhatHasOne() {
    assertThat(defects(gt("agreed", true)))
        .containsExactly(
            "says agreed gt true, but agreed is true or false (Boolean); compare it with eq, ne,"
                + " in or notIn");
    assertThat(defects(lt("segment", "company")))
        .containsExactly(
            "says segment lt \"company\", but segment is one of \"company\", \"personal\"; compare"
                + " it with eq, ne, in or notIn");
    assertThat(defects(gte("tags", List.of())))
        .containsExactly(
            "says tags gte [], but tags is no single value (List); compare it with eq, ne, in or"
                + " notIn");
    assertThat(defects(gt("segment", field("wanted")))).hasSize(1);
    assertThat(defects(gt("any", true))).hasSize(1);
  }

  @Test
  void aFieldIsComparedOnlyWithWhatItCanBe() {
    assertThat(defects(eq("seats", "six")))
        .containsExactly(
            "says seats eq \"six\", but seats is a whole number (Integer); compare it with such a"
                + " value");
    assertThat(defects(in("segment", Segment.COMPANY, "huge")))
        .containsExactly(
            "says segment in [\"company\",\"huge\"], but segment is one of \"company\","
                + " \"personal\"; compare it with such a value");
    for (Condition condition :
        List.of(
            eq("seats", 1.5),
            ne("seats", 99_999_999_999L),
            gt("seats", "6"),
            eq("price", "6"),
            eq("name", 6),
            lt("name", 6),
            eq("segment", 1),
            eq("segment", Colour.RED),
            eq("agreed", "true"),
            eq("day", "24.12.2026"),
            gt("day", LocalDateTime.MIN),
            gt("day", 20_000),
            eq("at", "7pm"),
            lt("moment", "2026-01-01T10:00:00"),
            lt("length", "2h"),
            eq("id", "no uuid"),
            eq("tags", "a"),
            eq("part", 1),
            gt("counts.any", "x"),
            eq("parts.left.weight", "x"))) {
      assertThat(defects(condition)).as(condition.text()).hasSize(1);
    }
  }

  @Test
  void aConstraintOnAnswersDoesNotBindWhatAFieldIsComparedWith() {
    assertThat(defects(eq("seats", 0))).isEmpty();
  }

  @Test
  @SuppressWarnings("NullAway")
  void nullIsNoValueToCompareWith() {
    for (Condition condition :
        List.of(eq("seats", null), gt("seats", null), in("seats", 1, null))) {
      assertThat(defects(condition))
          .containsExactly(
              "says "
                  + condition.text()
                  + ", but null is no value; use exists or not(exists) instead");
    }
  }

  @Test
  void aListOfValuesIsNotEmptyAndNamesNoField() {
    assertThat(defects(in("seats")))
        .containsExactly("says seats in [], which lists no value; name at least one");
    assertThat(defects(notIn("seats", List.of()))).hasSize(1);
    assertThat(defects(in("seats", 1, field("limit"))))
        .containsExactly(
            "says seats in [limit], but what it compares with lists a field; compare with one"
                + " field at a time by eq");
  }

  @Test
  void aValueThatIsNoJsonIsADefectAndNoException() {
    List<Object> self = new ArrayList<>();
    self.add(self);
    assertThat(defects(eq("any", self)))
        .containsExactly(
            "says any eq ?, but what it compares with cannot be written as JSON; compare with a"
                + " plain value");
  }

  @Test
  void onlyATextCanMatchAndOnlyARegularExpression() {
    assertThat(defects(matches("seats", "6")))
        .containsExactly(
            "says seats matches \"6\", but seats is a whole number (Integer); only a text can"
                + " match");
    assertThat(defects(matches("name", "a(")))
        .containsExactly(
            "says name matches \"a(\", which is no regular expression: Unclosed group; correct it");
  }

  @Test
  void fieldsAreComparedWithFieldsOfTheirType() {
    assertThat(defects(gt("seats", field("name"))))
        .containsExactly(
            "says seats gt name, but seats is a whole number (Integer); name is a text (String);"
                + " compare fields of one type");
    assertThat(defects(eq("segment", field("colour")))).hasSize(1);
    assertThat(defects(eq("day", field("on")))).hasSize(1);
    assertThat(defects(gt("seats", field("price")))).isEmpty();
    assertThat(defects(eq("any", field("tags")))).isEmpty();
    assertThat(defects(gt("any", field("tags")))).hasSize(1);
  }

  @Test
  void andAndOrHaveParts() {
    assertThat(defects(and()))
        .containsExactly("has an and() of nothing; put conditions into it, or leave it out");
    assertThat(defects(not(or())))
        .containsExactly("has an or() of nothing; put conditions into it, or leave it out");
  }
}
