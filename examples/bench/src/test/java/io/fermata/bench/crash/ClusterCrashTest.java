package io.fermata.bench.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three real servers that share a real PostgreSQL: they are killed, stopped, restarted, and cut off
 * from each other and from the database, while clients talk to any of them; {@code
 * -Dcluster.lives=500} makes a long run of it, {@code -Dcluster.what=KILL,STOP} one of some of the
 * faults, and {@code -Dcluster.seed} repeats one.
 */
@Tag("slow")
@Tag("faults")
@EnabledOnOs(value = OS.LINUX, disabledReason = "the hosts need several loopback addresses")
class ClusterCrashTest {
  private static final List<Disturbance> WHAT =
      Stream.of(System.getProperty("cluster.what", "").split(","))
          .filter(name -> !name.isEmpty())
          .map(Disturbance::valueOf)
          .toList();
  private static final int LIVES = Integer.getInteger("cluster.lives", Disturbance.values().length);
  private static final Duration STOPPED = Duration.ofSeconds(Integer.getInteger("cluster.stop", 0));
  private static final long SEED = Long.getLong("cluster.seed", System.nanoTime());

  @BeforeAll
  static void useArchive(@TempDir Path classes) throws Exception {
    Killable.useArchive(classes);
  }

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  @Test
  void everyAcknowledgedAnswerOutlivesWhatHappensToAHostAndNoJournaledEffectRunsTwice()
      throws Exception {
    List<Disturbance> what = WHAT.isEmpty() ? List.of(Disturbance.values()) : WHAT;
    ClusterHarness.Report report = ClusterHarness.run(folder, what, LIVES, STOPPED, SEED);
    System.out.println(report);
    assertThat(report.acknowledged()).as(report.toString()).isPositive();
  }
}
