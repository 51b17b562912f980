package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.examples.command.Commands;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server that has lost its store ends, so that a supervisor restarts it. */
@Timeout(120)
@Tag("slow")
class LostStoreTest {
  @TempDir Path directory;

  private void loseTheFile() throws IOException {
    Files.move(directory.resolve("test.db"), directory.resolve("aside.db"));
  }

  private List<String> errors() throws IOException {
    return Files.readAllLines(directory.resolve("errors.txt"));
  }

  @Test
  void serveEndsWithItsOwnExitCodeAndOneLine() throws Exception {
    try (ServerProcess server =
        ServerProcess.start(directory, "serve", "--port", "0", "--store", "sqlite:test.db")) {
      server.call("quote", Json.object().put("action", "start").put("intent", "wants a price"));
      loseTheFile();

      assertThat(server.ended()).isEqualTo(Commands.LOST);
      assertThat(errors())
          .containsOnlyOnce(
              "This server ends: the file of the store was deleted or replaced while it was open;"
                  + " put the right file there and restart this host");
    }
  }

  @Test
  void stdioEndsToo() throws Exception {
    Process server = ServerProcess.run(directory, "stdio", "--store", "sqlite:test.db");
    try {
      while (!Files.exists(directory.resolve("test.db-shm"))) {
        assertThat(server.isAlive()).isTrue();
        Thread.sleep(50);
      }
      loseTheFile();

      assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(server.exitValue()).isEqualTo(Commands.LOST);
      assertThat(errors()).anyMatch(line -> line.startsWith("This server ends: the file"));
    } finally {
      server.destroyForcibly();
    }
  }
}
