package io.fermata.bench.crash;

import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** What may happen between a living server and its store. */
record Fault(String name, Begin begin) {

  /** Makes it happen. */
  interface Begin {
    End now() throws Exception;
  }

  /** Puts it right. */
  interface End {
    void now() throws Exception;
  }

  /** Connections break, the network is silent, the database is killed and recovers. */
  static List<Fault> of(PostgresServer server, Cable cable) {
    return List.of(
        new Fault(
            "cut",
            () -> {
              cable.cut();
              return cable::mend;
            }),
        new Fault(
            "freeze",
            () -> {
              cable.halt();
              return cable::mend;
            }),
        new Fault(
            "restart",
            () -> {
              server.kill();
              return server::restart;
            }));
  }

  /** Another program writes to the file. */
  static List<Fault> ofFile(Path file) {
    return List.of(new Fault("lock", () -> locked(file)));
  }

  private static End locked(Path file) throws SQLException {
    Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
    try (Statement statement = other.createStatement()) {
      statement.execute("PRAGMA busy_timeout = 10000");
      statement.execute("BEGIN IMMEDIATE");
    }
    return other::close;
  }
}
