package io.fermata.agent.mcp;

import io.fermata.flow.logging.LogTexts;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The address and transport of an MCP server. */
sealed interface Server {
  McpClientTransport transport(Duration connectTimeout);

  /** The address for messages. */
  String place();

  /**
   * A server at an address.
   *
   * @param headers computed for each request
   */
  record Http(URI url, Map<String, Supplier<String>> headers) implements Server {
    static Http at(String url) {
      URI uri = URI.create(url);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      if (!http || uri.getHost() == null) {
        throw new IllegalArgumentException(
            "%s is not the address of an MCP server; use one like https://example.org/mcp"
                .formatted(url));
      }
      return new Http(uri, Map.of());
    }

    @Override
    public McpClientTransport transport(Duration connectTimeout) {
      String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
      String endpoint = url.getRawQuery() == null ? path : path + "?" + url.getRawQuery();
      return HttpClientStreamableHttpTransport.builder(
              url.getScheme() + "://" + url.getRawAuthority())
          .endpoint(endpoint)
          .connectTimeout(connectTimeout)
          .addHttpRequestCustomizer(
              (request, method, uri, body, context) ->
                  headers.forEach((name, value) -> request.setHeader(name, value.get())))
          .build();
    }

    @Override
    public String place() {
      return url.toString();
    }
  }

  /** A server as a child process, over standard input and output. */
  record Command(List<String> words, Map<String, String> env) implements Server {
    private static final Logger LOG = LoggerFactory.getLogger(McpTools.class);

    @Override
    public McpClientTransport transport(Duration connectTimeout) {
      ServerParameters parameters =
          ServerParameters.builder(words.get(0))
              .args(words.subList(1, words.size()))
              .env(env)
              .build();
      StdioClientTransport transport =
          new StdioClientTransport(parameters, McpJsonDefaults.getMapper());
      transport.setStdErrorHandler(
          line -> LOG.info("{}: {}", words.get(0), LogTexts.inOneLine(line)));
      return transport;
    }

    @Override
    public String place() {
      return String.join(" ", words);
    }
  }
}
