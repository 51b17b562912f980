package io.fermata.persistence.sql;

import io.fermata.persistence.spi.ServerKey;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Function;

/** The table of what a store knows about itself. Databases differ in how they keep a value. */
public final class SqlMeta {

  public static final String TABLE = "fermata_meta";

  private static final String GET = "SELECT value FROM fermata_meta WHERE key = ?";

  private static final String PUT =
      """
      INSERT INTO fermata_meta (key, value) VALUES (?, ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """;

  private static final String SERVER_KEY = "server_key";

  private SqlMeta() {}

  public static <T> Optional<T> get(Connection connection, String key, Sql.Row<T> value)
      throws SQLException {
    return Sql.first(connection, GET, value, key);
  }

  public static int put(Connection connection, String key, Object value) throws SQLException {
    return Sql.update(connection, PUT, key, value);
  }

  /** The server key, which is made when it is first asked for. */
  public static byte[] serverKey(
      Connection connection, Sql.Row<byte[]> read, Function<byte[], Object> written)
      throws SQLException {
    Optional<byte[]> stored = get(connection, SERVER_KEY, read);
    if (stored.isPresent()) {
      return stored.get();
    }
    byte[] created = ServerKey.random();
    put(connection, SERVER_KEY, written.apply(created));
    return created;
  }

  /** Writes the current time, to see whether the database can be written. */
  static int probe(Connection connection) throws SQLException {
    return put(connection, "probed", Long.toString(System.currentTimeMillis()));
  }
}
