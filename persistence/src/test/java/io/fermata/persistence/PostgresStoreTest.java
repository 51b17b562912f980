package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Note.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

final class PostgresStoreTest extends SqlContract {

  private final List<PostgresProbe> databases = new ArrayList<>();

  @Override
  Store newStore() {
    PostgresProbe fresh = PostgresProbe.fresh();
    databases.add(fresh);
    return fresh.store();
  }

  private PostgresProbe database() {
    return databases.get(0);
  }

  @Override
  List<Long> records(String persistenceId) {
    return database().records(persistenceId);
  }

  @Override
  List<Long> snapshots(String persistenceId) {
    return database().snapshots(persistenceId);
  }

  @Override
  long tags() {
    return database().number("SELECT count(*) FROM event_tag");
  }

  @Test
  void aClosedStoreSaysSo() {
    OpenStore open = store().open();
    open.close();
    open.close();
    for (CompletionStage<?> late : List.of(open.sweep(1), open.working(), open.read("a", 1, 1))) {
      assertThatThrownBy(() -> Host.await(late))
          .hasRootCauseInstanceOf(StoreException.class)
          .rootCause()
          .hasMessage(database().address() + " is closed; open the store again");
    }
  }

  @Test
  void aClosedStoreLeavesNoConnection() {
    store().open().close();
    assertThat(
            database()
                .numbers(
                    "SELECT pid FROM pg_stat_activity WHERE datname = ? AND usename = 'fermata'",
                    database().database()))
        .isEmpty();
  }

  @Test
  void whatIsAcknowledgedIsSyncedWhateverTheServersDefault() {
    database()
        .execute(
            "ALTER DATABASE " + database().database() + " SET synchronous_commit = off",
            "CREATE TABLE seen (setting text)",
            "GRANT ALL ON seen TO fermata");
    try (Host host = Host.on(store())) {
      database()
          .execute(
              """
              CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW;
              END $$
              """,
              "CREATE TRIGGER see AFTER INSERT ON event_journal FOR EACH ROW EXECUTE FUNCTION see()");
      host.open("a").write(new Plan("one"));
    }
    assertThat(database().numbers("SELECT 1 FROM seen WHERE setting = 'on'")).hasSize(1);
  }
}
