package io.fermata.cli;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.langchain4j.model.chat.ChatModel;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import io.fermata.cli.telemetry.StandardLog;
import io.fermata.flow.Flow;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.call.ToolCall;
import io.fermata.session.observe.Telemetry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command line of somebody else's application. */
class CliTest {
  record Order(@Nullable String dish) {}

  private @TempDir Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  /** Orders, with an option and something to close. */
  static class Orders implements Application {
    private final List<String> seen = new ArrayList<>();

    @Option(names = "--bank", description = "The address of the bank.")
    String bank = "none";

    @Override
    public void addTo(HostBuilder host) {
      seen.add("added with " + bank);
      if (bank.isEmpty()) {
        throw new IllegalArgumentException("--bank is empty; name the address of the bank");
      }
      host.flow(order());
    }

    @Override
    public void started(Fermata host) {
      seen.add("started");
    }

    @Override
    public void close() {
      seen.add("closed");
    }
  }

  static final class Clash extends Orders {
    @Option(names = "--thread", description = "That of somebody else.")
    String thread = "";
  }

  @Command(name = "report", description = "Reports.")
  static final class Report implements Callable<Integer> {
    @Override
    public Integer call() {
      return 42;
    }
  }

  @Command(name = "count", description = "Counts the runs of a store.")
  static final class Count implements Callable<Integer> {
    @Mixin StoreOption store = new StoreOption();

    @Override
    public Integer call() {
      try (var runs = Fermata.openRuns(store.present())) {
        return runs.list(RunQuery.ALL).toCompletableFuture().join().runs().size();
      }
    }
  }

  /** A chat in a process of its own; its application says when it is closed. */
  static final class Talking {
    public static void main(String[] arguments) {
      Application desk =
          new Application() {
            @Override
            public void addTo(HostBuilder host) {
              LoggerFactory.getLogger("io.fermata.desk").info("opened by {}", "ann\nbob");
              host.agent(desk());
            }

            @Override
            public void close() {
              System.out.println("closed");
            }
          };
      System.exit(Cli.of("desk", desk).run("chat", "desk", "--store", "memory"));
    }
  }

  /** An application that does not get any further than to open what it needs. */
  static final class Hesitating {
    public static void main(String[] arguments) {
      Application hesitating =
          new Application() {
            @Override
            public void addTo(HostBuilder host) {
              System.out.println("opened");
              new CompletableFuture<>().join();
            }

            @Override
            public void close() {
              System.out.println("closed");
            }
          };
      System.exit(Cli.of("desk", hesitating).run(arguments));
    }
  }

  /**
   * A server that a signal ends while its host starts; payments need what its application opens.
   */
  static final class Paying {
    public static void main(String[] arguments) {
      CountDownLatch signalled = new CountDownLatch(1);
      CountDownLatch closing = new CountDownLatch(1);
      CountDownLatch misused = new CountDownLatch(1);
      Runtime.getRuntime().addShutdownHook(new Thread(signalled::countDown));
      Telemetry holding =
          new Telemetry() {
            @Override
            public void opened(List<Gauge> gauges) {
              System.out.println("starting");
              over(signalled, Duration.ofMinutes(1));
              over(closing, Duration.ofMillis(300));
            }
          };
      Application paying =
          new Application() {
            @Override
            public void addTo(HostBuilder host) {
              host.telemetry(holding).flow(paid(this::pay));
            }

            private void pay() {
              if (closing.getCount() == 0) {
                System.out.println("paid with a closed pool");
                misused.countDown();
              }
            }

            @Override
            public void close() {
              closing.countDown();
              over(misused, Duration.ofSeconds(2));
              System.out.println("closed");
            }
          };
      System.exit(Cli.of("orders", paying).run(arguments));
    }

