package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.PostgresProbe;
import io.fermata.postgres.PostgresRelease;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What shows that the contract notices what it should, and that it holds among more sessions. */
@Tag("long")
final class PostgresPlansTest extends PlansContract {

  PostgresPlansTest() {
    super(PostgresRelease.OF_THE_BUILD);
  }

  @Test
  void aLostIndexIsNoticed() throws SQLException {
    List<String> unnoticed = new ArrayList<>();
    for (String index : indexes()) {
      try (Connection connection = server.connect(large().database());
          Statement statement = connection.createStatement()) {
        String valid =
            "UPDATE pg_index SET indisvalid = %s WHERE indexrelid = '" + index + "'::regclass";
        statement.execute(valid.formatted(false));
        if (!anyIsExpensive()) {
          unnoticed.add(index);
        }
        statement.execute(valid.formatted(true));
      }
    }
    assertThat(unnoticed).isEmpty();
  }

  /** Without those of primary keys, which a table always has. */
  private List<String> indexes() throws SQLException {
    List<String> indexes = new ArrayList<>();
    try (Connection connection = server.connect(large().database());
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON oid = indrelid
                WHERE NOT indisunique AND relnamespace = 'public'::regnamespace ORDER BY 1
                """)) {
      while (rows.next()) {
        indexes.add(rows.getString(1));
      }
    }
    return indexes;
  }

  /** {@code -Dplans.sessions=1000000} tries a million, which takes minutes to fill. */
  @Test
  void amongThreeTimesAsManySessionsOrMoreEveryStatementReadsAsFew() throws SQLException {
    PostgresProbe larger = filled(Integer.getInteger("plans.sessions", 3 * SESSIONS));
    assertThat(expensive(larger, StatementLog.of(server), Integer.MAX_VALUE)).isEmpty();
  }
}
