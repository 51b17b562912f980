package io.fermata.session.journal;

import io.fermata.persistence.Store;
import io.fermata.postgres.PostgresServer;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;

/** Damage of a PostgreSQL database. */
@Tag("slow")
class PostgresDamagedJournalTest extends DamageContract {
  private final PostgresServer server = PostgresServer.shared();
  private final String address = server.newDatabase();

  @Override
  Store store() {
    return Store.postgres(address);
  }

  @Override
  Connection connect() throws SQLException {
    return server.connect(PostgresServer.database(address));
  }

  @Override
  String flipped() {
    return """
        set_byte(event_payload, length(event_payload) - 9,
          get_byte(event_payload, length(event_payload) - 9) # 1)
        """;
  }
}
