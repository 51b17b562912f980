package io.fermata.persistence;

import io.lettuce.core.RedisURI;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Reads the one-line form of a store, as it stands in {@code FERMATA_STORE}. */
final class StoreSpec {

  static final String VARIABLE = "FERMATA_STORE";

  private static final String WANIWANI_KEY = "WANIWANI_API_KEY";
  private static final String WANIWANI_URL = "WANIWANI_API_URL";
  private static final String WANIWANI = "waniwani:";
  private static final String MEMORY = "memory";
  private static final String SQLITE = "sqlite:";
  private static final String CHOICES =
      "choose \"memory\" (for tests, nothing survives the process)"
          + ", \"sqlite:<file>\", for example \"sqlite:fermata.db\","
          + " \"postgres://<user>@<host>/<database>\", or a key-value store:"
          + " \"redis://<host>:<port>/<db>\", or \"waniwani:<url>\" with WANIWANI_API_KEY set";

  private StoreSpec() {}

  static Optional<Store> fromEnvironment(Map<String, String> environment) {
    return named(environment, VARIABLE)
        .map(spec -> parse(spec, environment))
        .or(
            () ->
                named(environment, WANIWANI_KEY)
                    .map(
                        key ->
                            waniwani(
                                named(environment, WANIWANI_URL).orElse(HttpKvStore.USUAL_BASE),
                                key)));
  }

  private static Optional<String> named(Map<String, String> environment, String variable) {
    return Optional.ofNullable(environment.get(variable)).filter(value -> !value.isBlank());
  }

  static Store parse(String spec, Map<String, String> environment) {
    String trimmed = spec.strip();
    if (trimmed.equals(MEMORY)) {
      return Store.memory();
    }
    if (trimmed.startsWith(SQLITE)) {
      return Store.sqlite(file(spec, trimmed.substring(SQLITE.length())));
    }
    if (PostgresAddress.matches(trimmed)) {
      return Store.postgres(trimmed);
    }
    if (trimmed.startsWith("redis://") || trimmed.startsWith("rediss://")) {
      return redis(trimmed);
    }
    if (trimmed.startsWith(WANIWANI)) {
      String key =
          named(environment, WANIWANI_KEY)
              .orElseThrow(() -> refused(spec, "WANIWANI_API_KEY is not set"));
      return waniwani(trimmed.substring(WANIWANI.length()), key);
    }
    throw refused(spec, "there is no such store");
  }

  /** The address is not repeated where it is refused: it may hold a password. */
  private static Store redis(String address) {
    RedisURI uri;
    try {
      uri = RedisURI.create(address);
    } catch (IllegalArgumentException invalid) {
      throw refused("redis:…", "its address cannot be read");
    }
    return new KeyValueStore(
        RedisKvStore.name(uri),
        () -> {
          RedisKvStore store = RedisKvStore.connect(uri);
          return new KeyValueStore.Opened(store, store::close);
        });
  }

  private static Store waniwani(String address, String key) {
    URI base;
    try {
      base = new URI(address);
    } catch (URISyntaxException invalid) {
      throw refused(WANIWANI + address, "it is not an address: " + invalid.getReason());
    }
    if (base.getUserInfo() != null) {
      throw refused(
          WANIWANI + address, "it names a user; the key of the account goes into " + WANIWANI_KEY);
    }
    if (base.getHost() == null
        || base.getScheme() == null
        || !base.getScheme().startsWith("http")) {
      throw refused(WANIWANI + address, "its address does not begin with https://");
    }
    return Store.keyValue(new HttpKvStore(base, key.strip()));
  }

  private static Path file(String spec, String name) {
    if (name.isBlank()) {
      throw refused(spec, "it names no file");
    }
    if (name.equals(":memory:")) {
      throw refused(spec, "a database in memory would lose every journal");
    }
    try {
      return Path.of(name);
    } catch (InvalidPathException invalid) {
      throw refused(spec, "it is not a file name: " + invalid.getReason());
    }
  }

  private static IllegalArgumentException refused(String spec, String reason) {
    return new IllegalArgumentException(
        "The store \""
            + PostgresAddress.masked(spec)
            + "\" cannot be used, "
            + reason
            + "; "
            + CHOICES);
  }
}
