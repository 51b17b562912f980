package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.Transactions;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import org.junit.jupiter.api.Test;

final class PostgresFailureTest {

  @Test
  void aSettingThatLosesWritesIsNotTakenForAShardThatHasMoved() {
    SQLException off = new SQLException("runs with fsync=off", PostgresDurability.STATE);
    assertThat(Transactions.failed(off).problem()).isEqualTo(StoreProblem.REFUSES);
  }

  /** As the pool of connections throws it if no attempt to connect has failed yet. */
  @Test
  void aConnectionThatWasWaitedForInVainMeansThatTheStoreIsAway() {
    SQLException late = new SQLTransientConnectionException("request timed out after 3000ms");
    assertThat(Transactions.failed(late).problem()).isEqualTo(StoreProblem.AWAY);
  }
}