    private static boolean over(CountDownLatch latch, Duration timeout) {
      try {
        return latch.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** A server for the client that starts it, whose models may operate runs. */
  static final class Operating {
    public static void main(String[] arguments) {
      Application orders =
          new Application() {
            @Override
            public void addTo(HostBuilder host) {
              host.flow(order());
            }

            @Override
            public void addTo(McpServerBuilder server) {
              server.operators("local").operatorsTool();
            }
          };
      System.exit(Cli.of("orders", orders).run("stdio", "--store", "memory"));
    }
  }

  @Command(name = "fail")
  record Failing(Exception failure) implements Callable<Integer> {
    @Override
    public Integer call() throws Exception {
      throw failure;
    }
  }

  private static Agent desk() {
    ChatModel silent = new ChatModel() {};
    return Agent.aiHuman("desk", Prompt.of("desk", Model.of("none", silent)).text("Help."));
  }

  static Flow<Order> order() {
    return asking("Which dish?");
  }

  private static Flow<Order> paid(Runnable pay) {
    return Flow.of("order", Order.class)
        .description("Orders food.")
        .act("pay", run -> pay.run())
        .edge(START, "pay")
        .edge("pay", END)
        .compile();
  }

  private static Flow<Order> asking(String question) {
    return Flow.of("order", Order.class)
        .description("Orders food.")
        .ask("what", q -> q.question("dish", question))
        .edge(START, "what")
        .edge("what", END)
        .compile();
  }

  private int run(Cli cli, String... arguments) {
    CommandLine line =
        cli.commandLine(arguments)
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true));
    return line.execute(arguments);
  }

  private String store() {
    return "sqlite:" + folder.resolve("orders.db");
  }

  /** The run that waits for a dish. */
  private RunInfo begun() {
    try (Fermata host = Fermata.host().store(Store.parse(store())).flow(order()).start()) {
      host.call(start(), progress -> {}).toCompletableFuture().join();
    }
    try (var runs = Fermata.openRuns(Store.parse(store()))) {
      return runs.list(RunQuery.ALL).toCompletableFuture().join().runs().get(0);
    }
  }

  private static ToolCall start() {
    return new ToolCall(
        "order",
        "ann",
        new ObjectMapper().createObjectNode().put("action", "start").put("intent", "eat"),
        new ObjectMapper().createObjectNode().put("threadId", "t"),
        null);
  }

  /** A run that has to pay once more when a host starts. */
  private void interrupted() throws Exception {
    CompletableFuture<Void> paying = new CompletableFuture<>();
    CompletableFuture<Void> crashed = new CompletableFuture<>();
    Flow<Order> flow =
        paid(
            () -> {
              paying.complete(null);
              crashed.join();
            });
    Fermata host = Fermata.host().store(Store.parse(store())).flow(flow).start();
    try {
      host.call(start(), progress -> {});
      paying.get(60, TimeUnit.SECONDS);
    } finally {
      host.crash();
      crashed.complete(null);
    }
  }

  @Test
  void commandsLookAfterTheStoreOfAnApplication() throws Exception {
    RunInfo run = begun();
    String name = "order/" + run.runId();
    Orders orders = new Orders();
    Cli cli = Cli.of("orders", orders);

    assertThat(run(cli, "check", "--store", store())).isZero();
    assertThat(out).asString().contains("1 run(s): 1 continue");
    Path export = folder.resolve("run.jsonl");
    assertThat(run(cli, "export", export.toString(), "--run", name, "--store", store())).isZero();
    assertThat(run(cli, "replay", export.toString())).isZero();
    assertThat(run(cli, "graph", "order")).isZero();
    assertThat(out).asString().contains("flowchart TD", "asks dish");
    assertThat(run(cli, "graph", "orders")).isEqualTo(CommandLine.ExitCode.USAGE);
    assertThat(err).asString().contains("There is no flow orders; did you mean order?");
    assertThat(Files.readAllLines(export)).isNotEmpty();
    assertThat(orders.seen)
        .containsExactly(
            "added with none",
            "closed", // check
            "added with none",
            "closed", // export
            "added with none",
            "closed", // replay
            "added with none",
            "closed", // graph
            "added with none",
            "closed");
  }

  @Test
  void anApplicationMayBeALambdaWithAVersion() {
    Cli cli = Cli.of("orders", host -> host.flow(order())).version("1.4").description("Orders.");

    assertThat(run(cli, "--version")).isZero();
    assertThat(run(cli, "--help")).isZero();
    assertThat(out)
        .asString()
        .startsWith("orders 1.4")
        .contains("Usage: orders", "Orders.", "serve", "replay");
  }

