package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.Events;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.catalog.Desk;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who decides about the approvals of an agent over MCP: a person, not the model that calls. */
@Timeout(120)
@Tag("slow")
class ApprovalFormsTest {
  private static final String FORMS = "{'elicitation':{'form':{}}}";
  private static final String REFUND = "'arguments':{'action':'send','message':'refund'}";

  private Desk desk;

  @BeforeEach
  void start(@TempDir Path folder) {
    desk = new Desk(folder.resolve("desk.db"));
  }

  @AfterEach
  void stop() {
    desk.close();
  }

  private static String json(String text) {
    return text.replace('\'', '"');
  }

  private static Wired alice(McpServer server) {
    return new Wired(server).with("Authorization", "Bearer alice-key");
  }

  private static Wired.Said call(McpServer server, String members, String capabilities) {
    Wired client = alice(server);
    return client.send(
        client.modernMessage(
            "tools/call", "desk", json("'name':'desk'," + members), json(capabilities)));
  }

  private Wired.Said withForms(String members) {
    return call(desk.server(), members, FORMS);
  }

  private static JsonNode content(Wired.Said said) {
    return said.result().path("structuredContent");
  }

  private static JsonNode form(Wired.Said said) {
    JsonNode result = said.result();
    assertThat(result.path("resultType").asText())
        .as(result.toString())
        .isEqualTo("input_required");
    return result.path("inputRequests").elements().next().path("params");
  }

  private static String retry(String members, Wired.Said asked, String reply) {
    String key = asked.result().path("inputRequests").fieldNames().next();
    return "%s,'requestState':'%s','inputResponses':{'%s':%s}"
        .formatted(members, asked.result().path("requestState").asText(), key, reply);
  }

  private static String accept(String content) {
    return "{'action':'accept','content':" + content + "}";
  }

  private static String approving(JsonNode asking) {
    return "'arguments':{'action':'answer','threadId':'%s','call':'%s','approved':true}"
        .formatted(asking.path("threadId").asText(), asking.at("/questions/0/call").asText());
  }

  private String status(JsonNode asking) {
    return desk.alice()
        .get("/threads/" + asking.path("threadId").asText())
        .body()
        .path("status")
        .asText();
  }

  @Test
  void aModelCannotApprove() {
    JsonNode asking = content(call(desk.server(), REFUND, "{}"));
    assertThat(asking.path("status").asText()).isEqualTo("asking");
    assertThat(asking.path("hint").asText()).contains("outside this conversation");

    JsonNode refused = content(call(desk.server(), approving(asking), "{}"));

    assertThat(refused.path("code").asText()).isEqualTo("needs_person");
    assertThat(status(asking)).isEqualTo("asking");
    String decision =
        json("{'call':'%s','approved':true}".formatted(asking.at("/questions/0/call").asText()));
    String thread = "/threads/" + asking.path("threadId").asText();
    assertThat(desk.alice().post(thread + "/answers?wait=30", decision).is(200).body().toString())
        .contains("resting");
  }

  @Test
  void aModelMayPassADecisionOnWhereTheServerSaysSo() {
    try (McpServer server =
        McpServer.serving(desk.host())
            .port(0)
            .apiKey("alice", "alice-key")
            .modelsMayApprove()
            .start()) {
      JsonNode asking = content(call(server, REFUND, "{}"));
      assertThat(asking.has("hint")).isFalse();

      JsonNode decided = content(call(server, approving(asking), "{}"));

      assertThat(decided.path("status").asText()).isEqualTo("rest");
      assertThat(Desk.contents(decided.path("messages"))).contains("It is decided.");
      // Where the user can be asked, what the model says does not count.
      JsonNode again = content(call(server, REFUND, "{}"));
      assertThat(form(call(server, approving(again), FORMS)).path("message").asText())
          .contains("Pay the money back?");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "{'approved':true} | paid",
        "{'approved':false,'reason':'too late'} | too late",
        "{'approved':false} | denied"
      })
  void theUserDecidesInAForm(String decision, String result) {
    Wired.Said asked = withForms(REFUND);
    JsonNode form = form(asked);
    assertThat(form.path("message").asText()).isEqualTo("Pay the money back?\nrefund");
    assertThat(form.at("/requestedSchema/required")).hasSize(1);

    JsonNode decided = content(withForms(retry(REFUND, asked, accept(decision))));

    assertThat(decided.path("status").asText()).as(decided.toString()).isEqualTo("rest");
    assertThat(Desk.contents(decided.path("messages"))).contains("It is decided.");
    String messages =
        "/threads/" + decided.path("threadId").asText() + "/messages?depth=9&silent=true";
    assertThat(desk.alice().get(messages).body().toString()).containsIgnoringCase(result);
  }

