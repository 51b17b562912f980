package io.fermata.examples.command;

import io.fermata.examples.flows.DeskOptions;
import io.fermata.examples.flows.Examples;
import io.fermata.examples.telemetry.LoggedHost;
import io.fermata.examples.telemetry.Prometheus;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Settings;
import io.fermata.session.observe.Telemetry;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Serves the examples over HTTP until the process is terminated. */
@Command(
    name = "serve",
    description = "Serves the examples over HTTP.",
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
      defaultValue = "10000",
      description = {
        "How many unfinished runs one principal may have; ${DEFAULT-VALUE} by default.",
        "More are refused with too_many_runs."
      })
  int unfinishedRuns;

  @Option(
      names = "--threads",
      paramLabel = "NUMBER",
      defaultValue = "100000",
      description = {
        "How many threads one principal may have; ${DEFAULT-VALUE} by default.",
        "More are refused with too_many_threads."
      })
  int threads;

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

  @Mixin DeskOptions desk = new DeskOptions();

  /** The server could not listen on the configured address. */
  static final class CannotListen extends Exception {
    private static final long serialVersionUID = 1L;

    CannotListen(RuntimeException cause) {
      super(
          cause.getMessage()
              + "\n"
              + "The options are --port, --address, --api-key (or FERMATA_API_KEYS) and"
              + " --oauth-issuer; see serve --help.",
          cause);
    }
  }

  @Override
  public Integer call() throws CannotListen, InterruptedException, ExecutionException {
    Prometheus prometheus = metrics ? Prometheus.create() : null;
    Telemetry telemetry = prometheus == null ? Telemetry.NONE : prometheus.telemetry();
    Examples examples = start(telemetry);
    McpServer server;
    try {
      server = listen(examples, prometheus);
    } catch (IllegalStateException e) {
      examples.close();
      throw new CannotListen(e);
    } catch (IllegalArgumentException e) {
      examples.close();
      throw wrong(e);
    }
    CompletableFuture<Integer> end = closeAtTheEnd(server, examples);
    printEndpoint(server);
    return end.get();
  }

  /** A host that cannot start says why and what to do, such as one whose cluster refuses it. */
  private Examples start(Telemetry telemetry) {
    try {
      Examples started =
          Examples.start(store.store(), desk.desk(), host -> accepting(host.telemetry(telemetry)));
      started.host().cluster().ifPresent(joined -> LoggedHost.name(joined.address()));
      return started;
    } catch (IllegalStateException e) {
      throw new UsageException(e.getMessage(), e);
    }
  }

  private HostBuilder accepting(HostBuilder host) {
    for (String spec : handlesOf) {
      try (OpenStore old = StoreOption.present(StoreOption.parse(spec, commandLine())).open()) {
        host.acceptHandlesOf(old.serverKey());
      }
    }
    if (unfinishedRuns < 1) {
      throw wrong("--unfinished-runs must be at least 1");
    }
    if (threads < 1) {
      throw wrong("--threads must be at least 1");
    }
    return cluster.apply(
        host.settings(Settings.DEFAULT.unfinishedRuns(unfinishedRuns).threads(threads)),
        commandLine());
  }

  private McpServer listen(Examples examples, @Nullable Prometheus prometheus) {
    McpServerBuilder builder =
        McpServer.serving(examples.host())
            .threads(examples.host().threads())
            .runs(examples.host().runs())
            .name("fermata-examples")
            .version(Commands.version())
            .address(address)
            .port(port);
    access.apply(builder, System.getenv());
    approvals.apply(builder);
    if (prometheus != null) {
      builder.metrics(prometheus::text);
    }
    return builder.start();
  }

  /** The exit code: of an end by a signal, or of the loss of the store, which is not waited for. */
  private CompletableFuture<Integer> closeAtTheEnd(McpServer server, Examples examples) {
    CompletableFuture<Integer> end = new CompletableFuture<>();
    Thread close =
        new Thread(
            () -> {
              int seconds = end.isDone() ? 0 : drain;
              long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
              server.drain(Duration.ofSeconds(seconds));
              examples.close(
                  Duration.ofNanos(Math.max(MIN_CLOSE_NANOS, until - System.nanoTime())));
              end.complete(ExitCode.OK);
            },
            "fermata-close");
    Runtime.getRuntime().addShutdownHook(close);
    examples
        .host()
        .lost()
        .thenAccept(reason -> end.complete(Commands.explainLoss(reason, commandLine().getErr())));
    return end;
  }

  private void printEndpoint(McpServer server) {
    PrintWriter out = out();
    out.println("Fermata serves the examples at " + server.endpoint());
    out.println("claude mcp add --transport http fermata " + server.endpoint() + header());
    out.println("Talk to the agents desk and billing there, or at " + threads(server));
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