  @Test
  void commandsThatNeedTheApplicationHaveItsOptions() {
    begun();
    Orders orders = new Orders();
    Cli cli = Cli.of("orders", orders);

    assertThat(run(cli, "serve", "--help")).isZero();
    assertThat(out).asString().contains("--bank", "The address of the bank.");
    assertThat(run(cli, "serve", "--bank", "", "--store", store()))
        .isEqualTo(CommandLine.ExitCode.USAGE);
    assertThat(err).asString().startsWith("--bank is empty; name the address of the bank");
    assertThat(run(cli, "chat", "desk", "--bank", "here", "--store", store()))
        .isEqualTo(CommandLine.ExitCode.USAGE);
    assertThat(err).asString().contains("There is no agent desk; there are none");
    assertThat(run(cli, "check", "--bank", "there", "--store", store())).isZero();
    assertThat(run(cli, "verify", "--bank", "here", "--store", store()))
        .isEqualTo(CommandLine.ExitCode.USAGE);
    assertThat(err).asString().contains("Unknown option");
    assertThat(orders.seen)
        .containsExactly(
            "added with ", "closed", "added with here", "closed", "added with there", "closed");
  }

  @Test
  void aServerIntroducesItselfAsTheApplicationAndOffersItsFlowsAndTools() throws Exception {
    Application orders =
        new Orders() {
          @Override
          public void addTo(McpServerBuilder server) {
            server.tool(
                McpTool.of("opening_hours", "Says when.").call(call -> McpResult.text("8 to 6")));
          }
        };
    PipedReader printed = new PipedReader();
    PrintWriter to = new PrintWriter(new PipedWriter(printed), true);
    String[] arguments = {"serve", "--port", "0", "--store", "memory"};
    CommandLine line = Cli.of("orders", orders).version("1.4").commandLine(arguments).setOut(to);
    Thread server = new Thread(() -> line.execute(arguments));
    server.setDaemon(true); // until the tests end
    server.start();
    BufferedReader lines = new BufferedReader(printed);
    String first = lines.readLine();
    assertThat(first).startsWith("Fermata serves orders at http://localhost:");
    assertThat(lines.readLine()).startsWith("claude mcp add --transport http orders http");
    URI endpoint = URI.create(first.substring(first.indexOf("http")));

    assertThat(
            posted(
                endpoint,
                "initialize",
                "{'protocolVersion':'2025-06-18','capabilities':{},'clientInfo':{'name':'t','version':'1'}}"))
        .contains("\"name\":\"orders\"", "\"version\":\"1.4\"");
    assertThat(posted(endpoint, "tools/list", "{}"))
        .contains("\"name\":\"order\"", "\"name\":\"opening_hours\"");
  }

