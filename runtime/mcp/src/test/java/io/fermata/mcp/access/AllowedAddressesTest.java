package io.fermata.mcp.access;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import java.io.IOException;
import java.net.Socket;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A host or an origin that is allowed can match a request. */
class AllowedAddressesTest {
  private final McpServerBuilder builder = McpServer.serving(new FakeHost()).port(0);

  /** The response to a request without a method that the path has: 405 if it is let in. */
  private static String response(McpServer server, String headers) throws IOException {
    try (Socket socket = new Socket(server.endpoint().getHost(), server.port())) {
      String request = "GET /mcp HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), US_ASCII);
    }
  }

  @Test
  void aHostWithAPortOrASchemeIsRefusedWithTheFormThatIsMeant() {
    Map.of(
            "flows.example.com:8443", "flows.example.com",
            "https://flows.example.com", "flows.example.com",
            "https://Flows.example.com:8443/mcp", "flows.example.com",
            "flows.example.com/mcp", "flows.example.com",
            "10.0.0.7:8080", "10.0.0.7",
            "[fd00::5]:8080", "[fd00::5]",
            "http://[fd00::5]:8080/", "[fd00::5]")
        .forEach(
            (wrong, meant) ->
                assertThatThrownBy(() -> builder.allowedHosts("flows", wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                        "The allowed host %s has more than a name: write %s", wrong, meant));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "*.example.com", "two names", "fd00::5::1", "[fd00::5", "a@b"})
  void aHostThatIsNoNameIsRefused(String wrong) {
    assertThatThrownBy(() -> builder.allowedHosts(wrong))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("\"" + wrong + "\" is not a host name")
        .hasMessageContaining("flows.example.com");
  }

  @ParameterizedTest
  @ValueSource(strings = {"fd00::5", "[fd00::5]", "FD00::5", "fd00:0:0:0:0:0:0:5", "[fd00:0::5]"})
  void anIpv6AddressIsServedHoweverItIsWritten(String written) throws IOException {
    try (McpServer server = builder.allowedHosts(written).start()) {
      assertThat(response(server, "Host: [fd00::5]:8080")).startsWith("HTTP/1.1 405");
      assertThat(response(server, "Host: [FD00:0:0::5]")).startsWith("HTTP/1.1 405");
      assertThat(response(server, "Host: [fd00::6]:8080")).startsWith("HTTP/1.1 403");
      assertThat(response(server, "Host: [fe80::1%lo]:8080")).startsWith("HTTP/1.1 403");
    }
  }

  @Test
  void aHostThatIsNotServedIsNamedAsItWouldBeAllowed() throws IOException {
    try (McpServer server = builder.start()) {
      assertThat(response(server, "Host: flows.example.com:8443"))
          .startsWith("HTTP/1.1 403")
          .contains("'flows.example.com'")
          .doesNotContain("8443");
    }
  }

  @Test
  void anOriginThatNoBrowserSendsIsRefused() {
    Map.of(
            "app.example.com", "https://app.example.com",
            "app.example.com:8443", "https://app.example.com:8443",
            "https://app.example.com/shop", "https://app.example.com",
            "https://ann@app.example.com", "https://app.example.com")
        .forEach(
            (wrong, meant) ->
                assertThatThrownBy(() -> builder.allowedOrigins(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("The allowed origin %s is not one: write %s", wrong, meant));
    for (String wrong :
        new String[] {
          "", "*", "https://*.example.com", "https://", "two words", "https://a:99999"
        }) {
      assertThatThrownBy(() -> builder.allowedOrigins(wrong))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("\"" + wrong + "\" is not an origin");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "https://app.example.com/,https://app.example.com",
    "https://app.example.com:443,https://app.example.com",
    "HTTP://App.example.com:80/,http://app.example.com",
    "https://app.example.com:8443,https://app.example.com:8443",
    "https://app.example.com:0443,https://app.example.com",
    "http://[fd00::5]:9,http://[fd00::5]:9",
    "chrome-extension://abcdef,chrome-extension://abcdef"
  })
  void anOriginIsAllowedAsBrowsersSendIt(String allowed, String sent) throws IOException {
    try (McpServer server = builder.allowedOrigins(allowed).start()) {
      assertThat(response(server, "Host: localhost\r\nOrigin: " + sent))
          .startsWith("HTTP/1.1 405")
          .containsIgnoringCase("Access-Control-Allow-Origin: " + sent);
    }
  }
}
