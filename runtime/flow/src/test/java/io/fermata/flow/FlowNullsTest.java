package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.action.Action;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.AsyncValidator;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StateValidator;
import io.fermata.flow.action.Validator;
import io.fermata.flow.event.Retry;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Condition;
import io.fermata.flow.route.Decision;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.When;
import io.fermata.flow.schema.Computed;
import io.fermata.nulls.NullArguments;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** What an author gives as null is refused, and named. */
class FlowNullsTest {
  record Thing(String text, Integer number, @Computed List<String> list) {}

  /** What refusals call those whose names they do not have. */
  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("node", "(id|its name)"),
          Map.entry("from", "its name"),
          Map.entry("field", "its name"),
          Map.entry("undo", "action"),
          Map.entry("hook", "action"),
          Map.entry("answers", "suggestions"),
          Map.entry("defaultsTo", "default"),
          Map.entry("firstWait", "first"),
          Map.entry("notIn", "not in"),
          Map.entry("firstNode", "(head|target)"),
          Map.entry("target", "now"));

  private static FlowBuilder<Thing> thing() {
    return Flow.of("thing", Thing.class).description("Does a thing.");
  }

  private static final Flow<Thing> INNER =
      thing()
          .ask("ask", q -> q.question("text", "Text?"))
          .edge(Flow.START, "ask")
          .edge("ask", Flow.END)
          .compile();

  private static Map<Class<?>, Object> samples() {
    Map<Class<?>, Object> samples = new HashMap<>();
    samples.put(String.class, "node");
    samples.put(Class.class, Thing.class);
    samples.put(int.class, 1);
    samples.put(boolean.class, true);
    samples.put(Object.class, 1);
    samples.put(String[].class, new String[] {"text"});
    samples.put(Object[].class, new Object[] {1});
    samples.put(Collection.class, List.of(1));
    samples.put(Duration.class, Duration.ofHours(1));
    samples.put(ToolHints.class, ToolHints.NONE);
    samples.put(Flow.class, INNER);
    samples.put(Retry.class, Retry.NEVER);
    samples.put(Recorder.class, new Recorder() {});
    samples.put(Reducer.class, Reducer.first());
    samples.put(Condition.class, Condition.exists("text"));
    samples.put(Condition[].class, new Condition[] {Condition.exists("text")});
    samples.put(Function.class, (Function<Object, Object>) any -> "text");
    samples.put(BiFunction.class, (BiFunction<Object, Object, Object>) (a, b) -> Map.of());
    samples.put(Predicate.class, (Predicate<Object>) any -> true);
    samples.put(Consumer.class, (Consumer<Object>) any -> {});
    samples.put(Action.class, (Action<Thing>) run -> {});
    samples.put(
        AsyncAction.class, (AsyncAction<Thing>) run -> CompletableFuture.completedStage(null));
    samples.put(Validator.class, (Validator<Object>) any -> Verdict.accept());
    samples.put(StateValidator.class, (StateValidator<Thing, Object>) (s, any) -> Verdict.accept());
    samples.put(
        AsyncValidator.class,
        (AsyncValidator<Object>) any -> CompletableFuture.completedStage(Verdict.accept()));
    return samples;
  }

  private static void decided(Object condition) {
    thing()
        .decide(
            "node",
            d -> {
              if (condition instanceof Condition made) {
                d.when("label", made).to("node");
              } else if (condition instanceof Condition.Visits visits) {
                d.when("label", visits.gt(1)).to("node");
              } else {
                d.when("label", Condition.eq("text", condition)).to("node");
              }
            })
        .compile();
  }

  @Test
  void everyRefusalOfANullNamesTheArgumentOrTheOption() {
    NullArguments nulls =
        new NullArguments(samples(), NAMES)
            .tried(
                Flow.class,
                call -> ((FlowBuilder<?>) call.of(null)).compile(),
                "named",
                "fieldSchema",
                "misnamed",
                "avoidable",
                "view",
                "waiting")
            .tried(FlowBuilder.class, call -> ((FlowBuilder<?>) call.of(thing())).compile())
            .tried(Questions.class, call -> thing().ask("node", call::of).compile())
            .tried(
                QuestionOptions.class,
                call -> thing().ask("node", q -> q.question("text", "?", call::of)).compile())
            .tried(WidgetOptions.class, call -> thing().widget("node", call::of).compile())
            .tried(EffectOptions.class, call -> thing().act("node", run -> {}, call::of).compile())
            .tried(Mount.class, call -> thing().subflow("node", INNER, call::of).compile())
            .tried(ForEach.class, call -> thing().forEach("node", INNER, call::of).compile())
            .tried(Migration.class, call -> thing().migrate(1, call::of).compile())
            .tried(
                Branches.class,
                call ->
                    thing()
                        .fork(
                            "node",
                            f -> {
                              if (call.of(f) instanceof When<?> when) {
                                when.to("node");
                              }
                            })
                        .compile())
            .tried(
                When.class,
                call ->
                    thing()
                        .select("node", f -> call.of(f.when(Condition.exists("text"))))
                        .compile())
            .tried(
                Decision.class,
                call ->
                    thing()
                        .decide(
                            "node",
                            d -> {
                              if (call.of(d) instanceof When<?> when) {
                                when.to("node");
                              }
                            })
                        .compile())
            .tried(Condition.class, call -> decided(call.of(null)), "text");
    assertThat(nulls.calls()).isGreaterThan(100);
    assertThat(nulls.unnamed()).isEmpty();
  }

  @Test
  @SuppressWarnings("NullAway") // what is given by mistake
  void allThatIsNullIsNamedAtOnceWithItsNode() {
    Action<Thing> none = null;
    assertThatThrownBy(
            () ->
                thing()
                    .title(null)
                    .ask("ask", q -> q.question("text", "Text?").question("number", (String) null))
                    .act("act", none, o -> o.reads("text", null).timeout(null))
                    .onExpire(none)
                    .edge("ask", null)
                    .compile())
        .isInstanceOfSatisfying(
            InvalidFlowException.class,
            e ->
                assertThat(e.defects())
                    .containsExactly(
                        "The flow: title is null; give it a value",
                        "Node ask: questions.1.text.value is null; give it a value",
                        "Node act: action is null; give it a value",
                        "Node act: policy.timeout is null; give it a value",
                        "Node act: reads.1 is null; give it a value",
                        "The way out of ask: to is null; give it a value",
                        "The hook for the run's expiry: action is null; give it a value"));
  }

  @Test
  @SuppressWarnings("NullAway") // null is what is refused
  void whatIsCalledWhileRunsGoIsRefusedWhereItIsGiven() {
    assertThatThrownBy(() -> Reducer.of(null, (before, values) -> before)).hasMessage("type");
    assertThatThrownBy(() -> Reducer.of(String.class, null)).hasMessage("function");
    assertThatThrownBy(() -> Verdict.reject(null)).hasMessage("message");
  }
}
