package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.cli.Cli;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.session.ExportedJournal;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine.ExitCode;

/** The store of a killed server, and commands on it before the next server starts. */
@Tag("slow")
class StoreCommandsTest {
  private static final int RUNS = 40;

  @TempDir Path directory;

  private ServerProcess server(String file, int bankTakes) throws Exception {
    String takes = String.valueOf(bankTakes);
    return ServerProcess.start(
        directory, "serve", "--port", "0", "--store", "sqlite:" + file, "--bank-takes", takes);
  }

  private static void command(String... options) {
    assertThat(ended(0, options)).isNotNull();
  }

  /** What a command that ends with this code said. */
  private static String ended(int expected, String... options) {
    StringWriter said = new StringWriter();
    PrintWriter out = new PrintWriter(said);
    int code = Main.cli().commandLine().setOut(out).setErr(out).execute(options);
    assertThat(code).as(said.toString()).isEqualTo(expected);
    return said.toString();
  }

  private String store(String file) {
    return "sqlite:" + directory.resolve(file);
  }

  private OpenStore open(String file) {
    return Store.sqlite(directory.resolve(file)).open();
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  private Path bookings() {
    return directory.resolve("refunds.txt");
  }

  private void awaitBooking() throws InterruptedException {
    for (int i = 0; i < 3_000 && !Files.exists(bookings()); i++) {
      Thread.sleep(10);
    }
    assertThat(bookings()).exists();
  }

  /** A server is killed while the bank books a refund, and the bank's record of it is deleted. */
  private void leaveWorkIn(String file) throws Exception {
    try (ServerProcess server = server(file, 20_000)) {
      ThreadClient ann = ThreadClient.create(server, "desk");
      ann.answer(ann.say("Please refund B-1001.").at("/questions/0"), "approved", true);
      ann.answer(ann.settled().at("/questions/0"), "answers", Map.of("reason", "damaged"));
      awaitBooking();
      server.kill();
    }
    Files.delete(bookings());
  }

  /** The journals with unfinished work, and the number of the newest record. */
  private record Work(Set<String> journals, long newest) {
    /** A journal is named by its flow and session. */
    String refund() {
      return journals.stream().filter(id -> id.startsWith("refund|")).findFirst().orElseThrow();
    }
  }

  private Work work(String file) {
    try (OpenStore store = open(file)) {
      return new Work(
          Set.copyOf(
              now(store.unfinished("", OpenStore.MAX_ENTRIES)).stream()
                  .map(Unfinished::persistenceId)
                  .toList()),
          now(store.newest()));
    }
  }

  @Test
  void noCommandDoesTheWorkThatWaitsInItsStore() throws Exception {
    leaveWorkIn("desk.db");
    Work before = work("desk.db");
    String run = before.refund().replace('|', '/');
    String exported = directory.resolve("run.jsonl").toString();
    command("export", exported, "--run", run, "--store", store("desk.db"));
    command("import", exported, "--store", store("other.db"));
    command("erase", "--principal", "somebody else", "--store", store("desk.db"));
    assertThat(work("desk.db")).isEqualTo(before);
    assertThat(work("other.db").refund()).isEqualTo(before.refund());

    command("backup", directory.resolve("copy.db").toString(), "--store", store("desk.db"));
    command("erase", "--principal", "local", "--store", store("desk.db"));
    assertThat(work("desk.db").journals()).isEmpty();
    assertThat(Path.of("refunds.txt")).as("where a command would book").doesNotExist();

    try (ServerProcess server = server("copy.db", 0)) {
      awaitBooking();
      server.kill();
    }
  }

  @Test
  void aServerWhosePortIsTakenPerformsNothingOfTheWorkThatWaitsInItsStore() throws Exception {
    leaveWorkIn("desk.db");
    Work before = work("desk.db");
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(taken.getLocalPort());
      Process serve =
          ServerProcess.run(directory, "serve", "--port", port, "--store", "sqlite:desk.db");
      assertThat(serve.waitFor()).isEqualTo(Cli.CANNOT_LISTEN);
    }
    assertThat(directory.resolve("errors.txt")).content().contains("Cannot listen on port");
    assertThat(bookings()).doesNotExist();
    assertThat(work("desk.db")).isEqualTo(before);
  }

  private static ObjectNode quote(String action) {
    return Json.object().put("action", action);
  }

