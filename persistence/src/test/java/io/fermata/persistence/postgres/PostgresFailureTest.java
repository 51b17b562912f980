package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.Transactions;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Map;
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

  @Test
  void aServerWithoutAConnectionLeftNamesTheLimitsAndConnectionsOnlyIfTheyCanBeFewer() {
    assertThat(noConnectionLeft("postgres://ann@db/fermata"))
        .endsWith(
            "has no connection left (too many connections for role \"ann\"); raise max_connections"
                + " of the server, or the CONNECTION LIMIT of the role or the database if it names"
                + " one, or run fewer hosts");
    assertThat(noConnectionLeft("postgres://ann@db/fermata?connections=4"))
        .endsWith("or lower connections=4 in the address");
  }

  private static String noConnectionLeft(String address) {
    SQLException full = new SQLException("too many connections for role \"ann\"", "53300");
    return String.valueOf(
        PostgresFailure.explain(PostgresAddress.parse(address, Map.of()), full).getMessage());
  }
}
