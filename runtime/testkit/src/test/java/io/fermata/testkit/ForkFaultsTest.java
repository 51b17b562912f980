package io.fermata.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.admin.Threads.NewFork;
import io.fermata.testkit.FaultyStore.Fault;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A fork is written as a whole or not at all. */
@Tag("slow")
final class ForkFaultsTest {
  @TempDir Path folder;

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private List<Long> lengths() throws SQLException {
    List<Long> lengths = new ArrayList<>();
    try (Connection file = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("t.db"));
        ResultSet rows =
            file.createStatement()
                .executeQuery(
                    "SELECT count(*) FROM event_journal GROUP BY persistence_id ORDER BY 1")) {
      while (rows.next()) {
        lengths.add(rows.getLong(1));
      }
    }
    return lengths;
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void aForkWhoseEntriesCannotBeWrittenLeavesNothingOrAWholeThread(Fault fault) throws Exception {
    FaultyStore store = FaultyStore.of(Store.sqlite(folder.resolve("t.db")));
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of("desk", ScriptedModel.script().otherwise().say("Heard.").model("scripted")));
    try (Fermata host = Fermata.host().store(store.store()).agent(desk).start()) {
      Threads threads = host.threads();
      String id =
          now(threads.create(
                  new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(threads.post("ann", id, new Threads.NewMessage(Message.user("Hi"), List.of(), null)));
      long entries = now(threads.settled("ann", id, Duration.ofSeconds(30))).offset();
      assertThat(lengths()).containsExactly(entries);

      store.failNextWrite(fault);

      assertThatThrownBy(() -> now(threads.fork("ann", id, NewFork.live())))
          .isInstanceOf(CompletionException.class)
          .cause()
          .isInstanceOf(ThreadException.class);
      assertThat(lengths())
          .isEqualTo(fault == Fault.REPLY_LOST ? List.of(entries, entries + 1) : List.of(entries));
      assertThat(now(threads.fork("ann", id, NewFork.live())).offset()).isEqualTo(entries + 1);
      assertThat(now(threads.get("ann", id)).offset()).isEqualTo(entries);
    }
  }
}
