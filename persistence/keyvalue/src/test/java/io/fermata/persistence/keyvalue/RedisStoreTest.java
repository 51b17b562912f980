package io.fermata.persistence.keyvalue;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.keyvalue.RedisServer;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.ChildJvm;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Verified;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.CommandType;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** On a real Redis server. */
@Tag("tools")
final class RedisStoreTest extends KeyValueContract {

  /** How long an answer is waited for that will not come. */
  private static final Duration HASTE = Duration.ofSeconds(1);

  private static int databases;
  private static @Nullable RedisServer server;

  private final Map<Store, String> addresses = new HashMap<>();

  @BeforeAll
  static void startServer(@TempDir Path directory) {
    server = new RedisServer(directory);
  }

  @AfterAll
  static void stopServer() {
    server().close();
  }

  private static RedisServer server() {
    return Objects.requireNonNull(server);
  }

  @Override
  protected Store newStore() {
    String address = server().address(++databases);
    Store store = Store.parse(address);
    addresses.put(store, address);
    return store;
  }

  private String address() {
    return Objects.requireNonNull(addresses.get(store()));
  }

  @Override
  Optional<byte[]> value(String key) {
    return directly(redis -> Host.await(redis.get(key)).map(KvStore.Versioned::value));
  }

  private <T> T directly(Function<RedisKvStore, T> work) {
    try (RedisKvStore redis = RedisKvStore.connect(RedisURI.create(address()))) {
      return work.apply(redis);
    }
  }

  @Test
  void aVersionIsReplacedOnlyByWhoKnowsIt() {
    directly(
        redis -> {
          String first = Host.await(redis.set("k", bytes("one"), null, null)).orElseThrow();
          assertThat(Host.await(redis.set("k", bytes("two"), null, null))).isEmpty();
          assertThat(Host.await(redis.set("k", bytes("two"), "other", null))).isEmpty();
          String second = Host.await(redis.set("k", bytes("two"), first, null)).orElseThrow();
          assertThat(Host.await(redis.set("k", bytes("three"), first, null))).isEmpty();
          assertThat(Host.await(redis.get("k")))
              .hasValueSatisfying(
                  value -> {
                    assertThat(value.value()).asString(UTF_8).isEqualTo("two");
                    assertThat(value.version()).isEqualTo(second);
                  });
          Host.await(redis.delete("k"));
          assertThat(Host.await(redis.set("k", bytes("four"), second, null))).isEmpty();
          return redis;
        });
  }

