package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.ReadersContract;
import io.fermata.persistence.sql.SqlBackend;
import io.fermata.postgres.PostgresServer;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
final class PostgresReadersTest extends ReadersContract {

  @Override
  protected Opened open() {
    PostgresAddress address = PostgresAddress.parse(PostgresProbe.fresh().address(), Map.of());
    PostgresClaim claim = PostgresClaim.take(address);
    SqlBackend backend = PostgresBackend.connect(address, claim, PostgresShards.all());
    return new Opened(new OpenSqlStore("busy", claim.serverKey(), backend), backend);
  }

  @Test
  void whatTakesOneStatementIsReadInOneRoundTrip() {
    try (PostgresServer server = PostgresServer.start("log_statement = all");
        OpenStore store = PostgresProbe.of(server).store().open()) {
      Map<String, Function<OpenStore, CompletionStage<?>>> reads =
          Map.of(
              "read", open -> open.read("thread|a", 1, OpenStore.MAX_ENTRIES),
              "readBack", open -> open.readBack("thread|a", Long.MAX_VALUE, 1),
              "newest", OpenStore::newest,
              "written", open -> open.written(0, 1),
              "writtenByAny", open -> open.writtenByAny(0, 1),
              "journals", open -> open.journals("", 1),
              "get", open -> open.directory().get("thread|a"),
              "marked", open -> open.directory().marked());
      reads.forEach(
          (name, read) ->
              assertThat(logged(server, () -> Host.await(read.apply(store))))
                  .as(name)
                  .contains("SELECT")
                  .doesNotContain("COMMIT"));
      assertThat(logged(server, () -> Host.await(store.directory().list(DirectoryQuery.of("run")))))
          .contains("COMMIT");
    }
  }

  private static String logged(PostgresServer server, Runnable work) {
    int before = server.log().length();
    work.run();
    return server.log().substring(before);
  }
}
