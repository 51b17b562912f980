package io.fermata.persistence.keyvalue;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.spi.StoreException;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Redis server. Each value is a hash with its version, which a script compares and replaces; all
 * calls share one connection, which reconnects by itself.
 */
final class RedisKvStore implements KvStore, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(RedisKvStore.class);

  /**
   * Compares and sets. A script that is resent after a broken connection finds its own version and
   * succeeds. ARGV: expected version or "", next version, value, milliseconds to live or "".
   */
  private static final String SET =
      """
      local there = redis.call('HGET', KEYS[1], 'version') or ''
      if there == ARGV[2] then return 1 end
      if there ~= ARGV[1] then return 0 end
      redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
      if ARGV[4] == '' then redis.call('PERSIST', KEYS[1])
      else redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
      return 1
      """;

  private static final String SYNC = "appendfsync";
  private static final String VERSION = "version";
  private static final String VALUE = "value";
  private static final Duration ANSWERS = Duration.ofSeconds(5);

  /** How many keys the server looks at for a portion. */
  private static final int KEYS_AT_ONCE = 500;

  private final String name;
  private final ClientResources resources;
  private final RedisClient client;
  private final StatefulRedisConnection<String, byte[]> connection;

  private RedisKvStore(
      String name,
      ClientResources resources,
      RedisClient client,
      StatefulRedisConnection<String, byte[]> connection) {
    this.name = name;
    this.resources = resources;
    this.client = client;
    this.connection = connection;
  }

  static RedisKvStore connect(RedisURI uri) {
    uri.setTimeout(ANSWERS);
    ClientResources resources =
        DefaultClientResources.builder().ioThreadPoolSize(2).computationThreadPoolSize(2).build();
    RedisClient client = RedisClient.create(resources, uri);
    client.setOptions(
        ClientOptions.builder()
            .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
            .timeoutOptions(TimeoutOptions.enabled(ANSWERS))
            .build());
    try {
      StatefulRedisConnection<String, byte[]> connection =
          client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));
      RedisKvStore store = new RedisKvStore(name(uri), resources, client, connection);
      store.warnOfRisks();
      return store;
    } catch (RedisException refused) {
      shutdown(client, resources);
      Throwable why = refused.getCause() == null ? refused : refused.getCause();
      throw new StoreException(
          name(uri)
              + " could not be opened: "
              + why.getMessage()
              + "; check that the server runs there, the user and the password",
          refused);
    }
  }

  static String name(RedisURI uri) {
    return (uri.isSsl() ? "rediss://" : "redis://")
        + uri.getHost()
        + ":"
        + uri.getPort()
        + "/"
        + uri.getDatabase();
  }

  /** Durability depends on the configuration of the server. */
  private void warnOfRisks() {
    try {
      String info = connection.sync().info();
      if (info.contains("maxmemory_policy:") && !info.contains("maxmemory_policy:noeviction")) {
        LOG.warn(
            "{} may evict sessions when its memory is full; set maxmemory-policy noeviction", name);
      }
      if (!info.contains("aof_enabled:1") || !syncsEachWrite()) {
        LOG.warn(
            "{} acknowledges writes before they are on disk and loses the latest ones in a"
                + " crash. Set appendonly yes and appendfsync always if sessions must survive that",
            name);
      }
    } catch (RedisException forbidden) {
      LOG.warn(
          "{} does not report how it persists data: {}. Make sure that it has appendonly yes and"
              + " appendfsync always, or it may lose acknowledged writes in a crash",
          name,
          forbidden.getMessage());
    }
  }

  private boolean syncsEachWrite() {
    return "always".equals(connection.sync().configGet(SYNC).get(SYNC));
  }

  @Override
  public String describe() {
    return name;
  }

  @Override
  public CompletionStage<Optional<Versioned>> get(String key) {
    return connection
        .async()
        .hmget(key, VERSION, VALUE)
        .thenApply(RedisKvStore::versioned)
        .exceptionallyCompose(thrown -> refused(key, thrown));
  }

  /** The server does not name the key whose value has another type. */
  private static <T> CompletionStage<T> refused(String key, Throwable thrown) {
    boolean foreign = String.valueOf(StoreFailures.of(thrown).getMessage()).contains("WRONGTYPE");
    return CompletableFuture.failedFuture(
        foreign
            ? new KvCalls.Foreign(
                "WRONGTYPE, the key %s has a value of another type, which Fermata did not write; rename that key, or choose another database of the server"
                    .formatted(key))
            : thrown);
  }

  private static Optional<Versioned> versioned(List<KeyValue<String, byte[]>> found) {
    return found.get(0).hasValue() && found.get(1).hasValue()
        ? Optional.of(
            new Versioned(found.get(1).getValue(), new String(found.get(0).getValue(), UTF_8)))
        : Optional.empty();
  }

  @Override
  public CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    String next = UUID.randomUUID().toString();
    String expires = timeToLive == null ? "" : Long.toString(timeToLive.toMillis());
    return connection
        .async()
        .<Long>eval(
            SET,
            ScriptOutputType.INTEGER,
            new String[] {key},
            bytes(expectedVersion == null ? "" : expectedVersion),
            bytes(next),
            value,
            bytes(expires))
        .thenApply(won -> won == 1 ? Optional.of(next) : Optional.<String>empty())
        .exceptionallyCompose(thrown -> refused(key, thrown));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  @Override
  public CompletionStage<@Nullable Void> delete(String key) {
    return connection.async().del(key).thenApply(removed -> null);
  }

  @Override
  public CompletionStage<Optional<KeyPage>> keys(String prefix, String after) {
    return connection
        .async()
        .scan(
            ScanCursor.of(after.isEmpty() ? "0" : after),
            ScanArgs.Builder.limit(KEYS_AT_ONCE).match(literally(prefix) + "*"))
        .thenApply(
            found ->
                Optional.of(
                    new KeyPage(found.getKeys(), found.isFinished() ? "" : found.getCursor())));
  }

  /** A pattern that matches the text alone. */
  private static String literally(String text) {
    return text.replaceAll("[\\\\*?\\[\\]]", "\\\\$0");
  }

  @Override
  public void close() {
    connection.close();
    shutdown(client, resources);
  }

  private static void shutdown(RedisClient client, ClientResources resources) {
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    if (!resources.shutdown(0, 2, TimeUnit.SECONDS).awaitUninterruptibly(2, TimeUnit.SECONDS)) {
      LOG.warn("The threads of a Redis client did not stop in time");
    }
  }
}
