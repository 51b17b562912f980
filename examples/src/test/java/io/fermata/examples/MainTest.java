package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.persistence.OpenStore;
import io.fermata.persistence.Store;
import io.fermata.session.Keys;
import io.fermata.testkit.HostProbe;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each way to fail has an exit code of its own and says what to do next. */
class MainTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir Path directory;

  private int run(String... arguments) {
    return Main.commandLine()
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  @Test
  void aWrongCommandLineIsTwo() {
    assertThat(run("serve", "--store", "papyrus:scroll")).isEqualTo(2);
    assertThat(err.toString()).contains("\"papyrus:scroll\"", "choose", "sqlite:fermata.db");
    assertThat(run("graph", "quot")).isEqualTo(2);
    assertThat(err.toString()).contains("There is no flow quot; choose one of quote, table");
    assertThat(run("serve", "--port", "99999", "--store", "memory")).isEqualTo(2);
    assertThat(err.toString()).contains("0 to 65535");
    assertThat(run()).isEqualTo(2);
  }

  @Test
  void aKeyIsPrintedAsTheEnvironmentTakesIt() {
    assertThat(run("key", "k7")).isZero();
    assertThat(Keys.parse(out.toString()).current()).isEqualTo("k7");
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
    assertThat(run("check", "--store", spec)).isEqualTo(0);
    try (HostProbe host = HostProbe.of(unversioned, store)) {
      host.start("wants a quote");
    }
    assertThat(run("check", "--store", spec)).isEqualTo(5);
    assertThat(out.toString()).contains("0 run(s)", "CANNOT GO ON", "quote", "version 1");
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
  void aPortThatIsInUseIsFour() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(taken.getLocalPort());
      assertThat(run("serve", "--port", port, "--store", "memory")).isEqualTo(4);
      assertThat(err.toString()).contains(port, "--port").doesNotContain("\tat ");
    }
  }

  @Test
  void anAddressThatOthersReachNeedsAKey() {
    assertThat(run("serve", "--address", "0.0.0.0", "--port", "0", "--store", "memory"))
        .isEqualTo(4);
    assertThat(err.toString()).contains("--api-key");
  }

  @Test
  void halfAnIssuerIsAWrongCommandLine() {
    String issuer = "https://auth.example.com";
    assertThat(run("serve", "--port", "0", "--store", "memory", "--oauth-issuer", issuer))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--oauth-audience", "FERMATA_OAUTH_AUDIENCE");
  }

  @Test
  void halfAModelIsAWrongCommandLine() {
    assertThat(run("serve", "--store", "memory", "--model-url", "http://localhost:1/v1"))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains("name is missing", "--model-name", "FERMATA_MODEL_NAME", "FERMATA_MODEL_KEY");
    String[] wrong = {"--model-url", "localhost", "--model-name", "any"};
    assertThat(run("chat", "desk", "--store", "memory", wrong[0], wrong[1], wrong[2], wrong[3]))
        .isEqualTo(2);
    assertThat(err.toString()).contains("\"localhost\" is no http or https address");
  }

  @Test
  void aChatNeedsAnAgentAndAThreadThatThereAre() {
    assertThat(run("chat", "des", "--store", "memory")).isEqualTo(2);
    assertThat(err.toString()).contains("There is no agent des; choose one of billing, desk");
    assertThat(run("chat", "desk", "--store", "memory", "--thread", "nobody")).isEqualTo(2);
    assertThat(err.toString()).contains("There is no thread nobody", "leave --thread out");
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
    try (HostProbe host = HostProbe.of(QuoteFlow.create(), Store.sqlite(file))) {
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
    assertThat(run("graph", "quote", "--run", "nobody", "--store", store)).isEqualTo(2);
    assertThat(err.toString()).contains("no journal of a run nobody of quote");
  }

  @Test
  void runsAreListedFromAStoreThatNobodyHasOpen() {
    Path file = directory.resolve("listed.db");
    try (HostProbe host = HostProbe.of(QuoteFlow.create(), Store.sqlite(file))) {
      host.start("to see plans");
    }
    assertThat(run("runs", "--store", "sqlite:" + file)).isZero();
    assertThat(out.toString()).contains("quote 1", "waiting", "answer name, answer email");
    assertThat(run("runs", "--json", "--rebuild", "--store", "sqlite:" + file)).isZero();
    assertThat(out.toString()).contains("\"status\":\"waiting\"");
    assertThat(err.toString()).contains("1 runs are listed");
    assertThat(run("runs", "--status", "asleep", "--store", "sqlite:" + file)).isEqualTo(2);
    assertThat(err.toString()).contains("There is no status asleep", "stopped");
    try (OpenStore held = Store.sqlite(file).open()) {
      assertThat(held.describe()).isNotEmpty();
      assertThat(run("runs", "--store", "sqlite:" + file)).isEqualTo(3);
      assertThat(err.toString()).contains("--server");
    }
  }

  @Test
  void aRunMovesFromOneStoreToAnotherAndGoesOnThere() {
    Store old = Store.sqlite(directory.resolve("old.db"));
    Store other = Store.sqlite(directory.resolve("other.db"));
    String runId;
    try (HostProbe host = HostProbe.of(QuoteFlow.create(), old)) {
      host.start("wants a price", "name", "Ann", "email", "ann@acme.com").asks("companySize");
      runId = host.reply().meta().path("fermata/run").path("runId").textValue();
    }
    String file = directory.resolve("run.jsonl").toString();
    assertThat(run("export", file, "--run", "quote/" + runId, "--store", old.toString())).isZero();
    assertThat(Path.of(file)).content().startsWith("{\"fermata\":\"journal\"");
    assertThat(run("import", file, "--store", other.toString())).isZero();
    assertThat(out.toString()).contains("of the run " + runId + " of quote");
    assertThat(run("import", file, "--store", other.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("has a journal");
    assertThat(run("graph", "quote", "--run", runId, "--store", other.toString())).isZero();
    assertThat(out.toString()).contains("waits#58; How big is your company?");
    assertThat(run("export", file + "2", "--run", "quote/no.body", "--store", old.toString()))
        .isEqualTo(2);
    assertThat(err.toString()).contains("no journal of no.body");
  }

  @Test
  void aStoreThatIsInUseIsCopiedAndTheCopyGoesOnAndIsErased() {
    Store store = Store.sqlite(directory.resolve("used.db"));
    String copy = directory.resolve("copy.db").toString();
    try (HostProbe host = HostProbe.of(QuoteFlow.create(), store)) {
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
