package io.fermata.persistence.postgres;

import io.fermata.persistence.sql.Sql;
import java.sql.Connection;
import java.sql.SQLException;

/**
 * The advisory locks of one schema. A host has {@link #HOST} while it uses the schema, alone or
 * shared; each of its connections shares {@link #CONNECTION}; {@link #TABLES} is held while the
 * tables are prepared.
 *
 * @param schemaId the number of the schema in its database
 */
record PostgresLocks(long schemaId) {

  static final long HOST = 0x4645524DL << 32;
  static final long CONNECTION = 0x4645524EL << 32;
  static final long TABLES = 0x4645524FL << 32;

  /** Of the schema in which a connection works. */
  static PostgresLocks of(Connection connection) throws SQLException {
    return new PostgresLocks(
        Long.parseLong(
            PostgresClaim.text(
                connection, "SELECT quote_ident(current_schema())::regnamespace::oid")));
  }

  /** Takes a lock for the connection's lifetime; false if another has it. */
  boolean take(Connection on, long kind) throws SQLException {
    return did(on, "pg_try_advisory_lock", kind);
  }

  /** Takes a lock together with others that share it; false if another has it alone. */
  boolean share(Connection on, long kind) throws SQLException {
    return did(on, "pg_try_advisory_lock_shared", kind);
  }

  void giveBack(Connection on, long kind) throws SQLException {
    did(on, "pg_advisory_unlock", kind);
  }

  private boolean did(Connection on, String function, long kind) throws SQLException {
    return PostgresClaim.text(on, "SELECT " + function + "(" + (kind | schemaId) + ")").equals("t");
  }

  /** Ends the other connections that have a lock. */
  void endOthers(Connection by, long kind) throws SQLException {
    String sql =
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND classid::bigint = ? AND objid::bigint = ?
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND pid <> pg_backend_pid()
        """;
    try {
      Sql.list(by, sql, row -> row.getBoolean(1), kind >>> 32, schemaId);
    } catch (SQLException failed) {
      unlessOfAnotherRole(failed);
    }
  }

  /** Connections of another role may not be terminated; they may close by themselves. */
  static void unlessOfAnotherRole(SQLException failed) throws SQLException {
    if (!"42501".equals(failed.getSQLState())) {
      throw failed;
    }
  }
}
