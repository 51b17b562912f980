package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.examples.flows.Kitchen;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The application that is there to be copied. */
@Timeout(120)
@Tag("slow")
class KitchenTest {
  @TempDir Path directory;

  @Test
  void aKitchenWhosePortIsTakenExitsAndLeavesItsStoreToTheNext() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(taken.getLocalPort());
      Process refused = ServerProcess.run(Kitchen.class, directory, Map.of(), "soup.db", port, "1");
      try {
        assertThat(refused.waitFor(60, TimeUnit.SECONDS)).as("exits").isTrue();
        assertThat(refused.exitValue()).isOne();
        assertThat(directory.resolve("errors.txt"))
            .content()
            .contains("Cannot listen on port " + port);
      } finally {
        refused.destroyForcibly().waitFor();
      }
    }
    try (ServerProcess next = ServerProcess.start(Kitchen.class, directory, "soup.db", "0", "1")) {
      next.askToEnd();
      assertThat(next.ended()).isIn(0, 143);
    }
  }
}
