package io.fermata.flow.event;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.ForEach;
import io.fermata.flow.InvalidFlowException;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Reducer;
import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What compile refuses of forks, lists, sub-flows, waits and compensations, in which words. */
class BranchDefectsTest {
  private static final Duration HOUR = Duration.ofHours(1);

  /** Two branches, of one and of two nodes, with a join that ends. */
  private static FlowBuilder<Flows.Talk> forked(Consumer<Branches> options) {
    return nodes("one", "two", "three", "join")
        .fork(START, f -> options.accept(f.branch("one").branch("two").join("join")))
        .edge("two", "three")
        .edge("join", END);
  }

  private static FlowBuilder<Flows.Talk> nodes(String... names) {
    FlowBuilder<Flows.Talk> flow = talk();
    for (String name : names) {
      flow.act(name, run -> {});
    }
    return flow;
  }

  private static Flow<Flows.Talk> inner() {
    return ask(talk(), "a").edge(START, "ask_a").edge("ask_a", END).compile();
  }

  private static FlowBuilder<Flows.Talk> each(Consumer<ForEach<Flows.Talk, String>> options) {
    return talk().forEach("each", inner(), options).edge(START, "each").edge("each", END);
  }

  private static FlowBuilder<Flows.Talk> asking() {
    return ask(talk(), "a").edge(START, "ask_a").edge("ask_a", END);
  }

  private static void assertRefused(FlowBuilder<?> flow, String... defects) {
    InvalidFlowException refusal = catchThrowableOfType(InvalidFlowException.class, flow::compile);
    assertThat(refusal).as("The flow compiles").isNotNull();
    assertThat(refusal.defects()).contains(defects);
  }

  // --- forks ----------------------------------------------------------------------------------

  @Test
  void aSoundForkCompiles() {
    assertThat(forked(f -> {}).edge("one", "join").edge("three", "join").compile()).isNotNull();
  }

  @Test
  void aBranchMustReachTheJoin() {
    assertRefused(
        forked(f -> {}).edge("one", "join").edge("three", END),
        "Branch two of the fork after "
            + START
            + " leads to END past the join join; lead it to the join",
        "Branch two of the fork after " + START + " never reaches the join join; lead it there");
  }

  @Test
  void branchesShareNoNodes() {
    assertRefused(
        forked(f -> {}).edge("one", "three").edge("three", "join"),
        "Branch two of the fork after "
            + START
            + " shares node three with branch one; give each its own");
  }

  @Test
  void nothingLeadsIntoABranchFromOutside() {
    assertRefused(
        nodes("one", "two", "join")
            .fork(START, f -> f.branch("one").branch("two").join("join"))
            .edge("one", "join")
            .edge("two", "join")
            .decide("join", d -> d.when("again", t -> true).to("two").otherwise(END)),
        "Branch two of the fork after "
            + START
            + " is entered at two from join; enter it at the fork");
  }

  @Test
  void noBranchLeadsBackOverItsFork() {
    assertRefused(
        nodes("begin", "one", "two", "join")
            .edge(START, "begin")
            .fork("begin", f -> f.branch("one").branch("two").join("join"))
            .edge("one", "join")
            .decide("two", d -> d.when("back", t -> true).to("begin").otherwise("join"))
            .edge("join", END),
        "Branch two of the fork after begin leads back to begin; lead it to the join, and decide"
            + " there to go back");
  }

  @Test
  void aBranchIsNotTheJoin() {
    assertRefused(
        nodes("one", "join")
            .fork(START, f -> f.branch("one").branch("join").join("join"))
            .edge("one", "join")
            .edge("join", END),
        "Branch join of the fork after "
            + START
            + " is the join itself; give it a node, or leave it out");
  }

  @Test
  void aForkNeedsBranchesAndAJoin() {
    String defect =
        "The fork after "
            + START
            + " needs at least one branch, a first node for each, and a join; add what is missing";
    FlowBuilder<Flows.Talk> none = nodes("join").edge("join", END);
    assertRefused(none.fork(START, f -> f.join("join")), defect);
    assertRefused(nodes("one").edge("one", END).fork(START, f -> f.branch("one")), defect);
    assertRefused(
        nodes("one")
            .edge("one", END)
            .select(
                START,
                s -> {
                  s.branch("one").join(END).when("half", t -> true);
                }),
        defect);
  }

