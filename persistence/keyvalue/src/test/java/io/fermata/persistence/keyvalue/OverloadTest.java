package io.fermata.persistence.keyvalue;

import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.call.ToolReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A host that gets more calls than it can handle. */
@Tag("slow")
@Tag("long")
final class OverloadTest {
  private static final Duration TOO_LONG = Duration.ofMillis(1500);

  private final LocalKvStore kv = new LocalKvStore();

  /** Calls wait for a second at most. */
  private TestHost host() {
    return new TestHost(
        KeyValueStore.of(kv),
        s -> s.callDeadline(Duration.ofSeconds(5)).idle(Duration.ofMillis(100)),
        TestFlows.trip());
  }

  private static List<ToolReply> together(
      List<Client> clients, Function<Client, CompletableFuture<ToolReply>> call) {
    return clients.stream().map(call).toList().stream().map(TestHost::got).toList();
  }

  private static List<Client> clients(TestHost host) {
    return IntStream.range(0, 20).mapToObj(i -> host.client()).toList();
  }

  @Test
  void aHostWhoseStoreCannotKeepUpContinuesItsRunsAndBeginsNone() throws InterruptedException {
    try (TestHost host = host()) {
      Client client = host.client();
      assertThat(field(client.start())).isEqualTo("from");
      kv.writesIn(TOO_LONG);
      List<CompletableFuture<ToolReply>> others = new ArrayList<>();
      TestHost.eventually(
          () -> {
            clients(host).forEach(each -> others.add(each.startLater()));
            return isRefusedAtOnce(host.client().startLater());
          });
      assertThat(code(client.proceed("from", "Ulm"))).isNotEqualTo("overloaded");
      kv.writesIn(Duration.ZERO);
      TestHost.eventually(() -> field(host.client().start()).equals("from"));
      assertThat(others)
          .map(TestHost::got)
          .map(TestHost::code)
          .isSubsetOf("none", "overloaded", "still_working");
    }
  }

  @Test
  void aHostWhoseSessionsWakeTooSlowlyBeginsNone() throws InterruptedException {
    try (TestHost host = host()) {
      List<Client> clients = clients(host);
      together(clients, Client::startLater);
      kv.readsIn(TOO_LONG);
      TestHost.eventually(
          () -> {
            awaitAsleep(host);
            together(clients, client -> client.proceedLater());
            // The second after the one in which they woke.
            pause(1_000);
            return code(host.client().start()).equals("overloaded");
          });
      kv.readsIn(Duration.ZERO);
      TestHost.eventually(() -> field(host.client().start()).equals("from"));
      assertThat(field(got(clients.get(0).proceedLater("from", "Ulm")))).isEqualTo("to");
    }
  }

  private static boolean isRefusedAtOnce(CompletableFuture<ToolReply> call) {
    pause(100);
    return call.isDone() && code(got(call)).equals("overloaded");
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void awaitAsleep(TestHost host) {
    try {
      TestHost.eventually(() -> host.fermata().awake() == 0);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