  @Test
  void whatTheModelSaysAboutAnApprovalIsAskedInTheForm() {
    JsonNode asking = content(call(desk.server(), REFUND, "{}"));
    Wired.Said asked = withForms(approving(asking));
    assertThat(form(asked).path("message").asText()).contains("Pay the money back?");
    assertThat(status(asking)).isEqualTo("asking");

    JsonNode decided =
        content(withForms(retry(approving(asking), asked, accept("{'approved':false}"))));

    assertThat(decided.path("status").asText()).isEqualTo("rest");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{'action':'decline'}", "{'action':'cancel'}"})
  void aFormThatIsNotFilledInDecidesNothing(String reply) {
    Wired.Said asked = withForms(REFUND);

    JsonNode asking = content(withForms(retry(REFUND, asked, reply)));

    assertThat(asking.path("status").asText()).isEqualTo("asking");
    assertThat(asking.path("hint").asText()).contains("The user", "Nothing is decided");
    assertThat(status(asking)).isEqualTo("asking");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{'approved':'yes'}"})
  void aFormWithoutADecisionIsShownAgain(String content) {
    Wired.Said asked = withForms(REFUND);

    assertThat(form(withForms(retry(REFUND, asked, accept(content))))).isEqualTo(form(asked));
  }

  @Test
  void aDecisionCountsOnce() {
    Wired.Said asked = withForms(REFUND);
    String retry = retry(REFUND, asked, accept("{'approved':true}"));
    JsonNode decided = content(withForms(retry));

    Wired.Said replayed = withForms(retry);

    assertThat(replayed.code()).isEqualTo(-32602);
    assertThat(replayed.message())
        .contains("used before", "status", decided.path("threadId").asText());
  }

  @Test
  void aDecisionCountsWhateverTheClientDeclaresByThen() {
    Wired.Said asked = withForms(REFUND);

    JsonNode decided =
        content(call(desk.server(), retry(REFUND, asked, accept("{'approved':true}")), "{}"));

    assertThat(decided.path("status").asText()).as(decided.toString()).isEqualTo("rest");
    assertThat(decided.path("threadId"))
        .isEqualTo(asked.result().at("/_meta").path("fermata/threadId"));
  }

  @Test
  void aFormForWhatWasDecidedElsewhereDecidesNothing() {
    Wired.Said asked = withForms(REFUND);
    String thread = "/threads/" + asked.result().at("/_meta").path("fermata/threadId").asText();
    String call = desk.alice().get(thread).body().at("/questions/0/call").asText();
    desk.alice()
        .post(thread + "/answers?wait=30", json("{'call':'%s','approved':false}".formatted(call)))
        .is(200);

    JsonNode late = content(withForms(retry(REFUND, asked, accept("{'approved':true}"))));

    assertThat(late.path("code").asText()).isEqualTo("no_open_question");
  }

  @Test
  void aClientThatAsksForTheStatusGetsTheStatus() {
    JsonNode asking = content(call(desk.server(), REFUND, "{}"));
    String status =
        "'arguments':{'action':'status','threadId':'" + asking.path("threadId").asText() + "'}";

    assertThat(content(withForms(status)).path("status").asText()).isEqualTo("asking");
  }

  @Test
  void anOlderClientAsksItsUserWhileTheCallIsOpen() throws Exception {
    Wired client = alice(desk.server()).session("2025-11-25", json(FORMS));
    Events events =
        client
            .listen(
                json(
                    "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'desk',"
                        + REFUND
                        + "}}"))
            .get();
    JsonNode asked = events.next();
    assertThat(asked.at("/params/message").asText()).contains("Pay the money back?");

    client.send(
        json(
            "{'jsonrpc':'2.0','id':%s,'result':%s}"
                .formatted(asked.path("id"), accept("{'approved':true}"))));

    JsonNode decided = events.next().at("/result/structuredContent");
    assertThat(decided.path("status").asText()).as(decided.toString()).isEqualTo("rest");
  }

  @Test
  void anOlderClientThatCannotBeAskedCannotApprove() throws Exception {
    Wired client =
        alice(desk.server()).session("2025-11-25", json(FORMS)).with("Accept", "application/json");
    String refund = json("'name':'desk'," + REFUND);
    JsonNode asking = content(client.request("tools/call", refund));

    JsonNode refused =
        content(client.request("tools/call", json("'name':'desk'," + approving(asking))));

    assertThat(refused.path("code").asText()).isEqualTo("needs_person");
  }
}
