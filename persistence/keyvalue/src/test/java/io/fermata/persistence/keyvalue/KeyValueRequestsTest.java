package io.fermata.persistence.keyvalue;

import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.keyvalue.RedisMonitor;
import io.fermata.keyvalue.RedisServer;
import io.fermata.keyvalue.WaniwaniStub;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How many requests a call makes on a key-value store: at most one read and one write. */
@Tag("slow")
class KeyValueRequestsTest {

  private static final String READ = "get";
  private static final String WRITE = "set";

  /** What every such store is asked for. */
  abstract static class Requests {

    /** The writes of a session that is awake: with a read before where the store cannot compare. */
    private final List<String> awake;

    private int seen;

    Requests(String... awake) {
      this.awake = List.of(awake);
    }

    abstract Store store() throws Exception;

    /** All requests until now, as "get key". */
    abstract List<String> requests() throws Exception;

    private List<String> taken() throws Exception {
      List<String> all = requests();
      List<String> taken = all.subList(seen, all.size());
      seen = all.size();
      return taken;
    }

    /** What a call requests: of the session's value, and nothing else. */
    private List<String> of(Supplier<String> call, String expected) throws Exception {
      taken();
      assertThat(call.get()).isEqualTo(expected);
      List<String> taken = taken();
      assertThat(taken).allMatch(request -> request.contains(" fermata:journal:trip|"));
      return operations(taken);
    }

    private static List<String> operations(List<String> requests) {
      return requests.stream().map(request -> request.substring(0, request.indexOf(' '))).toList();
    }

    private static Flow<Trip> flow() {
      return TestFlows.trip(run -> run.set("price", 7), EffectOptions::idempotent).compile();
    }

    @Test
    void aCallMakesAtMostOneReadAndOneWrite() throws Exception {
      try (TestHost host = new TestHost(store(), flow())) {
        Client client = host.client();
        assertThat(of(() -> field(client.start()), "from")).containsExactly(WRITE);
        assertThat(of(() -> field(client.proceed("from", "Ulm")), "to")).isEqualTo(awake);
        assertThat(of(() -> field(client.status()), "to")).isEmpty();
        assertThat(of(() -> status(client.proceed("to", "Bonn")), "complete")).isEqualTo(awake);
      }
    }

    @Test
    void aSessionThatIsNamedByItsClientIsLookedForOnce() throws Exception {
      try (TestHost host = new TestHost(store(), flow())) {
        Client client = host.client().meta("sessionId", "mine");
        assertThat(of(() -> field(client.start()), "from")).containsExactly(READ, WRITE);
        assertThat(of(() -> field(client.proceed("from", "Ulm")), "to")).isEqualTo(awake);
      }
    }

    @Test
    void aSessionThatSleptIsReadOnceAndWrittenOnce() throws Exception {
      try (TestHost host = new TestHost(store(), flow())) {
        Client client = host.client();
        client.start();
        host.crash();
        assertThat(of(() -> field(client.proceed("from", "Ulm")), "to"))
            .containsExactly(READ, WRITE);
        host.restart();
        assertThat(of(() -> field(client.status()), "to")).containsExactly(READ);
        assertThat(of(() -> status(client.proceed("to", "Bonn")), "complete"))
            .containsExactly(WRITE);
      }
    }

    @Test
    void anActionThatIsNotIdempotentCostsOneMoreWriteAndItsPlaceInTheIndex() throws Exception {
      try (TestHost host = new TestHost(store(), TestFlows.trip())) {
        Client client = host.client();
        client.start();
        taken();
        assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to");
        List<String> taken = new ArrayList<>(taken());
        List<String> index =
            taken.stream().filter(request -> request.contains("fermata:index:")).toList();
        taken.removeAll(index);
        assertThat(operations(index)).isEqualTo(awake);
        assertThat(operations(taken).stream().filter(READ::equals)).hasSizeLessThanOrEqualTo(1);
        assertThat(operations(taken).stream().filter(WRITE::equals)).hasSize(2);
      }
    }
  }

  /** A store of the application, which compares. */
  @Nested
  class Own extends Requests {
    private final LocalKvStore kv = new LocalKvStore();

    Own() {
      super(WRITE);
    }

    @Override
    Store store() {
      return KeyValueStore.of(kv);
    }

    @Override
    List<String> requests() {
      return kv.requests();
    }
  }

  /** Cannot compare, so a session that is awake reads before it writes. */
  @Nested
  class Waniwani extends Requests {
    private final WaniwaniStub stub = new WaniwaniStub();

    Waniwani() throws Exception {
      super(READ, WRITE);
    }

    @Override
    Store store() {
      Map<String, String> environment =
          Map.of("WANIWANI_API_KEY", stub.newKey(), "WANIWANI_API_URL", stub.base());
      return new KeyValueProvider().fromEnvironment(environment).map(Store::of).orElseThrow();
    }

    @Override
    List<String> requests() {
      return stub.requests();
    }

    @AfterEach
    void stop() {
      stub.close();
    }
  }

  @Nested
  @Tag("tools")
  class Redis extends Requests {
    @TempDir Path directory;
    private @Nullable RedisServer server;
    private @Nullable RedisMonitor monitor;

    Redis() {
      super(WRITE);
    }

    @Override
    Store store() throws Exception {
      server = new RedisServer(directory);
      monitor = new RedisMonitor(server);
      return Store.parse(server.address(0));
    }

    @AfterEach
    void stop() throws Exception {
      Objects.requireNonNull(monitor).close();
      Objects.requireNonNull(server).close();
    }

    @Override
    List<String> requests() throws Exception {
      return Objects.requireNonNull(monitor).requests();
    }
  }
}