  private static String posted(URI endpoint, String method, String parameters) throws Exception {
    String body =
        "{'jsonrpc':'2.0','id':1,'method':'%s','params':%s}".formatted(method, parameters);
    HttpRequest request =
        HttpRequest.newBuilder(endpoint)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"')))
            .build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  @Test
  void anApplicationAddsCommandsOfItsOwn() {
    Cli cli = Cli.of("orders", new Orders()).command(new Report());

    assertThat(run(cli, "report")).isEqualTo(42);
    assertThatThrownBy(() -> cli.command("report")).hasMessageContaining("@Command");
    assertThatThrownBy(() -> cli.command(new Report())).hasMessageContaining("command report");
    assertThat(run(cli, "--help")).isZero();
    assertThat(out).asString().contains("report", "Reports.");
  }

  @Test
  void aCommandOfItsOwnTakesAStoreAsTheOthersDo() {
    Cli cli = Cli.of("orders", new Orders()).command(new Count());

    assertThat(run(cli, "count", "--store", store())).isEqualTo(Cli.UNUSABLE);
    assertThat(err.toString().lines())
        .singleElement()
        .asString()
        .contains("There is no store", "name one with --store");
    assertThat(run(cli, "count", "--store", "carrier-pigeon:1"))
        .isEqualTo(CommandLine.ExitCode.USAGE);
    begun();
    assertThat(run(cli, "count", "--store", store())).isOne();
  }

  @Test
  void whatCannotBeReadOrWrittenIsExplainedInOneLine() {
    IOException gone = new NoSuchFileException("/mnt/menu");
    for (Exception failure :
        List.of(gone, new CompletionException(new UncheckedIOException("internal", gone)))) {
      Cli cli = Cli.of("orders", new Orders()).command(new Failing(failure));
      err.getBuffer().setLength(0);
      assertThat(run(cli, "fail")).isEqualTo(Cli.UNUSABLE);
      assertThat(err.toString().lines())
          .singleElement()
          .asString()
          .contains("NoSuchFileException: /mnt/menu; check");
    }
  }

  private Process chat(String... options) throws IOException {
    return process(List.of(options), Talking.class);
  }

  private Process process(List<String> options, Class<?> main, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(log().toFile()).start();
  }

  private Path log() {
    return folder.resolve("log");
  }

  @Test
  void aChatThatIsTerminatedClosesItsApplication() throws Exception {
    Process chat = chat();
    try (BufferedReader lines = chat.inputReader()) {
      assertThat(lines.readLine()).startsWith("Thread ");
      chat.toHandle().destroy(); // which leaves its output open
      // The prompt may come after it, if the signal did before the prompt.
      assertThat(lines.lines()).anySatisfy(line -> assertThat(line).endsWith("closed"));
    } finally {
      chat.destroyForcibly();
    }
    assertThat(log())
        .as("what it logs without a configuration of its own")
        .content()
        .contains(" INFO  io.fermata.desk opened by ann\\nbob")
        .doesNotContain("DEBUG");
  }

  @Test
  void aServerThatIsTerminatedWhileItsApplicationStartsClosesIt() throws Exception {
    String[] serve = {"serve", "--port", "0", "--store", "memory"};
    assertThat(terminatedOnceOpened(serve)).containsExactly("closed");
  }

  @Test
  void aCommandThatIsTerminatedClosesItsApplication() throws Exception {
    assertThat(terminatedOnceOpened("graph", "order")).containsExactly("closed");
  }

  @Test
  void aServerThatIsTerminatedWhileItsHostStartsClosesTheApplicationAfterTheHost()
      throws Exception {
    interrupted();
    Process serve = process(List.of(), Paying.class, "serve", "--port", "0", "--store", store());
    try (BufferedReader lines = serve.inputReader()) {
      assertThat(lines.readLine()).isEqualTo("starting");
      serve.toHandle().destroy(); // which leaves its output open
      assertThat(lines.lines()).containsExactly("closed");
    } finally {
      serve.destroyForcibly();
    }
  }

  @Test
  void aHostDoesNotStartOnceItsApplicationIsClosed() {
    Orders orders = new Orders();
    ConsoleCommand.Ending ending = ConsoleCommand.Ending.of(orders);
    ending.close();

    assertThatThrownBy(() -> ending.host(() -> Assertions.fail("The host starts")))
        .isInstanceOf(UnusableException.class)
        .hasMessageContaining("ended before it had started");
    assertThat(orders.seen).containsExactly("closed");
  }

  /** What a process still says. */
  private List<String> terminatedOnceOpened(String... command) throws Exception {
    Process process = process(List.of(), Hesitating.class, command);
    try (BufferedReader lines = process.inputReader()) {
      assertThat(lines.readLine()).isEqualTo("opened");
      process.toHandle().destroy(); // which leaves its output open
      return lines.lines().toList();
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void anApplicationThatConfiguresItsLogKeepsIt() throws Exception {
    Path configuration = folder.resolve("its-own.xml");
    Files.writeString(
        configuration,
        """
        <configuration>
          <appender name="own" class="ch.qos.logback.core.ConsoleAppender">
            <target>System.err</target>
            <encoder><pattern>own %msg%n</pattern></encoder>
          </appender>
          <root level="INFO"><appender-ref ref="own"/></root>
        </configuration>
        """);
    Process chat = chat("-Dlogback.configurationFile=" + configuration);
    chat.getOutputStream().close(); // the end of what is typed
    assertThat(chat.waitFor()).isZero();
    assertThat(log()).content().contains("own opened by ann");
  }

  @Test
  void anApplicationThatFailsOnceItsHostHasStartedIsClosedWithIt() {
    Orders orders =
        new Orders() {
          @Override
          public void started(Fermata host) {
            super.started(host);
            throw new IllegalStateException("The bank is closed");
          }
        };

    assertThat(run(Cli.of("orders", orders), "serve", "--port", "0", "--store", store()))
        .isEqualTo(CommandLine.ExitCode.SOFTWARE);
    assertThat(err).asString().contains("The bank is closed");
    assertThat(orders.seen).containsExactly("added with none", "started", "closed");
    assertThat(run(Cli.of("orders", new Orders()), "check", "--store", store()))
        .as("nothing has the store open")
        .isZero();
  }

  @Test
  void aHostThatCannotStartIsExplainedInOneLineByEveryCommand() {
    String run = begun().runId();
    Cli cli =
        Cli.of(
            "orders",
            host -> host.flow(order()).agent(desk()).retention("bill", Retention.DEFAULT));
    String file = folder.resolve("not.jsonl").toString();
    List<List<String>> commands =
        List.of(
            List.of("serve", "--port", "0"),
            List.of("stdio"),
            List.of("chat", "desk"),
            List.of("check"),
            List.of("replay"),
            List.of("graph", "order", "--run", run),
            List.of("export", file, "--run", "order/" + run),
            List.of("record", file, "--run", "order/" + run),
            List.of("fork", "order/" + run),
            List.of("erase", "--run", "order/" + run));
    for (List<String> command : commands) {
      List<String> all = new ArrayList<>(command);
      all.addAll(List.of("--store", store()));
      err.getBuffer().setLength(0);
      assertThat(run(cli, all.toArray(String[]::new))).as("%s", command).isEqualTo(Cli.UNUSABLE);
      assertThat(err.toString().lines())
          .as("%s", command)
          .singleElement()
          .asString()
          .contains("bill");
    }
  }

  @Test
  void anOptionWithAValueThatIsNoneIsAMistakeOfTheCommandLine() {
    String run = begun().runId();
    Cli cli = Cli.of("orders", host -> host.flow(order()));
    String export = folder.resolve("run.jsonl").toString();
    assertThat(run(cli, "export", export, "--run", "order/" + run, "--store", store())).isZero();
    List<List<String>> commands =
        List.of(
            List.of("replay", "--since", "PT99999999999999H"),
            List.of("replay", "--since", "+999999999-01-01"),
            List.of("replay", "--since", "lately"),
            List.of("runs", "--longer-than", "PT999999999999999H"),
            List.of("runs", "--longer-than", "P110000000000D"),
            List.of("serve", "--drain", "-5"),
            List.of("serve", "--cluster", "--cluster-address", "fd00::5"),
            List.of("serve", "--cluster", "--cluster-address", "[::1]:x"),
            List.of("fork", "--from", export, "--owner", "", "--at", "1"));
    for (List<String> command : commands) {
      List<String> all = new ArrayList<>(command);
      all.addAll(List.of("--store", store()));
      err.getBuffer().setLength(0);
      assertThat(run(cli, all.toArray(String[]::new)))
          .as("%s", command)
          .isEqualTo(CommandLine.ExitCode.USAGE);
      assertThat(err).asString().as("%s", command).doesNotContain("\tat ");
    }
  }

  @Test
  void aDurationThatIsNoneIsRefusedWithAnExampleOfOne() {
    Cli cli = Cli.of("orders", host -> host.flow(order()));
    assertThat(run(cli, "runs", "--longer-than", "5m", "--store", store()))
        .isEqualTo(CommandLine.ExitCode.USAGE);
    assertThat(err)
        .asString()
        .contains("'--longer-than': '5m' is not a duration such as PT5M or P1D")
        .doesNotContain("java.");
  }

  @Test
  void whatIsExplainedInOneLineIsLoggedWithItsTraceForWhoeverDebugs() {
    StandardLog.configure();
    Logger logger = (Logger) LoggerFactory.getLogger(Cli.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    logger.setLevel(Level.DEBUG);
    try {
      Cli cli = Cli.of("orders", host -> host.flow(order()).retention("bill", Retention.DEFAULT));
      assertThat(run(cli, "check", "--store", "memory")).isEqualTo(Cli.UNUSABLE);
    } finally {
      logger.setLevel(null);
      logger.detachAppender(logged);
    }

    assertThat(logged.list)
        .singleElement()
        .satisfies(
            event ->
                assertThat(event.getThrowableProxy().getCause().getClassName())
                    .isEqualTo(IllegalStateException.class.getName()));
  }

  @Test
  void anOptionOfTheApplicationThatACommandHasIsRefused() {
    assertThatThrownBy(() -> Cli.of("orders", new Clash()).commandLine())
        .isInstanceOf(CommandLine.InitializationException.class)
        .hasMessageContaining("--thread");
  }

  @Test
  void anApplicationThatNamesAStoreIsRefused() {
    begun();
    Cli cli = Cli.of("orders", host -> host.flow(order()).store(Store.memory()));

    assertThat(run(cli, "check", "--store", store())).isEqualTo(Cli.UNUSABLE);
    assertThat(err).asString().contains("leave that to --store and FERMATA_STORE");
  }

  @Test
  void aToolThatCannotBeAddedClosesTheApplicationBeforeItsHostStarts() {
    Orders orders =
        new Orders() {
          @Override
          public void addTo(McpServerBuilder server) {
            throw new IllegalStateException("no tools today");
          }
        };
    for (String command : List.of("serve", "stdio")) {
      orders.seen.clear();
      err.getBuffer().setLength(0);
      assertThat(run(Cli.of("orders", orders), command, "--store", store()))
          .isEqualTo(CommandLine.ExitCode.SOFTWARE);
      assertThat(err).asString().contains("no tools today");
      assertThat(orders.seen).containsExactly("added with none", "closed");
    }
  }

  @Test
  void aServerThatCannotOfferItsToolsDoesNotOpenItsStore() {
    McpTool order = McpTool.of("order", "The name of a flow").call(call -> McpResult.text(""));
    McpTool desk = McpTool.of("desk", "The name of an agent").call(call -> McpResult.text(""));
    McpTool mute = McpTool.of("mute", "Has no handler");
    for (McpTool tool : List.of(order, desk, mute)) {
      for (String command : List.of("serve", "stdio")) {
        err.getBuffer().setLength(0);
        assertThat(run(offering(tool), command, "--store", store()))
            .isEqualTo(CommandLine.ExitCode.USAGE);
        assertThat(err.toString().lines().findFirst().orElseThrow()).contains(tool.name());
      }
    }
    McpTool runs = McpTool.of("operate_runs", "The operators' tool").call(c -> McpResult.text(""));
    assertThat(run(offering(runs), "serve", "--port", "0", "--operators-tool", "--store", store()))
        .isEqualTo(CommandLine.ExitCode.USAGE);
    assertThat(err).asString().contains("two tools named operate_runs");
    assertThat(folder.resolve("orders.db")).doesNotExist();
  }

  @Test
  void theOperatorsToolOfAnApplicationIsServedToTheClientThatStartsIt() throws Exception {
    Process stdio = process(List.of(), Operating.class);
    stdio.getOutputStream().close(); // the end of what the client sends
    try {
      assertThat(stdio.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(stdio.exitValue()).isZero();
    } finally {
      stdio.destroyForcibly();
    }
  }

  /** An application with a flow, an agent and a plain tool. */
  private static Cli offering(McpTool tool) {
    return Cli.of(
        "orders",
        new Orders() {
          @Override
          public void addTo(HostBuilder host) {
            host.flow(order()).agent(desk());
          }

          @Override
          public void addTo(McpServerBuilder server) {
            server.tool(tool);
          }
        });
  }

  @Test
  void aFlowThatDoesNotCompileIsNoMistakeOfTheCommandLine() {
    Cli cli = Cli.of("orders", host -> host.flow(Flow.of("order", Order.class).compile()));

    assertThat(run(cli, "graph", "order")).isEqualTo(CommandLine.ExitCode.SOFTWARE);
    assertThat(err).asString().contains("InvalidFlowException", "\tat ");
  }

  @Test
  void aRunIsDrawnOnTheVersionThatItIsOn() {
    String run = begun().runId();
    Flow<Order> next =
        Flow.of("order", Order.class)
            .version(2)
            .description("Orders food.")
            .ask("which", q -> q.question("dish", "Which?"))
            .edge(START, "which")
            .edge("which", END)
            .compile();
    Cli cli = Cli.of("orders", host -> host.flow(order()).flow(next));

    assertThat(run(cli, "graph", "order")).isZero();
    assertThat(out).asString().contains("which<br>").doesNotContain("what<br>");
    out.getBuffer().setLength(0);
    assertThat(run(cli, "graph", "order", "--run", run, "--store", store())).isZero();
    assertThat(out).asString().contains("what<br>", "waits");

    Orders orders = new Orders();
    assertThat(run(Cli.of("orders", orders), "graph", "order", "--run", run, "--store", store()))
        .isZero();
    assertThat(orders.seen).containsExactly("added with none", "closed");
  }

  @Test
  void picturesThatCannotBeWrittenAreRefusedBeforeRunsAreDecidedAgain() throws Exception {
    begun();
    Orders orders = new Orders();
    Path taken = Files.writeString(folder.resolve("taken"), "soup");

    assertThat(
            run(
                Cli.of("orders", orders),
                "replay",
                "--store",
                store(),
                "--pictures",
                taken.resolve("pictures").toString()))
        .isEqualTo(Cli.UNUSABLE);
    assertThat(err.toString().lines())
        .singleElement()
        .asString()
        .contains("cannot take the pictures", "name another directory with --pictures");
    assertThat(orders.seen).isEmpty();
  }

  @Test
  void picturesThatFailLaterDoNotLoseTheReport() {
    begun();
    Path pictures = folder.resolve("pictures");
    Application changed =
        host -> {
          assertThat(pictures.toFile().delete()).as("it was there at the start").isTrue();
          host.flow(asking("What?"));
        };

    assertThat(
            run(
                Cli.of("orders", changed),
                "replay",
                "--store",
                store(),
                "--pictures",
                pictures.toString()))
        .isEqualTo(Cli.UNUSABLE);
    assertThat(out).asString().contains("1 run(s)", "asked otherwise", "Recorded:", "Now:");
    assertThat(err.toString().lines())
        .singleElement()
        .asString()
        .contains("cannot take the pictures", "--pictures");
  }

  @Test
  void anOperatorListsTheRunsOfEverybodyOfAServer() {
    String ofAnn = begun().runId();
    Cli cli = Cli.of("orders", new Orders());
    try (Fermata host = Fermata.host().store(Store.parse(store())).flow(order()).start();
        McpServer server =
            McpServer.serving(host)
                .runs(host.runs())
                .apiKey("bob", "b-key")
                .apiKey("ops", "o-key")
                .operators("ops")
                .port(0)
                .start()) {
      String url = server.endpoint().toString();
      String[] asOperator = {"runs", "--server", url, "--api-key", "o-key"};

      assertThat(run(cli, asOperator)).isZero();
      assertThat(out).asString().as("its own").doesNotContain(ofAnn);
      assertThat(run(cli, with(asOperator, "--all"))).isZero();
      assertThat(out).asString().contains(ofAnn);
      assertThat(run(cli, "runs", "--server", url, "--api-key", "b-key", "--all"))
          .isEqualTo(Cli.UNUSABLE);
      assertThat(err).asString().contains("Only operators list the runs of others");
      assertThat(run(cli, with(asOperator, "--all", "--principal", "ann")))
          .isEqualTo(CommandLine.ExitCode.USAGE);
      assertThat(err).asString().contains("--all and --principal exclude each other");
    }
    out.getBuffer().setLength(0);
    assertThat(run(cli, "runs", "--store", store(), "--all")).isZero();
    assertThat(out).asString().contains(ofAnn);
  }

  private static String[] with(String[] arguments, String... more) {
    return Stream.of(arguments, more).flatMap(Stream::of).toArray(String[]::new);
  }

  @Test
  void anApplicationThatDoesNotStartIsClosed() {
    Orders orders = new Orders();

    assertThat(
            run(Cli.of("orders", orders), "serve", "--port", "0", "--cluster", "--store", store()))
        .isEqualTo(Cli.UNUSABLE);
    assertThat(err).asString().contains("cluster");
    assertThat(orders.seen).containsExactly("added with none", "closed");
  }
}
