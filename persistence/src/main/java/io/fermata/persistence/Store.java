package io.fermata.persistence;

import io.fermata.persistence.memory.MemoryStore;
import io.fermata.persistence.postgres.PostgresAddress;
import io.fermata.persistence.postgres.PostgresStore;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProvider;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.sqlite.SqliteStore;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A place for journals. It is only a description until a host opens it.
 *
 * <p>Nothing falls back to memory silently: {@link #memory()} must be named.
 */
public final class Store {

  private final StoreSource source;

  private Store(StoreSource source) {
    this.source = source;
  }

  /** A store of another kind, for example that of an optional module. */
  public static Store of(StoreSource source) {
    return new Store(Objects.requireNonNull(source, "source"));
  }

  /**
   * Journals in the memory of this JVM, for tests only: they end with the process. The same
   * instance keeps its journals when it is opened again, so a test can restart a host on it. Events
   * and snapshots are kept serialized, so a class that cannot be serialized fails here as it would
   * in production.
   */
  public static Store memory() {
    return of(new MemoryStore());
  }

  /**
   * Journals in one SQLite file, created when it is missing. An acknowledged write has reached the
   * disk. One process at a time may have the file open.
   */
  public static Store sqlite(Path file) {
    return of(new SqliteStore(Objects.requireNonNull(file, "file")));
  }

  /**
   * Journals in one schema of a PostgreSQL database, created when its tables are missing. An
   * acknowledged write has reached the server's disk. One host at a time may have the schema open,
   * or several that share it.
   *
   * <p>The address is that of the JDBC driver, with its parameters for TLS and timeouts, or the
   * shorter {@code postgres://user@host:5432/database?sslmode=verify-full}. Two parameters matter
   * here: {@code currentSchema} names the schema, which is created if it is missing; the default is
   * the first schema of the role's search path. {@code connections} is the number of connections
   * that write journals, {@value PostgresAddress#CONNECTIONS} by default, besides nine others, or
   * eleven of a host that shares the schema. A password that is not in the address is read from
   * {@code PGPASSWORD} or {@code ~/.pgpass}.
   *
   * @throws IllegalArgumentException if the address cannot be read
   */
  public static Store postgres(String address) {
    Objects.requireNonNull(address, "address");
    return of(new PostgresStore(PostgresAddress.parse(address, System.getenv())));
  }

  /** Like {@link #postgres(String)}, with a user and a password that are not in the address. */
  public static Store postgres(String address, String user, String password) {
    Objects.requireNonNull(address, "address");
    Objects.requireNonNull(user, "user");
    Objects.requireNonNull(password, "password");
    return of(new PostgresStore(PostgresAddress.parse(address, Map.of()).as(user, password)));
  }

  /**
   * The store that {@code spec} names: {@code memory}, {@code sqlite:} followed by a file, an
   * address for {@link #postgres(String)}, or an address that a {@link StoreProvider} on the class
   * path reads. The artifact {@code fermata-keyvalue} reads {@code redis:}, {@code rediss:} and
   * {@code waniwani:}.
   *
   * @throws IllegalArgumentException if it names no store; the message lists the choices and names
   *     the artifact that is missing
   */
  public static Store parse(String spec) {
    return StoreSpec.parse(Objects.requireNonNull(spec, "spec"), System.getenv());
  }

  /**
   * The store that the environment variable {@code FERMATA_STORE} names. If it is unset or blank,
   * the store that a {@link StoreProvider} on the class path finds in the environment; empty if
   * there is none.
   *
   * @throws IllegalArgumentException if it is set to something {@link #parse(String)} refuses
   */
  public static Optional<Store> fromEnvironment() {
    return StoreSpec.fromEnvironment(System.getenv());
  }

  /**
   * Opens the store for one host, creating what is missing.
   *
   * @throws StoreException if it is in use by another process or host, or cannot be used
   */
  public OpenStore open() {
    return source.open();
  }

  /**
   * Opens the store for one of several hosts that share it. Only PostgreSQL stores can be shared.
   *
   * @throws StoreException if the store cannot be shared, is in use by a host that does not share
   *     it, or cannot be used
   */
  public OpenStore openShared() {
    return source.openShared();
  }

  /**
   * Whether the store was created: its file is there and not empty, or its schema and tables are
   * there. Nothing is created or changed. A store in memory or in a key-value store always exists,
   * as an empty one needs no place.
   *
   * @throws StoreException if the store cannot be reached
   */
  public boolean exists() {
    return source.exists();
  }

  /**
   * Opens a store that exists to read its journals. Hosts that share the store may have it open
   * meanwhile; it must not be open elsewhere otherwise. Nothing can be written to a store that can
   * be shared.
   *
   * @throws StoreException if there is no such store, it is in use by a host that does not share
   *     it, or cannot be used
   */
  public OpenStore openToRead() {
    return source.openToRead();
  }

  /**
   * Copies an embedded store into a new file as it is at one moment, while a host may have it open,
   * in this process or another. The copy is a store itself.
   *
   * @param file does not exist yet
   * @throws StoreException if the store is not kept in a file, or cannot be copied
   */
  public void backup(Path file) {
    source.backup(Objects.requireNonNull(file, "file"));
  }

  /**
   * Reads the whole store, whether or not a host has it open, and checks that it holds what was
   * written: every entry of every journal, every snapshot, every entry of the directory, and the
   * structure of an embedded store's file. It changes nothing, and needs little memory. What a
   * store that cannot be listed does not show is named by {@link Verified#unread}.
   *
   * @param damage receives each damage as one line
   * @throws StoreException if the store cannot be read
   */
  public Verified verify(Consumer<String> damage) {
    return source.verify(Objects.requireNonNull(damage, "damage"));
  }

  /** The store in one line, as {@link #parse} reads it, without passwords. */
  @Override
  public String toString() {
    return source.toString();
  }
}
