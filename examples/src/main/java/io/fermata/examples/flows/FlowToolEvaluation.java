package io.fermata.examples.flows;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Describe;
import io.fermata.testkit.eval.EvalCase;
import io.fermata.testkit.eval.EvalJudge;
import io.fermata.testkit.eval.EvalReport;
import io.fermata.testkit.eval.Evaluation;
import io.fermata.testkit.eval.ScriptedUser;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Measures the text of the flow tool: a model reads the descriptions, schemas and instructions that
 * every client gets, and talks with scripted users. What counts is how the run ended.
 */
public final class FlowToolEvaluation {
  private static final String COMPANY_SIZE = "how (big|large)|size|employees";

  private static final Map<String, Object> QUOTE =
      Map.of(
          "name", "Ann Lee",
          "email", "ann@acme.com",
          "seats", 3,
          "companySize", "51+",
          "selectedPlan", "gold");

  /** What the flow with the failing step collects. */
  record Callback(
      @Describe("Phone number") String phone, @Describe("Time of day, as 14:30") String time) {}

  private FlowToolEvaluation() {}

  /**
   * All conversations with a model.
   *
   * @param times how often each is held
   * @param parallel how many are held at once
   */
  public static EvalReport run(Model model, int times, int parallel) {
    EvalReport quotes =
        Evaluation.ofFlow(QuoteFlow.create(), Displays.showPlans())
            .cases(answers(), corrects(), tellsMore(), asksAgain(), givesUp())
            .variant(model.name(), model)
            .repeat(times)
            .parallel(parallel)
            .run();
    return quotes.plus(
        Evaluation.ofFlow(callback())
            .cases(meetsAFailure())
            .variant(model.name(), model)
            .repeat(times)
            .parallel(parallel)
            .run());
  }

  // --- the users -------------------------------------------------------------------------------

  private static EvalCase answers() {
    return EvalCase.of("answers", customer("I would like a quote for 3 seats."))
        .judge(completes(QUOTE));
  }

  private static EvalCase corrects() {
    ScriptedUser user =
        customer("I would like a quote for 3 seats.")
            .once(COMPANY_SIZE, "51+. And I misspelled my email, it is ann@acme.org.");
    return EvalCase.of("corrects an answer", user).judge(completes(with("email", "ann@acme.org")));
  }

  private static EvalCase tellsMore() {
    String opening =
        "I would like a quote for 5 seats. I am Ann Lee, ann@acme.com, and we are 51+ people.";
    return EvalCase.of("gives extra facts", customer(opening))
        .judge(completes(with("seats", 5)))
        .judge("is asked only for what is missing", run -> run.asked().size() <= 2);
  }

  private static EvalCase asksAgain() {
    ScriptedUser user =
        customer("I would like a quote for 3 seats.")
            .once(COMPANY_SIZE, "I would like that quote, please start with it! It is 51+.");
    return EvalCase.of("asks to start again", user)
        .judge(completes(QUOTE))
        .judge("no run is abandoned", run -> run.runs().size() == 1);
  }

  private static EvalCase givesUp() {
    ScriptedUser user =
        customer("I would like a quote for 3 seats.")
            .once(COMPANY_SIZE, "Forget it, I do not want a quote any more. Cancel it.");
    return EvalCase.of("cancels", user)
        .judge(
            EvalJudge.that(
                "the run is cancelled",
                run -> run.runs().size() == 1 && run.runs(RunState.Status.CANCELLED).size() == 1));
  }

  private static EvalCase meetsAFailure() {
    ScriptedUser user =
        ScriptedUser.opening("Please have somebody call me.")
            .once("wrong|fail|problem|error|try|issue|unable", "Please try again.")
            .when("phone|number", "My number is +49 30 1234.")
            .when("time|when", "At 14:30.")
            .otherwise("Please continue.");
    return EvalCase.of("meets a failed step", user)
        .judge(completes(Map.of("phone", "+49 30 1234", "time", "14:30")))
        .judge("no run is abandoned", run -> run.runs().size() == 1);
  }

  private static ScriptedUser customer(String opening) {
    return ScriptedUser.opening(opening)
        .when("\\bname\\b", "I am Ann Lee.")
        .when("e-?mail", "My email is ann@acme.com.")
        .when(COMPANY_SIZE, "We are 51+.")
        .when("\\bplans?\\b", "The gold plan, please.")
        .otherwise("Please continue.");
  }

  /** A call back whose last step fails at first. */
  private static Flow<Callback> callback() {
    return Flow.of("callback", Callback.class)
        .title("Call back")
        .description("Arranges that somebody calls the user back.")
        .ask(
            "ask_call",
            q ->
                q.question("phone", "What is your phone number?")
                    .question("time", "At what time shall we call?"))
        .act(
            "arrange",
            run -> {
              if (run.attempt() == 1) {
                throw new IllegalStateException("The calendar does not answer");
              }
            })
        .edge(START, "ask_call")
        .edge("ask_call", "arrange")
        .edge("arrange", END)
        .result(call -> call)
        .compile();
  }

  // --- the judges ------------------------------------------------------------------------------

  private static Map<String, Object> with(String field, Object value) {
    Map<String, Object> fields = new TreeMap<>(QUOTE);
    fields.put(field, value);
    return fields;
  }

  /** One run completes with these values, and no other does. */
  private static EvalJudge completes(Map<String, Object> fields) {
    return EvalJudge.that(
        "one run completes with " + new TreeMap<>(fields),
        run -> {
          List<RunState> completed = run.runs(RunState.Status.COMPLETED);
          return completed.size() == 1 && holds(completed.get(0), fields);
        });
  }

  private static boolean holds(RunState run, Map<String, Object> fields) {
    return fields.entrySet().stream()
        .allMatch(field -> Json.same(run.data().path(field.getKey()), Json.tree(field.getValue())));
  }
}