  private static ObjectNode started() {
    ObjectNode start = quote("start").put("intent", "wants a price");
    start.putObject("stateUpdates").put("name", "Ann").put("email", "ann@acme.com");
    return start;
  }

  @Test
  void aBackupThatReplacesTheFileContinuesWhereItWasMade() throws Exception {
    String session;
    try (ServerProcess server = server("fermata.db", 0)) {
      session = server.call("quote", started()).path("sessionId").asText();
      command("backup", directory.resolve("copy.db").toString(), "--store", store("fermata.db"));
      ObjectNode answer = quote("continue").put("sessionId", session);
      answer.putObject("stateUpdates").put("companySize", "51+");
      assertThat(server.call("quote", answer).path("status").asText()).isEqualTo("widget");
      server.kill();
    }
    for (String part : List.of("fermata.db", "fermata.db-wal", "fermata.db-shm")) {
      if (Files.exists(directory.resolve(part))) {
        Files.move(directory.resolve(part), directory.resolve("old-" + part));
      }
    }
    Files.move(directory.resolve("copy.db"), directory.resolve("fermata.db"));
    try (ServerProcess server = server("fermata.db", 0)) {
      JsonNode again = server.call("quote", quote("continue").put("sessionId", session));
      assertThat(again.path("field").asText()).isEqualTo("companySize");
      ObjectNode answer = quote("continue").put("sessionId", session);
      answer.putObject("stateUpdates").put("companySize", "1-10");
      assertThat(server.call("quote", answer).path("status").asText()).isEqualTo("widget");
    }
  }

  /** What verify prints about a store that is damaged. */
  private String verifiedByAProcess(String file) throws Exception {
    Process verify = ServerProcess.run(directory, "verify", "--store", "sqlite:" + file);
    try (BufferedReader out = verify.inputReader(StandardCharsets.UTF_8)) {
      String said = out.lines().collect(Collectors.joining("\n"));
      assertThat(verify.waitFor()).as(said).isEqualTo(Cli.DAMAGED);
      return said;
    }
  }

  private static JsonNode inSession(int session, ServerProcess server, ObjectNode arguments)
      throws Exception {
    ObjectNode params = Json.object().put("name", "quote");
    params.set("arguments", arguments);
    params.putObject("_meta").put("fermata/sessionId", "session " + session);
    return server.result("tools/call", params).path("structuredContent");
  }

