package io.fermata.bench.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three real servers that share a real PostgreSQL: they are killed, stopped, restarted, and cut off
 * from each other and from the database, while clients talk to any of them; {@code
 * -Dcluster.lives=500} makes a long run of it, and {@code -Dcluster.seed} repeats one.
 */
@Tag("slow")
@EnabledOnOs(value = OS.LINUX, disabledReason = "the hosts need several loopback addresses")
class ClusterCrashTest {
  private static final int LIVES = Integer.getInteger("cluster.lives", Disturbance.values().length);
  private static final Duration STOPPED = Duration.ofSeconds(Integer.getInteger("cluster.stop", 0));
  private static final long SEED = Long.getLong("cluster.seed", System.nanoTime());

  @TempDir Path folder;

  @Test
  void everyAcknowledgedAnswerOutlivesWhatHappensToAHostAndNoJournaledEffectRunsTwice()
      throws Exception {
    ClusterHarness.Report report = ClusterHarness.run(folder, LIVES, STOPPED, SEED);
    System.out.println(report);
    assertThat(report.acknowledged()).as(report.toString()).isPositive();
  }
}
