package io.fermata.flow.schema;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.io.IOException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The record in which an author's code sees the state. */
class ViewTest {
  record Item(String name, Integer pieces, List<String> tags) {}

  record Box(String label, List<Item> inside) {}

  record Basket(
      String note,
      List<Item> items,
      Map<String, Item> byName,
      Map<String, List<Integer>> counts,
      Box box,
      Collection<Box> boxes,
      Set<String> colours,
      ArrayList<String> own,
      List<JsonNode> trees,
      @JsonFormat(pattern = "dd.MM.yyyy") List<LocalDate> days,
      @JsonDeserialize(contentUsing = Loud.class) List<String> loud) {}

  static final class Loud extends StdDeserializer<String> {
    private static final long serialVersionUID = 1;

    Loud() {
      super(String.class);
    }

    @Override
    public String deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      return parser.getText() + "!";
    }
  }

  private final StateSchema<Basket> schema = new StateSchema<>(Basket.class);

  private static ObjectNode data(String json) {
    try {
      return (ObjectNode) Json.MAPPER.readTree(json.replace('\'', '"'));
    } catch (IOException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static final String FULL =
      """
      {'note': 'n', 'items': [{'name': 'a', 'pieces': 1, 'tags': ['x', null]}, null],
       'byName': {'a': {'name': 'a'}, 'none': null}, 'counts': {'c': [1, 2]},
       'box': {'label': 'b', 'inside': [{'name': 'i'}]}, 'boxes': [{'label': 'c', 'inside': []}],
       'colours': ['red'], 'own': ['o'], 'trees': [{'t': 1}],
       'days': ['24.12.2026'], 'loud': ['hey']}
      """;

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{'items': null, 'unknown': [1]}", FULL})
  void itSaysWhatJacksonWouldRead(String json) {
    Basket view = schema.view(data(json));
    Basket read = Json.value(data(json), Basket.class);
    assertThat(view).isEqualTo(read).hasSameHashCodeAs(read).hasToString(read.toString());
    assertThat(Json.tree(view)).isEqualTo(Json.tree(read));
  }

  @Test
  void anAuthorsWordOnTheContentOfAListHolds() {
    Basket view = schema.view(data(FULL));
    assertThat(view.days()).containsExactly(LocalDate.of(2026, 12, 24));
    assertThat(view.loud()).containsExactly("hey!");
  }

  record Anything(Object value, List<Object> values, Map<String, Object> byName) {}

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'value': 'text', 'values': [1, [2], {'a': []}], 'byName': {'l': [1], 'o': {'a': 1}}}",
        "{'value': [1, {'a': [2]}, []]}",
        "{'value': {'a': [1], 'b': {'c': {}}}}"
      })
  void aComponentOfAnyTypeHoldsListsAndObjects(String json) {
    StateSchema<Anything> anything = new StateSchema<>(Anything.class);

    anything.requireReadable(data(json), Json.object());

    assertThat(anything.view(data(json))).isEqualTo(Json.value(data(json), Anything.class));
  }

  @Test
  void anElementIsTheSameObjectWheneverItIsAskedFor() {
    Basket view = schema.view(data(FULL));
    assertThat(view.items().get(0)).isSameAs(view.items().iterator().next());
    assertThat(view.byName().get("a")).isSameAs(view.byName().values().iterator().next());
  }

  @Test
  void aMapKnowsItsKeys() {
    Map<String, @Nullable Item> map = schema.view(data(FULL)).byName();
    assertThat(map).containsOnlyKeys("a", "none").containsEntry("none", null).hasSize(2);
    assertThat(map.containsKey("b")).isFalse();
    assertThat(map.get("b")).isNull();
    Map<String, @Nullable Item> other =
        schema.view(data("{'byName': {'b': {}, 'a': {}}}")).byName();
    assertThat(other.keySet()).containsExactly("b", "a");
    assertThat(Json.tree(other).fieldNames()).toIterable().containsExactly("b", "a");
  }

  @Test
  void itsListsAndMapsCannotBeChangedAndSayWhatToDo() {
    Basket view = schema.view(data(FULL));
    Item item = Objects.requireNonNull(view.items().get(0));
    List.<Runnable>of(
            () -> view.items().add(item),
            () -> view.items().set(0, item),
            () -> view.items().remove(0),
            () -> view.byName().put("b", item),
            () -> view.byName().remove("a"))
        .forEach(
            change ->
                assertThatThrownBy(change::run)
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("write to the state"));
    assertThatThrownBy(() -> view.byName().clear())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> view.items().clear())
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void whatIsDoneToWhatAViewHoldsChangesNeitherTheStateNorAnotherView() {
    ObjectNode data = data(FULL);
    Basket view = schema.view(data);
    ((ObjectNode) view.trees().get(0)).put("t", 2);
    view.own().add("p");
    Objects.requireNonNull(view.counts().get("c")).add(3);
    view.colours().add("blue");
    assertThat(data).isEqualTo(data(FULL));
    assertThat(schema.view(data)).isEqualTo(schema.view(data(FULL)));
  }

  @Test
  void whatAnActionDoesToItsViewIsNotInTheStateOfTheRun() {
    Flow<Basket> flow =
        Flow.of("basket", Basket.class)
            .description("Keeps trees.")
            .act("write", run -> run.append("trees", Map.of("t", 1)))
            .act("spoil", run -> ((ObjectNode) run.state().trees().get(0)).put("t", 2))
            .act("read", run -> run.set("note", run.state().trees().toString()))
            .edge(START, "write")
            .edge("write", "spoil")
            .edge("spoil", "read")
            .edge("read", END)
            .compile();
    Driver run = new Driver(flow);
    run.start();
    assertThat(run.state.data()).isEqualTo(data("{'trees': [{'t': 1}], 'note': '[{\\'t\\':1}]'}"));
  }

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
  @JsonSubTypes({
    @JsonSubTypes.Type(value = Disc.class, name = "disc"),
    @JsonSubTypes.Type(value = Square.class, name = "square")
  })
  sealed interface Shape permits Disc, Square {}

  record Disc(Integer radius) implements Shape {}

  record Square(Integer width) implements Shape {}

  record Group(Shape first, List<Shape> rest) {}

  record Drawing(
      @Computed List<Shape> shapes,
      @Computed Map<String, Shape> byName,
      @Computed List<List<Shape>> rows,
      @Computed Set<Shape> once,
      @Computed Optional<Shape> one,
      @Computed List<Group> groups,
      @Computed List<Shape> computed,
      @Computed List<Shape> inner,
      @Computed List<Shape> result) {}

  @Test
  void theElementsOfAListKeepTheirSubtypesHoweverTheyAreWritten() {
    List<Shape> shapes = List.of(new Disc(1), new Square(2));
    Flow<Drawing> part =
        Flow.of("part", Drawing.class)
            .description("Draws a part.")
            .computes("draw", unused -> Map.of("computed", shapes))
            .edge(START, "draw")
            .edge("draw", END)
            .result(Drawing::computed)
            .compile();
    Flow<Drawing> flow =
        Flow.of("drawing", Drawing.class)
            .description("Draws.")
            .act(
                "draw",
                run ->
                    run.set("shapes", shapes)
                        .set("byName", Map.of("a", new Disc(3)))
                        .set("rows", List.of(shapes, List.of()))
                        .set("once", Set.of(new Disc(1), new Square(2)))
                        .set("one", Optional.of(new Square(4)))
                        .set("groups", List.of(new Group(new Disc(5), shapes))))
            .computes("compute", drawing -> Map.of("computed", drawing.shapes()))
            .subflow(
                "part",
                part,
                m ->
                    m.input(drawing -> Map.of("shapes", drawing.shapes()))
                        .output((drawing, drawn) -> Map.of("inner", drawn.shapes()))
                        .into("result"))
            .edge(START, "draw")
            .edge("draw", "compute")
            .edge("compute", "part")
            .edge("part", END)
            .compile();
    Drawing drawing =
        new Drawing(
            shapes,
            Map.of("a", new Disc(3)),
            List.of(shapes, List.of()),
            Set.of(new Disc(1), new Square(2)),
            Optional.of(new Square(4)),
            List.of(new Group(new Disc(5), shapes)),
            shapes,
            shapes,
            shapes);
    StateSchema<Drawing> drawings = new StateSchema<>(Drawing.class);
    Driver run = new Driver(flow);

    assertThat(run.start()).isInstanceOf(Outcome.Complete.class);
    assertThat(drawings.view(run.state.data())).isEqualTo(drawing);
    run.crash(run.journal.size());
    assertThat(drawings.view(run.state.data())).isEqualTo(drawing);
  }

  // --- what can be read -----------------------------------------------------------------------

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'items': [{'name': 'a'}, {'pieces': 'many'}]}",
        "{'byName': {'a': {'tags': 'none'}}}",
        "{'counts': {'c': [1, 'two']}}",
        "{'box': {'inside': [{'pieces': 'many'}]}}",
        "{'boxes': [{'inside': [{'pieces': 'many'}]}]}",
        "{'items': 'none'}",
        "{'byName': []}"
      })
  void aStateThatCannotBeReadIsRefusedAtOnceHoweverDeepTheReasonLies(String json) {
    assertThatThrownBy(() -> schema.requireReadable(data(json), Json.object()))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> schema.requireReadable(data(json), data(FULL)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void whatWasReadableBeforeIsNotReadAgain() {
    ObjectNode before = data("{'items': [{'pieces': 'unreadable'}]}");
    ObjectNode after = Paths.append(before, "items", Json.tree(Map.of("pieces", 1)), null);
    assertThatCode(() -> schema.requireReadable(after, before)).doesNotThrowAnyException();
    ObjectNode worse = Paths.append(before, "items", Json.tree(Map.of("pieces", "many")), null);
    assertThatThrownBy(() -> schema.requireReadable(worse, before))
        .isInstanceOf(IllegalArgumentException.class);
  }

  record Strict(List<String> dishes, String note) {
    Strict {
      dishes = List.copyOf(dishes);
      if (note != null && note.isEmpty()) {
        throw new IllegalArgumentException("secret");
      }
    }
  }

  @Test
  void aConstructorThatRefusesTheStateIsNamedWithWhatItThrows() {
    StateSchema<Strict> strict = new StateSchema<>(Strict.class);
    assertThatThrownBy(() -> strict.view(Json.object()))
        .hasMessage(
            "it is refused by the constructor of Strict: NullPointerException; every field starts"
                + " empty, so it must take null");
    assertThatThrownBy(() -> strict.view(data("{'dishes': [], 'note': ''}")))
        .hasMessage("it is refused by the constructor of Strict: IllegalArgumentException");
  }

  @Test
  void anElementThatCannotBeReadIsTheFailureOfTheActionThatAppendsIt() {
    Map<String, Object> wrong = new LinkedHashMap<>(Map.of("pieces", "many"));
    Flow<Basket> flow =
        Flow.of("basket", Basket.class)
            .description("Appends.")
            .act("append", run -> run.append("items", wrong))
            .edge(START, "append")
            .edge("append", END)
            .compile();
    Driver run = new Driver(flow);
    assertThat(Driver.code(run.start())).isEqualTo("step_failed");
    assertThat(run.state.data()).isEmpty();
    wrong.put("pieces", 2);
    assertThat(run.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  private enum Size {
    SMALL,
    MEDIUM,
    LARGE
  }

  @Test
  void aMapByEnumIsWrittenInTheOrderOfItsConstants() {
    Map<Size, Integer> sizes = new EnumMap<>(Map.of(Size.LARGE, 3, Size.SMALL, 1, Size.MEDIUM, 2));

    assertThat(Json.tree(sizes)).hasToString("{\"SMALL\":1,\"MEDIUM\":2,\"LARGE\":3}");
    assertThat(Json.tree(List.of(sizes))).hasToString("[{\"SMALL\":1,\"MEDIUM\":2,\"LARGE\":3}]");
  }
}
