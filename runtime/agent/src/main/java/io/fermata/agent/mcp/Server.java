package io.fermata.agent.mcp;

import io.fermata.agent.model.ModelHttp;
import io.fermata.flow.json.Texts;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The address and transport of an MCP server. */
sealed interface Server {
  McpClientTransport transport(Duration connectTimeout);

  /** Stands for what may be secret: messages are shown to models and journaled. */
  String HIDDEN = "…";

  /** In characters; shorter ones are parts of too many words. */
  int SHORTEST = 4;

  /** The address for messages, without what may be secret. */
  String place();

  /** What may be secret of the address. */
  Stream<String> secrets();

  /** A text that may quote the address, without what may be secret. */
  default String masked(String text) {
    return secrets()
        .filter(secret -> secret.length() >= SHORTEST)
        .reduce(text, (masked, secret) -> masked.replace(secret, HIDDEN));
  }

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
                  headers.forEach(
                      (name, value) ->
                          request.setHeader(name, ModelHttp.headerValue(name, value.get()))))
          .build();
    }

    @Override
    public String place() {
      return url.getScheme()
          + "://"
          + url.getHost()
          + (url.getPort() < 0 ? "" : ":" + url.getPort())
          + url.getRawPath()
          + (url.getRawQuery() == null ? "" : "?" + HIDDEN);
    }

    @Override
    public Stream<String> secrets() {
      return Stream.of(url.getRawQuery(), url.getQuery(), url.getRawUserInfo(), url.getUserInfo())
          .filter(Objects::nonNull);
    }
  }

  /** A server as a child process, over standard input and output. */
  record Command(List<String> words, Map<String, String> env) implements Server {
    private static final Logger LOG = LoggerFactory.getLogger(McpTools.class);

    private static final Pattern OPTION =
        Pattern.compile("(?<name>-[A-Za-z]|--[A-Za-z][A-Za-z0-9-]*)(=(?<value>.*))?");

    @Override
    public McpClientTransport transport(Duration connectTimeout) {
      ServerParameters parameters =
          ServerParameters.builder(words.get(0))
              .args(words.subList(1, words.size()))
              .env(env)
              .build();
      StdioClientTransport transport =
          new StdioClientTransport(parameters, McpJsonDefaults.getMapper());
      transport.setStdErrorHandler(line -> LOG.info("{}: {}", words.get(0), Texts.inOneLine(line)));
      return transport;
    }

    @Override
    public String place() {
      return words.stream()
          .skip(1)
          .map(Command::shown)
          .collect(Collectors.joining(" ", words.get(0) + (words.size() > 1 ? " " : ""), ""));
    }

    /** The name of an option says what is missing; its value may be secret. */
    private static String shown(String word) {
      Matcher option = OPTION.matcher(word);
      return !option.matches()
          ? HIDDEN
          : option.group("value") == null ? word : option.group("name") + "=" + HIDDEN;
    }

    @Override
    public Stream<String> secrets() {
      return words.stream().skip(1).filter(word -> !shown(word).equals(word));
    }
  }
}
