package io.fermata.examples.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real server in a second JVM, killed with SIGKILL at random moments; the long run is a program.
 */
class CrashTest {
  @TempDir Path folder;

  @Test
  void everyAcknowledgedAnswerOutlivesAKillAndNoJournaledEffectRunsTwice() throws Exception {
    CrashHarness.Report report = CrashHarness.run(folder, 6, 6, System.nanoTime());
    assertThat(report.acknowledged()).as(report.toString()).isPositive();
  }
}
