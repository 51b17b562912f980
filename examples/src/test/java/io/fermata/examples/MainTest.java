package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.OpenStore;
import io.fermata.persistence.Store;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each way to fail has an exit code of its own. */
class MainTest {
  @TempDir Path directory;

  @Test
  void aWrongCommandLineIsTwo() {
    assertThat(Main.run("serve", "--store", "papyrus:scroll")).isEqualTo(2);
    assertThat(Main.run("graph", "quot")).isEqualTo(2);
    assertThat(Main.run()).isEqualTo(2);
  }

  @Test
  void aStoreThatIsInUseIsThree() {
    Path file = directory.resolve("busy.db");
    OpenStore held = Store.sqlite(file).open();
    try {
      assertThat(Main.run("serve", "--port", "0", "--store", "sqlite:" + file)).isEqualTo(3);
    } finally {
      held.close();
    }
  }

  @Test
  void aPortThatIsInUseIsFour() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(taken.getLocalPort());
      assertThat(Main.run("serve", "--port", port, "--store", "memory")).isEqualTo(4);
    }
  }

  @Test
  void anAddressThatOthersReachNeedsAKey() {
    assertThat(Main.run("serve", "--address", "0.0.0.0", "--port", "0", "--store", "memory"))
        .isEqualTo(4);
  }

  @Test
  void drawsEveryFlow() {
    assertThat(Main.run("graph", "quote")).isZero();
    assertThat(Main.run("graph", "table")).isZero();
  }
}
