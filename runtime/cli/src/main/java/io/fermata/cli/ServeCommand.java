package io.fermata.cli;

import io.fermata.cli.telemetry.LoggedHost;
import io.fermata.cli.telemetry.Prometheus;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.observe.Telemetry;
import java.io.PrintWriter;
import java.net.SocketException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Serves the application over HTTP until the process is terminated. */
@Command(
    name = "serve",
    description = "Serves the flows and agents over HTTP.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ServeCommand extends ConsoleCommand {
  /** The minimum time for effects to complete after all calls are answered. */
  private static final long MIN_CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  @Option(
      names = "--port",
      paramLabel = "PORT",
      defaultValue = "8080",
      description = "The port, 0 for any free one; ${DEFAULT-VALUE} by default.")
  int port;

  @Option(
      names = "--address",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = {
        "The address to listen on; ${DEFAULT-VALUE} by default.",
        "One that other machines can reach needs an API key or an --oauth-issuer."
      })
  String address = "";

  @Mixin AccessOptions access = new AccessOptions();

  @Mixin ApprovalOption approvals = new ApprovalOption();

  @Option(
      names = "--drain",
      paramLabel = "SECONDS",
      defaultValue = "20",
      description = {
        "How long calls in flight may take after SIGTERM; ${DEFAULT-VALUE} by default.",
        "Calls that take longer are answered with still_working."
      })
  int drain;

  @Option(
      names = "--unfinished-runs",
      paramLabel = "NUMBER",
      description = {
        "How many unfinished runs one principal may have; 10,000 if the application sets none.",
        "More are refused with too_many_runs."
      })
  @Nullable Integer unfinishedRuns;

  @Option(
      names = "--threads",
      paramLabel = "NUMBER",
      description = {
        "How many threads one principal may have; 100,000 if the application sets none.",
        "More are refused with too_many_threads."
      })
  @Nullable Integer threads;

  @Option(
      names = "--metrics",
      description = "Serves metrics at /metrics, in Prometheus' text format.")
  boolean metrics;

  @Option(
      names = "--accept-handles-of",
      paramLabel = "STORE",
      description = {
        "A store whose sessionIds are valid here, too, because runs were imported from it.",
        "It is read once at the start and must not be open elsewhere then. May be repeated."
      })
  List<String> handlesOf = new ArrayList<>();

  @Mixin StoreOption store = new StoreOption();

  @Mixin ClusterOptions cluster = new ClusterOptions();

  /** The server could not listen on the configured address. */
  static final class CannotListen extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CannotListen(RuntimeException cause, String next) {
      super(cause.getMessage() + next + "; see serve --help.", cause);
    }
  }

  @Override
  public Integer call() throws InterruptedException, ExecutionException {
    if (drain < 0) {
      throw wrong("--drain must be at least 0");
    }
    Prometheus prometheus = metrics ? Prometheus.create() : null;
    Telemetry telemetry = prometheus == null ? Telemetry.NONE : prometheus.telemetry();
    McpServerBuilder builder = McpServer.plain();
    Opened opened = start(telemetry, builder);
    McpServer server = orClose(opened, () -> listen(builder, opened.host(), prometheus));
    CompletableFuture<Integer> lost = drainedAtTheEnd(server, opened);
    printEndpoint(server, opened.host());
    return lost.get();
  }

  /** A host that cannot start says why and what to do, such as one whose cluster refuses it. */
  private Opened start(Telemetry telemetry, McpServerBuilder server) {
    Store chosen = store.store();
    try {
      Opened started =
          started(
              host -> {
                accepting(host.store(chosen).telemetry(telemetry));
                check(server, host);
                return host;
              });
      started.host().cluster().ifPresent(joined -> LoggedHost.name(joined.address()));
      return started;
    } catch (UnusableException e) {
      if (e.getCause() instanceof IllegalStateException refused
          && refused.getCause() instanceof SocketException) {
        throw new CannotListen(e, " with --cluster-address");
      }
      throw e;
    }
  }

  private HostBuilder accepting(HostBuilder host) {
    for (String spec : handlesOf) {
      try (OpenStore old = StoreOption.present(StoreOption.parse(spec, commandLine())).open()) {
        host.acceptHandlesOf(old.serverKey());
      }
    }
    if (unfinishedRuns != null) {
      int most = atLeastOne("--unfinished-runs", unfinishedRuns);
      host.settings(settings -> settings.unfinishedRuns(most));
    }
    if (threads != null) {
      int most = atLeastOne("--threads", threads);
      host.settings(settings -> settings.threads(most));
    }
    return cluster.apply(host, commandLine());
  }

  private int atLeastOne(String option, int number) {
    if (number < 1) {
      throw wrong(option + " must be at least 1");
    }
    return number;
  }

  /** A host begins the work of its store when it starts, so what needs none is decided before. */
  private void check(McpServerBuilder server, HostBuilder host) {
    approvals.apply(introduced(server));
    Set<String> tools = explained(host::toolNames);
    listening(
        () -> {
          access.apply(server.address(address).port(port), System.getenv());
          return server.check(tools);
        });
  }

  private McpServer listen(McpServerBuilder server, Fermata host, @Nullable Prometheus prometheus) {
    if (prometheus != null) {
      server.metrics(prometheus::text);
    }
    return listening(server.host(host).threads(host.threads()).runs(host.runs())::start);
  }

  private <T> T listening(Supplier<T> step) {
    try {
      return step.get();
    } catch (IllegalStateException e) {
      throw new CannotListen(
          e,
          "\nThe options are --port, --address, --api-key (or FERMATA_API_KEYS) and --oauth-issuer");
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
  }

  /** The exit code after the loss of the store, which is not waited for. */
  private CompletableFuture<Integer> drainedAtTheEnd(McpServer server, Opened opened) {
    CompletableFuture<Integer> lost = new CompletableFuture<>();
    opened
        .ending()
        .server(
            () -> {
              int seconds = lost.isDone() ? 0 : drain;
              long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
              server.drain(Duration.ofSeconds(seconds));
              return Duration.ofNanos(Math.max(MIN_CLOSE_NANOS, until - System.nanoTime()));
            });
    opened
        .host()
        .lost()
        .thenAccept(reason -> lost.complete(Cli.explainLoss(reason, commandLine().getErr())));
    return lost;
  }

  private void printEndpoint(McpServer server, Fermata host) {
    PrintWriter out = out();
    out.println("Fermata serves " + cli().name() + " at " + server.endpoint());
    out.printf(
        "claude mcp add --transport http %s %s%s%n", cli().name(), server.endpoint(), header());
    String agents = String.join(", ", host.threads().agents());
    if (!agents.isEmpty()) {
      out.printf("Talk to the agents there, or at %s: %s%n", threads(server), agents);
    }
    out.flush();
  }

  private static URI threads(McpServer server) {
    return server.endpoint().resolve("/threads");
  }

  /** Output is kept in logs and terminals, so the owner of the key is printed, not the key. */
  private String header() {
    return access.principals(System.getenv()).stream()
        .findFirst()
        .map(first -> " --header \"Authorization: Bearer <" + first + "'s key>\"")
        .orElse("");
  }
}
