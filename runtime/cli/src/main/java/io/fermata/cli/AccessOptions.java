package io.fermata.cli;

import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.settings.OAuth;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Who may call a server, from where, and how often. */
final class AccessOptions {
  private static final String KEYS = "FERMATA_API_KEYS";
  private static final String ISSUER = "FERMATA_OAUTH_ISSUER";
  private static final String AUDIENCE = "FERMATA_OAUTH_AUDIENCE";

  @Option(
      names = "--api-key",
      paramLabel = "PRINCIPAL=KEY",
      description = {
        "A principal and its bearer token. May be repeated, also for a principal: each of its keys",
        "is valid. Other users of this machine can read command lines; by default the environment",
        "variable " + KEYS + ", as ann=<key>,bob=<key>."
      })
  List<String> keys = new ArrayList<>();

  @Option(
      names = "--oauth-issuer",
      paramLabel = "URL",
      description = {
        "The issuer of accepted access tokens, such as https://auth.example.com;",
        "by default the environment variable " + ISSUER + "."
      })
  @Nullable String issuer;

  @Option(
      names = "--oauth-audience",
      paramLabel = "URL",
      description = {
        "The audience of accepted tokens: the address of this server for clients, such as",
        "https://flows.example.com/mcp; by default " + AUDIENCE + "."
      })
  @Nullable String audience;

  @Option(
      names = "--oauth-scope",
      paramLabel = "SCOPE",
      description = "A scope that every token needs. May be repeated.")
  List<String> scopes = new ArrayList<>();

  @Option(
      names = "--operator",
      paramLabel = "PRINCIPAL",
      description = {
        "Who may operate the runs of everybody over HTTP: the owner of a key, or ISSUER#SUB of a",
        "token, or local if the server has neither. Nobody by default. May be repeated."
      })
  List<String> operators = new ArrayList<>();

  @Option(
      names = "--operators-tool",
      description = {
        "Offers the tool operate_runs, with which models of operators list, read and fork the runs",
        "of everybody."
      })
  boolean operatorsTool;

  @Option(
      names = "--instructor",
      paramLabel = "PRINCIPAL",
      description = {
        "Who may instruct agents over HTTP, named as an --operator is. Nobody by default. May be",
        "repeated."
      })
  List<String> instructors = new ArrayList<>();

  @Option(
      names = "--allow-host",
      paramLabel = "NAME",
      description =
          "A host name, without port, under which clients reach the server. May be repeated.")
  List<String> hosts = new ArrayList<>();

  @Option(
      names = "--allow-origin",
      paramLabel = "ORIGIN",
      description =
          "A web origin whose pages may call, such as https://app.example.com. May be repeated.")
  List<String> origins = new ArrayList<>();

  @Option(
      names = "--calls-per-second",
      paramLabel = "N",
      description = {
        "How many requests each principal may send per second, and as many at once;",
        "1,000 and 5,000 if the application sets none."
      })
  @Nullable Integer perSecond;

  @Option(
      names = "--access-log",
      description = {
        "Logs every request to the logger fermata.access. What operators do, and who is refused,",
        "always goes to fermata.audit."
      })
  boolean accessLog;

  @Option(
      names = "--max-connections",
      paramLabel = "N",
      description = "How many connections may be open at once; 4,096 by default.")
  @Nullable Integer connections;

  @Option(
      names = "--max-connections-per-address",
      paramLabel = "N",
      description = {
        "How many of them one address may have; 2,048 by default. Behind a proxy, which has",
        "one address for all its clients, give both options the same value."
      })
  @Nullable Integer connectionsPerAddress;

  /** A principal and one of its keys. */
  private record Key(String principal, String key) {}

  /** The principals with a key, in the order of the configuration. */
  List<String> principals(Map<String, String> environment) {
    return keys(environment).stream().map(Key::principal).distinct().toList();
  }

  private List<Key> keys(Map<String, String> environment) {
    List<String> entries = keys.isEmpty() ? listed(environment.getOrDefault(KEYS, "")) : keys;
    List<Key> read = new ArrayList<>();
    for (String entry : entries) {
      int equals = entry.indexOf('=');
      if (equals < 1 || equals == entry.length() - 1) {
        throw new IllegalArgumentException(
            "%s is invalid: entry %s is not a principal with a key, such as ann=<key>"
                .formatted(keys.isEmpty() ? KEYS : "--api-key", read.size() + 1));
      }
      read.add(new Key(entry.substring(0, equals), entry.substring(equals + 1)));
    }
    return read;
  }

  private static List<String> listed(String variable) {
    return Stream.of(variable.split("[,\\s]+", -1)).filter(entry -> !entry.isEmpty()).toList();
  }

  /**
   * @throws IllegalArgumentException if an option is invalid, or is missing beside another one
   */
  void apply(McpServerBuilder server, Map<String, String> environment) {
    keys(environment).forEach(each -> server.apiKey(each.principal(), each.key()));
    server.operators(operators.toArray(String[]::new));
    if (operatorsTool) {
      server.operatorsTool();
    }
    server.instructors(instructors.toArray(String[]::new));
    server.allowedHosts(hosts.toArray(String[]::new));
    server.allowedOrigins(origins.toArray(String[]::new));
    if (perSecond != null) {
      int most = perSecond;
      server.perPrincipal(limits -> limits.callsPerSecond(most, most));
    }
    if (accessLog) {
      server.accessLog();
    }
    if (connections != null) {
      server.maxConnections(connections);
    }
    if (connectionsPerAddress != null) {
      server.maxConnectionsPerAddress(connectionsPerAddress);
    }
    String from = issuer == null ? value(environment, ISSUER) : issuer;
    String to = audience == null ? value(environment, AUDIENCE) : audience;
    if (from != null && to != null) {
      server.oauth(OAuth.issuer(from).audience(to).scopes(scopes.toArray(String[]::new)));
    } else if (from != null || to != null || !scopes.isEmpty()) {
      throw new IllegalArgumentException(
          "Access tokens need an issuer and an audience: give --oauth-issuer (%s) and --oauth-audience (%s), or neither."
              .formatted(ISSUER, AUDIENCE));
    }
  }

  /** A file of Compose may set a variable to nothing by default. */
  private static @Nullable String value(Map<String, String> environment, String variable) {
    String value = environment.getOrDefault(variable, "");
    return value.isBlank() ? null : value;
  }
}
