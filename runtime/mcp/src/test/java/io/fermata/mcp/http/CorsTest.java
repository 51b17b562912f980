package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which web pages may read the server's answers. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class CorsTest {
  private static final String APP = "https://app.example.com";

  private McpServer server;

  @BeforeAll
  void start() {
    server =
        McpServer.serving(new FakeHost())
            .port(0)
            .apiKey("ann", "key-of-ann")
            .allowedOrigins(APP)
            .start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Wired from(String origin) {
    return new Wired(server).with("Origin", origin).with("Authorization", "Bearer key-of-ann");
  }

  private static Optional<String> header(Wired.Said said, String name) {
    return said.raw().headers().firstValue(name);
  }

  @Test
  void aPageOfANamedOriginMayAskBeforeItSends() {
    Wired.Said said =
        new Wired(server)
            .with("Origin", APP)
            .method("OPTIONS")
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "authorization,mcp-param-region")
            .send("");

    assertThat(said.status()).isEqualTo(204);
    assertThat(header(said, "Access-Control-Allow-Origin")).hasValue(APP);
    assertThat(header(said, "Access-Control-Allow-Methods").orElseThrow())
        .contains("POST", "GET", "DELETE");
    assertThat(header(said, "Access-Control-Allow-Headers"))
        .hasValue("authorization,mcp-param-region");
    assertThat(header(said, "Access-Control-Allow-Credentials")).isEmpty();
    assertThat(header(said, "Vary").orElseThrow()).isEqualToIgnoringCase("Origin");
  }

  @Test
  void itReadsAnswersAndWhereItsSessionAndItsTokenComeFrom() {
    Wired.Said said = from(APP).request("ping", "");

    assertThat(said.status()).isEqualTo(200);
    assertThat(header(said, "Access-Control-Allow-Origin")).hasValue(APP);
    assertThat(header(said, "Access-Control-Expose-Headers").orElseThrow())
        .contains("Mcp-Session-Id", "WWW-Authenticate");
    assertThat(
            header(
                from(APP).without("Authorization").request("ping", ""),
                "Access-Control-Allow-Origin"))
        .as("a refusal, too")
        .hasValue(APP);
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://evil.example.com", "https://app.example.com.evil.com", "null"})
  void aPageOfAnotherOriginIsRefusedAndReadsNothing(String origin) {
    for (String method : List.of("POST", "OPTIONS")) {
      Wired.Said said =
          from(origin)
              .method(method)
              .with("Access-Control-Request-Method", "POST")
              .request("ping", "");
      assertThat(said.status()).isEqualTo(403);
      assertThat(header(said, "Access-Control-Allow-Origin")).isEmpty();
    }
  }

  @Test
  void aPageOfThisMachineMayCallAndReadsNothingUnlessItIsNamed() {
    Wired.Said said = from("http://localhost:6274").request("ping", "");

    assertThat(said.status()).isEqualTo(200);
    assertThat(header(said, "Access-Control-Allow-Origin")).isEmpty();
  }

  @Test
  void headersThatAreNoNamesAreNotEchoed() {
    Wired.Said said =
        from(APP)
            .method("OPTIONS")
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "a; b=<script>")
            .send("");

    assertThat(header(said, "Access-Control-Allow-Headers")).isEmpty();
  }

  @Test
  void whereNoOriginIsNamedNothingIsSaid() {
    try (McpServer plain = McpServer.serving(new FakeHost()).port(0).start()) {
      Wired.Said said =
          new Wired(plain).with("Origin", "http://localhost:6274").request("ping", "");

      assertThat(said.raw().headers().map().keySet())
          .noneMatch(
              name ->
                  name.toLowerCase(Locale.ROOT).startsWith("access-control")
                      || name.equals("vary"));
    }
  }
}
