package io.fermata.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.session.Fermata;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Lists runs: of a store that no server has open, or of a server. */
@Command(
    name = "runs",
    description = {
      "Lists runs, the latest first, with their status, its age, and what they wait for.",
      "Reads a store that no server has open, or asks a server with --server."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class RunsCommand extends ConsoleCommand {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final String ROW = "%-12s %-10s %-9s %-20s %-28s %-16s %s%n";
  private static final int SHORT = 28;

  @Option(names = "--flow", paramLabel = "FLOW", description = "Runs of this flow.")
  @Nullable String flow;

  @Option(
      names = "--principal",
      paramLabel = "NAME",
      description = {
        "Runs of this principal. Without it a store lists those of everybody, and a server those",
        "of its caller; the runs of others it lists for its operators only."
      })
  @Nullable String principal;

  @Option(
      names = "--all",
      description =
          "Runs of everybody, of a server that its caller operates. A store lists them anyway.")
  boolean all;

  @Option(
      names = "--session",
      paramLabel = "SESSION",
      description = "Runs of this session, by its whole name.")
  @Nullable String session;

  @Option(
      names = "--flow-version",
      paramLabel = "N",
      description = "Runs on this version of the flow.")
  @Nullable Integer version;

  @Option(
      names = "--status",
      paramLabel = "STATUS",
      description = "Runs with this status: working, waiting, stopped, … May be repeated.")
  List<String> statuses = new ArrayList<>();

  @Option(
      names = "--tag",
      paramLabel = "TAG",
      description = "Runs with this tag. If repeated, with all of them.")
  List<String> tags = new ArrayList<>();

  @Option(
      names = "--text",
      paramLabel = "TEXT",
      description = "Runs whose flow, tags or what they wait for contain this text.")
  @Nullable String text;

  @Option(
      names = "--longer-than",
      paramLabel = "DURATION",
      description =
          "Runs that have had their status for longer than this, such as PT5M; longest first.")
  @Nullable Duration longerThan;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "50",
      description = "The maximum number of runs to list; ${DEFAULT-VALUE} by default.")
  int limit;

  @Option(
      names = "--cursor",
      paramLabel = "CURSOR",
      description = "The page to list; the previous page prints its cursor.")
  @Nullable String cursor;

  @Option(names = "--json", description = "Prints one JSON object instead of a table.")
  boolean json;

  @Option(
      names = "--rebuild",
      description = "Rebuilds the list from the journals first. Needs the store.")
  boolean rebuild;

  @Option(
      names = "--server",
      paramLabel = "URL",
      description = "A running server to ask, such as http://localhost:8080.")
  @Nullable URI server;

  @Option(
      names = "--api-key",
      paramLabel = "KEY",
      description = "The bearer token for the server; FERMATA_API_KEY by default.")
  @Nullable String key;

  @Mixin StoreOption store = new StoreOption();

  @Override
  boolean needsApplication() {
    return false;
  }

  @Override
  public Integer call() throws InterruptedException {
    if (all && principal != null) {
      throw wrong("--all and --principal exclude each other; give one of them");
    }
    ObjectNode page = server == null ? ofStore() : ofServer(server);
    if (json) {
      println(Json.text(page));
    } else {
      print(page, out());
      out().flush();
    }
    return 0;
  }

  // --- of a store -------------------------------------------------------------------------------

  private ObjectNode ofStore() {
    try (Runs.Opened runs = Fermata.openRuns(store.present())) {
      if (rebuild) {
        Runs.Rebuilt rebuilt = now(runs.rebuild());
        commandLine()
            .getErr()
            .printf(
                "Read %s; listed: %s; removed from the list: %s%n",
                Cli.counted(rebuilt.journals(), "journal", "journals"),
                Cli.counted(rebuilt.entered(), "run", "runs"),
                rebuilt.removed());
        commandLine().getErr().flush();
      }
      // A query that is refused is wrong usage, unlike what now() says of other refusals.
      return RunJson.page(runs.list(query()).toCompletableFuture().join());
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    } catch (CompletionException e) {
      if (e.getCause() instanceof IllegalArgumentException wrong) {
        throw wrong(wrong);
      }
      throw e;
    }
  }

  @Override
  String whileServed() {
    return "If a server has the store open, ask it: runs --server URL";
  }

  private RunQuery query() {
    Set<RunInfo.Status> wanted = new HashSet<>();
    for (String name : statuses) {
      wanted.add(
          RunJson.status(name)
              .orElseThrow(
                  () ->
                      wrong("There is no status " + name + "; choose one of " + RunJson.STATUSES)));
    }
    return RunQuery.ALL
        .flow(flow)
        .principal(principal)
        .session(session)
        .version(version)
        .statuses(wanted)
        .tags(Set.copyOf(tags))
        .text(text)
        .longerThan(longerThan)
        .order(longerThan == null ? RunQuery.Order.STARTED : RunQuery.Order.LONGEST)
        .limit(limit)
        .cursor(cursor);
  }

  // --- of a server ------------------------------------------------------------------------------

  private ObjectNode ofServer(URI url) throws InterruptedException {
    if (rebuild) {
      throw wrong("--rebuild needs the store; stop the server and omit --server");
    }
    boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
    if (!http || url.getHost() == null || url.getPort() > 65_535) {
      throw wrong(
          "%s is not an http or https address; write --server http://localhost:8080"
              .formatted(url));
    }
    HttpResponse<String> response = answered(url);
    JsonNode body = read(response.body());
    if (response.statusCode() != 200) {
      throw new UnusableException(
          "%s answers %s: %s"
              .formatted(
                  url,
                  response.statusCode(),
                  body.at("/error/message").asText("name a server of runs with --server")));
    } else if (!(body instanceof ObjectNode page) || !page.path("runs").isArray()) {
      throw new UnusableException(url + " lists no runs; name a server of runs with --server");
    } else {
      return page;
    }
  }

  private HttpResponse<String> answered(URI url) throws InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(url.resolve("/runs?" + parameters())).timeout(TIMEOUT);
    String bearer = key == null ? System.getenv("FERMATA_API_KEY") : key;
    if (bearer != null && !bearer.isBlank()) {
      authorize(request, bearer.strip());
    }
    try {
      return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UnusableException(
          "%s cannot be reached: %s; start the server, or name another with --server"
              .formatted(url, reason(e)),
          e);
    }
  }

  private void authorize(HttpRequest.Builder request, String bearer) {
    try {
      request.header("authorization", "Bearer " + bearer);
    } catch (IllegalArgumentException e) {
      // Its message has the key.
      throw wrong(
          "The API key has characters that no header can have; see %s"
              .formatted(key == null ? "FERMATA_API_KEY" : "--api-key"));
    }
  }

  private static String reason(IOException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnresolvedAddressException) {
        return "there is no such host";
      }
    }
    if (e instanceof HttpTimeoutException) {
      return "no answer within " + TIMEOUT.toSeconds() + " s";
    }
    return e instanceof ConnectException
        ? "no server listens there"
        : String.valueOf(e.getMessage());
  }

  private static JsonNode read(String body) {
    try {
      return Json.parse(body);
    } catch (IllegalArgumentException e) {
      return MissingNode.getInstance();
    }
  }

  private String parameters() {
    List<String> given = new ArrayList<>();
    add(given, "flow", flow);
    add(given, "principal", principal);
    add(given, "all", all ? true : null);
    add(given, "session", session);
    add(given, "version", version);
    statuses.forEach(status -> add(given, "status", status));
    tags.forEach(tag -> add(given, "tag", tag));
    add(given, "q", text);
    add(given, "longerThan", longerThan);
    add(given, "sort", longerThan == null ? null : "longest");
    add(given, "limit", limit);
    add(given, "cursor", cursor);
    return String.join("&", given);
  }

  private static void add(List<String> parameters, String name, @Nullable Object value) {
    if (value != null) {
      parameters.add(name + "=" + URLEncoder.encode(value.toString(), StandardCharsets.UTF_8));
    }
  }

  // --- the table --------------------------------------------------------------------------------

  private static void print(JsonNode page, PrintWriter out) {
    out.printf(ROW, "FLOW", "STATUS", "FOR", "PRINCIPAL", "WAITS FOR", "TAGS", "RUN");
    for (JsonNode run : page.path("runs")) {
      out.printf(
          ROW,
          run.path("flow").asText() + " " + run.path("version").asText(),
          run.path("status").asText(),
          age(Instant.parse(run.path("since").asText())),
          Texts.fitted(run.path("principal").asText(), SHORT),
          Texts.fitted(waits(run.path("waitsFor")), SHORT),
          joined(run.path("tags")),
          run.path("runId").asText());
    }
    if (page.path("cursor").isTextual()) {
      boolean none = page.path("runs").isEmpty();
      out.println(
          (none ? "None so far; search on" : "More")
              + " with --cursor "
              + page.path("cursor").asText());
    }
  }

  private static String waits(JsonNode waits) {
    List<String> texts = new ArrayList<>();
    waits.forEach(wait -> texts.add(wait.path("kind").asText() + " " + wait.path("what").asText()));
    return String.join(", ", texts);
  }

  private static String joined(JsonNode texts) {
    List<String> all = new ArrayList<>();
    texts.forEach(text -> all.add(text.asText()));
    return String.join(",", all);
  }

  private static String age(Instant since) {
    long seconds = Math.max(0, Duration.between(since, Instant.now()).toSeconds());
    if (seconds < 120) {
      return seconds + " s";
    } else if (seconds < 2 * 3600) {
      return seconds / 60 + " min";
    }
    return seconds < 48 * 3600 ? seconds / 3600 + " h" : seconds / 86_400 + " d";
  }
}
