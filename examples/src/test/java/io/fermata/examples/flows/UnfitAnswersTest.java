package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.TemporalAdjusters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the examples accept as an answer, as a client of their server sees it. */
@Tag("slow")
class UnfitAnswersTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final ExamplesHost examples = ExamplesHost.start(Store.memory());
  private final McpServer server = McpServer.serving(examples.host()).port(0).start();
  private final LocalDate thursday =
      LocalDate.now(ZoneId.systemDefault()).with(TemporalAdjusters.next(DayOfWeek.THURSDAY));
  private String session = "";

  @AfterEach
  void close() {
    server.close();
    examples.close();
  }

  @Test
  void aMistypedFlightCostsOneAnswerAndNotTheTrip() throws Exception {
    start("trip", "{'city':'Lisbon','day':'1999-01-02','travellers':['Ann Lee']}");
    JsonNode past = proceed("trip", "{}");
    assertThat(past.path("field").asText()).isEqualTo("day");

    rejected(proceed("trip", "{'day':'1999-01-03'}"), "day", "1999-01-03 has passed");
    proceed("trip", "{'day':'" + thursday + "'}");
    JsonNode mistyped =
        proceed("trip", "{'flight':'mornin','hotel':'gra nd','passport.0.number':'A111111'}");
    assertThat(mistyped.path("code").asText()).isEqualTo("answer_rejected");
    assertThat(mistyped.path("violations").findValuesAsText("field"))
        .as("of branches that search beside each other")
        .containsExactlyInAnyOrder("flight", "hotel");
    assertThat(mistyped.path("error").asText()).contains("morning, evening");
    assertThat(mistyped.path("violations").toString()).contains("grand, inn");
    assertThat(proceed("trip", "{'flight':'morning','hotel':'inn'}").path("status").asText())
        .isIn("waiting", "complete");
  }

  @Test
  void whatIsNoEmailAndAPriceFromOutsideAreRefused() throws Exception {
    start("quote", "{'name':'Ann'}");
    rejected(proceed("quote", "{'email':'acme.com'}"), "email", "does not look like an email");
    proceed("quote", "{'email':'ann@gmail.com'}");
    JsonNode priced = proceed("quote", "{'price':1,'selectedPlan':'gold'}");
    assertThat(priced.path("code").asText()).isEqualTo("invalid_updates");
    assertThat(priced.path("tool").asText()).isEqualTo("show_plans");
    assertThat(proceed("quote", "{'selectedPlan':'gold'}").path("status").asText())
        .isEqualTo("complete");
  }

  @Test
  void aDayThatHasPassedAndATableThatIsNoneAreRefused() throws Exception {
    rejected(
        start("table", "{'date':'1999-01-02','time':'19:30','guests':2,'name':'Ann'}"),
        "date",
        "1999-01-02 has passed");
    proceed("table", "{'date':'" + thursday + "'}");
    JsonNode none = proceed("table", "{'table':'roof'}");
    rejected(none, "table", "window, corner, garden, round");
    assertThat(none.path("tool").asText()).isEqualTo("choose_table");
    assertThat(proceed("table", "{'table':'corner'}").path("status").asText())
        .isEqualTo("complete");
  }

  private static void rejected(JsonNode reply, String field, String words) {
    assertThat(reply.path("code").asText()).as(reply.toString()).isEqualTo("answer_rejected");
    assertThat(reply.path("violations").get(0).path("field").asText()).isEqualTo(field);
    assertThat(reply.path("error").asText()).contains(words);
  }

  private JsonNode start(String flow, String updates) throws Exception {
    JsonNode reply = call(flow, "{'action':'start','intent':'x','stateUpdates':" + updates + "}");
    session = reply.path("sessionId").asText();
    return reply;
  }

  private JsonNode proceed(String flow, String updates) throws Exception {
    return call(
        flow, "{'action':'continue','sessionId':'" + session + "','stateUpdates':" + updates + "}");
  }

  private JsonNode call(String flow, String arguments) throws Exception {
    String body =
        "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'%s','arguments':%s}}"
            .formatted(flow, arguments)
            .replace('\'', '"');
    HttpRequest request =
        HttpRequest.newBuilder(server.endpoint())
            .timeout(Duration.ofSeconds(30))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2025-11-25")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).isEqualTo(200);
    return MAPPER.readTree(response.body()).path("result").path("structuredContent");
  }
}
