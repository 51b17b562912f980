package io.fermata.persistence.postgres;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.ReadersContract;
import io.fermata.persistence.sql.SqlBackend;
import java.util.Map;
import org.junit.jupiter.api.Tag;

@Tag("slow")
final class PostgresReadersTest extends ReadersContract {

  @Override
  protected Opened open() {
    PostgresAddress address = PostgresAddress.parse(PostgresProbe.fresh().address(), Map.of());
    PostgresClaim claim = PostgresClaim.take(address);
    SqlBackend backend = PostgresBackend.connect(address, claim, PostgresShards.all());
    return new Opened(new OpenSqlStore("busy", claim.serverKey(), backend), backend);
  }
}
