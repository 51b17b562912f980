package io.fermata.cli;

import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.settings.OAuth;
import io.fermata.mcp.settings.PrincipalLimits;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
        "A principal and its bearer token. May be repeated. Other users of this machine",
        "can read command lines; by default the environment variable " + KEYS + ",",
        "as ann=<key>,bob=<key>."
      })
  Map<String, String> keys = new LinkedHashMap<>();

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
      description = "How many requests each principal may send per second; 1,000 by default.")
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

  /** The principals with a key, in the order of the configuration. */
  Set<String> principals(Map<String, String> environment) {
    return keys(environment).keySet();
  }

  private Map<String, String> keys(Map<String, String> environment) {
    if (!keys.isEmpty()) {
      return keys;
    }
    Map<String, String> named = new LinkedHashMap<>();
    for (String part : environment.getOrDefault(KEYS, "").split("[,\\s]+", -1)) {
      int equals = part.indexOf('=');
      if (!part.isEmpty()
          && (equals < 1
              || equals == part.length() - 1
              || named.put(part.substring(0, equals), part.substring(equals + 1)) != null)) {
        throw new IllegalArgumentException(
            "%s is invalid: entry %d is not a new principal with a key; write ann=<key>,bob=<key>"
                .formatted(KEYS, named.size() + 1));
      }
    }
    return named;
  }

  /**
   * @throws IllegalArgumentException if an option is invalid, or is missing beside another one
   */
  void apply(McpServerBuilder server, Map<String, String> environment) {
    keys(environment).forEach(server::apiKey);
    server.operators(operators.toArray(String[]::new));
    if (operatorsTool) {
      server.operatorsTool();
    }
    server.instructors(instructors.toArray(String[]::new));
    server.allowedHosts(hosts.toArray(String[]::new));
    server.allowedOrigins(origins.toArray(String[]::new));
    if (perSecond != null) {
      server.perPrincipal(PrincipalLimits.DEFAULT.callsPerSecond(perSecond, perSecond));
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
    String from = issuer == null ? environment.get(ISSUER) : issuer;
    String to = audience == null ? environment.get(AUDIENCE) : audience;
    if (from != null && to != null) {
      server.oauth(OAuth.issuer(from).audience(to).scopes(scopes.toArray(String[]::new)));
    } else if (from != null || to != null || !scopes.isEmpty()) {
      throw new IllegalArgumentException(
          "Access tokens need an issuer and an audience: give --oauth-issuer (%s) and --oauth-audience (%s), or neither."
              .formatted(ISSUER, AUDIENCE));
    }
  }
}
