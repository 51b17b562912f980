package io.fermata.bench.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.postgres.PostgresServer;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real server in a second JVM, killed with SIGKILL at random moments; the long run is a separate
 * program.
 */
@Tag("slow")
class CrashTest {
  @TempDir Path folder;

  private void keepsItsPromises(String store) throws Exception {
    CrashHarness.Report report = CrashHarness.run(folder, store, 6, 6, 2_500, System.nanoTime());
    assertThat(report.acknowledged()).as(report.toString()).isPositive();
  }

  @Test
  void everyAcknowledgedAnswerOutlivesAKillAndNoJournaledEffectRunsTwice() throws Exception {
    keepsItsPromises("sqlite");
  }

  @Test
  @Tag("long")
  void soItIsOnPostgres() throws Exception {
    keepsItsPromises(PostgresServer.shared().newDatabase());
  }
}
