package io.fermata.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.settings.OAuth;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Who may call a server that a command line starts. */
class AccessOptionsTest {
  private static final String VARIABLE = "FERMATA_API_KEYS";

  private static AccessOptions options(String... arguments) {
    return CommandLine.populateCommand(new AccessOptions(), arguments);
  }

  /** The status of a request with each of these keys. */
  private static List<Integer> statuses(
      AccessOptions access, Map<String, String> environment, String... keys) {
    try (Fermata host = Fermata.host().store(Store.memory()).flow(CliTest.order()).start()) {
      McpServerBuilder builder = McpServer.serving(host).runs(host.runs()).port(0);
      access.apply(builder, environment);
      try (McpServer server = builder.start()) {
        return List.of(keys).stream().map(key -> status(server.endpoint(), key)).toList();
      }
    }
  }

  private static int status(URI endpoint, String key) {
    HttpRequest request =
        HttpRequest.newBuilder(endpoint.resolve("/runs"))
            .header("Authorization", "Bearer " + key)
            .build();
    return HttpClient.newHttpClient()
        .sendAsync(request, HttpResponse.BodyHandlers.discarding())
        .join()
        .statusCode();
  }

  @Test
  void allKeysOfAPrincipalAreValidSoThatANewOneCanReplaceAnother() {
    AccessOptions repeated =
        options("--api-key", "ann=old", "--api-key", "bob=other", "--api-key", "ann=new");
    assertThat(statuses(repeated, Map.of(), "old", "new", "other", "none"))
        .containsExactly(200, 200, 200, 401);
    assertThat(repeated.principals(Map.of())).containsExactly("ann", "bob");

    Map<String, String> environment = Map.of(VARIABLE, "ann=old,bob=other ann=new");
    assertThat(statuses(options(), environment, "old", "new", "other", "none"))
        .containsExactly(200, 200, 200, 401);
  }

  @Test
  void aKeyThatTwoPrincipalsHaveIsRefusedWithoutPrintingIt() {
    McpServerBuilder plain = McpServer.plain();
    AccessOptions typed = options("--api-key", "ann=s3cret", "--api-key", "ops=s3cret");
    assertThatThrownBy(() -> typed.apply(plain, Map.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("ann and ops have the same API key; give each its own");
    assertThatThrownBy(
            () -> options().apply(McpServer.plain(), Map.of(VARIABLE, "ann=s3cret,ops=s3cret")))
        .hasMessage("ann and ops have the same API key; give each its own");

    AccessOptions twice = options("--api-key", "ann=one", "--api-key", "ann=one");
    assertThat(statuses(twice, Map.of(), "one", "none")).containsExactly(200, 401);
  }

  @Test
  void theEnvironmentCountsOnlyWithoutKeysOnTheCommandLine() {
    AccessOptions access = options("--api-key", "ann=typed");

    assertThat(statuses(access, Map.of(VARIABLE, "ann=listed"), "typed", "listed"))
        .containsExactly(200, 401);
  }

  @Test
  void variablesThatAreSetToNothingNameNoIssuer() {
    Map<String, String> blank = Map.of("FERMATA_OAUTH_ISSUER", "", "FERMATA_OAUTH_AUDIENCE", " ");
    assertThat(statuses(options(), blank, "any")).containsExactly(200);

    Map<String, String> half =
        Map.of("FERMATA_OAUTH_ISSUER", "https://auth.example.com", "FERMATA_OAUTH_AUDIENCE", "");
    assertThatThrownBy(() -> options().apply(McpServer.plain(), half))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("need an issuer and an audience");
  }

  @Test
  void theLimitsAndTheIssuerOfAnApplicationAreKept() {
    List<PrincipalLimits> limits = new ArrayList<>();
    McpServerBuilder plain = McpServer.plain().perPrincipal(most -> most.callsInFlight(3));
    options("--calls-per-second", "7").apply(plain, Map.of());
    plain.perPrincipal(
        most -> {
          limits.add(most);
          return most;
        });
    assertThat(limits)
        .containsExactly(PrincipalLimits.DEFAULT.callsPerSecond(7, 7).callsInFlight(3));

    String issuer = "https://auth.example.com";
    String audience = "https://flows.example.com/mcp";
    McpServerBuilder issued = McpServer.plain().oauth(OAuth.issuer(issuer).audience(audience));
    AccessOptions again = options("--oauth-issuer", issuer, "--oauth-audience", audience);
    assertThatThrownBy(() -> again.apply(issued, Map.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("accepts the tokens of " + issuer + " already");
  }

  @Test
  void anEntryThatIsNoKeyIsNamedByItsNumberAndNotPrinted() {
    for (String wrong : List.of("s3cret", "=s3cret", "s3cret=")) {
      assertThatThrownBy(
              () -> options("--api-key", "ann=one", "--api-key", wrong).principals(Map.of()))
          .hasMessageStartingWith("--api-key is invalid: entry 2")
          .hasMessageNotContaining("s3cret");
      assertThatThrownBy(() -> options().principals(Map.of(VARIABLE, "ann=one,," + wrong)))
          .hasMessageStartingWith(VARIABLE + " is invalid: entry 2")
          .hasMessageNotContaining("s3cret");
    }
  }
}
