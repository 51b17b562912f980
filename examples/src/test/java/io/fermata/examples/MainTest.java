package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import io.fermata.cli.Cli;
import io.fermata.disk.SmallDisk;
import io.fermata.examples.flows.QuoteFlow;
import io.fermata.examples.flows.Restaurant;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.Fermata;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.Threads;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.SessionProbe;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each kind of failure has its own exit code and says what to do next. */
@Tag("slow")
class MainTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir Path directory;

  private int run(String... arguments) {
    return Main.cli()
        .commandLine()
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  @Test
  void aWrongCommandLineIsTwo() {
    assertThat(run("serve", "--store", "papyrus:scroll")).isEqualTo(2);
    assertThat(err.toString()).contains("\"papyrus:scroll\"", "choose", "sqlite:fermata.db");
    assertThat(run("graph", "quot")).isEqualTo(2);
    assertThat(err.toString())
        .contains("There is no flow quot; did you mean quote?", "See graph --help.")
        .doesNotContain("Usage:");
    assertThat(run("serve", "--port", "99999", "--store", "memory")).isEqualTo(2);
    assertThat(err.toString()).contains("0 to 65535");
    String[] alike = {"--api-key", "ann=s3cret", "--api-key", "ops=s3cret"};
    assertThat(error(2, serve(alike)))
        .contains("ann and ops have the same API key", "See serve --help.")
        .doesNotContain("s3cret");
    assertThat(error(2, serve("--allow-host", "https://flows.example.com:8443")))
        .contains("write flows.example.com", "See serve --help.");
    assertThat(error(2, serve("--allow-origin", "app.example.com")))
        .contains("write https://app.example.com", "See serve --help.");
    assertThat(run()).isEqualTo(2);
  }

  private static String[] serve(String... options) {
    String[] serve = {"serve", "--port", "0", "--store", "memory"};
    return Stream.of(serve, options).flatMap(Stream::of).toArray(String[]::new);
  }

  @Test
  void aCommandIsMadeWithoutTheOthers() {
    assertThat(Main.cli().commandLine("serve", "runs").getSubcommands()).containsOnlyKeys("serve");
    assertThat(Main.cli().commandLine("--help", "runs").getSubcommands())
        .hasSameSizeAs(Main.cli().commandLine("serv").getSubcommands())
        .containsKeys("serve", "runs");
  }

  @Test
  void aKeyIsPrintedAsTheEnvironmentTakesIt() {
    assertThat(run("key", "k7")).isZero();
    assertThat(DataKeys.parse(out.toString()).current()).isEqualTo("k7");
    assertThat(run("key", "not an id")).isEqualTo(2);
  }

  @Test
  void runsThatTheReleaseCannotContinueAreFive() {
    Store store = Store.sqlite(directory.resolve("old.db"));
    Flow<QuoteFlow.Quote> unversioned =
        Flow.of("quote", QuoteFlow.Quote.class)
            .description("Quotes.")
            .ask("ask_name", q -> q.question("name", "Name?"))
            .edge(Flow.START, "ask_name")
            .edge("ask_name", Flow.END)
            .compile();
    String spec = "sqlite:" + directory.resolve("old.db");
    store.open().close();
    assertThat(run("check", "--store", spec)).isEqualTo(0);
    try (SessionProbe host = SessionProbe.of(unversioned, store)) {
      host.start("wants a quote");
    }
    assertThat(run("check", "--store", spec)).isEqualTo(5);
    assertThat(out.toString()).contains("0 run(s)", "CANNOT CONTINUE", "quote", "version 1");
  }

  @Test
  void threadsThatTheReleaseHoldsAreFive() {
    Store store = Store.sqlite(directory.resolve("threads.db"));
    begun(store, "desk");
    assertThat(run("check", "--store", store.toString())).isEqualTo(0);
    assertThat(out.toString()).contains("1 thread(s): 0 are held").doesNotContain("HELD");
    String held = begun(store, "concierge");
    assertThat(run("check", "--store", store.toString())).isEqualTo(5);
    assertThat(out.toString())
        .contains(
            "2 thread(s): 1 are held",
            "HELD             concierge thread " + held,
            "no agent concierge is registered");
  }

  /** A thread of an agent with that name. */
  private static String begun(Store store, String agent) {
    Model model = ScriptedModel.answering(request -> AiMessage.from("Hello.")).model("scripted");
    try (Fermata host =
        Fermata.host()
            .store(store)
            .agent(Agent.aiHuman(agent, Prompt.of("prompt", model)))
            .start()) {
      Threads.NewThread thread =
          new Threads.NewThread("ann", agent, null, Set.of(), Map.of(), List.of());
      return host.threads().create(thread).toCompletableFuture().join().threadId();
    }
  }

  @Test
  void aStoreThatIsInUseIsThree() {
    Path file = directory.resolve("busy.db");
    OpenStore held = Store.sqlite(file).open();
    try {
      assertThat(run("serve", "--port", "0", "--store", "sqlite:" + file)).isEqualTo(3);
      assertThat(err.toString()).contains("busy.db", "choose another file").doesNotContain("\tat ");
    } finally {
      held.close();
    }
  }

  @Test
  void aClusterOnAnEmbeddedStoreIsThree() {
    String spec = "sqlite:" + directory.resolve("alone.db");
    for (String store : List.of(spec, "memory")) {
      assertThat(run("serve", "--port", "0", "--cluster", "--store", store)).isEqualTo(3);
      assertThat(err.toString())
          .contains(
              store + " cannot be shared by the hosts of a cluster",
              "postgres://user@host/database, or start one host without a cluster")
          .doesNotContain("\tat ");
    }
    assertThat(directory.resolve("alone.db")).doesNotExist();
  }

  @Test
  void aPortThatIsInUseIsFour() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(taken.getLocalPort());
      assertThat(run("serve", "--port", port, "--store", "memory")).isEqualTo(4);
      assertThat(err.toString()).contains(port, "--port").doesNotContain("\tat ", "(…)");
    }
  }

  @Test
  void aPortOfAClusterThatIsInUseIsFour() throws IOException {
    String database = PostgresServer.shared().newDatabase();
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String address = "127.0.0.1:" + taken.getLocalPort();
      String[] serve = {"serve", "--port", "0", "--store", database, "--cluster"};
      String[] there = {"--cluster-address", address};
      assertThat(error(4, Stream.of(serve, there).flatMap(Stream::of).toArray(String[]::new)))
          .contains("cannot listen at " + address, "choose another port", "--cluster-address")
          .hasLineCount(1);
    }
  }

  @Test
  void anAddressThatOthersReachNeedsAKey() {
    assertThat(run("serve", "--address", "0.0.0.0", "--port", "0", "--store", "memory"))
        .isEqualTo(4);
    assertThat(err.toString())
        .contains("--api-key", "FERMATA_API_KEYS")
        .doesNotContain("(…)", "apiKey");
  }

  @Test
  void halfAnIssuerIsAWrongCommandLine() {
    String issuer = "https://auth.example.com";
    assertThat(run("serve", "--port", "0", "--store", "memory", "--oauth-issuer", issuer))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--oauth-audience", "FERMATA_OAUTH_AUDIENCE");
  }

  @Test
  void aPermissionOfNobodyIsAWrongCommandLine() {
    for (String option : List.of("--operator", "--instructor")) {
      String[] serve = {
        "serve", "--port", "0", "--store", "memory", "--api-key", "ann=s3cret", option, ""
      };
      assertThat(run(serve)).as(option).isEqualTo(2);
      assertThat(err.toString()).contains("names an empty principal");
      serve[serve.length - 1] = "anne";
      assertThat(run(serve)).as(option).isEqualTo(2);
      assertThat(err.toString())
          .contains("anne, who cannot authenticate here", "add an API key for that principal")
          .doesNotContain("s3cret", "\tat ");
    }
  }

  @Test
  void halfAModelIsAWrongCommandLine() {
    assertThat(run("serve", "--store", "memory", "--model-url", "http://localhost:1/v1"))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains(
            "name and price is missing",
            "--model-name",
            "--model-price",
            "FERMATA_MODEL_NAME",
            "FERMATA_MODEL_KEY");
    String[] wrong = {"--model-url", "localhost", "--model-name", "any", "--model-price", "0,0"};
    assertThat(
            run(
                "chat", "desk", "--store", "memory", wrong[0], wrong[1], wrong[2], wrong[3],
                wrong[4], wrong[5]))
        .isEqualTo(2);
    assertThat(err.toString()).contains("\"localhost\" is not an http or https address");
  }

  @Test
  void aChatNeedsAnAgentAndAThreadThatThereAre() {
    assertThat(run("chat", "des", "--store", "memory")).isEqualTo(2);
    assertThat(err.toString()).contains("There is no agent des; did you mean desk?");
    assertThat(run("chat", "desk", "--store", "memory", "--thread", "nobody")).isEqualTo(3);
    assertThat(err.toString()).contains("There is no thread nobody", "omit --thread");
  }

  @Test
  void aThreadThatIsDamagedIsNotCalledUnknownByAChat() throws SQLException {
    Store store = Store.sqlite(directory.resolve("threads.db"));
    String thread = begun(store, "desk");
    try (Connection file = DriverManager.getConnection("jdbc:" + store);
        Statement statement = file.createStatement()) {
      statement.executeUpdate("update event_journal set event_payload = zeroblob(9)");
    }
    assertThat(error(3, "chat", "desk", "--store", store.toString(), "--thread", thread))
        .contains("is damaged")
        .doesNotContain("There is no thread", "\tat ");
  }

  @Test
  void drawsEveryFlow() {
    assertThat(run("graph", "quote")).isZero();
    assertThat(run("graph", "table")).isZero();
    assertThat(out.toString())
        .contains(
            "ask_contact<br>asks name, email",
            "|\"company<br>segment eq #34;company#34;\"|",
            "reserve");
    assertThat(run("graph", "quote", "--svg")).isZero();
    assertThat(out.toString()).contains("<svg xmlns=", "data-node=\"ask_contact\"");
  }

  @Test
  void drawsARunOfTheStore() {
    Path file = directory.resolve("runs.db");
    String runId;
    try (SessionProbe host = SessionProbe.of(QuoteFlow.create(), Store.sqlite(file))) {
      host.start("wants a price", "name", "Ann", "email", "ann@acme.com").asks("companySize");
      runId = host.reply().meta().path("fermata/run").path("runId").textValue();
    }
    String store = "sqlite:" + file;
    assertThat(run("graph", "quote", "--run", runId, "--store", store)).isZero();
    assertThat(out.toString())
        .contains("waits#58; How big is your company?", "✓ segment = #34;company#34;");
    assertThat(
            run("graph", "quote", "--run", runId, "--store", store, "--svg", "--redact", "segment"))
        .isZero();
    assertThat(out.toString()).contains("✓ segment = &quot;[redacted]&quot;");
    assertThat(run("graph", "quote", "--run", "nobody", "--store", store)).isEqualTo(3);
    assertThat(err.toString()).contains("no journal of a run nobody of quote").hasLineCount(1);
    assertThat(run("graph", "quote", "--run", runId, "--store", store, "--redact", "email.adress"))
        .isEqualTo(2);
  }

  @Test
  void runsAreListedFromAStoreThatNobodyHasOpen() {
    Path file = directory.resolve("listed.db");
    try (SessionProbe host = SessionProbe.of(QuoteFlow.create(), Store.sqlite(file))) {
      host.start("to see plans");
    }
    assertThat(run("runs", "--store", "sqlite:" + file)).isZero();
    assertThat(out.toString()).contains("quote 1", "waiting", "answer name, answer email");
    assertThat(run("runs", "--json", "--rebuild", "--store", "sqlite:" + file)).isZero();
    assertThat(out.toString()).contains("\"status\":\"waiting\"");
    assertThat(err.toString()).contains("Read 1 journal; listed: 1 run;");
    assertThat(run("runs", "--status", "asleep", "--store", "sqlite:" + file)).isEqualTo(2);
    assertThat(err.toString()).contains("There is no status asleep", "stopped");
    try (OpenStore held = Store.sqlite(file).open()) {
      assertThat(held.describe()).isNotEmpty();
      assertThat(run("runs", "--store", "sqlite:" + file)).isEqualTo(3);
      assertThat(err.toString()).contains("already open", "--server");
      String path = "sqlite:" + file;
      assertThat(error(3, "graph", "quote", "--run", "a.b", "--store", path))
          .contains(
              "already open",
              "backup copy.db --store " + path + "; then graph --run --store sqlite:copy.db");
      String to = directory.resolve("not.jsonl").toString();
      assertThat(error(3, "export", to, "--run", "quote/a.b", "--store", path))
          .contains(
              "already open",
              "backup copy.db --store " + path + "; then export --store sqlite:copy.db");
      assertThat(Path.of(to)).doesNotExist();
    }
  }

  @Test
  void besideAClusterTheRolloutIsCheckedAndOneStateIsReadFromACopy() {
    Store database = Store.postgres(PostgresServer.shared().newDatabase());
    try (SessionProbe host = SessionProbe.of(QuoteFlow.create(), database)) {
      host.start("to see plans");
    }
    String path = database.toString();
    try (OpenStore held = database.openShared()) {
      assertThat(held.describe()).isNotEmpty();
      assertThat(run("check", "--store", path)).isZero();
      assertThat(run("replay", "--store", path)).isZero();
      assertThat(run("verify", "--store", path)).isZero();
      assertThat(error(3, "graph", "quote", "--run", "a.b", "--store", path))
          .contains("used by a cluster", "pg_dump", "then graph --run --store postgres:")
          .doesNotContain("sqlite");
      assertThat(error(3, "backup", directory.resolve("b.db").toString(), "--store", path))
          .contains("has no file to copy; use pg_dump")
          .hasLineCount(1);
    }
  }

  /** The error output of a command that fails. */
  private String error(int code, String... arguments) {
    err.getBuffer().setLength(0);
    assertThat(run(arguments)).as(err.toString()).isEqualTo(code);
    return err.toString();
  }

  @Test
  void aStoreThatIsMissingIsRefusedByThoseThatReadOrEraseAndNotCreated() {
    Path file = directory.resolve("typo.db");
    String copy = directory.resolve("copy.db").toString();
    for (String[] command :
        new String[][] {
          {"check"},
          {"runs"},
          {"erase", "--principal", "ann"},
          {"erase", "--run", "quote/a.b"},
          {"export", copy, "--run", "quote/a.b"},
          {"backup", copy},
          {"graph", "quote", "--run", "a.b"},
          {"serve", "--port", "0", "--store", "memory", "--accept-handles-of", "sqlite:" + file}
        }) {
      List<String> all = new ArrayList<>(List.of(command));
      if (!all.contains("--store")) {
        all.addAll(List.of("--store", "sqlite:" + file));
      }
      assertThat(error(3, all.toArray(String[]::new)))
          .contains("There is no store sqlite:" + file, "--store")
          .hasLineCount(1);
      assertThat(directory).isEmptyDirectory();
    }
  }

  @Test
  void aPostgresSchemaThatIsMissingIsRefusedByThoseThatReadOrEraseAndNotCreated() {
    PostgresServer server = PostgresServer.shared();
    String empty = server.newDatabase();
    String typo = empty + "?currentSchema=fermta";
    String copy = directory.resolve("copy.jsonl").toString();
    for (String store : List.of(typo, empty)) {
      String before = catalog(server, empty);
      for (String[] command :
          new String[][] {
            {"check"},
            {"runs"},
            {"replay"},
            {"verify"},
            {"erase", "--principal", "ann"},
            {"erase", "--run", "quote/a.b"},
            {"export", copy, "--run", "quote/a.b"},
            {"record", copy, "--run", "quote/a.b"},
            {"fork", "quote/a.b", "--at", "1"},
            {"graph", "quote", "--run", "a.b"},
            {"serve", "--port", "0", "--store", "memory", "--accept-handles-of", store}
          }) {
        List<String> all = new ArrayList<>(List.of(command));
        if (!all.contains("--store")) {
          all.addAll(List.of("--store", store));
        }
        assertThat(error(3, all.toArray(String[]::new)))
            .contains(
                "There is no store", Store.parse(store).toString(), "--store", "currentSchema")
            .hasLineCount(1);
        assertThat(catalog(server, empty)).as("after %s", all).isEqualTo(before);
        assertThat(directory).isEmptyDirectory();
      }
    }
  }

  /** The schemas of a database, and its tables outside the catalog. */
  private static String catalog(PostgresServer server, String address) {
    String all =
        """
        SELECT concat_ws('; ', (SELECT string_agg(nspname, ', ' ORDER BY 1) FROM pg_namespace),
          (SELECT string_agg(tablename, ', ' ORDER BY 1) FROM pg_tables
           WHERE schemaname NOT IN ('pg_catalog', 'information_schema')))
        """;
    try (Connection connection = server.connect(PostgresServer.database(address));
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(all)) {
      row.next();
      return row.getString(1);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFileThatExistsIsNotWrittenOver() throws IOException {
    Path file = directory.resolve("run.jsonl");
    Files.writeString(file, "mine");
    String store = newStore("one.db").toString();
    assertThat(error(3, "export", file.toString(), "--run", "quote/a.b", "--store", store))
        .isEqualTo(file + " exists already; choose another file" + System.lineSeparator());
    assertThat(file).hasContent("mine");
    String lost = directory.resolve("no/where.jsonl").toString();
    assertThat(error(3, "export", lost, "--run", "quote/a.b", "--store", store))
        .contains(lost, "its directory does not exist")
        .hasLineCount(1);
  }

  @Test
  void whatCannotBeRecordedIsNamedInOneLine() throws IOException {
    Path file = directory.resolve("test.jsonl");
    String store = newStore("one.db").toString();
    assertThat(error(3, "record", file.toString(), "--run", "quote/a.b", "--store", store))
        .contains("no journal of a run a.b of quote")
        .hasLineCount(1);
    assertThat(error(3, "record", file.toString(), "--run", "quota/a.b", "--store", store))
        .contains("quota")
        .hasLineCount(1);
    assertThat(error(3, "record", file.toString(), "--thread", "desk.x", "--store", store))
        .contains("desk.x")
        .hasLineCount(1);
    assertThat(file).doesNotExist();
    Files.writeString(file, "mine");
    assertThat(error(3, "record", file.toString(), "--run", "quote/a.b", "--store", store))
        .isEqualTo(file + " exists already; choose another file" + System.lineSeparator());
    assertThat(file).hasContent("mine");
  }

  @Test
  void aRunIsRecordedWithInventedValuesOrRefusedWithTheReason() throws IOException {
    Path export = Path.of("src/test/resources/runs/quote-with-a-correction.jsonl");
    String run = "quote/" + Json.parse(Files.readAllLines(export).get(0)).path("id").asText();
    String store = newStore("one.db").toString();
    error(0, "import", export.toString(), "--store", store);
    Path file = directory.resolve("test.jsonl");

    assertThat(
            error(
                Cli.DECIDED_OTHERWISE,
                "record",
                file.toString(),
                "--run",
                run,
                "--scrub",
                "segment",
                "--store",
                store))
        .contains("Nothing was recorded", "Now:      After classify the run went to price");
    assertThat(
            error(3, "record", file.toString(), "--run", run, "--scrub", "emial", "--store", store))
        .isEqualTo(
            "The flow quote has no field emial; did you mean email?" + System.lineSeparator());
    assertThat(file).doesNotExist();

    error(
        0,
        "record",
        file.toString(),
        "--run",
        run,
        "--scrub",
        "name",
        "--scrub",
        "email",
        "--store",
        store);
    assertThat(file).content().contains("wants a price").doesNotContain("Ann", "acme");
    assertThat(error(0, "replay", file.toString())).isEmpty();
  }

  @Test
  @Tag("tools")
  void aFileForWhichADiskHasNoRoomIsNotBegun() throws IOException {
    Path export = Path.of("src/test/resources/runs/quote-with-a-correction.jsonl");
    String run = "quote/" + Json.parse(Files.readAllLines(export).get(0)).path("id").asText();
    String store = newStore("one.db").toString();
    error(0, "import", export.toString(), "--store", store);
    try (SmallDisk disk = SmallDisk.mount(directory)) {
      Path files = disk.files();
      String file = files.resolve("run.jsonl").toString();
      for (String command : List.of("export", "record")) {
        disk.fill();
        assertThat(error(3, command, file, "--run", run, "--store", store))
            .isEqualTo(
                file
                    + " cannot be written: No space left on device; choose another file"
                    + System.lineSeparator());
        assertThat(files).isEmptyDirectory();
        disk.free();
        error(0, command, file, "--run", run, "--store", store);
        Files.delete(Path.of(file));
      }
    }
  }

  private Store newStore(String name) {
    Store store = Store.sqlite(directory.resolve(name));
    store.open().close();
    return store;
  }

  @Test
  void whatIsNoExportIsRefusedInOneLine() throws IOException {
    Path file = directory.resolve("soup.jsonl");
    Files.writeString(file, "soup\n");
    assertThat(error(3, "import", file.toString(), "--store", "memory"))
        .contains("Line 1 is not JSON")
        .hasLineCount(1);
    assertThat(error(3, "import", directory.toString(), "--store", "memory"))
        .contains("cannot be read", "export")
        .hasLineCount(1);
    assertThat(error(2, "export", "x.jsonl", "--run", "quote", "--store", "memory"))
        .contains("--run", "such as order/<runId>");
  }

  @Test
  void aServerThatCannotBeAskedIsNamedWithTheReasonAndTheNextStep() throws IOException {
    assertThat(error(3, "runs", "--server", "http://localhost:1"))
        .contains("http://localhost:1 cannot be reached: no server listens there; start the server")
        .hasLineCount(1);
    assertThat(error(2, "runs", "--server", "localhost:1"))
        .contains("localhost:1 is not an http or https address");
    assertThat(error(2, "runs", "--server", "http://localhost:99999"))
        .contains("http://localhost:99999 is not an http or https address");
    try (Restaurant other = Restaurant.open()) {
      assertThat(error(3, "runs", "--server", other.uri().toString()))
          .contains(other.uri().toString(), "with --server")
          .hasLineCount(1);
    }
  }

  @Test
  void aKeyThatNoHeaderCanHaveIsNotPrinted() {
    assertThat(error(2, "runs", "--server", "http://localhost:1", "--api-key", "hid\nden"))
        .contains("The API key has characters that no header can have; see --api-key")
        .doesNotContain("hid", "den");
  }

  @Test
  void outputThatCannotBeWrittenIsThree() throws Exception {
    File full = new File("/dev/full");
    assumeTrue(full.exists());
    for (String[] arguments :
        List.of(
            new String[] {"key", "k1"},
            new String[] {"graph", "trip", "--svg"},
            new String[] {"--version"})) {
      Process process = ServerProcess.runInto(full, directory, arguments);
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
      assertThat(process.exitValue()).isEqualTo(3);
      assertThat(Files.readString(directory.resolve("errors.txt")))
          .contains("Not all output could be written")
          .hasLineCount(1);
    }
  }

  @Test
  void keysThatCannotBeReadAreNamedByTheirVariable() throws Exception {
    String[] runs = {"serve", "--port", "0", "--store", "sqlite:keys.db"};
    assertThat(complaint(Map.of("FERMATA_KEYS", "bad"), runs))
        .contains("FERMATA_KEYS cannot be used: Key number 1 has no id")
        .contains("for a new key: key <id>");
    assertThat(complaint(Map.of("FERMATA_KEYS_FILE", "/nofile"), runs))
        .contains("FERMATA_KEYS_FILE cannot be used: The key file does not exist: /nofile; put it")
        .doesNotContain("new key");
    assertThat(complaint(Map.of("FERMATA_API_KEYS", "ann=one,hidden"), runs))
        .contains("FERMATA_API_KEYS is invalid: entry 2")
        .doesNotContain("hidden");
  }

  private String complaint(Map<String, String> environment, String... arguments) throws Exception {
    Process process = ServerProcess.run(directory, environment, arguments);
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
      assertThat(process.exitValue()).isEqualTo(2);
      return Files.readString(directory.resolve("errors.txt"));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aFieldThatIsNoneIsNotSilentlyShown() {
    assertThat(error(2, "graph", "quote", "--redact", "emial"))
        .contains("The flow quote has no field emial; did you mean email?");
    assertThat(error(2, "graph", "quote", "--redact", "**.emial")).contains("no field **.emial");
    assertThat(error(2, "graph", "quote", "--redact", "")).contains("its fields are companySize");
    for (String field : List.of("segment", "**.email", "email")) {
      assertThat(run("graph", "quote", "--redact", field)).isZero();
    }
  }

  @Test
  void whoIsNotKnownIsNotErased() {
    String store = newStore("empty.db").toString();
    assertThat(run("erase", "--principal", "ann", "--store", store)).isZero();
    assertThat(out.toString())
        .contains("The store has nothing of the principal ann; nothing was erased")
        .doesNotContain("nothing is left");
  }

  @Test
  void aRunMovesFromOneStoreToAnotherAndContinuesThere() {
    Store old = Store.sqlite(directory.resolve("old.db"));
    Store other = Store.sqlite(directory.resolve("other.db"));
    String runId;
    try (SessionProbe host = SessionProbe.of(QuoteFlow.create(), old)) {
      host.start("wants a price", "name", "Ann", "email", "ann@acme.com").asks("companySize");
      runId = host.reply().meta().path("fermata/run").path("runId").textValue();
    }
    String file = directory.resolve("run.jsonl").toString();
    assertThat(run("export", file, "--run", "quote/" + runId, "--store", old.toString())).isZero();
    assertThat(Path.of(file)).content().startsWith("{\"fermata\":\"journal\"");
    assertThat(run("import", file, "--store", other.toString())).isZero();
    assertThat(out.toString()).contains("of the run " + runId + " of quote");
    assertThat(out.toString())
        .contains("1 record in " + file, "serve --accept-handles-of")
        .doesNotContain("1 records");
    assertThat(error(3, "import", file, "--store", other.toString()))
        .contains("already has the run quote/" + runId + "; erase it first")
        .hasLineCount(1);
    assertThat(run("erase", "--run", "quote/" + runId, "--store", other.toString())).isZero();
    assertThat(out.toString()).contains("Erased 1 journal with", "nothing is left");
    assertThat(run("import", file, "--store", other.toString())).isZero();
    assertThat(run("graph", "quote", "--run", runId, "--store", other.toString())).isZero();
    assertThat(out.toString()).contains("waits#58; How big is your company?");
    assertThat(run("export", file + "2", "--run", "quote/no.body", "--store", old.toString()))
        .isEqualTo(3);
    assertThat(err.toString()).contains("no journal of no.body");
  }

  @Test
  void aStoreThatIsInUseIsCopiedAndTheCopyContinuesAndIsErased() {
    Store store = Store.sqlite(directory.resolve("used.db"));
    String copy = directory.resolve("copy.db").toString();
    try (SessionProbe host = SessionProbe.of(QuoteFlow.create(), store)) {
      host.start("wants a price", "name", "Ann", "email", "ann@acme.com").asks("companySize");
      assertThat(run("backup", copy, "--store", store.toString())).isZero();
      host.answer("companySize", "51+");
    }
    assertThat(run("erase", "--principal", "tester", "--store", "sqlite:" + copy)).isZero();
    assertThat(out.toString()).contains("nothing is left");
    assertThat(run("backup", copy, "--store", store.toString())).isEqualTo(3);
    assertThat(err.toString()).contains("exists already");
    assertThat(run("backup", copy + "2", "--store", "memory")).isEqualTo(3);
  }
}
