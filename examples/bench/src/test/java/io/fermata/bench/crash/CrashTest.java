package io.fermata.bench.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real server in a second JVM, killed with SIGKILL at random moments, with faults between it and
 * its store; {@code -Dcrash.lives=500} makes a long run of it.
 */
@Tag("slow")
@Tag("faults")
class CrashTest {
  private static final int LIVES = Integer.getInteger("crash.lives", 6);

  @BeforeAll
  static void useArchive(@TempDir Path classes) throws Exception {
    Killable.useArchive(classes);
  }

  @TempDir Path folder;

  private void keepsItsPromises(String store, List<Fault> faults) throws Exception {
    CrashHarness.Report report = CrashHarness.run(folder, store, faults, LIVES);
    System.out.println(report);
    assertThat(report.acknowledged()).as(report.toString()).isPositive();
    assertThat(report.survived()).as(report.toString()).isPositive();
    assertThat(report.survived() + report.lost())
        .as("of every two faults one is to be outlived: %s", report)
        .isGreaterThanOrEqualTo(LIVES / 4);
  }

  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aServerWhosePortIsTakenEndsSoThatItIsStartedAgain() throws IOException {
    Path effects = folder.resolve("effects.log");
    try (ServerSocket taken = new ServerSocket(0)) {
      String port = Integer.toString(taken.getLocalPort());
      assertThatThrownBy(() -> Killable.start("memory", effects, List.of(), port))
          .isInstanceOf(IOException.class);
      assertThat(Killable.log(effects)).content().contains("Cannot listen on port " + port);
    }
  }

  @Test
  void everyAcknowledgedAnswerOutlivesAKillAndNoJournaledEffectRunsTwice() throws Exception {
    Path file = folder.resolve("ledger.db");
    keepsItsPromises("sqlite:" + file, Fault.ofFile(file));
  }

  @Test
  @Tag("long")
  void soItIsOnPostgresWhoseNetworkBreaksAndWhoseServerIsKilled() throws Exception {
    try (PostgresServer server = PostgresServer.start();
        Cable cable = Cable.to(server)) {
      keepsItsPromises(cable.through(server.newDatabase()), Fault.of(server, cable));
    }
  }
}
