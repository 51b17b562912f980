package io.fermata.persistence.keyvalue;

import io.fermata.persistence.spi.Passwords;
import io.fermata.persistence.spi.StoreProvider;
import io.fermata.persistence.spi.StoreSource;
import io.lettuce.core.RedisURI;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Map;
import java.util.Optional;

/**
 * Reads {@code redis://[user:password@]host:port/db}, {@code rediss:} for the same over TLS, and
 * {@code waniwani:<url>}, whose API key is in {@code WANIWANI_API_KEY}. If no store is named and
 * that variable is set, the store is the account's key-value API, at {@code WANIWANI_API_URL} if
 * that is set.
 */
public final class KeyValueProvider implements StoreProvider {

  private static final String WANIWANI_KEY = "WANIWANI_API_KEY";
  private static final String WANIWANI_URL = "WANIWANI_API_URL";
  private static final String WANIWANI = "waniwani:";
  private static final String CHOICES =
      "write \"redis://<host>:<port>/<db>\", or \"waniwani:<url>\" with WANIWANI_API_KEY set";

  @Override
  public Optional<StoreSource> parse(String address, Map<String, String> environment) {
    if (address.startsWith("redis://") || address.startsWith("rediss://")) {
      return Optional.of(redis(address));
    }
    if (address.startsWith(WANIWANI)) {
      String key =
          key(environment).orElseThrow(() -> refused(address, "WANIWANI_API_KEY is not set"));
      return Optional.of(waniwani(address.substring(WANIWANI.length()), key));
    }
    return Optional.empty();
  }

  @Override
  public Optional<StoreSource> fromEnvironment(Map<String, String> environment) {
    return key(environment)
        .map(
            key ->
                waniwani(value(environment, WANIWANI_URL).orElse(HttpKvStore.DEFAULT_BASE), key));
  }

  /** An HTTP client that refuses a header quotes its value, so the key is checked before. */
  private static Optional<String> key(Map<String, String> environment) {
    Optional<String> key = value(environment, WANIWANI_KEY).map(String::strip);
    if (key.isPresent() && !key.get().chars().allMatch(KeyValueProvider::mayBeInHeader)) {
      throw new IllegalArgumentException(
          WANIWANI_KEY
              + " has a character that no header may have, such as a curly quote or a line break;"
              + " correct it");
    }
    return key;
  }

  private static boolean mayBeInHeader(int c) {
    return c == '\t' || (c >= ' ' && c <= 0xFF && c != 0x7F);
  }

  private static Optional<String> value(Map<String, String> environment, String variable) {
    return Optional.ofNullable(environment.get(variable)).filter(value -> !value.isBlank());
  }

  /** The error does not repeat the address, which may contain a password. */
  private static StoreSource redis(String address) {
    RedisURI uri;
    try {
      uri = RedisURI.create(address);
    } catch (IllegalArgumentException invalid) {
      throw refused("redis:…", "its address is malformed");
    }
    return new KeyValueStore(
        RedisKvStore.name(uri),
        () -> {
          RedisKvStore store = RedisKvStore.connect(uri);
          return new KeyValueStore.Opened(store, store::close);
        });
  }

  private static StoreSource waniwani(String address, String key) {
    URI base;
    try {
      base = new URI(address);
    } catch (URISyntaxException invalid) {
      throw refused(WANIWANI + address, "it is not an address: " + invalid.getReason());
    }
    if (base.getUserInfo() != null) {
      throw refused(
          WANIWANI + address,
          "it contains a user; put the key of the account into " + WANIWANI_KEY);
    }
    if (base.getHost() == null
        || base.getScheme() == null
        || !base.getScheme().startsWith("http")) {
      throw refused(WANIWANI + address, "its address does not begin with https://");
    }
    return KeyValueStore.source(new HttpKvStore(base, key));
  }

  private static IllegalArgumentException refused(String address, String reason) {
    return new IllegalArgumentException(
        "The store \"" + Passwords.mask(address) + "\" cannot be used, " + reason + "; " + CHOICES);
  }
}