  @Test
  void aValueExpiresWhenItMayAndStaysWhenItIsWrittenAgain() {
    directly(
        redis -> {
          Host.await(redis.set("gone", bytes("one"), null, Duration.ofMillis(100)));
          Duration minute = Duration.ofMinutes(1);
          String kept = Host.await(redis.set("kept", bytes("one"), null, minute)).orElseThrow();
          commands(server -> assertThat(server.ttl("kept")).isPositive());
          Host.await(redis.set("kept", bytes("two"), kept, null));
          while (Host.await(redis.get("gone")).isPresent()) {
            Thread.onSpinWait();
          }
          commands(server -> assertThat(server.ttl("kept")).as("it never expires").isEqualTo(-1));
          return redis;
        });
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  @Test
  void allSessionsOfAServerAreVerifiedWhileAHostHasItOpen() {
    int sessions = 1_200;
    try (Host host = Host.on(store())) {
      List<NewEntry> entries =
          List.of(new NewEntry(new StoredEntry(1, 1, "", bytes("one")), 5, Set.of()));
      for (int i = 0; i < sessions; i++) {
        Host.await(host.store().importJournal("session " + i, entries));
      }
      host.open("a").write(new Line("one"), new Plan("two"));
      assertThat(store().verify(damage -> {})).isEqualTo(new Verified(sessions + 1, 1_202, 0));

      RedisURI uri = RedisURI.create(address());
      try (RedisClient client = RedisClient.create(uri);
          StatefulRedisConnection<String, String> redis = client.connect()) {
        redis.sync().del("fermata:journal:session 7");
        redis.sync().set("fermata:journal:session 7", "a text");
        redis.sync().hset("fermata:journal:session 8", "value", "a text");
      }
      List<String> damages = new ArrayList<>();
      Verified verified = store().verify(damages::add);
      assertThat(verified).isEqualTo(new Verified(sessions - 1, 1_200, 2));
      assertThat(damages)
          .anyMatch(each -> each.contains("could not be read: WRONGTYPE"))
          .anyMatch(each -> each.contains("the journal session 8 was not written by Fermata"));
    }
  }

  @Test
  void whatAServerThatWasKilledAcknowledgedIsThereAndSessionsComeBack() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one"), new Plan("two"));
      server().kill();
      Host.Desk desk = host.open("b");
      assertThatThrownBy(() -> Host.await(desk.begin(HASTE, new Line("lost"))))
          .hasRootCauseInstanceOf(TimeoutException.class);
      server().start();
      assertThat(patiently(host, "a", "three")).startsWith("one", "two").endsWith("three");
      assertThat(host.working()).isEmpty();
    }
  }

  /** Writes as soon as the connection is back. */
  private static List<String> patiently(Host host, String id, String line) {
    for (int tries = 0; tries < 60; tries++) {
      try {
        Host.await(host.open(id).begin(HASTE, new Line(line)));
        return host.open(id).lines();
      } catch (AssertionError notYet) {
        assertThat(notYet).hasRootCauseInstanceOf(TimeoutException.class);
      }
    }
    throw new AssertionError("The connection did not come back");
  }

  @Test
  void whatAKilledProcessAcknowledgedIsThere() {
    List<Long> acknowledged = new ArrayList<>();
    try (ChildJvm writer = ChildJvm.start(address(), Integer.MAX_VALUE)) {
      acknowledged.addAll(writer.acknowledged(300));
      writer.kill();
      acknowledged.addAll(writer.acknowledged(Integer.MAX_VALUE));
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").lines())
          .hasSizeGreaterThanOrEqualTo(acknowledged.size())
          .startsWith(
              LongStream.rangeClosed(1, acknowledged.size())
                  .mapToObj(line -> "line " + line)
                  .toArray(String[]::new));
    }
  }

  @Test
  void aServerThatMayLoseAcknowledgedWritesIsNamed() {
    assertThat(warnings(address())).isEmpty();
    configure("appendfsync", "everysec");
    try {
      assertThat(warnings(address()))
          .singleElement()
          .asString()
          .contains(store().toString(), "loses the latest ones", "appendfsync always");
    } finally {
      configure("appendfsync", "always");
    }
  }

  @Test
  void aServerThatDoesNotSayWhetherItLosesWritesIsNamed() {
    commands(redis -> redis.aclSetuser("guest", mayNotAskForSettings()));
    assertThat(warnings(address().replace(":open%20sesame", "guest:secret")))
        .singleElement()
        .asString()
        .contains(store().toString(), "NOPERM", "appendonly yes and appendfsync always");
  }

  private static AclSetuserArgs mayNotAskForSettings() {
    return AclSetuserArgs.Builder.on()
        .addPassword("secret")
        .allKeys()
        .allCommands()
        .removeCommand(CommandType.CONFIG);
  }

  private void configure(String setting, String value) {
    commands(redis -> redis.configSet(setting, value));
  }

  private void commands(Consumer<RedisCommands<String, String>> work) {
    try (RedisClient client = RedisClient.create(RedisURI.create(address()));
        StatefulRedisConnection<String, String> redis = client.connect()) {
      work.accept(redis.sync());
    }
  }

  /** What the log says as a store is opened. */
  private static List<String> warnings(String address) {
    Logger logger = (Logger) LoggerFactory.getLogger(RedisKvStore.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try {
      RedisKvStore.connect(RedisURI.create(address)).close();
    } finally {
      logger.detachAppender(logged);
    }
    return logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Test
  void theNameOfTheStoreKeepsItsPassword() {
    assertThat(store()).hasToString("redis://127.0.0.1:" + server().port() + "/" + databases);
    try (OpenStore open = store().open()) {
      assertThat(open.describe()).doesNotContain(RedisServer.PASSWORD);
    }
  }

  @Test
  void aKeyOfAnotherTypeIsNamed() {
    commands(redis -> redis.rpush("fermata:server-key", "a text"));
    assertThatThrownBy(() -> Store.parse(address()).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll(
            store() + " could not be read: WRONGTYPE, the key fermata:server-key has a value of",
            "choose another database")
        .hasMessageNotContaining("check that it can be reached");
    directly(
        redis -> {
          assertThatThrownBy(
                  () -> Host.await(redis.set("fermata:server-key", bytes("one"), null, null)))
              .rootCause()
              .hasMessageContaining("the key fermata:server-key has a value of another type");
          return redis;
        });
  }

  @Test
  void aSessionWhoseKeyIsOfAnotherTypeIsDamagedAndCanBeForgotten() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one"));
      host.open("b").write(new Line("two"));
    }
    commands(
        redis -> {
          redis.del("fermata:journal:a");
          redis.rpush("fermata:journal:a", "a text");
        });
    try (Host host = Host.on(store())) {
      assertThat(host.open("b").lines()).containsExactly("two");
      assertThatThrownBy(() -> host.read("a", 1, 10))
          .rootCause()
          .isInstanceOf(DamagedException.class)
          .hasMessageContainingAll("journal a is damaged", "a value of another type", "backup");
      host.forget("a");
      assertThat(host.open("a").lines()).isEmpty();
    }
  }

  @Test
  void aWrongPasswordAndAServerThatIsNotThereAreSaid() {
    String wrong = address().replace("open%20sesame", "guess");
    assertThatThrownBy(() -> Store.parse(wrong).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("could not be opened", "password")
        .hasMessageNotContaining("guess");
    assertThatThrownBy(() -> Store.parse("redis://127.0.0.1:1/0").open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("redis://127.0.0.1:1/0 could not be opened", "check that");
  }
}
