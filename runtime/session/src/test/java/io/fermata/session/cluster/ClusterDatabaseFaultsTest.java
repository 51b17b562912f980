package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What happens to the database of a cluster, or to the network before it. */
@Tag("slow")
@Tag("faults")
@Timeout(900)
final class ClusterDatabaseFaultsTest extends FaultyCluster {

  @Test
  void aHostThatAloneIsCutOffFromTheDatabaseEndsAndTheOthersTakeOver() throws Exception {
    Member oldest = start(cable.through(database));
    start();
    start();
    talkDuring(
        () -> {
          cable.cut();
          awaitLost(oldest);
          cable.mend();
          Member youngest = start(cable.through(database));
          cable.halt();
          awaitLost(youngest);
          cable.mend();
        });
    members.forEach(member -> assertThat(member.lost).isNotDone());
  }

  private void awaitLost(Member victim) throws Exception {
    calmly(
        () ->
            assertThat(victim.process.waitFor(120, TimeUnit.SECONDS))
                .as("it ends, so that it is restarted")
                .isTrue());
    assertThat(victim.process.exitValue()).isEqualTo(ClusterProcess.LOST_CODE);
    members.remove(victim);
  }

  private void assertNoneHasEnded() {
    for (Member member : members) {
      assertThat(member.lost).isNotDone();
      assertThat(member.process.isAlive()).isTrue();
    }
  }

  @Test
  void noHostEndsWhenTheDatabaseIsAwayForAllOfThem() throws Exception {
    for (int i = 0; i < 3; i++) {
      start(cable.through(database));
    }
    talkDuring(
        () -> {
          cable.cut();
          calmly(() -> Thread.sleep(25_000));
          cable.mend();
        });
    // Later than a host would have ended.
    Thread.sleep(20_000);
    assertNoneHasEnded();
  }

  @Test
  void noOtherHostEndsIfOneIsLostWhileTheDatabaseIsAwayForAllOfThem() throws Exception {
    for (int i = 0; i < 3; i++) {
      start(cable.through(database));
    }
    talkDuring(
        () -> {
          cable.cut();
          members.get(random.nextInt(members.size())).kill();
          calmly(() -> Thread.sleep(25_000));
          cable.mend();
        });
    assertNoneHasEnded();
  }
}
