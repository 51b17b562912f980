package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.sql.Transactions;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What every connection has: both ends notice that the other is gone, and plans stay cheap. */
@Tag("slow")
final class PostgresConnectionsTest {

  private static final List<String> SERVER_SIDE =
      List.of(
          "tcp_user_timeout",
          "tcp_keepalives_idle",
          "tcp_keepalives_interval",
          "tcp_keepalives_count");

  @Test
  void theServerEndsEveryConnectionOfALostHostWithinHalfAMinute() throws SQLException {
    assertThat(ofEveryConnection(SERVER_SIDE).values())
        .containsOnly(List.of("25000", "10", "5", "3"));
  }

  /** A statement that the settings make seem expensive would be compiled, at 50 ms each time. */
  @Test
  void theServerCompilesNoStatement() throws SQLException {
    assertThat(ofEveryConnection(List.of("jit")).values()).containsOnly(List.of("off"));
  }

  private static Map<String, List<String>> ofEveryConnection(List<String> names)
      throws SQLException {
    PostgresAddress address = PostgresAddress.parse(PostgresProbe.fresh().address(), Map.of());
    Map<String, List<String>> settings = new LinkedHashMap<>();
    try (Connection claim = PostgresSource.forClaim(address).getConnection()) {
      settings.put("claim", settings(claim, names));
    }
    PostgresClaim claim = PostgresClaim.take(address);
    PostgresBackend backend = PostgresBackend.connect(address, claim, PostgresShards.all());
    try {
      Map<String, Transactions> pools =
          Map.of(
              "journals", backend.journalWriter(),
              "waking", backend.journalReader(),
              "writer", backend.writer(),
              "upkeep", backend.upkeep(),
              "reader", backend.reader(),
              "searches", backend.searches());
      pools.forEach(
          (name, pool) ->
              settings.put(
                  name, Host.await(pool.query(connection -> settings(connection, names)))));
    } finally {
      backend.close();
    }
    assertThat(settings).hasSize(7);
    return settings;
  }

  private static List<String> settings(Connection connection, List<String> names)
      throws SQLException {
    List<String> settings = new ArrayList<>();
    for (String name : names) {
      settings.add(PostgresClaim.text(connection, "SHOW " + name));
    }
    return settings;
  }

  /** As a pooler on the server's machine connects. */
  @Test
  void aConnectionThatReachesTheServerByAUnixSocketWorks() throws IOException {
    Path sockets = Files.createTempDirectory("pg");
    Files.setPosixFilePermissions(sockets, PosixFilePermissions.fromString("rwxrwxrwx"));
    try (PostgresServer server =
            PostgresServer.start("unix_socket_directories = '" + sockets + "'");
        Cable cable = Cable.to(server, sockets.resolve(".s.PGSQL." + server.port()));
        Host host = Host.on(Store.postgres(cable.through(server.newDatabase())))) {
      assertThat(host.open("a").write(new Line("one")).lines()).containsExactly("one");
      assertThat(server.number("SELECT count(*) FROM pg_stat_activity WHERE client_port = -1"))
          .isPositive();
    }
  }
}
