package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Note.Appointment;
import io.fermata.persistence.Note.Conclusion;
import io.fermata.persistence.Note.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class PostgresStoreTest extends HistoryContract {

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

  @Test
  void timesThatWereLeftBehindAreForgottenWhenTheyHavePassed() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a");
      IntStream.rangeClosed(1, 30).forEach(at -> desk.write(new Appointment(at)));
      assertThat(host.due(20, 10)).isEmpty();
      assertThat(tags()).isEqualTo(10);
      assertThat(host.due(30, 10)).containsExactly(new Due("a", 30));
      assertThat(tags()).isEqualTo(1);
    }
  }

  @Test
  void aSweepTakesTheTagsToo() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Plan("one")).write(new Conclusion("over", 0, 9));
      host.sweep();
      assertThat(tags()).isEqualTo(1);
      host.sweep(9);
      assertThat(tags()).isZero();
    }
  }

  private long tags() {
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
