package io.fermata.persistence;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Where journals live: a description that costs nothing until a host opens it.
 *
 * <p>Nothing falls back to memory silently. Whoever wants {@link #memory()} says so.
 */
public sealed interface Store permits KeyValueStore, MemoryStore, PostgresStore, SqliteStore {

  /**
   * Journals in the memory of this JVM, for tests only: they end with the process. The same
   * instance keeps its journals when it is opened again, so a test can restart a host on it. Events
   * and snapshots are kept serialized, so a class that cannot be serialized fails here as it would
   * in production.
   */
  static Store memory() {
    return new MemoryStore();
  }

  /**
   * Journals in one SQLite file, created when it is missing. An acknowledged write has reached the
   * disk. One process at a time may have the file open.
   */
  static Store sqlite(Path file) {
    return new SqliteStore(file);
  }

  /**
   * Journals in one schema of a PostgreSQL database, created when its tables are missing. An
   * acknowledged write has reached the server's disk. One host at a time may have the schema open.
   *
   * <p>The address is that of the JDBC driver, with its parameters for TLS and timeouts, or the
   * shorter {@code postgres://user@host:5432/database?sslmode=verify-full}. Two parameters matter
   * here: {@code currentSchema} names the schema, created if it is missing, else it is the first of
   * the role's search path; {@code connections} tells how many write journals, {@value
   * PostgresAddress#CONNECTIONS} if it is left out, besides six others. A password that is not in
   * the address is read from {@code PGPASSWORD} or {@code ~/.pgpass}.
   *
   * @throws IllegalArgumentException if the address cannot be read
   */
  static Store postgres(String address) {
    return new PostgresStore(PostgresAddress.parse(address, System.getenv()));
  }

  /** Like {@link #postgres(String)}, with a user and a password that are not in the address. */
  static Store postgres(String address, String user, String password) {
    return new PostgresStore(PostgresAddress.parse(address, Map.of()).as(user, password));
  }

  /**
   * How sessions stand, in a key-value store of one's own. It keeps no history and cannot be
   * listed: what asks for that is refused with a {@link NoHistoryException}. The store is not
   * closed with the host.
   */
  static Store keyValue(KvStore store) {
    return KeyValueStore.of(store);
  }

  /**
   * The store that {@code spec} names: {@code memory}, {@code sqlite:} followed by a file, an
   * address for {@link #postgres(String)}, {@code redis://host:port/db} with {@code user:password@}
   * before the host if there is one, {@code rediss:} for the same over TLS, or {@code waniwani:}
   * followed by the address of that API, whose key is in {@code WANIWANI_API_KEY}.
   *
   * @throws IllegalArgumentException if it names no store of this version; the message lists the
   *     choices
   */
  static Store parse(String spec) {
    return StoreSpec.parse(spec, System.getenv());
  }

  /**
   * The store that the environment variable {@code FERMATA_STORE} names. If it is unset or blank,
   * the key-value store of the WaniWani account whose key is in {@code WANIWANI_API_KEY}; empty if
   * that is not set either.
   *
   * @throws IllegalArgumentException if it is set to something {@link #parse(String)} refuses
   */
  static Optional<Store> fromEnvironment() {
    return StoreSpec.fromEnvironment(System.getenv());
  }

  /**
   * Opens the store for one host, creating what is missing.
   *
   * @throws StoreException if it is in use by another process or host, or cannot be used
   */
  OpenStore open();

  /**
   * Copies an embedded store into a new file as it is at one moment, while a host may have it open,
   * in this process or another. The copy is a store itself.
   *
   * @param file does not exist yet
   * @throws StoreException if the store is none that is kept in a file, or cannot be copied
   */
  void backup(Path file);
}
