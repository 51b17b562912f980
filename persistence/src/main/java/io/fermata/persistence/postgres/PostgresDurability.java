package io.fermata.persistence.postgres;

import static java.util.stream.Collectors.joining;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requires that acknowledged writes survive a crash. Settings of the server that lose them are
 * refused; what a session can set by itself is set on every connection. Each has to be accepted by
 * its name in the address.
 */
final class PostgresDurability {

  /** The state of a failure whose message is complete. */
  static final String STATE = "FM002";

  private static final String SYNCHRONOUS_COMMIT = "synchronous_commit";

  /** What is lost while a setting of the server is off. */
  private static final Map<String, String> LOSSES =
      new TreeMap<>(
          Map.of(
              "fsync",
              "loses acknowledged writes and may destroy the database when its machine crashes",
              "full_page_writes",
              "may damage the database when its machine crashes, unless its file system writes"
                  + " pages atomically"));

  private static final String SETTINGS =
      LOSSES.keySet().stream()
          .map("current_setting('%s')"::formatted)
          .collect(joining(" || ',' || ", "SELECT ", ""));

  /**
   * Weaker ones are raised: {@code off} waits for no disk, {@code local} for none of a synchronous
   * standby, {@code remote_write} only until a standby has it in memory.
   */
  private static final String SYNCS =
      """
      SELECT CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
        THEN set_config('synchronous_commit', 'on', false) ELSE '' END
      """;

  /** What a connection has by the server, the database or the role. */
  private static final String CONFIGURED =
      "SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'";

  private static final String STANDBYS = "SHOW synchronous_standby_names";

  private static final Set<String> WEAKER = Set.of("off", "local", "remote_write");

  private static final String UNLOGGED =
      """
      SELECT coalesce(string_agg(relname, ', ' ORDER BY relname), '') FROM pg_class
      WHERE relnamespace = quote_ident(current_schema())::regnamespace
        AND relkind = 'r' AND relpersistence = 'u'
        AND relname IN ('fermata_meta', 'event_journal', 'event_tag', 'snapshot')
      """;

  private static final Logger LOG = LoggerFactory.getLogger(PostgresDurability.class);

  private PostgresDurability() {}

  /** The settings that an address may accept. */
  static List<String> names() {
    List<String> names = new ArrayList<>(LOSSES.keySet());
    names.add(SYNCHRONOUS_COMMIT);
    return names.stream().sorted().toList();
  }

  /** Fails if the server would lose acknowledged writes. */
  static void require(PostgresAddress address, Connection connection) throws SQLException {
    List<String> off = off(connection);
    off.removeAll(address.unsafe());
    for (String setting : off) {
      throw new SQLException(
          "runs with %s=off, which %s; set %s=on on the server, or accept the loss with unsafe=%s in the address"
              .formatted(
                  setting, LOSSES.get(setting), setting, accepting(address.unsafe(), setting)),
          STATE);
    }
  }

  private static String accepting(Set<String> accepted, String setting) {
    List<String> all = new ArrayList<>(accepted);
    all.add(setting);
    return String.join(",", all);
  }

  /** Logs what the address accepts of what the server does, and what is set otherwise. */
  static void warn(PostgresAddress address, Connection connection) throws SQLException {
    for (String setting : off(connection)) {
      LOG.warn(
          "{} runs with {}=off, as its address accepts; it {}",
          address.shown(),
          setting,
          LOSSES.get(setting));
    }
    String commits = PostgresClaim.text(connection, CONFIGURED);
    if (WEAKER.contains(commits)) {
      LOG.warn(
          address.unsafe().contains(SYNCHRONOUS_COMMIT)
              ? "{} runs with synchronous_commit={}, as its address accepts; a crash of a machine may lose acknowledged writes"
              : "{} is configured with synchronous_commit={}, by which a crash of a machine may lose acknowledged writes; the connections of this host use on; accept the loss with unsafe=synchronous_commit in the address",
          address.shown(),
          commits);
    }
    if (address.servers().contains(",") && PostgresClaim.text(connection, STANDBYS).isEmpty()) {
      LOG.warn(
          "{} names several servers, but synchronous_standby_names is empty, so a standby that takes over may lack acknowledged writes; name there those that may",
          address.shown());
    }
  }

  private static List<String> off(Connection connection) throws SQLException {
    List<String> names = List.copyOf(LOSSES.keySet());
    String[] values = PostgresClaim.text(connection, SETTINGS).split(",", -1);
    List<String> off = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      if (values[i].equals("off")) {
        off.add(names.get(i));
      }
    }
    return off;
  }

  /** Makes the commits of a connection wait for every disk that the server is configured to use. */
  static void sync(PostgresAddress address, Connection connection) throws SQLException {
    if (!address.unsafe().contains(SYNCHRONOUS_COMMIT)) {
      PostgresClaim.text(connection, SYNCS);
    }
  }

  /** The directory can be rebuilt; all else must not be emptied by a crash. */
  static void requireLogged(PostgresAddress address, Connection connection) throws SQLException {
    String tables = PostgresClaim.text(connection, UNLOGGED);
    if (!tables.isEmpty()) {
      throw new StoreException(
          address.shown()
              + " has unlogged tables ("
              + tables
              + "), which are empty after a crash; let their owner run \"ALTER TABLE "
              + tables.replace(", ", " SET LOGGED; ALTER TABLE ")
              + " SET LOGGED\"");
    }
  }
}