  @Test
  void aDamagedRunSaysSoAndTheOthersContinue() throws Exception {
    String store = store("fermata.db");
    try (ServerProcess server = server("fermata.db", 0)) {
      for (int i = 0; i < 6; i++) {
        ObjectNode answer = quote("continue");
        answer.putObject("stateUpdates").put("companySize", "51+");
        assertThat(inSession(i, server, started()).path("status").asText()).isEqualTo("interrupt");
        assertThat(inSession(i, server, answer).path("status").asText()).isEqualTo("widget");
      }
      assertThat(ended(0, "verify", "--store", store)).contains("nothing is damaged");
      awaitListed(6, store);
      server.kill();
    }
    try (Connection file = DriverManager.getConnection("jdbc:" + store);
        Statement statement = file.createStatement()) {
      statement.executeUpdate(
          """
          delete from event_journal where sequence_number = 2 and persistence_id in (
            select distinct persistence_id from event_journal
            where persistence_id like 'quote|%' order by persistence_id limit 2)
          """);
      // The entry of another session takes the place of a run's own.
      statement.executeUpdate(
          """
          with known as materialized (
            select persistence_id, event_payload, writer,
              row_number() over (order by persistence_id) as run
            from event_journal where sequence_number = 2 and persistence_id like 'quote|%')
          update event_journal set (event_payload, writer) = (
            select event_payload, writer from known where run = 2)
          where sequence_number = 2
            and persistence_id = (select persistence_id from known where run = 1)
          """);
    }
    assertThat(verifiedByAProcess("fermata.db"))
        .containsPattern("quote\\|\\S+ is damaged: entry 2 is missing; restore")
        .containsPattern("quote\\|\\S+ is damaged: entry 2 (?!is missing)")
        .contains("3 damages");
    try (ServerProcess server = server("fermata.db", 0)) {
      List<String> outcomes = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        JsonNode reply = inSession(i, server, quote("continue"));
        String outcome = reply.path("code").asText(reply.path("status").asText());
        outcomes.add(outcome);
        if (outcome.equals("damaged")) {
          assertThat(reply.path("error").asText()).contains("is damaged: entry 2 ");
        }
      }
      assertThat(outcomes)
          .containsExactlyInAnyOrder("damaged", "damaged", "damaged", "widget", "widget", "widget");
      for (int i = 0; i < 6; i++) {
        if (outcomes.get(i).equals("widget")) {
          ObjectNode plan = quote("continue");
          plan.putObject("stateUpdates").put("selectedPlan", "gold");
          assertThat(inSession(i, server, plan).path("status").asText()).isEqualTo("complete");
        }
      }
    }
  }

  @Test
  void runsOfAKilledServerAreDecidedAgainAsTheyWere() throws Exception {
    String store = store("fermata.db");
    String run = "";
    for (int life = 0; life < 2; life++) {
      try (ServerProcess server = server("fermata.db", 0)) {
        for (int i = 0; i < 3; i++) {
          ObjectNode answer = quote("continue");
          answer.putObject("stateUpdates").put("companySize", "51+");
          run = runOf(life * 3 + i, server);
          assertThat(inSession(life * 3 + i, server, answer).path("status").asText())
              .isEqualTo("widget");
        }
        server.kill();
      }
    }
    Path export = directory.resolve("run.jsonl");

    assertThat(ended(0, "replay", "--store", store))
        .contains("6 run(s): 6 are decided as they were, 0 otherwise");
    assertThat(ended(0, "replay", "--store", store, "--since", "P1DT1H")).contains("6 run(s)");
    assertThat(ended(0, "replay", "--store", store, "--since", "2099-12-31")).contains("0 run(s)");
    assertThat(ended(ExitCode.USAGE, "replay", "--store", store, "--since", "lately"))
        .contains("lately is no time; use how long ago, such as P30D");
    command("export", export.toString(), "--run", "quote/" + run, "--store", store);
    assertThat(ended(0, "replay", export.toString())).contains("1 run(s): 1 are decided");

    String asked = "How big is your company?";
    String recorded = Files.readString(export);
    assertThat(recorded).contains(asked);
    Files.writeString(export, recorded.replace(asked, "How large is it?"));
    assertThat(ended(Cli.UNUSABLE, "replay", export.toString())).contains("export was altered");
    ExportedJournal.acceptEdits(export);
    assertThat(ended(Cli.DECIDED_OTHERWISE, "replay", export.toString()))
        .contains("     1  quote ask_company: asked otherwise, companySize", "Recorded:", "Now:");
    Path pictures = directory.resolve("pictures");
    JsonNode found =
        Json.parse(
            ended(
                Cli.DECIDED_OTHERWISE,
                "replay",
                export.toString(),
                "--json",
                "--pictures",
                pictures.toString()));
    assertThat(found.path("otherwise").asInt()).isEqualTo(1);
    assertThat(found.at("/changes/0/kind").asText()).isEqualTo("question_changed");
    assertThat(Path.of(found.at("/examples/0/pictures/now").asText()))
        .hasParent(pictures)
        .content()
        .contains("<svg");
    String changed = store("changed.db");
    command("import", export.toString(), "--store", changed);
    JsonNode ofStore =
        Json.parse(
            ended(
                Cli.DECIDED_OTHERWISE, "replay", "--store", changed, "--since", "P30D", "--json"));
    assertThat(ofStore.path("changes")).isEqualTo(found.path("changes"));
    assertThat(ended(0, "replay", "--store", changed, "--since", "2099-12-31", "--json"))
        .contains("\"otherwise\" : 0");
    assertThat(ended(Cli.UNUSABLE, "replay", "missing.jsonl"))
        .contains("name a file that export wrote");

    try (Connection file = DriverManager.getConnection("jdbc:" + store);
        Statement statement = file.createStatement()) {
      statement.executeUpdate(
          """
          update event_journal set event_payload = zeroblob(9)
          where sequence_number = 1 and persistence_id = (
            select min(persistence_id) from event_journal where persistence_id like 'quote|%')
          """);
    }
    assertThat(ended(Cli.NOT_ALL_DECIDED, "replay", "--store", store))
        .contains("5 run(s): 5 are decided as they were, 0 otherwise")
        .contains(
            "1 session(s) could not be read, so nothing is known of them, for example quote|");
  }

  @Test
  void aRunOfAKilledServerIsForkedAndItsForkContinuesOnTheNextServer() throws Exception {
    String store = store("fermata.db");
    String run;
    try (ServerProcess server = server("fermata.db", 0)) {
      ObjectNode answer = quote("continue");
      answer.putObject("stateUpdates").put("companySize", "51+");
      run = "quote/" + runOf(0, server);
      assertThat(inSession(0, server, answer).path("status").asText()).isEqualTo("widget");
      server.kill();
    }

    assertThat(ended(0, "fork", run, "--store", store))
        .contains("   1  ", "caller ", "asked ", "   2  ");
    String sandbox =
        ended(0, "fork", run, "--at", "1", "--answer", "companySize=1-10", "--store", store);
    assertThat(sandbox).contains(" is a fork of " + run + " at entry 1", "\"status\"");
    String forked =
        ended(0, "fork", run, "--at", "1", "--mode", "live", "--by", "ops", "--store", store);
    assertThat(forked).contains("How big is your company?");
    String vague = "seats=3 or so";
    assertThat(ended(Cli.UNUSABLE, "fork", run, "--at", "1", "--answer", vague, "--store", store))
        .contains("\"3 or so\"");
    assertThat(ended(Cli.UNUSABLE, "fork", run, "--at", "77", "--store", store))
        .contains("has no entry 77; its entries are 1 to 2");
    assertThat(ended(0, "fork", run, "--at", "1", "--flow-version", "1", "--store", store))
        .contains(" is a fork of " + run);
    assertThat(
            ended(Cli.UNUSABLE, "fork", run, "--at", "1", "--flow-version", "7", "--store", store))
        .contains("the host has no version 7 of its flow; it has [1]");
    assertThat(
            ended(
                ExitCode.USAGE,
                "fork",
                run,
                "--at",
                "1",
                "--flow-version",
                "1",
                "--newest-version",
                "--store",
                store))
        .contains("--flow-version names the version; leave out --newest-version");

    String handle = forked.replaceAll("(?s).*its sessionId is (\\S+).*", "$1");
    try (ServerProcess server = server("fermata.db", 0)) {
      ObjectNode answer = quote("continue").put("sessionId", handle);
      answer.putObject("stateUpdates").put("companySize", "51+");
      assertThat(server.call("quote", answer).path("status").asText()).isEqualTo("widget");
    }
  }

  @Test
  void anExportIsForkedInAStoreThatKnowsNothingOfIt() throws Exception {
    Path exports = Path.of("src/test/resources/runs").toAbsolutePath();
    String thread = exports.resolve("desk-with-a-refund.jsonl").toString();
    String run = exports.resolve("quote-with-a-correction.jsonl").toString();
    String store = store("laptop.db");

    assertThat(ended(0, "fork", "--from", run)).contains("it is not signed", "   1  ", "caller ");
    String asks = ended(0, "fork", "--from", run, "--at", "1", "--mode", "live", "--store", store);
    assertThat(asks).contains(" is a fork of quote/", "It belongs to local; its sessionId is ");
    assertThat(ended(0, "fork", "--from", run, "--at", "1", "--owner", "ann", "--store", store))
        .contains("It belongs to ann;");
    assertThat(ended(0, "runs", "--store", store)).contains("quote");
    assertThat(ended(0, "fork", "--from", thread)).contains("entry 2 (caller ");
    assertThat(
            ended(
                0,
                "fork",
                "--from",
                thread,
                "--before",
                "m-u1",
                "--message",
                "Please refund B-1002",
                "--store",
                store))
        .contains(" is a fork of desk.", "look_up_order {\\\"number\\\":\\\"B-1002\\\"}");

    assertThat(ended(Cli.UNUSABLE, "fork", "--from", "none.jsonl", "--store", store))
        .contains("none.jsonl cannot be read; name a file that export wrote");
    Path cut = directory.resolve("cut.jsonl");
    List<String> lines = Files.readAllLines(Path.of(run));
    Files.write(cut, lines.subList(0, lines.size() - 1));
    assertThat(ended(Cli.UNUSABLE, "fork", "--from", cut.toString(), "--store", store))
        .contains("the file is truncated; nothing of it was used");
    assertThat(ended(Cli.UNUSABLE, "replay", run, cut.toString()))
        .contains("cut.jsonl: Line ", "the file is truncated; nothing of it was used");
    assertThat(ended(ExitCode.USAGE, "fork", "--from", thread, "--answer", "a=b"))
        .contains("are for runs, and this is a thread");
    assertThat(ended(ExitCode.USAGE, "fork", "--from", run, "--message", "Hi"))
        .contains("are for threads, and this is a run");
    assertThat(ended(ExitCode.USAGE, "fork", "quote/a.b", "--at", "1", "--owner", "ann"))
        .contains("--owner goes with --from");
  }

  @Test
  void anExportedThreadIsDecidedAgainByTheAgentsOfThisRelease() throws Exception {
    Path export = Path.of("src/test/resources/runs/desk-with-a-refund.jsonl").toAbsolutePath();

    assertThat(ended(0, "replay", export.toString()))
        .contains("1 run(s): 1 are decided as they were, 0 otherwise");
  }

  @Test
  void aThreadIsForkedWithAnotherMessageAndItsSandboxSaysWhatItWouldHaveCalled() throws Exception {
    String export =
        Path.of("src/test/resources/runs/desk-with-a-refund.jsonl").toAbsolutePath().toString();
    String thread = "desk.Jb-OGiOT8RCNNwKbD7T7P8GN9CMKJLSXWlwitQmo";
    String store = store("desk.db");
    ended(0, "import", export, "--store", store);

    assertThat(ended(0, "fork", "--thread", thread, "--store", store))
        .contains("entry 2 (caller local", "a message is received: user: My card is");
    String fork =
        ended(
            0,
            "fork",
            "--thread",
            thread,
            "--before",
            "m-u1",
            "--message",
            "Please refund B-1002",
            "--store",
            store);
    assertThat(fork)
        .contains(
            " is a fork of " + thread,
            "\"code\" : \"sandboxed\"",
            "look_up_order {\\\"number\\\":\\\"B-1002\\\"}");
    assertThat(ended(Cli.UNUSABLE, "fork", "--thread", thread, "--at", "77", "--store", store))
        .contains("has no entry 77; its entries are 1 to 22");
  }

  private String runOf(int session, ServerProcess server) throws Exception {
    ObjectNode params = Json.object().put("name", "quote");
    params.set("arguments", started());
    params.putObject("_meta").put("fermata/sessionId", "session " + session);
    return server.result("tools/call", params).at("/_meta/fermata~1run/runId").asText();
  }

  /** That a last entry is missing is known only from a list that has seen it. */
  private static void awaitListed(int runs, String store) throws Exception {
    int listed = 0;
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    while (listed < runs && System.nanoTime() < deadline) {
      try (Connection file = DriverManager.getConnection("jdbc:" + store);
          Statement statement = file.createStatement();
          ResultSet row =
              statement.executeQuery(
                  "select count(*) from directory where kind = 'run' and seq >= 2")) {
        listed = row.next() ? row.getInt(1) : 0;
      }
      Thread.sleep(20);
    }
    assertThat(listed).isEqualTo(runs);
  }

  /** Starts runs and kills the server before all of them are listed. */
  private List<String> acknowledgedButNotAllListed() throws Exception {
    for (int round = 0; round < 5; round++) {
      List<String> runs = new ArrayList<>();
      try (ServerProcess server = server("fermata.db", 0)) {
        ObjectNode params = Json.object().put("name", "quote");
        params.set("arguments", started());
        for (int i = 0; i < RUNS; i++) {
          params.putObject("_meta").put("fermata/sessionId", round + "." + i);
          JsonNode reply = server.result("tools/call", params);
          runs.add(reply.at("/_meta/fermata~1run/runId").asText());
        }
        server.kill();
      }
      try (OpenStore store = open("fermata.db")) {
        if (!runs.stream()
            .allMatch(run -> now(store.directory().get("quote|" + run)).isPresent())) {
          return runs;
        }
      }
    }
    throw new AssertionError("Whenever a server was killed its list was complete");
  }

  @Test
  void everyRunThatWasAcknowledgedBeforeAKillIsListedAfterIt() throws Exception {
    List<String> runs = acknowledgedButNotAllListed();
    HttpClient http = HttpClient.newHttpClient();
    try (ServerProcess server = server("fermata.db", 0)) {
      for (String run : runs) {
        HttpRequest request = HttpRequest.newBuilder(server.at("/runs/quote/" + run)).build();
        int status = 0;
        for (int i = 0; i < 2_000 && status != 200; i++) {
          status = http.send(request, BodyHandlers.discarding()).statusCode();
          Thread.sleep(status == 200 ? 0 : 10);
        }
        assertThat(status).as(run).isEqualTo(200);
      }
    }
  }
}
