package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.cli.Cli;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server that has lost its store ends, so that a supervisor restarts it. */
@Timeout(600)
@Tag("slow")
class LostStoreTest {
  @TempDir Path directory;

  private void loseTheFile() throws IOException {
    Files.move(directory.resolve("test.db"), directory.resolve("aside.db"));
  }

  private ServerProcess server() throws Exception {
    return server("sqlite:test.db");
  }

  private ServerProcess server(String store) throws Exception {
    return ServerProcess.start(directory, "serve", "--port", "0", "--store", store);
  }

  private static ObjectNode start() {
    return Json.object().put("action", "start").put("intent", "wants a price");
  }

  /** The status of a call's reply; empty if the server refuses calls or has ended. */
  private static Optional<String> reply(ServerProcess server) throws InterruptedException {
    ObjectNode params = Json.object().put("name", "quote");
    params.set("arguments", start());
    try {
      JsonNode answer = server.answer("tools/call", params);
      return Optional.ofNullable(answer.at("/result/structuredContent/status").textValue());
    } catch (IOException ended) {
      return Optional.empty();
    }
  }

  private static boolean ready(ServerProcess server) throws InterruptedException {
    return healthy(server, "ready");
  }

  private static boolean healthy(ServerProcess server, String probe) throws InterruptedException {
    HttpRequest ready = HttpRequest.newBuilder(server.at("/health/" + probe)).build();
    try {
      return HttpClient.newHttpClient().send(ready, BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException ended) {
      return false;
    }
  }

  private List<String> errors() throws IOException {
    return Files.readAllLines(directory.resolve("errors.txt"));
  }

  @Test
  void serveEndsWithItsOwnExitCodeAndOneLine() throws Exception {
    try (ServerProcess server = server()) {
      server.call("quote", start());
      loseTheFile();

      assertThat(server.ended()).isEqualTo(Cli.LOST);
      assertThat(errors())
          .containsOnlyOnce(
              "This server ends: the file of the store was deleted or replaced while it was open;"
                  + " put the right file there and restart this host");
    }
  }

  @Test
  void nothingIsAcknowledgedOnceTheFileIsDeletedAndTheServerIsNotReady() throws Exception {
    try (ServerProcess server = server()) {
      assertThat(reply(server)).hasValue("interrupt");
      assertThat(ready(server)).isTrue();
      Files.delete(directory.resolve("test.db"));

      List<String> replies = new ArrayList<>();
      do {
        reply(server).ifPresent(replies::add);
        assertThat(ready(server)).isFalse();
      } while (server.isAlive());

      assertThat(replies).allMatch("error"::equals);
      assertThat(server.ended()).isEqualTo(Cli.LOST);
    }
  }

  @Test
  @Tag("long")
  @Tag("faults")
  void itEndsWhenAnotherHostHasTakenItsDatabaseAndWritesThereNoMore() throws Exception {
    PostgresServer postgres = PostgresServer.shared();
    String address = postgres.newDatabase();
    try (Cable cable = Cable.to(postgres);
        ServerProcess server = server(cable.through(address))) {
      assertThat(reply(server)).hasValue("interrupt");
      assertThat(healthy(server, "live")).isTrue();
      cable.halt();
      // As the database does when it finds the machine of a host gone.
      postgres.cut(PostgresServer.database(address));

      try (OpenStore next = Store.postgres(address).open()) {
        long written = next.newest().toCompletableFuture().get(60, TimeUnit.SECONDS);
        cable.mend();
        List<String> replies = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
        while (server.isAlive() && System.nanoTime() < end) {
          reply(server).ifPresent(replies::add);
          assertThat(ready(server)).isFalse();
        }

        assertThat(server.ended()).isEqualTo(Cli.LOST);
        assertThat(errors())
            .containsOnlyOnce(
                "This server ends: another host took over the store; stop one of the two hosts");
        assertThat(replies).allMatch("error"::equals);
        assertThat(next.newest().toCompletableFuture().get(60, TimeUnit.SECONDS))
            .isEqualTo(written);
      }
    }
  }

  @Test
  void stdioEndsToo() throws Exception {
    Process server = ServerProcess.run(directory, "stdio", "--store", "sqlite:test.db");
    try (BufferedWriter in = server.outputWriter(StandardCharsets.UTF_8);
        BufferedReader out = server.inputReader(StandardCharsets.UTF_8)) {
      in.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
      in.flush();
      assertThat(out.readLine()).contains("\"id\":1");
      loseTheFile();

      assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(server.exitValue()).isEqualTo(Cli.LOST);
      assertThat(errors()).anyMatch(line -> line.startsWith("This server ends: the file"));
    } finally {
      server.destroyForcibly();
    }
  }
}
