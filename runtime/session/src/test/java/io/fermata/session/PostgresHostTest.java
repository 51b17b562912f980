package io.fermata.session;

import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.call.ToolReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Sessions on a real PostgreSQL server, which may go and come back. */
@Tag("slow")
final class PostgresHostTest {

  @Test
  @Tag("faults")
  void aRunContinuesByItselfAfterItsServerWasKilledAndCameBack() throws Exception {
    List<Integer> attempts = new CopyOnWriteArrayList<>();
    CountDownLatch first = new CountDownLatch(1);
    CompletableFuture<Void> serverIsGone = new CompletableFuture<>();
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  attempts.add(run.attempt());
                  first.countDown();
                  return serverIsGone.thenApply(gone -> run.set("price", 3));
                },
                o -> {})
            .compile();
    try (PostgresServer server = PostgresServer.start();
        TestHost host = new TestHost(Store.postgres(server.newDatabase()), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> booking = client.proceedLater("from", "Ulm");
      assertThat(first.await(60, TimeUnit.SECONDS)).isTrue();

      server.kill();
      serverIsGone.complete(null);
      assertThat(code(got(booking))).isEqualTo("store_unavailable");
      Client other = host.client();
      assertThat(code(other.start())).isEqualTo("store_unavailable");

      server.restart();
      TestHost.eventually(() -> waits(host));
      assertThat(attempts).as("its result was kept while the server was away").containsExactly(1);
      assertThat(field(client.proceed())).isEqualTo("to");
      assertThat(client.proceed("to", "Bonn").structured().path("result"))
          .isEqualTo(Json.object().put("from", "Ulm").put("to", "Bonn").put("price", 3));
      assertThat(code(other.start())).isEqualTo("none");
    }
  }

  /** What the list says, so that no call wakes the run. */
  private static boolean waits(TestHost host) {
    return host
        .fermata()
        .runs()
        .list(RunQuery.ALL)
        .handle((page, away) -> page == null ? List.<RunInfo>of() : page.runs())
        .toCompletableFuture()
        .join()
        .stream()
        .anyMatch(run -> run.status() == RunInfo.Status.WAITING);
  }

  @Test
  void aForkIsThereForTheNextHost() {
    Store store = Store.postgres(PostgresServer.shared().newDatabase());
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      Client client = host.client();
      String run = client.start().meta().path("fermata/run").path("runId").asText();
      client.proceed("from", "Ulm");
      Fork fork =
          host.fermata()
              .fork("trip", run, 1, ForkOptions.live().answer("from", "Kiel"))
              .toCompletableFuture()
              .join();
      host.crash();
      RunJournal journal =
          host.fermata()
              .journals()
              .run("trip", fork.runId())
              .readWithSecrets()
              .toCompletableFuture()
              .join();
      assertThat(journal.state().answers()).containsEntry("from", Json.tree("Kiel"));
    }
  }

  @Test
  void whatWasAcknowledgedIsThereForTheNextHost() {
    Store store = Store.postgres(PostgresServer.shared().newDatabase());
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      Client client = host.client();
      client.start();
      client.proceed("from", "Ulm");
      host.crash();
      assertThat(client.status().structured().path("run").path("state").path("from").asText())
          .isEqualTo("Ulm");
    }
  }
}
