package io.fermata.examples.flows;

import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
import static io.fermata.testkit.ScriptedModel.lastUserContains;
import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.model.Model;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.Turn;
import io.fermata.testkit.eval.EvalReport;
import io.fermata.testkit.eval.EvalTrial;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

class FlowToolEvaluationTest {

  @Test
  void aModelThatDoesWhatTheTextSaysBringsEveryRunToItsRightEnd() {
    EvalReport report = FlowToolEvaluation.run(ScriptedDriver.model(), 1, 1);

    assertThat(report.trials()).hasSize(6).allMatch(EvalTrial::passed, report.table());
    assertThat(report.trials())
        .allMatch(trial -> trial.calls() >= 2 && trial.usage().inputTokens() > 0);
  }

  /** It forgets the run at every message and takes what it knows for done. */
  @Test
  void aModelThatStartsAgainAtEveryMessageScoresLower() {
    Predicate<ChatRequest> messages = lastIsResultOf("quote").or(lastIsResultOf("callback"));
    Model bad =
        ScriptedModel.script()
            .when(messages)
            .answer(ScriptedDriver::turn)
            .otherwise()
            .answer(
                request ->
                    Turn.call(
                        request.toolSpecifications().get(0).name(),
                        Map.of("action", "start", "intent", "wants it")))
            .model("bad");

    EvalReport report = FlowToolEvaluation.run(bad, 1, 1);

    assertThat(report.passRate()).as(report.table()).isZero();
    assertThat(report.table()).contains("one run completes with {companySize=51+");
  }

  /** One weakness costs one conversation. */
  @Test
  void aModelThatIgnoresCorrectionsFailsWhereTheUserCorrects() {
    Model deaf =
        ScriptedModel.script()
            .when(lastUserContains("misspelled"))
            .answer(
                request ->
                    Turn.call(
                        "quote",
                        Map.of(
                            "action",
                            "continue",
                            "sessionId",
                            ScriptedDriver.handle(request),
                            "stateUpdates",
                            Map.of("companySize", "51+"))))
            .otherwise()
            .answer(ScriptedDriver::turn)
            .model("deaf");

    EvalReport report = FlowToolEvaluation.run(deaf, 1, 1);

    assertThat(report.trials())
        .filteredOn(trial -> !trial.passed())
        .singleElement()
        .satisfies(
            trial -> {
              assertThat(trial.name()).isEqualTo("corrects an answer");
              assertThat(trial.outcome()).isEqualTo(EvalTrial.Outcome.FAILED);
              assertThat(trial.reason()).contains("email=ann@acme.org");
            });
  }
}
