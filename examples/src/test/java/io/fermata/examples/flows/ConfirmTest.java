package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.flow.Flow;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A widget without a field, before an action that cannot be taken back, as a client sees it. */
@Tag("slow")
class ConfirmTest {
  record Order(
      @Describe("What to buy") String item,
      @Describe("Where to deliver it") String city,
      @Computed String receipt) {}

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final AtomicInteger charged = new AtomicInteger();
  private final Flow<Order> order =
      Flow.of("order", Order.class)
          .description("Buys something.")
          .ask("ask_item", q -> q.question("item", "What?"))
          .widget(
              "confirm",
              w -> w.tool("show_plans").data(o -> Map.of("price", 5, "segment", "personal")))
          .act("charge", run -> run.set("receipt", "r" + charged.incrementAndGet()))
          .ask("ask_city", q -> q.question("city", "Where to?"))
          .edge(Flow.START, "ask_item")
          .edge("ask_item", "confirm")
          .edge("confirm", "charge")
          .edge("charge", "ask_city")
          .edge("ask_city", Flow.END)
          .compile();
  private final Fermata host =
      Fermata.host().store(Store.memory()).flow(order).display(Displays.showPlans()).start();
  private final McpServer server = McpServer.serving(host).port(0).start();

  @AfterEach
  void close() {
    server.close();
    host.close();
  }

  @Test
  void onlyAContinueWithoutValuesConfirms() throws Exception {
    JsonNode shown = call("'action':'start','intent':'x','stateUpdates':{'item':'car'}");
    assertThat(shown.path("status").asText()).isEqualTo("widget");
    String session = ",'sessionId':'" + shown.path("sessionId").asText() + "'";
    for (String stray :
        new String[] {
          "'action':'reset','stateUpdates':{'city':'Paris'}",
          "'action':'continue','stateUpdates':{'city':'Rome'}",
          "'action':'reset','stateUpdates':{'item':'bike'}",
          "'action':'status'"
        }) {
      JsonNode reply = call(stray + session);
      assertThat(reply.path("status").asText()).as(stray).isEqualTo("widget");
      assertThat(charged).as(stray).hasValue(0);
    }
    JsonNode end = call("'action':'continue'" + session);
    assertThat(end.path("status").asText()).isEqualTo("complete");
    assertThat(charged).hasValue(1);
  }

  private JsonNode call(String arguments) throws Exception {
    String body =
        "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'order','arguments':{%s}}}"
            .formatted(arguments)
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
