package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bad input gets a clear error, leaves the session as it was and the server alive. */
@Tag("slow")
class BadInputTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir private static Path folder;

  private ExamplesHost examples;
  private McpServer server;
  private String session;
  private JsonNode before;

  BadInputTest() throws Exception {
    examples = ExamplesHost.start(Store.sqlite(folder.resolve(System.nanoTime() + ".db")));
    server = McpServer.serving(examples.host()).port(0).start();
    session = call("{'action':'start','intent':'to be mistreated'}").path("sessionId").asText();
    before = again();
  }

  @BeforeEach
  void theRunWaitsAtAQuestion() {
    assertThat(before.path("questions")).hasSize(2);
  }

  @AfterEach
  void theSessionIsUntouchedAndTheServerAlive() throws Exception {
    assertThat(again()).isEqualTo(before);
    server.close();
    examples.close();
  }

  static Stream<Arguments> updates() {
    String deep = "{'name':" + "[".repeat(40) + "]".repeat(40) + "}";
    return Stream.of(
        Arguments.of("{'name':7}", "name"),
        Arguments.of("{'seats':0}", "seats"),
        Arguments.of("{'seats':'three'}", "seats"),
        Arguments.of("{'companySize':'huge'}", "companySize"),
        Arguments.of("{'emial':'x'}", "did you mean email?"),
        Arguments.of("{'price':1}", "computed"),
        Arguments.of("{'segment':'company'}", "computed"),
        Arguments.of("{'name':'Ann','nmae':'Bob'}", "nmae"),
        Arguments.of("{'name.first':'x'}", "name.first"),
        Arguments.of("{'__proto__.x':1}", "__proto__"),
        Arguments.of("{'..':1,'a..b':2,'.name':3,'name.':4}", "is not a field"),
        Arguments.of("{'../../etc/passwd':1}", "is not a field"),
        Arguments.of(deep, "32 levels"));
  }

  @ParameterizedTest
  @MethodSource("updates")
  void valuesThatDoNotFitAreRefusedByName(String updates, String message) throws Exception {
    JsonNode reply =
        call("{'action':'continue','sessionId':'" + session + "','stateUpdates':" + updates + "}");
    assertThat(reply.path("code").asText()).isEqualTo("invalid_updates");
    assertThat(reply.path("error").asText()).contains(message);
    assertThat(reply.path("violations")).isNotEmpty();
    assertThat(reply.path("questions")).as("the question comes along").hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'action':'continue','stateUpdates':[]}",
        "{'action':'continue','stateUpdates':'name=Ann'}",
        "{'action':'pause'}",
        "{'action':7}",
        "{}",
        "{'action':'continue','answers':{}}",
        "{'action':'start','intent':{}}"
      })
  void argumentsThatDoNotFitAreRefusedByName(String arguments) throws Exception {
    JsonNode reply = call(arguments);
    assertThat(reply.path("code").asText()).isEqualTo("invalid_arguments");
    assertThat(reply.path("violations")).isNotEmpty();
  }

  static Stream<Arguments> bodies() {
    String call = "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':";
    return Stream.of(
        Arguments.of("{", 400, -32700),
        Arguments.of("", 400, -32700),
        Arguments.of("null", 400, -32600),
        Arguments.of("{'jsonrpc':'1.0','id':1,'method':'ping'}", 400, -32600),
        Arguments.of("{'a':".repeat(5_000) + "1" + "}".repeat(5_000), 400, -32700),
        Arguments.of("[".repeat(100_000), 400, -32700),
        Arguments.of(call + "{'name':'nope'}}", 200, -32602),
        Arguments.of(call + "{'name':'quote','arguments':7}}", 200, -32602),
        Arguments.of("{'jsonrpc':'2.0','id':1,'method':'tools/fly'}", 200, -32601),
        Arguments.of(call + "{'name':'quote','x':'" + "y".repeat(10 << 20) + "'}}", 413, -32600));
  }

  @ParameterizedTest
  @MethodSource("bodies")
  void messagesThatDoNotFitAreRefused(String body, int status, int code) throws Exception {
    HttpResponse<String> response = post(body.replace('\'', '"'));
    assertThat(response.statusCode()).isEqualTo(status);
    JsonNode error = MAPPER.readTree(response.body()).path("error");
    assertThat(error.path("code").asInt()).isEqualTo(code);
    assertThat(error.path("message").asText()).isNotBlank().doesNotContain("Exception", "java.");
  }

  private JsonNode again() throws Exception {
    return call("{'action':'continue','sessionId':'" + session + "'}");
  }

  private JsonNode call(String arguments) throws Exception {
    String body =
        "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'quote','arguments':"
            + arguments
            + "}}";
    HttpResponse<String> response = post(body.replace('\'', '"'));
    assertThat(response.statusCode()).isEqualTo(200);
    return MAPPER.readTree(response.body()).path("result").path("structuredContent");
  }

  private HttpResponse<String> post(String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(server.endpoint())
            .timeout(Duration.ofSeconds(30))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2025-11-25")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
  }
}
