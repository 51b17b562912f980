package io.fermata.mcp.settings;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.mcp.Events;
import io.fermata.mcp.FakeBus;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.Issuer;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.access.AccessTokens;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.access.IssuerKeys;
import io.fermata.mcp.catalog.Desk;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.persistence.Store;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Threads;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Which access tokens are accepted, and what the other callers get. */
@Timeout(60)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class OAuthTest {
  private static final RSAKey RSA = Issuer.rsa("r1");
  private static final RSAKey OTHER = Issuer.rsa("r2");
  private static final String METADATA =
      "resource_metadata=\"http://localhost/.well-known/oauth-protected-resource/mcp\"";

  private final FakeHost host = new FakeHost();
  private Issuer issuer;
  private McpServer server;

  @BeforeAll
  void start() {
    issuer = Issuer.running(RSA, Issuer.ec("e1"));
    server =
        McpServer.serving(host)
            .port(0)
            .apiKey("ann", "key-of-ann")
            .tool(
                McpTool.of("delete", "Deletes")
                    .scopes("things:write", "things:read")
                    .call(call -> McpResult.text("deleted for " + call.principal())))
            .oauth(issuer.oauth().scopes("mcp").scopesOf("slow", "patience"))
            .start();
  }

  @AfterAll
  void stop() {
    server.close();
    issuer.close();
  }

  private static Wired.Said call(McpServer server, String token, String tool) {
    return new Wired(server)
        .with("Authorization", "Bearer " + token)
        .with("MCP-Protocol-Version", "2025-11-25")
        .request("tools/call", "\"name\":\"" + tool + "\",\"arguments\":{}");
  }

  private Wired.Said call(String token, String tool) {
    return call(server, token, tool);
  }

  private static String principal(Wired.Said said) {
    return said.result().at("/structuredContent/principal").asText();
  }

  private static String challenge(Wired.Said said) {
    return said.raw().headers().firstValue("WWW-Authenticate").orElse("");
  }

  // --- accepted tokens ---------------------------------------------------------------------------

  @Test
  void whoComesWithATokenIsItsSubjectAtItsIssuer() {
    String rsa = issuer.token("ann", "mcp");
    String ec = issuer.signed(Issuer.ec("e1"), claims -> {});

    assertThat(principal(call(rsa, "echo"))).isEqualTo(issuer.url() + "#ann");
    assertThat(principal(call(rsa, "echo"))).isEqualTo(issuer.url() + "#ann");
    assertThat(call(ec, "echo").status()).as("another key of that name").isEqualTo(401);
  }

  @Test
  void keysOnEllipticCurvesAreTakenToo() {
    JWK ec = Issuer.ec("e9");
    try (Issuer curved = Issuer.running(ec);
        McpServer serving = McpServer.serving(host).port(0).oauth(curved.oauth()).start()) {
      assertThat(principal(call(serving, curved.token("eve"), "echo")))
          .isEqualTo(curved.url() + "#eve");
    }
  }

  @Test
  void anApiKeyStillLetsItsPrincipalInAndNoSubjectIsTakenForIt() {
    assertThat(principal(call("key-of-ann", "echo"))).isEqualTo("ann");
    assertThat(principal(call(issuer.token("ann", "mcp"), "echo"))).isNotEqualTo("ann");
    assertThatThrownBy(() -> McpServer.plain().apiKey(issuer.url() + "#ann", "key"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("looks like one of a token issuer");
  }

  @Test
  void aTokenMaySayThatItNeverEnds() {
    Date never = Date.from(Instant.ofEpochSecond(Long.MAX_VALUE / 1000));
    String token = issuer.token(claims -> claims.claim("scope", "mcp").expirationTime(never));
    assertThat(call(token, "echo").status()).isEqualTo(200);
  }

  @Test
  void theClocksOfIssuerAndServerMayBeALittleApart() {
    Consumer<JWTClaimsSet.Builder> mcp = claims -> claims.claim("scope", "mcp");

    assertThat(
            call(issuer.token(mcp.andThen(it -> it.expirationTime(Issuer.in(-10)))), "echo")
                .status())
        .isEqualTo(200);
    assertThat(
            call(issuer.token(mcp.andThen(it -> it.notBeforeTime(Issuer.in(20)))), "echo").status())
        .isEqualTo(200);
  }

  @Test
  void aTokenThatWasGoodIsRefusedOnceItHasExpired() throws Exception {
    Date end = Issuer.in(-26);
    String token = issuer.token(claims -> claims.claim("scope", "mcp").expirationTime(end));
    assertThat(call(token, "echo").status()).isEqualTo(200);

    while (!Instant.now().isAfter(end.toInstant().plus(AccessTokens.LEEWAY))) {
      Thread.sleep(50);
    }

    assertThat(call(token, "echo").status()).isEqualTo(401);
  }

  // --- rejected tokens ---------------------------------------------------------------------------

  @Test
  void aCallerWithoutATokenLearnsWhereToGetOne() {
    Wired.Said said = new Wired(server).request("ping", "");

    assertThat(said.status()).isEqualTo(401);
    assertThat(challenge(said)).isEqualTo("Bearer " + METADATA + ", scope=\"mcp\"");
    assertThat(said.message()).contains(issuer.url());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp"
      })
  void acceptedIssuersArePublic(String path) {
    Wired.Said said = new Wired(server).method("GET").sendTo(path);

    assertThat(said.status()).isEqualTo(200);
    JsonNode metadata = said.body();
    assertThat(metadata.path("resource").asText()).isEqualTo(Issuer.AUDIENCE);
    assertThat(metadata.at("/authorization_servers/0").asText()).isEqualTo(issuer.url());
    assertThat(metadata.path("scopes_supported").toString()).isEqualTo("[\"mcp\"]");
    assertThat(metadata.path("bearer_methods_supported").toString()).isEqualTo("[\"header\"]");
    assertThat(new Wired(server).sendTo(path).status()).isEqualTo(405);
  }

  @Test
  void aTokenThatIsWrongInAnyWayIsRefusedAndNothingIsCalled() {
    Map<String, String> wrong = new LinkedHashMap<>();
    wrong.put("no token", "nonsense");
    wrong.put("empty", "");
    wrong.put("three parts of nothing", "a.b.c");
    wrong.put("unsigned", new PlainJWT(issuer.claims(claims -> {})).serialize());
    wrong.put("signed with the public key as a secret", confused());
    wrong.put("another audience", issuer.token(it -> it.audience("http://localhost/other")));
    wrong.put("no audience", issuer.token(it -> it.audience((String) null)));
    wrong.put("another issuer", issuer.token(it -> it.issuer("https://evil.example.com")));
    wrong.put("an issuer that looks alike", issuer.token(it -> it.issuer(issuer.url() + "/")));
    wrong.put("no issuer", issuer.token(it -> it.issuer(null)));
    wrong.put("expired", issuer.token(it -> it.expirationTime(Issuer.in(-31))));
    wrong.put("without an end", issuer.token(it -> it.expirationTime(null)));
    wrong.put("not good yet", issuer.token(it -> it.notBeforeTime(Issuer.in(60))));
    wrong.put("nobody's", issuer.token(it -> it.subject(null)));
    wrong.put("of a blank subject", issuer.token(it -> it.subject(" ")));
    wrong.put("of an endless subject", issuer.token(it -> it.subject("s".repeat(256))));
    wrong.put("of a subject in two lines", issuer.token(it -> it.subject("ann\nbob")));
    wrong.put("without a key", issuer.signed(header(null, "at+jwt"), RSA, it -> {}));
    wrong.put("an unknown key", issuer.signed(header("r7", "at+jwt"), OTHER, it -> {}));
    wrong.put("another key of that name", issuer.signed(header("r1", "at+jwt"), OTHER, it -> {}));
    wrong.put("another kind", issuer.signed(header("r1", "logout+jwt"), RSA, it -> {}));
    String good = issuer.token("ann", "mcp");
    wrong.put("another signature", good.substring(0, good.length() - 9) + "AAAAAAAAA");
    wrong.put("changed", good.replaceFirst("\\.(.{20})", ".eyJzdWIiOiJib2IiLCJl"));
    int before = host.calls.size();

    wrong.forEach(
        (how, token) -> {
          Wired.Said said = call(token, "echo");
          assertThat(said.status()).as(how).isEqualTo(401);
          assertThat(challenge(said))
              .as(how)
              .startsWith("Bearer " + METADATA)
              .contains("error=\"invalid_token\"", "scope=\"mcp\"");
          assertThat(said.message()).as(how).isNotBlank();
        });
    assertThat(host.calls).hasSize(before);
    assertThat(call(good, "echo").status()).isEqualTo(200);
  }

  private static JWSHeader header(@Nullable String kid, String type) {
    return new JWSHeader.Builder(JWSAlgorithm.RS256)
        .keyID(kid)
        .type(new JOSEObjectType(type))
        .build();
  }

  /** A token that is signed with the public key as the secret of a symmetric algorithm. */
  private String confused() {
    try {
      OctetSequenceKey secret =
          new OctetSequenceKey.Builder(RSA.toPublicKey().getEncoded()).keyID("r1").build();
      JWSHeader header = new JWSHeader.Builder(JWSAlgorithm.HS256).keyID("r1").build();
      return issuer.signed(header, secret, claims -> {});
    } catch (JOSEException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void twoAuthorizationsAreNone() throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      String request =
          """
          POST /mcp HTTP/1.1\r
          Host: localhost\r
          Authorization: Bearer key-of-ann\r
          Authorization: Bearer x\r
          Content-Length: 0\r
          Connection: close\r
          \r
          """;
      socket.getOutputStream().write(request.getBytes(US_ASCII));
      assertThat(new String(socket.getInputStream().readAllBytes(), US_ASCII))
          .startsWith("HTTP/1.1 400");
    }
  }

  // --- scopes ----------------------------------------------------------------------------------

  @Test
  void everybodyNeedsTheScopesOfTheServer() {
    Wired.Said said = call(issuer.token("ann", "things:write"), "echo");

    assertThat(said.status()).isEqualTo(403);
    assertThat(challenge(said))
        .isEqualTo("Bearer " + METADATA + ", error=\"insufficient_scope\", scope=\"mcp\"");
  }

  @ParameterizedTest
  @CsvSource({
    "delete,mcp things:read things:write",
    "slow,mcp patience",
  })
  void aToolMayNeedMoreAndAllOfItIsNamedAtOnce(String tool, String needed) {
    Wired.Said said = call(issuer.token("ann", "mcp"), tool);

    assertThat(said.status()).isEqualTo(403);
    assertThat(said.code()).isEqualTo(RpcException.INVALID_REQUEST);
    assertThat(challenge(said))
        .contains("error=\"insufficient_scope\"", "scope=\"" + needed + "\"", METADATA);
    assertThat(call(issuer.token("ann", needed.split(" ")), tool).status()).isEqualTo(200);
    assertThat(call("key-of-ann", tool).status()).as("keys may do everything").isEqualTo(200);
  }

  @Test
  void scopesMayBeAListAsSomeIssuersHaveThem() {
    String token = issuer.token(claims -> claims.claim("scp", List.of("mcp", "patience")));

    assertThat(call(token, "slow").status()).isEqualTo(200);
  }

  @Test
  void scopesOfWhatIsNotThereAreAMistake() {
    assertThatThrownBy(
            () ->
                McpServer.serving(host)
                    .port(0)
                    .oauth(issuer.oauth().scopesOf("sloow", "patience"))
                    .start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("\"sloow\"");
  }

  @Test
  void threadsAndTheirAgentsAreGuardedTheSameWay(@TempDir Path folder) {
    try (Desk desk = new Desk(folder.resolve("desk.db"));
        McpServer guarded =
            McpServer.serving(desk.host())
                .threads(desk.host().threads())
                .runs(desk.host().runs())
                .port(0)
                .oauth(issuer.oauth().scopesOf("desk", "support"))
                .start()) {
      Wired client = new Wired(guarded);
      Wired.Said nobody = client.sendTo("/threads");
      assertThat(nobody.status()).isEqualTo(401);
      assertThat(nobody.body().at("/error/code").asText()).isEqualTo("unauthorized");
      assertThat(challenge(nobody)).contains(METADATA);
      assertThat(client.method("GET").sendTo("/runs").status()).isEqualTo(401);

      client.method("POST").with("Authorization", "Bearer " + issuer.token("ann", "support"));
      Wired.Said created = client.sendTo("/threads", "{\"agent\":\"desk\"}");
      assertThat(created.status()).isEqualTo(201);
      String thread = created.raw().headers().firstValue("Location").orElseThrow();

      Wired less = new Wired(guarded).with("Authorization", "Bearer " + issuer.token("ann"));
      assertThat(less.sendTo("/threads", "{\"agent\":\"desk\"}").status()).isEqualTo(403);
      Wired.Said posted = less.sendTo(thread + "/messages", "{\"content\":\"hi\"}");
      assertThat(posted.status()).isEqualTo(403);
      assertThat(posted.body().at("/error/code").asText()).isEqualTo("forbidden");
      assertThat(challenge(posted)).contains("scope=\"support\"");
      assertThat(client.sendTo(thread + "/messages", "{\"content\":\"hi\"}").status())
          .isEqualTo(202);

      Wired listening =
          new Wired(guarded)
              .with("Authorization", "Bearer " + issuer.token("ann", "support"))
              .at(thread + "/events?after=now")
              .method("GET");
      assertThat(listening.listen("").join().status()).isEqualTo(200);

      Wired bob =
          new Wired(guarded).with("Authorization", "Bearer " + issuer.token("bob", "support"));
      assertThat(bob.method("GET").sendTo(thread).status()).isEqualTo(404);
      assertThat(client.method("GET").sendTo("/runs").status()).isEqualTo(200);
    }
  }

  record Note(String text) {}

  private static Flow<Note> asking(String id) {
    return Flow.of(id, Note.class)
        .description("Asks.")
        .ask("ask_text", q -> q.question("text", "What?"))
        .edge(Flow.START, "ask_text")
        .edge("ask_text", Flow.END)
        .compile();
  }

  private static JsonNode said(McpServer guarded, String token, String path) {
    Wired.Said said =
        new Wired(guarded).with("Authorization", "Bearer " + token).method("GET").sendTo(path);
    return said.status() == 200 ? said.body() : Json.tree(said.status());
  }

  private static List<String> listed(McpServer guarded, String token, String list, String part) {
    return said(guarded, token, "/" + list).path(list).findValuesAsText(part);
  }

  @Test
  void theListOfRunsHasWhatTheTokenAllowsOfItsPrincipalsOwn() throws Exception {
    try (Fermata runs =
            Fermata.host()
                .store(Store.memory())
                .flow(asking("open"))
                .flow(asking("closed"))
                .start();
        McpServer guarded =
            McpServer.serving(runs)
                .runs(runs.runs())
                .port(0)
                .oauth(issuer.oauth().scopesOf("closed", "special"))
                .start()) {
      String ann = issuer.token("ann", "special");
      String less = issuer.token("ann");
      Map<String, String> ids = new LinkedHashMap<>();
      for (String flow : List.of("open", "closed")) {
        Wired.Said begun =
            new Wired(guarded)
                .with("Authorization", "Bearer " + ann)
                .request(
                    "tools/call",
                    "\"name\":\"%s\",\"arguments\":{\"action\":\"start\",\"intent\":\"x\"}"
                        .formatted(flow));
        ids.put(flow, begun.result().path("_meta").path("fermata/run").path("runId").asText());
      }
      while (listed(guarded, ann, "runs", "flow").size() < 2) {
        Thread.sleep(20);
      }

      assertThat(listed(guarded, less, "runs", "flow")).containsExactly("open");
      assertThat(said(guarded, less, "/runs?flow=closed").asInt()).isEqualTo(403);
      assertThat(said(guarded, less, "/runs/closed/" + ids.get("closed")).asInt()).isEqualTo(403);
      assertThat(said(guarded, less, "/runs/open/" + ids.get("open")).path("flow").asText())
          .isEqualTo("open");
      String bob = issuer.token("bob", "special");
      assertThat(listed(guarded, bob, "runs", "flow")).isEmpty();
      assertThat(said(guarded, bob, "/runs/closed/" + ids.get("closed")).asInt()).isEqualTo(404);
    }
  }

  private static Agent agent(String name, Model model, Offered... tools) {
    return Agent.aiHuman(name, Prompt.of(name + "_prompt", model).text("Help.").tools(tools))
        .description("Helps.");
  }

  /** Two agents, of which one hands a conversation over to the other. */
  private static Fermata handingOver(String from, String to) {
    return handingOver(Store.memory(), from, to);
  }

  private static Fermata handingOver(Store store, String from, String to) {
    Model hands = ScriptedModels.serving("over", to, "{}", "Yes?");
    Model says = ScriptedModels.saying("Hello.");
    return Fermata.host()
        .store(store)
        .agent(agent(from, hands, Handoff.to(to, "Continues")))
        .agent(agent(to, says))
        .start();
  }

  private McpServer guarding(Fermata agents) {
    return McpServer.serving(agents)
        .threads(agents.threads())
        .port(0)
        .oauth(issuer.oauth().scopesOf("closed", "special"))
        .start();
  }

  @Test
  void theListOfThreadsHasWhatTheTokenAllowsOfItsPrincipalsOwn() throws Exception {
    try (Fermata agents = handingOver("closed", "open");
        McpServer guarded = guarding(agents)) {
      String ann = issuer.token("ann", "special");
      String less = issuer.token("ann");
      Wired client = new Wired(guarded).with("Authorization", "Bearer " + ann);
      String thread = "";
      for (String agent : List.of("open", "closed", "closed")) {
        Wired.Said created = client.sendTo("/threads", "{\"agent\":\"" + agent + "\"}");
        assertThat(created.status()).isEqualTo(201);
        thread = created.raw().headers().firstValue("Location").orElseThrow();
      }
      Wired.Said posted = client.sendTo(thread + "/messages", "{\"content\":\"over\"}");
      assertThat(posted.status()).isEqualTo(202);
      while (!listed(guarded, ann, "threads", "agent").stream()
          .sorted()
          .toList()
          .equals(List.of("closed", "open", "open"))) {
        Thread.sleep(20);
      }

      assertThat(listed(guarded, less, "threads", "agent")).containsExactly("open");
      assertThat(said(guarded, less, "/threads?agent=closed").asInt()).isEqualTo(403);
      for (String id : listed(guarded, ann, "threads", "threadId")) {
        assertThat(said(guarded, less, "/threads/" + id).asInt())
            .isEqualTo(id.startsWith("closed.") ? 403 : 0);
      }
      assertThat(listed(guarded, issuer.token("bob", "special"), "threads", "agent")).isEmpty();
    }
  }

  @Test
  void whoMayNotUseTheAgentThatAConversationIsHandedOverToFollowsItNoFurther() throws Exception {
    try (Fermata agents = handingOver("open", "closed");
        McpServer guarded = guarding(agents)) {
      String bearer = "Bearer " + issuer.token("ann");
      Wired client = new Wired(guarded).with("Authorization", bearer).with("Idempotency-Key", "k");
      Wired.Said created = client.sendTo("/threads", "{\"agent\":\"open\"}");
      String thread = created.raw().headers().firstValue("Location").orElseThrow();
      HttpRequest follow =
          HttpRequest.newBuilder(guarded.endpoint().resolve(thread + "/events"))
              .header("Authorization", bearer)
              .build();
      HttpResponse<Stream<String>> events =
          HttpClient.newHttpClient().send(follow, HttpResponse.BodyHandlers.ofLines());
      assertThat(events.statusCode()).isEqualTo(200);

      Wired.Said posted = client.sendTo(thread + "/messages?wait=30", "{\"content\":\"over\"}");
      assertThat(posted.status()).isEqualTo(202);
      assertThat(posted.body().has("thread")).isFalse();
      assertThat(events.body().toList())
          .anyMatch(line -> line.contains("\"forbidden\""))
          .noneMatch(line -> line.contains("Hello."));
      assertThat(client.sendTo("/threads", "{\"agent\":\"open\"}").status()).isEqualTo(403);
    }
  }

  private static Wired.Said tool(McpServer guarded, String token, String tool, String arguments) {
    return new Wired(guarded)
        .with("Authorization", "Bearer " + token)
        .with("MCP-Protocol-Version", "2025-11-25")
        .request(
            "tools/call",
            "\"name\":\"%s\",\"arguments\":{%s},\"_meta\":{\"threadId\":\"chat\"}"
                .formatted(tool, arguments));
  }

  @Test
  void toHaveARunExplainedTakesTheScopesOfItsFlow() {
    try (Fermata runs =
            Fermata.host()
                .store(Store.memory())
                .flow(asking("open"))
                .flow(asking("closed"))
                .explainRuns()
                .start();
        McpServer guarded =
            McpServer.serving(runs)
                .port(0)
                .oauth(issuer.oauth().scopesOf("closed", "special"))
                .start()) {
      String ann = issuer.token("ann", "special");
      String less = issuer.token("ann");
      for (String flow : List.of("open", "closed")) {
        tool(guarded, ann, flow, "\"action\":\"start\",\"intent\":\"x\"");
      }
      String question = "\"about\":\"path\",\"flow\":\"%s\"";

      Wired.Said refused = tool(guarded, less, "explain_run", question.formatted("closed"));
      assertThat(refused.status()).isEqualTo(403);
      assertThat(challenge(refused)).contains("insufficient_scope", "scope=\"special\"");
      for (Wired.Said explained :
          List.of(
              tool(guarded, less, "explain_run", question.formatted("open")),
              tool(guarded, ann, "explain_run", question.formatted("closed")))) {
        assertThat(explained.result().at("/structuredContent/status").asText())
            .isEqualTo("explained");
      }
    }
  }

  @Test
  void aConversationThatWasHandedOverTakesTheScopesOfItsAgentNow() {
    try (Fermata agents = handingOver("open", "closed");
        McpServer guarded = guarding(agents)) {
      String ann = issuer.token("ann", "special");
      String less = issuer.token("ann");
      String send = "\"action\":\"send\",\"message\":\"%s\"";
      Wired.Said begun = tool(guarded, less, "open", send.formatted("hi"));
      String id = begun.result().at("/structuredContent/threadId").asText();
      String thread = ",\"threadId\":\"" + id + "\"";
      assertThat(tool(guarded, less, "open", "\"action\":\"status\"" + thread).status())
          .isEqualTo(200);
      tool(guarded, ann, "open", send.formatted("over") + thread);
      JsonNode before = said(guarded, ann, "/threads/" + id);
      assertThat(before.path("agent").asText()).isEqualTo("closed");

      for (String action :
          List.of(
              "\"action\":\"status\"",
              "\"action\":\"stop\"",
              "\"action\":\"delete\"",
              "\"action\":\"answer\",\"call\":\"c\",\"answers\":{}",
              send.formatted("more"))) {
        Wired.Said refused = tool(guarded, less, "open", action + thread);
        assertThat(refused.status()).as(action).isEqualTo(403);
        assertThat(challenge(refused)).contains("insufficient_scope", "scope=\"special\"");
      }
      assertThat(said(guarded, less, "/threads/" + id).asInt()).isEqualTo(403);
      assertThat(said(guarded, ann, "/threads/" + id)).isEqualTo(before);
      assertThat(
              tool(guarded, ann, "open", send.formatted("more") + thread)
                  .result()
                  .at("/structuredContent/status")
                  .asText())
          .isEqualTo("rest");
    }
  }

  /** A call of the agent open whose client requests progress. */
  private static String withProgress(Wired client, String call) throws IOException {
    JsonNode message = Wired.JSON.readTree(client.modernMessage("tools/call", "open", call, "{}"));
    message.withObject("/params/_meta").put("progressToken", "t");
    return message.toString();
  }

  @Test
  void whoMayNotUseTheAgentThatACallIsHandedOverToGetsNothingOfIt() throws Exception {
    try (Fermata agents = handingOver("open", "closed");
        McpServer guarded = guarding(agents)) {
      String less = issuer.token("ann");
      Wired client = new Wired(guarded).with("Authorization", "Bearer " + less);
      String message =
          withProgress(
              client, "\"name\":\"open\",\"arguments\":{\"action\":\"send\",\"message\":\"over\"}");

      List<JsonNode> said = client.listen(message).join().rest();

      assertThat(Events.said(Events.beforeTheResponse(said))).isEqualTo("calls: closed");
      JsonNode reply = said.get(said.size() - 1).at("/result/structuredContent");
      assertThat(reply.path("status").asText()).isEqualTo("working");
      assertThat(reply.path("messages")).isEmpty();
      String status = "\"action\":\"status\",\"threadId\":" + reply.path("threadId");
      assertThat(tool(guarded, less, "open", status).status()).isEqualTo(403);
      assertThat(tool(guarded, issuer.token("ann", "special"), "open", status).result().toString())
          .contains("Hello.");
    }
  }

  @Test
  void whoMayNotUseTheAgentThatAnAnswerHandsOverToGetsNothingOfIt() throws Exception {
    ToolExecutionRequest over =
        ToolExecutionRequest.builder().id("c1").name("closed").arguments("{}").build();
    ToolExecutionRequest refund =
        ToolExecutionRequest.builder().id("c2").name("refund").arguments("{}").build();
    Model hands = ScriptedModels.answering(messages -> AiMessage.from(List.of(over, refund)));
    Tool refunds = Tool.of("refund", "Refunds", (flow, args) -> "done").approval("Refund?");
    try (Fermata agents =
            Fermata.host()
                .store(Store.memory())
                .agent(agent("open", hands, Handoff.to("closed", "Continues"), refunds))
                .agent(agent("closed", ScriptedModels.saying("Hello.")))
                .start();
        McpServer guarded =
            McpServer.serving(agents)
                .port(0)
                .oauth(issuer.oauth().scopesOf("closed", "special"))
                .modelsMayApprove()
                .start()) {
      String less = issuer.token("ann");
      Wired.Said asked = tool(guarded, less, "open", "\"action\":\"send\",\"message\":\"over\"");
      JsonNode asking = asked.result().path("structuredContent");
      assertThat(asking.path("status").asText()).isEqualTo("asking");
      Wired client = new Wired(guarded).with("Authorization", "Bearer " + less);
      String message =
          withProgress(
              client,
              "\"name\":\"open\",\"arguments\":{\"action\":\"answer\",\"approved\":false,"
                  + "\"threadId\":%s,\"call\":%s}"
                      .formatted(asking.path("threadId"), asking.at("/questions/0/call")));

      Events events = client.listen(message).join();
      List<JsonNode> said = events.streamed() ? events.rest() : List.of(events.plain());

      assertThat(Events.said(Events.beforeTheResponse(said))).isEmpty();
      JsonNode reply = said.get(said.size() - 1).at("/result/structuredContent");
      assertThat(reply.path("status").asText()).isEqualTo("working");
      assertThat(reply.path("messages")).isEmpty();
      String status = "\"action\":\"status\",\"threadId\":" + reply.path("threadId");
      assertThat(tool(guarded, issuer.token("ann", "special"), "open", status).result().toString())
          .contains("Hello.");
    }
  }

  private McpServer deleting(FakeBus bus) {
    record Sure(boolean sure) {}
    FakeHost clustered = new FakeHost();
    clustered.bus = bus.join();
    return McpServer.serving(clustered)
        .tool(
            McpTool.of("erase", "Erases")
                .scopes("files:erase")
                .call(
                    call ->
                        McpResult.text(
                            call.ask("sure", McpAsk.form("Sure?", Sure.class)).action())))
        .port(0)
        .oauth(issuer.oauth())
        .start();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoRepliesToAQuestionNeedsTheScopesOfTheCallThatAsks(boolean sameServer) throws Exception {
    FakeBus bus = new FakeBus();
    try (McpServer asks = deleting(bus);
        McpServer other = deleting(bus)) {
      String ann = "Bearer " + issuer.token("ann", "files:erase");
      Wired client =
          new Wired(asks).with("Authorization", ann).session("2025-11-25", "{\"elicitation\":{}}");
      Events events =
          client
              .listen(
                  """
                  {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"erase","arguments":{}}}""")
              .join();
      JsonNode question = events.next().path("id");
      Wired replies =
          new Wired(sameServer ? asks : other)
              .with("MCP-Protocol-Version", "2025-11-25")
              .with("Mcp-Session-Id", client.header("Mcp-Session-Id"));
      String reply =
          """
          {"jsonrpc":"2.0","id":%s,"result":{"action":"%s","content":{"sure":true}}}""";

      Wired.Said refused =
          replies
              .with("Authorization", "Bearer " + issuer.token("ann"))
              .send(reply.formatted(question, "accept"));
      assertThat(refused.status()).isEqualTo(sameServer ? 403 : 202);
      replies.with("Authorization", ann).send(reply.formatted(question, "decline"));

      assertThat(events.next().at("/result/content/0/text").asText()).isEqualTo("decline");
    }
  }

  /** The store's own answer, once it may be given. */
  private static CompletionStage<?> held(CompletableFuture<?> until, AlteredStore.Request request) {
    return until.thenCompose(
        now -> {
          try {
            return (CompletionStage<?>) Objects.requireNonNull(request.ask());
          } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
          }
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"messages", "post", "tool"})
  void nothingIsReadOfWhatAnotherAgentSaidSinceTheScopesWereChecked(String how) throws Exception {
    CompletableFuture<?> none = CompletableFuture.completedFuture(null);
    AtomicReference<CompletableFuture<?>> until = new AtomicReference<>(none);
    CompletableFuture<Void> reading = new CompletableFuture<>();
    AlteredStore.Answers slow =
        request -> {
          if (!request.is("readBack") || until.get() == none) {
            return request.ask();
          }
          reading.complete(null);
          return held(Objects.requireNonNull(until.get()), request);
        };
    try (Fermata agents = handingOver(AlteredStore.of(Store.memory(), slow), "open", "closed");
        McpServer guarded = guarding(agents)) {
      String less = issuer.token("ann");
      String send = "\"action\":\"send\",\"message\":\"hi\"";
      Wired.Said begun = tool(guarded, less, "open", send);
      String id = begun.result().at("/structuredContent/threadId").asText();
      String messages = "/threads/" + id + "/messages";
      Wired client = new Wired(guarded).with("Authorization", "Bearer " + less);
      CompletableFuture<Void> spoken = new CompletableFuture<>();
      until.set(spoken);
      CompletableFuture<String> reply =
          CompletableFuture.supplyAsync(
              () ->
                  switch (how) {
                    case "messages" -> said(guarded, less, messages).toString();
                    case "post" ->
                        client
                            .sendTo(messages + "?wait=30", "{\"content\":\"hi\"}")
                            .body()
                            .toString();
                    default ->
                        tool(guarded, less, "open", send + ",\"threadId\":\"" + id + "\"")
                            .result()
                            .toString();
                  });
      reading.get(30, TimeUnit.SECONDS);

      Threads threads = agents.threads();
      String ann = issuer.url() + "#ann";
      Threads.NewMessage over = new Threads.NewMessage(Message.user("over"), List.of(), null);
      threads
          .post(ann, id, over)
          .thenCompose(posted -> threads.settled(ann, id, Duration.ofSeconds(30)))
          .thenAccept(view -> assertThat(view.agent()).isEqualTo("closed"))
          .toCompletableFuture()
          .get(60, TimeUnit.SECONDS);
      spoken.complete(null);

      assertThat(reply.get(30, TimeUnit.SECONDS)).contains("Yes?").doesNotContain("Hello.");
    }
  }

  /** Threads that are handed over as soon as they were looked at, to the agent of a view. */
  private static Threads handedOver(Threads before, Threads.View to) {
    AtomicInteger looks = new AtomicInteger();
    return (Threads)
        Proxy.newProxyInstance(
            Threads.class.getClassLoader(),
            new Class<?>[] {Threads.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "get" ->
                      looks.getAndIncrement() == 0
                          ? method.invoke(before, arguments)
                          : CompletableFuture.completedFuture(to);
                  case "stop", "proceed", "answer", "change", "settled" ->
                      CompletableFuture.completedFuture(to);
                  case "file" ->
                      CompletableFuture.completedFuture(
                          new Attachment("/a.txt", "text/plain", "Hello.".getBytes(US_ASCII)));
                  default -> method.invoke(before, arguments);
                });
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          POST  | /stop           | {}                                | 202
          POST  | /continue       | {}                                | 202
          POST  | /answers        | {"call":"c","approved":true}      | 202
          POST  | /answers?wait=1 | {"call":"c","approved":true}      | 202
          PATCH | ''              | {"tags":["vip"]}                  | 202
          GET   | /files/a.txt    | {}                                | 403
          """)
  void nothingIsShownOfAnAgentThatAThreadWasHandedOverToSinceTheScopesWereChecked(
      String method, String path, String body, int status) throws Exception {
    try (Fermata agents = handingOver("open", "closed")) {
      String ann = issuer.url() + "#ann";
      Threads.View open = created(agents, ann, "open");
      Threads.View closed = created(agents, ann, "closed");
      try (McpServer guarded =
          McpServer.serving(agents)
              .threads(handedOver(agents.threads(), closed))
              .port(0)
              .oauth(issuer.oauth().scopesOf("closed", "special"))
              .start()) {
        Wired.Said said =
            new Wired(guarded)
                .with("Authorization", "Bearer " + issuer.token("ann"))
                .method(method)
                .sendTo("/threads/" + open.threadId() + path, body);

        assertThat(said.status()).isEqualTo(status);
        assertThat(said.body().findValues("agent")).isEmpty();
      }
    }
  }

  private static Threads.View created(Fermata agents, String principal, String agent)
      throws Exception {
    return agents
        .threads()
        .create(new Threads.NewThread(principal, agent, null, Set.of(), Map.of(), List.of()))
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
  }

  /** Forks a thread at each entry after which an agent acts. */
  private static List<Wired.Said> forks(
      Wired client, String thread, ThreadJournal source, String agent) {
    String fork = "{\"mode\":\"live\",\"entry\":%d,\"content\":\"do it\"}";
    return source.entries().stream()
        .map(JournalEntry::seq)
        .filter(entry -> source.upTo(entry).state().agent().equals(agent))
        .map(entry -> client.sendTo(thread + "/forks", fork.formatted(entry)))
        .toList();
  }

  @Test
  void aForkTakesTheScopesOfTheAgentThatActedAtItsEntry() {
    AtomicInteger asked = new AtomicInteger();
    ToolExecutionRequest over =
        ToolExecutionRequest.builder().id("1").name("closed").arguments("{}").build();
    Model opens =
        ScriptedModels.answering(
            said -> asked.get() == 0 ? AiMessage.from(over) : AiMessage.from("Yes?"));
    Model handsBack =
        ScriptedModels.answering(
            said -> {
              asked.incrementAndGet();
              return AiMessage.from(over.toBuilder().id("2").name("open").build());
            });
    ListAppender<ILoggingEvent> audit = new ListAppender<>();
    audit.start();
    Logger logger = (Logger) LoggerFactory.getLogger(AuditLog.LOGGER);
    logger.addAppender(audit);
    try (Fermata agents =
            Fermata.host()
                .store(Store.memory())
                .agent(agent("open", opens, Handoff.to("closed", "Continues")))
                .agent(agent("closed", handsBack, Handoff.to("open", "Goes back")))
                .start();
        McpServer guarded = guarding(agents)) {
      Wired less = new Wired(guarded).with("Authorization", "Bearer " + issuer.token("ann"));
      Wired.Said created = less.sendTo("/threads", "{\"agent\":\"open\"}");
      String thread = created.raw().headers().firstValue("Location").orElseThrow();
      assertThat(less.sendTo(thread + "/messages?wait=30", "{\"content\":\"hi\"}").status())
          .isEqualTo(200);
      ThreadJournal source =
          agents
              .journals()
              .thread(thread.substring("/threads/".length()))
              .readWithSecrets()
              .toCompletableFuture()
              .join();

      List<Wired.Said> refused = forks(less, thread, source, "closed");
      assertThat(asked).hasValue(1);
      assertThat(refused)
          .isNotEmpty()
          .allMatch(said -> said.status() == 403)
          .allMatch(said -> said.body().at("/error/code").asText().equals("forbidden"))
          .allMatch(said -> challenge(said).contains("scope=\"special\""));
      assertThat(forks(less, thread, source, "open"))
          .isNotEmpty()
          .allMatch(said -> said.status() == 201);
      assertThat(audit.list)
          .hasSameSizeAs(refused)
          .allMatch(line -> line.getFormattedMessage().contains("session=\"closed\""));
    } finally {
      logger.detachAppender(audit);
    }
  }

  // --- keys ------------------------------------------------------------------------------------

  @Test
  void keysThatAreRotatedAreFetchedAndOldOnesAreOver() {
    try (Issuer rotating = Issuer.running(RSA);
        McpServer serving = McpServer.serving(host).port(0).oauth(rotating.oauth()).start()) {
      String before = rotating.token("ann");
      assertThat(call(serving, before, "echo").status()).isEqualTo(200);

      rotating.rotates(OTHER);

      assertThat(call(serving, rotating.token("ann"), "echo").status()).isEqualTo(200);
      assertThat(call(serving, before, "echo").status()).isEqualTo(401);
    }
  }

  @Test
  void tokensThatAreMadeUpDoNotTroubleTheIssuer() {
    try (Issuer calm = Issuer.running(RSA);
        McpServer serving = McpServer.serving(host).port(0).oauth(calm.oauth()).start()) {
      assertThat(call(serving, calm.token("ann"), "echo").status()).isEqualTo(200);
      for (int i = 0; i < 50; i++) {
        String unknown = calm.signed(header("made-up-" + i, "at+jwt"), OTHER, it -> {});
        assertThat(call(serving, unknown, "echo").status()).isEqualTo(401);
      }
      assertThat(call(serving, calm.token("bob"), "echo").status()).isEqualTo(200);
      // The bucket holds some, and may have let another one pass meanwhile.
      assertThat(calm.fetched.get()).isBetween(2, IssuerKeys.BURST + 1);
    }
  }

  @Test
  void whileTheIssuerIsAwayItsKeysHold() {
    try (Issuer mortal = Issuer.running(RSA);
        McpServer serving = McpServer.serving(host).port(0).oauth(mortal.oauth()).start()) {
      assertThat(call(serving, mortal.token("ann"), "echo").status()).isEqualTo(200);
      mortal.dies();
      mortal.rotates(OTHER);

      assertThat(call(serving, mortal.signed(RSA, it -> it.subject("bob")), "echo").status())
          .isEqualTo(200);
      Wired.Said unknown = call(serving, mortal.token("ann"), "echo");
      assertThat(unknown.status()).isEqualTo(503);
      assertThat(unknown.raw().headers().firstValue("Retry-After")).isPresent();

      mortal.comesBack();
      assertThat(call(serving, mortal.token("ann"), "echo").status()).isEqualTo(200);
    }
  }

  @Test
  void aServerStartsWithoutItsIssuerAndWaitsForIt() {
    try (Issuer late = Issuer.running(RSA)) {
      late.dies();
      try (McpServer serving = McpServer.serving(host).port(0).oauth(late.oauth()).start()) {
        assertThat(call(serving, late.token("ann"), "echo").status()).isEqualTo(503);

        late.comesBack();

        assertThat(call(serving, late.token("ann"), "echo").status()).isEqualTo(200);
      }
    }
  }

  @Test
  void anIssuerThatHangsHoldsUpNobodyButWhoNeedsItsKeys() throws Exception {
    try (Issuer slow = Issuer.running(RSA)) {
      CountDownLatch goOn = slow.hangs();
      try (McpServer serving =
          McpServer.serving(host).port(0).apiKey("ann", "key-of-ann").oauth(slow.oauth()).start()) {
        String token = slow.token("bob");
        List<CompletableFuture<Wired.Said>> waiting = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          waiting.add(
              CompletableFuture.supplyAsync(
                  () -> call(serving, token, "echo"), task -> new Thread(task).start()));
        }
        for (int i = 0; i < 20; i++) {
          assertThat(call(serving, "key-of-ann", "echo").status()).isEqualTo(200);
        }
        assertThat(waiting).noneMatch(CompletableFuture::isDone);
        goOn.countDown();
        for (CompletableFuture<Wired.Said> each : waiting) {
          assertThat(principal(each.get(60, TimeUnit.SECONDS))).isEqualTo(slow.url() + "#bob");
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/tenant,/.well-known/oauth-authorization-server/tenant",
    "/tenant,/.well-known/openid-configuration/tenant",
    "/tenant,/tenant/.well-known/openid-configuration",
    "'',/.well-known/openid-configuration",
  })
  void anIssuersMetadataAreFoundWhereverTheStandardsPutThem(String path, String place) {
    try (Issuer there = Issuer.running(path, place, RSA);
        McpServer serving = McpServer.serving(host).port(0).oauth(there.oauth()).start()) {
      assertThat(call(serving, there.token("ann"), "echo").status()).isEqualTo(200);
    }
  }

  @Test
  void metadataOfAnotherIssuerAreNotBelieved() {
    try (Issuer there = Issuer.running(RSA);
        McpServer serving =
            McpServer.serving(host)
                .port(0)
                .oauth(OAuth.issuer(there.url() + "/").audience(Issuer.AUDIENCE))
                .start()) {
      String token = there.token(claims -> claims.issuer(there.url() + "/"));
      assertThat(call(serving, token, "echo").status()).isEqualTo(503);
    }
  }

  @Test
  void keysMayBeNamedForAnIssuerWithoutMetadata() {
    try (Issuer silent = Issuer.running("", "/nowhere", RSA);
        McpServer serving =
            McpServer.serving(host)
                .port(0)
                .oauth(silent.oauth().keys(URI.create(silent.url() + "/jwks")))
                .start()) {
      assertThat(call(serving, silent.token("ann"), "echo").status()).isEqualTo(200);
    }
  }

  // --- settings --------------------------------------------------------------------------------

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://auth.example.com",
        "auth.example.com",
        "https://auth.example.com?x=y",
        "https://auth.example.com#x",
        "file:///etc/passwd",
        "nonsense and more"
      })
  void anIssuerThatCannotBeTrustedIsRefused(String issuer) {
    assertThatThrownBy(() -> OAuth.issuer(issuer))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(issuer);
  }

  @Test
  void anAudienceIsNeededAndAnAddress() {
    OAuth open = OAuth.issuer("https://auth.example.com");

    assertThatThrownBy(() -> McpServer.serving(host).port(0).oauth(open).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("audience(…)");
    assertThatThrownBy(() -> McpServer.serving(host).port(0).oauth(open.audience("flows")).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("resource(…)");
    assertThatThrownBy(() -> open.scopes("a b")).isInstanceOf(IllegalArgumentException.class);
  }
}