  @Test
  void aBranchAndAJoinThatDoNotExistAreNamed() {
    assertRefused(
        nodes("one", "join")
            .fork(START, f -> f.branch("one").branch("tow").join("jion"))
            .edge("one", "join")
            .edge("join", END),
        "Node " + START + " leads to jion, but there is no such node; did you mean join?");
  }

  @Test
  void twoBranchesDoNotAskForTheSame() {
    assertRefused(
        talk()
            .ask("one", q -> q.question("address", "Where?"))
            .ask("two", q -> q.question("address.city", "Which city?"))
            .fork(START, f -> f.branch("one").branch("two").join(END))
            .edge("one", END)
            .edge("two", END),
        "Branch two of the fork after "
            + START
            + " asks for address.city, and so does branch one; ask before the fork, or in one of"
            + " them");
  }

  @Test
  void aQuorumCanBeReached() {
    assertRefused(
        forked(f -> f.quorum(3)).edge("one", "join").edge("three", "join"),
        "The join of the fork after "
            + START
            + " waits for 3 of 2 branches; wait for all of them at most");
  }

  @Test
  void failuresAreCollectedInAFieldThatExists() {
    assertRefused(
        forked(f -> f.collect("lgo")).edge("one", "join").edge("three", "join"),
        "The join of the fork after "
            + START
            + " lists failures in lgo, which the state does not have; did you mean log?");
  }

  @Test
  void aReducerNeedsAFieldAndIsTheOnlyOne() {
    assertRefused(
        asking().reduce("lgo", Reducer.append()),
        "There is a reducer for lgo, which the state does not have; did you mean log?");
    assertRefused(
        asking().reduce("log", Reducer.append()).reduce("log", Reducer.last()),
        "Field log has two reducers; keep one");
  }

  @Test
  void aReducerOfNumbersIsForNumbers() {
    assertThat(asking().reduce("number", Reducer.max()).compile()).isNotNull();
    assertRefused(
        asking().reduce("a", Reducer.max()),
        "The reducer for a does not reduce a text (String); use Reducer.of(…), or another that"
            + " does");
  }

  // --- lists and sub-flows --------------------------------------------------------------------

  @Test
  void aListNeedsItemsAndABound() {
    String defect = "The list of each needs items and a bound; call items(…) and atMost(…)";
    assertRefused(each(o -> o.atMost(3)), defect);
    assertRefused(each(o -> o.items(Flows.Talk::list)), defect);
    assertRefused(each(o -> o.items(Flows.Talk::list).atMost(0)), defect);
  }

  @Test
  void theResultsOfAListGoToFieldsThatExist() {
    assertRefused(
        each(o -> o.items(Flows.Talk::list).atMost(3).into("lgo").collect("losg")),
        "Node each puts its results into lgo, which the state does not have; did you mean log?",
        "The join of the list of each lists failures in losg, which the state does not have; did"
            + " you mean log?");
  }

  @Test
  void theQuorumOfAListIsNotLargerThanItsBound() {
    assertRefused(
        each(o -> o.items(Flows.Talk::list).atMost(3).quorum(4)),
        "The join of the list of each waits for 4 of 3 branches; wait for all of them at most");
  }

  @Test
  void theResultOfASubFlowGoesToAFieldThatExists() {
    assertRefused(
        talk().subflow("sub", inner(), m -> m.into("nubmer")).edge(START, "sub").edge("sub", END),
        "Node sub puts its result into nubmer, which the state does not have; did you mean number?");
  }

  @Test
  void aSubFlowWhoseResultGoesToAFieldHasOne() {
    FlowBuilder<Flows.Talk> works =
        Flow.of("silent", Flows.Talk.class).description("Works.").act("work", run -> {});
    Flow<Flows.Talk> silent = works.edge(START, "work").edge("work", END).compile();
    assertRefused(
        talk().subflow("sub", silent, m -> m.into("a")).edge(START, "sub").edge("sub", END),
        "Node sub puts into a what its flow silent returns, which is nothing; declare result(…) in"
            + " that flow");
    assertRefused(
        talk()
            .forEach(
                "each",
                silent,
                (ForEach<Flows.Talk, String> o) -> o.items(Flows.Talk::list).atMost(3).into("log"))
            .edge(START, "each")
            .edge("each", END),
        "Node each puts into log what its flow silent returns, which is nothing; declare result(…) in"
            + " that flow");
  }

  @Test
  void aSubFlowIsNotCalledLikeAField() {
    assertRefused(
        talk().subflow("address", inner(), m -> {}).edge(START, "address").edge("address", END),
        "Node address has the name of a field, so the fields of its flow would be ambiguous; rename"
            + " one of the two");
  }

