package io.fermata.persistence;

import io.fermata.persistence.postgres.PostgresAddress;
import io.fermata.persistence.spi.Passwords;
import io.fermata.persistence.spi.StoreProvider;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.regex.Pattern;

/** Parses the one-line form of a store, as in {@code FERMATA_STORE}. */
final class StoreSpec {

  static final String VARIABLE = "FERMATA_STORE";

  private static final String MEMORY = "memory";
  private static final String SQLITE = "sqlite:";

  /** Addresses that the key-value module reads; errors name that module if it is missing. */
  private static final Pattern KEY_VALUE = Pattern.compile("(rediss?://|waniwani:).*");

  private static final String KEY_VALUE_VARIABLE = "WANIWANI_API_KEY";
  private static final String KEY_VALUE_ARTIFACT = "io.fermata:fermata-keyvalue";
  private static final String CHOICES =
      "choose \"memory\" (for tests, nothing survives the process)"
          + ", \"sqlite:<file>\", for example \"sqlite:fermata.db\","
          + " \"postgres://<user>@<host>/<database>\", or with "
          + KEY_VALUE_ARTIFACT
          + " on the class path \"redis://<host>:<port>/<db>\" or \"waniwani:<url>\"";

  private StoreSpec() {}

  static Optional<Store> fromEnvironment(Map<String, String> environment) {
    Optional<String> spec = value(environment, VARIABLE);
    return spec.isPresent()
        ? spec.map(named -> parse(named, environment))
        : ofProviders(environment);
  }

  private static Optional<String> value(Map<String, String> environment, String variable) {
    return Optional.ofNullable(environment.get(variable)).filter(value -> !value.isBlank());
  }

  private static Optional<Store> ofProviders(Map<String, String> environment) {
    Optional<Store> found =
        providers().stream()
            .flatMap(provider -> provider.fromEnvironment(environment).stream())
            .findFirst()
            .map(Store::of);
    if (found.isEmpty() && value(environment, KEY_VALUE_VARIABLE).isPresent()) {
      throw new IllegalArgumentException(
          KEY_VALUE_VARIABLE
              + " is set but its store is not on the class path; add "
              + KEY_VALUE_ARTIFACT
              + ", or name another store in "
              + VARIABLE);
    }
    return found;
  }

  private static List<StoreProvider> providers() {
    return ServiceLoader.load(StoreProvider.class, StoreProvider.class.getClassLoader()).stream()
        .map(ServiceLoader.Provider::get)
        .toList();
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
    return providers().stream()
        .flatMap(provider -> provider.parse(trimmed, environment).stream())
        .findFirst()
        .map(Store::of)
        .orElseThrow(() -> unknown(spec, trimmed));
  }

  private static IllegalArgumentException unknown(String spec, String trimmed) {
    return refused(
        spec,
        KEY_VALUE.matcher(trimmed).matches()
            ? KEY_VALUE_ARTIFACT + " is not on the class path"
            : "there is no such store");
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
        "The store \"" + Passwords.mask(spec) + "\" cannot be used, " + reason + "; " + CHOICES);
  }
}