  // --- waits ----------------------------------------------------------------------------------

  @Test
  void aDeadlineLeadsToANodeThatExists() {
    assertRefused(
        asking().deadline("ask_a", HOUR, "ask_b"),
        "Node ask_a leads to ask_b, but there is no such node; did you mean ask_a?");
    assertRefused(
        asking().deadline("ask_a", HOUR, ""),
        "The deadline of ask_a leads nowhere; name the node it leads to");
  }

  @Test
  void aDeadlineCanPassAndComesAfterTheFirstReminder() {
    assertRefused(
        asking().deadline("ask_a", Duration.ZERO, END),
        "The deadline of ask_a is after PT0S; give it a time that can pass");
    assertRefused(
        asking().deadline("ask_a", HOUR, END).remind("ask_a", HOUR.plusHours(1), 1, run -> {}),
        "The deadline of ask_a is after PT1H, before its first reminder after PT2H; remind sooner");
  }

  @Test
  void aBranchThatMissesTheJoinIsSaidToOnlyIfThereIsOne() {
    InvalidFlowException refusal =
        catchThrowableOfType(
            InvalidFlowException.class,
            () ->
                nodes("one", "two")
                    .fork(START, f -> f.branch("one").branch("two"))
                    .edge("one", END)
                    .edge("two", END)
                    .compile());
    assertThat(refusal.defects()).noneMatch(defect -> defect.contains("past the join"));
    assertThat(refusal).hasMessageNotContaining(END);
  }

  @Test
  void aDeadlineInABranchLeadsToTheJoinLikeAnyOtherWay() {
    assertRefused(
        ask(nodes("one", "join"), "a")
            .fork(START, f -> f.branch("one").branch("ask_a").join("join"))
            .deadline("ask_a", HOUR, END)
            .edge("one", "join")
            .edge("ask_a", "join")
            .edge("join", END),
        "Branch ask_a of the fork after "
            + START
            + " leads to END past the join join; lead it to the join");
  }

  @Test
  void onlyANodeThatWaitsForSomebodyHasADeadlineOrReminders() {
    assertRefused(
        nodes("one").edge(START, "one").edge("one", END).deadline("one", HOUR, END),
        "Node one waits for nobody, so it needs no deadline and no reminder");
    assertRefused(
        asking().remind("ask_b", HOUR, 1, run -> {}),
        "There is a deadline or a reminder for ask_b, but no such node; did you mean ask_a?");
  }

  @Test
  void remindersNeedATimeThatCanPassAndANumber() {
    String defect = "The reminders of ask_a need a time that can pass and at least one time";
    assertRefused(asking().remind("ask_a", Duration.ZERO, 1, run -> {}), defect);
    assertRefused(asking().remind("ask_a", HOUR, 0, run -> {}), defect);
  }

  @Test
  void aNodeHasOneDeadlineAndOneReminder() {
    assertRefused(
        asking()
            .deadline("ask_a", HOUR, END)
            .deadline("ask_a", HOUR, END)
            .remind("ask_a", HOUR, 1, run -> {})
            .remind("ask_a", HOUR, 1, run -> {}),
        "Node ask_a has two deadlines; keep one",
        "Node ask_a has two reminders; keep one");
  }

  @Test
  void aSignalGoesToAFieldThatExists() {
    assertRefused(
        talk().waitFor("wait", "s", "nubmer").edge(START, "wait").edge("wait", END),
        "Node wait puts its signal into nubmer, which the state does not have; did you mean"
            + " number?");
  }

  // --- compensations --------------------------------------------------------------------------

  @Test
  void onlyAnActionIsUndoneAndInOneWay() {
    assertRefused(
        asking().compensate("ask_a", run -> {}).compensate("ask_b", run -> {}),
        "There is a compensation for ask_b, which is no action; there are none");
    assertRefused(
        nodes("pay").compensate("apy", run -> {}).edge(START, "pay").edge("pay", END),
        "There is a compensation for apy, which is no action; did you mean pay?");
    assertRefused(
        nodes("one")
            .edge(START, "one")
            .edge("one", END)
            .compensate("one", run -> {})
            .compensate("one", run -> {}, o -> o.timeout(Duration.ZERO)),
        "Node one has two compensations; keep one",
        "The compensation of one has the timeout PT0S; give it a time that can pass");
  }
}
